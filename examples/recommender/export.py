#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds this example's model in Keras 3, exports what tfd runs of it, and trains it in Keras to compare.

usage: pip install keras==3.15.1 jax==0.10.2 && python export.py

It writes
  train_step.mlir, eval_step.mlir, eval_step_rest.mlir: StableHLO of what one worker does with one batch. Keras' embedding
      layers are not part of them: tfd looks the rows up and gives them to the module, and gets the rows' gradients.
  initial.safetensors: the weights that Keras began with, so that tfd begins with the same.
  keras-losses.json: the loss of each step of Keras' own training of the whole model from these weights on, batch after
      batch in the order of interactions.csv, and the hit rate in between; and the losses with Adam instead of Adagrad.
Made with keras 3.15.1, jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6 and Python 3.11, on CPU.
"""
import json
import os
import pathlib
import re
import struct

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).parent
SEED = 1
USERS, ITEMS, DIM = 300, 600, 16
BATCH = 64
STEPS, ADAM_STEPS, EVALUATE_EVERY = 800, 200, 200
FIRST = 3  # a hit: the item that was taken is among so many first ones


def tower(name):
    hidden = keras.layers.Dense(16, activation="relu", name=f"{name}_hidden")
    return keras.Sequential([keras.Input((DIM,)), hidden, keras.layers.Dense(8, name=f"{name}_out")], name=name)


def table(name, rows):
    return keras.layers.Embedding(rows, DIM, keras.initializers.RandomNormal(stddev=0.1), name=f"{name}_table")


keras.utils.set_random_seed(SEED)
user_table, item_table = table("user", USERS), table("item", ITEMS)
user_tower, item_tower = tower("user"), tower("item")


def make_model():
    """(user, item) -> how much the user likes the item, as a logit."""
    user, item = keras.Input((), dtype="int32", name="user_id"), keras.Input((), dtype="int32", name="item_id")
    logit = keras.layers.Dot(axes=1)([user_tower(user_table(user)), item_tower(item_table(item))])
    return keras.Model([user, item], keras.layers.Flatten()(logit))


def run_tower(tower, weights, rows):
    """The Keras model `tower` with these weights, for rows of any number of dimensions."""
    out, _ = tower.stateless_call(weights, [], rows.reshape(-1, DIM))
    return out.reshape(*rows.shape[:-1], -1)


def mean_loss(user_rows, item_rows, user_weights, item_weights, label):
    like = jnp.sum(run_tower(user_tower, user_weights, user_rows) * run_tower(item_tower, item_weights, item_rows), axis=-1)
    return keras.losses.BinaryCrossentropy(from_logits=True)(label[:, None], like[:, None])


def train_step(user_rows, item_rows, user_k1, user_b1, user_k2, user_b2, item_k1, item_b1, item_k2, item_b2, label):
    """-> loss, and its gradients by the rows and by the towers' weights."""
    loss, (user, item, user_tower, item_tower) = jax.value_and_grad(mean_loss, argnums=(0, 1, 2, 3))(
        user_rows, item_rows, [user_k1, user_b1, user_k2, user_b2], [item_k1, item_b1, item_k2, item_b2], label)
    return loss, user, item, *user_tower, *item_tower


def eval_step(user_rows, item_rows, user_k1, user_b1, user_k2, user_b2, item_k1, item_b1, item_k2, item_b2):
    """Of [batch] users and [batch, 10] items, the first of which was taken -> how many hits, of how many."""
    user = run_tower(user_tower, [user_k1, user_b1, user_k2, user_b2], user_rows)
    item = run_tower(item_tower, [item_k1, item_b1, item_k2, item_b2], item_rows)
    like = jnp.sum(user[:, None, :] * item, axis=-1)
    better = jnp.sum((like[:, 1:] >= like[:, :1]).astype(jnp.int32), axis=1)
    return jnp.sum((better < FIRST).astype(jnp.float32)), jnp.float32(like.shape[0])


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


def export(name, function, rows, labels):
    shapes = [*rows, *(weight.shape for weight in [*user_tower.weights, *item_tower.weights]), *labels]
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    module = jax.export.export(jax.jit(function, keep_unused=True))(*arguments).mlir_module()
    (HERE / f"{name}.mlir").write_text(strip_locations(module))
    print(f"{name}.mlir: batch {rows[0][0]}")


def save_weights(model):
    """safetensors: the length of a header, the header (JSON), the bytes. By Keras' paths, which are tfd's names here."""
    header, data = {}, b""
    for weight in model.weights:
        value = np.asarray(weight, "<f4")
        header[weight.path] = {"dtype": "F32", "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (HERE / "initial.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    print("initial.safetensors:", {name: entry["shape"] for name, entry in header.items()})


def hit_rate(model, candidates):
    user, items = candidates[:, :1].repeat(10, axis=1), candidates[:, 1:]
    like = model.predict_on_batch([user.reshape(-1), items.reshape(-1)]).reshape(-1, 10)
    return float(np.mean(np.sum(like[:, 1:] >= like[:, :1], axis=1) < FIRST))


def train_in_keras(model, optimizer, steps, interactions, candidates):
    """-> the losses of all steps, and the hit rates after so many of them."""
    model.compile(optimizer=optimizer, loss=keras.losses.BinaryCrossentropy(from_logits=True))
    losses, hits = [], {0: hit_rate(model, candidates)}
    for step in range(steps):
        batch = interactions[np.arange(step * BATCH, (step + 1) * BATCH) % len(interactions)]
        model.reset_metrics()  # else it is the mean loss of all steps
        loss = model.train_on_batch([batch[:, 0], batch[:, 1]], batch[:, 2:].astype("float32"))
        losses.append(float(str(np.float32(loss))))
        if (step + 1) % EVALUATE_EVERY == 0:
            hits[step + 1] = hit_rate(model, candidates)
            print(f"keras, {optimizer.name}: step {step + 1}, mean loss {np.mean(losses[-EVALUATE_EVERY:]):.4f}, hit rate {hits[step + 1]:.3f}")
    return losses, hits


def main():
    model = make_model()
    save_weights(model)
    interactions, candidates = (np.loadtxt(HERE / f"{name}.csv", "int32", delimiter=",") for name in ("interactions", "candidates"))
    rest = len(candidates) % BATCH
    export("train_step", train_step, [(BATCH, DIM), (BATCH, DIM)], [(BATCH,)])
    export("eval_step", eval_step, [(BATCH, DIM), (BATCH, 10, DIM)], [])
    export("eval_step_rest", eval_step, [(rest, DIM), (rest, 10, DIM)], [])
    initial = model.get_weights()
    losses, hits = train_in_keras(model, keras.optimizers.Adagrad(learning_rate=0.3), STEPS, interactions, candidates)
    model.set_weights(initial)
    adam, _ = train_in_keras(model, keras.optimizers.Adam(learning_rate=0.01), ADAM_STEPS, interactions, candidates)
    versions = {"keras": keras.__version__, "jax": jax.__version__}
    text = json.dumps({**versions, "hit_rate": hits, "losses": losses, "adam_losses": adam})
    (HERE / "keras-losses.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
