#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/data from the real TensorFlow and NumPy: data_files.py GOLDEN_DIR.

TFRecord files of tf.Examples, .npz files, and elements.json: what tf.io.parse_single_example makes of each record.
Needs tensorflow-cpu==2.20.0.
"""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

FEATURES = {
    "pixels": tf.io.FixedLenFeature([2, 3], tf.float32),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "raw": tf.io.FixedLenFeature([], tf.string),
    "text": tf.io.FixedLenFeature([], tf.string),
    "ids": tf.io.RaggedFeature(tf.int64),
    "weight": tf.io.FixedLenFeature([], tf.float32, default_value=0.5),
}


def integers(values):
  return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(values):
  return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(values):
  return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(i):
  features = {
      "pixels": floats([i + x / 8 for x in range(6)]),
      "label": integers([-i if i % 2 else (1 << 40) + i]),
      "raw": texts([np.arange(i, i + 4, dtype=np.int16).tobytes()]),
      "text": texts([("é" * i).encode()]),
      "ids": integers(range(i)),
      "unused": texts([b"a", b"bc"]),
  }
  if i % 3 == 0:
    features["weight"] = floats([i / 4])
  return tf.train.Example(features=tf.train.Features(feature=features))


def element(record):
  parsed = tf.io.parse_single_example(record, FEATURES)
  return {
      "pixels": parsed["pixels"].numpy().tolist(),
      "label": int(parsed["label"]),
      "raw": tf.io.decode_raw(parsed["raw"], tf.int16).numpy().tolist(),
      "text": list(parsed["text"].numpy()),
      "ids": parsed["ids"].numpy().tolist(),
      "weight": float(parsed["weight"]),
  }


def main(directory):
  out = os.path.join(directory, "data")
  os.makedirs(out, exist_ok=True)
  records = [example(i).SerializeToString(deterministic=True) for i in range(9)]
  for name, compression in (("examples.tfrecord", ""), ("examples.tfrecord.gz", "GZIP")):
    with tf.io.TFRecordWriter(os.path.join(out, name), compression) as writer:
      for record in records:
        writer.write(record)
  arrays = {"x": np.arange(12, dtype=np.float32).reshape(4, 3) / 2, "y": np.array([3, -1, 4, 1], dtype=np.int64),
            "flag": np.array([True, False, False, True])}
  np.savez(os.path.join(out, "arrays.npz"), **arrays)
  np.savez_compressed(os.path.join(out, "compressed.npz"), **arrays)
  with open(os.path.join(out, "elements.json"), "w") as file:
    json.dump({"examples": [element(record) for record in records],
               "arrays": {name: array.tolist() for name, array in arrays.items()}}, file, indent=1)
    file.write("\n")


main(sys.argv[1])
