#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports this example, a linear model in TensorFlow, by tfd_export: program.json, its modules, and the initial weights.

usage: pip install tensorflow-cpu==2.21.0 && python export.py

It also trains the model in TensorFlow, with a loop over tf.GradientTape, and writes the losses to tensorflow-losses.json: tests demand that tfd
has the same. Made with tensorflow-cpu 2.21.0, numpy 2.4 and Python 3.11.
"""
import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

BATCH, STEPS, RATE, DECAY = 64, 50, 0.5, 1e-4

kernel = tf.Variable(tf.zeros((64, 10)), name="kernel")
bias = tf.Variable(tf.zeros(10), name="bias")


def logits(image):
    return image / 16 @ kernel + bias


@tf.function
def loss(image, label):
    """-> the mean loss with its weight decay, and how many are right, of how many."""
    result = logits(image)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(label, result)
    right = tf.cast(tf.equal(tf.argmax(result, axis=1, output_type=tf.int32), label), tf.float32)
    metrics = {"accuracy": (tf.reduce_sum(right), tf.cast(tf.size(label), tf.float32))}
    return tf.reduce_mean(losses) + DECAY * tf.reduce_sum(kernel * kernel), metrics


def pipeline(name, *stages):
    fields = {"image": {"columns": [0, 64], "dtype": "f32"}, "label": {"columns": 64, "dtype": "s32"}}
    return [{"csv": {"path": f"../digits/digits-{name}.csv", "fields": fields}}, *stages]


def rows_of(name):
    rows = np.loadtxt(HERE.parent / "digits" / f"digits-{name}.csv", "float32", delimiter=",")
    return {"image": rows[:, :64], "label": rows[:, 64].astype("int32")}


def losses_in_tensorflow(train):
    losses = []
    for step in range(STEPS):
        places = np.arange(step * BATCH, (step + 1) * BATCH) % len(train["label"])
        with tf.GradientTape() as tape:
            value, _ = loss(train["image"][places], train["label"][places])
        for variable, gradient in zip((kernel, bias), tape.gradient(value, (kernel, bias))):
            variable.assign_sub(RATE * gradient)
        losses.append(float(str(np.float32(value))))
    return losses


def main():
    train, test = rows_of("train"), rows_of("test")
    stages = [{"shuffle": {"buffer": 2000}}, {"repeat": {}}, {"batch": {"size": BATCH, "drop_remainder": True}}]
    program = tfd_export.tensorflow(loss, {name: field[:BATCH] for name, field in train.items()}, HERE, batch_sizes=[BATCH, BATCH // 2, BATCH // 4],
                                    optimizer={"sgd": {"learning_rate": RATE}}, data=pipeline("train", *stages), train={"steps": 600})
    program.evaluation(loss, batch_sizes=[BATCH, len(test["label"]) % BATCH], data=pipeline("test", {"batch": {"size": BATCH}}), every=200)
    program.prediction(lambda image: tf.argmax(logits(image), axis=1, output_type=tf.int32), {"image": test["image"][:1]})
    record = {"tensorflow": tf.__version__, "losses": losses_in_tensorflow(train)}
    record["test_loss"] = float(str(np.float32(loss(test["image"], test["label"])[0])))
    (HERE / "tensorflow-losses.json").write_text(json.dumps(record) + "\n")
    print(f"tensorflow: loss {record['losses'][0]:.4f} at first, {record['losses'][-1]:.4f} after {STEPS} steps, {record['test_loss']:.4f} of the test images")


if __name__ == "__main__":
    main()
