#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process whose kernel is trained by its marginal likelihood, by Cholesky factors and triangular solves: program.json
with its module and data, and jax-losses.json, what JAX has in 30 steps of SGD. Made with jax 0.10.2."""
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../share"))
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import tfd_export

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths of this machine in the files
STEPS, BATCH, RATE = 30, 16, 0.05


def loss(params, batch):
    x, y = batch["x"], batch["y"]
    distances = jnp.sum(((x[:, None] - x[None]) / jnp.exp(params["length"])) ** 2, -1)
    kernel = jnp.exp(params["signal"]) * jnp.exp(-distances / 2) + jnp.exp(params["noise"]) * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(kernel)
    solved = jsl.solve_triangular(factor, y - params["mean"], lower=True)
    return (jnp.sum(solved**2) / 2 + jnp.sum(jnp.log(jnp.diag(factor)))) / len(x)


def main():
    random = np.random.RandomState(4)
    x = random.uniform(-2, 2, (64, 2)).astype(np.float32)
    y = (np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.1 * random.randn(64)).astype(np.float32)
    params = {"length": np.zeros(2, np.float32), "mean": np.float32(0.5), "noise": np.float32(-1), "signal": np.float32(0)}
    tfd_export.jax(loss, params, {"x": x[:BATCH], "y": y[:BATCH]}, HERE, optimizer={"sgd": {"learning_rate": RATE}}, data={"x": x, "y": y},
                   batch_sizes=[BATCH], train={"steps": STEPS, "log_every": 1})
    step, losses = jax.jit(jax.value_and_grad(loss)), []
    for i in range(STEPS):
        rows = slice(i * BATCH % 64, i * BATCH % 64 + BATCH)
        value, gradients = step(params, {"x": x[rows], "y": y[rows]})
        losses.append(float(value))
        params = jax.tree.map(lambda p, g: np.asarray(p - RATE * g), params, gradients)
    with open(os.path.join(HERE, "jax-losses.json"), "w") as file:
        json.dump({"losses": losses}, file)


if __name__ == "__main__":
    main()
