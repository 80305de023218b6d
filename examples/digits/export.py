#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports this example from JAX by tfd_export: program.json and its modules.

usage: pip install jax==0.10.2 && python export.py

A module is what one replica does with one batch. It has no collectives and updates nothing: tfd reads the variables,
applies the gradients and adds up the metrics. Shapes are fixed, so the last, smaller batch of the test images has a module
of its own. There are no weights: tfd initializes the variables. Exported with jax 0.10.2, jaxlib 0.10.2, numpy 2.4 and Python 3.11.
"""
import os
import pathlib
import sys
import typing

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

BATCH, HIDDEN = 64, 64


class Parameters(typing.NamedTuple):  # in this order they lie on parameter servers
    w1: np.ndarray = np.zeros((64, HIDDEN), np.float32)
    b1: np.ndarray = np.zeros(HIDDEN, np.float32)
    w2: np.ndarray = np.zeros((HIDDEN, 10), np.float32)
    b2: np.ndarray = np.zeros(10, np.float32)


def logits(p, batch):
    hidden = jax.nn.relu(batch["image"] / 16 @ p.w1 + p.b1)
    return hidden @ p.w2 + p.b2


def loss(p, batch):
    log_p = jax.nn.log_softmax(logits(p, batch))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(batch["label"], 10) * log_p, axis=1))


def evaluate(p, batch):
    """-> mean loss; how many were right, of how many."""
    right = jnp.argmax(logits(p, batch), axis=1) == batch["label"]
    return {"loss": loss(p, batch), "accuracy": (jnp.sum(right.astype(jnp.float32)), jnp.float32(len(right)))}


def predict(p, batch):
    """-> the class of each image."""
    return jnp.argmax(logits(p, batch), axis=1)


def pipeline(name, *stages):
    fields = {"image": {"columns": [0, 64], "dtype": "f32"}, "label": {"columns": 64, "dtype": "s32"}}
    return [{"csv": {"path": f"digits-{name}.csv", "fields": fields}}, *stages]


def main():
    test_images = len((HERE / "digits-test.csv").read_text().splitlines())
    batch = {"image": np.zeros((BATCH, 64), np.float32), "label": np.zeros(BATCH, np.int32)}
    init = {"w1": {"glorot_uniform": {"seed": 1}}, "b1": {"zeros": {}}, "w2": {"glorot_uniform": {"seed": 2}}, "b2": {"zeros": {}}}
    program = tfd_export.jax(
        loss, Parameters(), batch, HERE, optimizer={"adam": {"learning_rate": 0.001}}, weights=None,
        variables={name: {"init": how} for name, how in init.items()},
        data=pipeline("train", {"shuffle": {"buffer": 2000}}, {"repeat": {}}, {"batch": {"size": BATCH, "drop_remainder": True}}),
        train={"steps": 2000, "checkpoint": {"dir": "digits-checkpoints", "every": 200, "keep": 3}})
    program.evaluation(evaluate, batch_sizes=[BATCH, test_images % BATCH], data=pipeline("test", {"batch": {"size": BATCH}}), every=500)
    program.prediction(predict, {"image": batch["image"]})


if __name__ == "__main__":
    main()
