#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports this example, a transformer in plain JAX, by tfd_export: program.json, its modules, the text as arrays and the initial weights.

usage: pip install jax==0.10.2 optax==0.2.8 && python export.py

It also trains the model in JAX, with optax' Adam, and writes the losses to jax-losses.json: tests demand that tfd has the same.
Made with jax 0.10.2, jaxlib 0.10.2, optax 0.2.8, numpy 2.4 and Python 3.11, on CPU.
"""
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

LAYERS, WIDTH, HEADS, CHARACTERS, LENGTH = 2, 32, 4, 128, 64  # a character is its ASCII code
BATCH, STEPS, RATE = 16, 50, 0.003


def initial(random):
    """The parameters, as a tree whose places are the variables' names."""
    def normal(*shape, scale=None):
        return random.normal(0, scale or shape[0] ** -0.5, shape).astype(np.float32)

    def norm():
        return {"scale": np.ones(WIDTH, np.float32), "bias": np.zeros(WIDTH, np.float32)}

    def layer():
        return {"norm1": norm(), "qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "norm2": norm(),
                "up": {"kernel": normal(WIDTH, 4 * WIDTH), "bias": np.zeros(4 * WIDTH, np.float32)},
                "down": {"kernel": normal(4 * WIDTH, WIDTH), "bias": np.zeros(WIDTH, np.float32)}}

    layers = {f"layer{i}": layer() for i in range(LAYERS)}
    return {"characters": normal(CHARACTERS, WIDTH, scale=0.1), "positions": normal(LENGTH, WIDTH, scale=0.1), **layers, "norm": norm()}


def normalised(p, x):
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    def heads(part):
        return part.reshape(-1, LENGTH, HEADS, WIDTH // HEADS)

    q, k, v = map(heads, jnp.split(x @ p["qkv"], 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
    scores = jnp.where(jnp.tri(LENGTH, dtype=bool), scores, -1e9)  # nobody sees what comes later
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(-1, LENGTH, WIDTH) @ p["out"]


def logits(p, text):
    """text [batch, LENGTH] -> [batch, LENGTH, CHARACTERS], for the character after each."""
    x = p["characters"][text] + p["positions"]
    for i in range(LAYERS):
        layer = p[f"layer{i}"]
        x = x + attention(layer, normalised(layer["norm1"], x))
        hidden = jax.nn.gelu(normalised(layer["norm2"], x) @ layer["up"]["kernel"] + layer["up"]["bias"])
        x = x + hidden @ layer["down"]["kernel"] + layer["down"]["bias"]
    return normalised(p["norm"], x) @ p["characters"].T


def log_likelihoods(p, text):
    """The loss of each character but the first, given those before it."""
    log_p = jax.nn.log_softmax(logits(p, text[:, :-1]))
    return jnp.sum(jax.nn.one_hot(text[:, 1:], CHARACTERS) * log_p, axis=-1)


def loss(params, batch):
    return -jnp.mean(log_likelihoods(params, batch["text"].astype(jnp.int32)))


def evaluate(params, batch):
    text = batch["text"].astype(jnp.int32)
    right = jnp.argmax(logits(params, text[:, :-1]), axis=-1) == text[:, 1:]
    return {"loss": loss(params, batch), "accuracy": (jnp.sum(right.astype(jnp.float32)), jnp.float32(right.size))}


def windows(text):
    """Rows of LENGTH + 1 characters; the last one of a row is the first one of the next."""
    codes = np.frombuffer(text.encode("ascii"), np.uint8)
    return np.stack([codes[i:i + LENGTH + 1] for i in range(0, len(codes) - LENGTH, LENGTH)])


def losses_in_jax(params, rows):
    """The losses of `steps` steps, batch after batch in the order of the text."""
    optimizer = optax.adam(RATE)

    @jax.jit
    def step(params, state, batch):
        value, gradients = jax.value_and_grad(loss)(params, batch)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    state, losses = optimizer.init(params), []
    for i in range(STEPS):
        batch = {"text": rows[np.arange(i * BATCH, (i + 1) * BATCH) % len(rows)]}
        params, state, value = step(params, state, batch)
        losses.append(float(str(np.float32(value))))
    return losses, params


def main():
    params = initial(np.random.default_rng(1))
    rows = windows((HERE / "sonnets.txt").read_text())
    train, test = rows[:-56], rows[-56:]
    program = tfd_export.jax(loss, params, {"text": train[:BATCH]}, HERE, data={"text": train},
                             optimizer={"adam": {"learning_rate": RATE, "epsilon": 1e-8}}, train={"steps": 400})
    program.evaluation(evaluate, data={"text": test}, every=100)
    losses, trained = losses_in_jax(params, train)
    versions = {"jax": jax.__version__, "optax": optax.__version__}
    evaluated = float(str(np.float32(loss(trained, {"text": test}))))
    (HERE / "jax-losses.json").write_text(json.dumps({**versions, "test_loss": evaluated, "losses": losses}) + "\n")
    print(f"jax: loss {losses[0]:.4f} at first, {losses[-1]:.4f} after {STEPS} steps, {evaluated:.4f} of the test text")


if __name__ == "__main__":
    main()
