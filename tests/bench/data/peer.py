#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers of the benchmarks of datasets, one process each: peer.py PEER FORMAT FILE ROUNDS. Prints one JSON object:
rows, the median of the seconds of a pass, and the checksum of the values."""
import gzip
import json
import os
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
COLUMNS, BATCH, BUFFER = 64, 128, 10000


def numpy_array(path):
    import numpy
    if path.endswith(".gz"):
        with gzip.open(path) as file:
            return numpy.load(file)
    return numpy.load(path)


def tensorflow(kind, path, maps):
    """As TensorFlow's guide to performance says: parsed by batches, in parallel, prefetched."""
    import tensorflow as tf
    auto, compression = tf.data.AUTOTUNE, "GZIP" if path.endswith(".gz") else ""

    def examples(batch):
        features = {"x": tf.io.FixedLenFeature([COLUMNS], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
        found = tf.io.parse_example(batch, features)
        return found["x"], found["y"]

    def lines(batch):
        cells = tf.io.decode_csv(batch, [[0.0]] * COLUMNS + [[0]])
        return tf.stack(cells[:COLUMNS], axis=1), cells[COLUMNS]

    if kind == "csv":
        data = tf.data.TextLineDataset(path, compression).shuffle(BUFFER).batch(BATCH).map(lines, auto)
    elif kind == "tfrecord":
        data = tf.data.TFRecordDataset(path, compression).shuffle(BUFFER).batch(BATCH).map(examples, auto)
    else:
        data = tf.data.Dataset.from_tensor_slices((numpy_array(path),)).shuffle(BUFFER).batch(BATCH)
    if maps:
        data = data.map(lambda x, *rest: (x * 2, *rest), auto)
    rows = sum(int(batch[0].shape[0]) for batch in data.prefetch(auto))
    return rows


def arrow(kind, path, maps):
    """Reads only."""
    import pyarrow.csv
    return pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(autogenerate_column_names=True)).num_rows


def numpy(kind, path, maps):
    """Reads, and takes batches of a permutation."""
    import numpy
    array = numpy_array(path)
    order = numpy.random.default_rng(0).permutation(len(array))
    return sum(len(array[order[first:first + BATCH]]) for first in range(0, len(array), BATCH))


def main():
    peer, kind, path, rounds, maps = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "map"
    read = {"tensorflow": tensorflow, "arrow": arrow, "numpy": numpy}[peer]
    seconds, rows = [], 0
    for _ in range(rounds):
        begin = time.perf_counter()
        rows = read(kind, path, maps)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"rows": rows, "seconds": statistics.median(seconds)}))


if __name__ == "__main__":
    main()
