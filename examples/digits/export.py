#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the modules of this example from JAX as StableHLO text: train_step.mlir, eval_step.mlir, eval_step_rest.mlir, predict.mlir.

usage: pip install jax==0.10.2 && python export.py

A module is what one replica does with one batch. It has no collectives and updates nothing: tfd reads the variables,
applies the gradients and adds up the metrics. Shapes are fixed, so the last, smaller batch of the test images has a module
of its own. Exported with jax 0.10.2, jaxlib 0.10.2, numpy 2.4 and Python 3.11.
"""
import os
import pathlib
import re

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402

HERE = pathlib.Path(__file__).parent
BATCH = 64
HIDDEN = 64


def logits(w1, b1, w2, b2, image):
    hidden = jax.nn.relu(image / 16 @ w1 + b1)
    return hidden @ w2 + b2


def mean_loss(w1, b1, w2, b2, image, label):
    log_p = jax.nn.log_softmax(logits(w1, b1, w2, b2, image))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(label, 10) * log_p, axis=1))


def train_step(w1, b1, w2, b2, image, label):
    """-> loss, and its gradients by w1, b1, w2, b2."""
    loss, gradients = jax.value_and_grad(mean_loss, argnums=(0, 1, 2, 3))(w1, b1, w2, b2, image, label)
    return loss, *gradients


def eval_step(w1, b1, w2, b2, image, label):
    """-> mean loss, how many were right, how many there were."""
    right = jnp.argmax(logits(w1, b1, w2, b2, image), axis=1) == label
    count = jnp.float32(label.shape[0])
    return mean_loss(w1, b1, w2, b2, image, label), jnp.sum(right.astype(jnp.float32)), count


def predict(w1, b1, w2, b2, image):
    """-> the class of each image."""
    return jnp.argmax(logits(w1, b1, w2, b2, image), axis=1)


def strip_locations(text):
    """Drops debug locations, but keeps those that name the arguments of @main."""
    lines = []
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        if "func.func public @main" in line:
            line = re.sub(r" loc\(#[^)]*\)", "", line)
        else:
            line = re.sub(r' loc\((?:#\w+|"[^"]*"(?:\([^)]*\))?|unknown)\)', "", line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def export(name, function, batch):
    f32, s32 = jnp.float32, jnp.int32
    shapes = [((64, HIDDEN), f32), ((HIDDEN,), f32), ((HIDDEN, 10), f32), ((10,), f32), ((batch, 64), f32), ((batch,), s32)]
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes][: function.__code__.co_argcount]
    # Without keep_unused an argument that the function doesn't need would vanish from the module.
    module = jax.export.export(jax.jit(function, keep_unused=True))(*arguments).mlir_module()
    (HERE / f"{name}.mlir").write_text(strip_locations(module))
    print(f"{name}.mlir: batch {batch}")


def main():
    test_images = len((HERE / "digits-test.csv").read_text().splitlines())
    export("train_step", train_step, BATCH)
    export("eval_step", eval_step, BATCH)
    export("eval_step_rest", eval_step, test_images % BATCH)
    export("predict", predict, 1)


if __name__ == "__main__":
    main()
