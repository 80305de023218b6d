#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports this example, two matrix products in JAX that are cut over two cores, by tfd_export: program.json, its modules and the
initial weights.

usage: pip install jax==0.10.2 && python export.py

The modules know nothing of cores: program.json says how their arguments are cut. The example also trains the model in JAX, on one
device, and writes the losses to jax-losses.json: tests demand that tfd has the same. Made with jax 0.10.2, numpy 2.4 and Python 3.11, on CPU.
"""
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

BATCH, STEPS, RATE, HIDDEN = 64, 50, 0.1, 256
# Each core has half of the hidden layer: what it makes of an image needs nothing of the other core but a sum at the end.
SHARDINGS = {"up": [1, 2], "down": [2, 1]}


def logits(p, image):
    return jax.nn.relu(image / 16 @ p["up"]) @ p["down"]


def loss(params, batch):
    log_p = jax.nn.log_softmax(logits(params, batch["image"]))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(batch["label"], 10) * log_p, axis=-1))


def evaluate(params, batch):
    right = (jnp.argmax(logits(params, batch["image"]), axis=-1) == batch["label"]).astype(jnp.float32)
    return {"loss": loss(params, batch), "accuracy": (jnp.sum(right), jnp.float32(right.size))}


def pipeline(name, *stages):
    fields = {"image": {"columns": [0, 64], "dtype": "f32"}, "label": {"columns": 64, "dtype": "s32"}}
    return [{"csv": {"path": f"../digits/digits-{name}.csv", "fields": fields}}, *stages]


def rows_of(name):
    rows = np.loadtxt(HERE.parent / "digits" / f"digits-{name}.csv", "float32", delimiter=",")
    return {"image": rows[:, :64], "label": rows[:, 64].astype(np.int32)}


def losses_in_jax(params, train):
    @jax.jit
    def step(params, batch):
        value, gradients = jax.value_and_grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - RATE * g, params, gradients), value

    losses = []
    for i in range(STEPS):
        places = np.arange(i * BATCH, (i + 1) * BATCH) % len(train["label"])
        params, value = step(params, {name: field[places] for name, field in train.items()})
        losses.append(float(str(np.float32(value))))
    return losses, params


def cut(program, function):
    """States how the function's variables lie on the cores of a replica."""
    stated = program.document["functions"][function]
    variables = [{"variable": name, "sharding": {"split": SHARDINGS[name]}} for name in program.document["variables"]]
    stated["inputs"] = [*variables, *(one for one in stated["inputs"] if "variables" not in one and "variable" not in one)]


def main():
    random = np.random.default_rng(1)
    params = {"down": random.normal(0, HIDDEN ** -0.5, (HIDDEN, 10)).astype(np.float32), "up": random.normal(0, 0.125, (64, HIDDEN)).astype(np.float32)}
    train, test = rows_of("train"), rows_of("test")
    stages = [{"shuffle": {"buffer": 2000}}, {"repeat": {}}, {"batch": {"size": BATCH, "drop_remainder": True}}]
    program = tfd_export.jax(loss, params, {name: field[:BATCH] for name, field in train.items()}, HERE, optimizer={"sgd": {"learning_rate": RATE}},
                             data=pipeline("train", *stages), train={"steps": 400})
    program.evaluation(evaluate, data=pipeline("test", {"batch": {"size": BATCH}}), every=200)
    for function in ("train_step", "eval_step"):
        cut(program, function)
    program.write()
    losses, trained = losses_in_jax(params, train)
    record = {"jax": jax.__version__, "losses": losses, "test_loss": float(str(np.float32(loss(trained, test))))}
    (HERE / "jax-losses.json").write_text(json.dumps(record) + "\n")
    print(f"jax: loss {losses[0]:.4f} at first, {losses[-1]:.4f} after {STEPS} steps, {record['test_loss']:.4f} of the test images")


if __name__ == "__main__":
    main()
