#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds this example's model in Keras 3, exports what tfd runs of it by tfd_export, and trains it in Keras to compare.

usage: pip install keras==3.15.1 jax==0.10.2 && python export.py

It writes
  program.json; train_step.mlir, eval_step_64.mlir, eval_step_4.mlir: StableHLO of what one worker does with one batch. Keras' embedding
      layers are not part of them: tfd looks the rows up and gives them to the module, and gets the rows' gradients.
  initial.safetensors: the weights that Keras began with, so that tfd begins with the same.
  keras-losses.json: the loss of each step of Keras' own training of the whole model from these weights on, batch after
      batch in the order of interactions.csv, and the hit rate in between; and the losses with Adam instead of Adagrad.
Made with keras 3.15.1, jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6 and Python 3.11, on CPU.
"""
import json
import os
import pathlib
import sys
from collections import OrderedDict

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

SEED = 1
USERS, ITEMS, DIM = 300, 600, 16
BATCH = 64
STEPS, ADAM_STEPS, EVALUATE_EVERY = 800, 200, 200
FIRST = 3  # a hit: the taken item is among this many first ones


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


def towers(params):
    """The weights of both towers, in Keras' order."""
    return ([params[weight.path] for weight in tower.weights] for tower in (user_tower, item_tower))


def mean_loss(params, batch):
    """The loss of the rows [batch, DIM] of users and items, and labels [batch]."""
    user_weights, item_weights = towers(params)
    user, item = run_tower(user_tower, user_weights, batch["user"]), run_tower(item_tower, item_weights, batch["item"])
    like = jnp.sum(user * item, axis=-1)
    return keras.losses.BinaryCrossentropy(from_logits=True)(batch["label"][:, None], like[:, None])


def evaluate(params, batch):
    """The hits among the rows of [batch] users and [batch, 10] items, the first of which was taken -> number of hits, number of users."""
    user_weights, item_weights = towers(params)
    user, item = run_tower(user_tower, user_weights, batch["user"]), run_tower(item_tower, item_weights, batch["items"])
    like = jnp.sum(user[:, None, :] * item, axis=-1)
    better = jnp.sum((like[:, 1:] >= like[:, :1]).astype(jnp.int32), axis=1)
    return {"hit_rate": (jnp.sum((better < FIRST).astype(jnp.float32)), jnp.float32(like.shape[0]))}


def csv(name, *stages, **columns):
    fields = {field: {"columns": of, "dtype": "f32" if field == "label" else "s32"} for field, of in columns.items()}
    return [{"csv": {"path": f"{name}.csv", "fields": fields}}, *stages]


def export(candidates):
    params = OrderedDict((weight.path, np.asarray(weight.value)) for weight in [*user_tower.weights, *item_tower.weights])
    looked_up = ((user_table, ["user"]), (item_table, ["item", "items"]))
    tables = {table.weights[0].path: (np.asarray(table.weights[0].value), fields) for table, fields in looked_up}
    ids = np.zeros(BATCH, np.int32)
    program = tfd_export.jax(
        mean_loss, params, OrderedDict(user=ids, item=ids, label=np.zeros(BATCH, np.float32)), HERE, tables=tables, dataset="interactions",
        optimizer={"adagrad": {"learning_rate": 0.3}}, train={"steps": STEPS, "log_every": 100},
        variables={"user_table/*": {"partitioner": {"min_size": {"min_shard_bytes": 16384, "max_shards": 3}}},
                   "item_table/*": {"partitioner": {"fixed_shards": {"num_shards": 3}}}},
        data=csv("interactions", {"shuffle": {"buffer": 20400}}, {"repeat": {}}, {"batch": {"size": BATCH, "drop_remainder": True}},
                 {"prefetch": {"buffer": 2}}, user=0, item=1, label=2))
    program.evaluation(evaluate, OrderedDict(user=ids, items=np.zeros((BATCH, 10), np.int32)), batch_sizes=[BATCH, len(candidates) % BATCH],
                       dataset="candidates", data=csv("candidates", {"batch": {"size": BATCH}}, user=0, items=[1, 11]), every=EVALUATE_EVERY)


def hit_rate(model, candidates):
    user, items = candidates[:, :1].repeat(10, axis=1), candidates[:, 1:]
    like = model.predict_on_batch([user.reshape(-1), items.reshape(-1)]).reshape(-1, 10)
    return float(np.mean(np.sum(like[:, 1:] >= like[:, :1], axis=1) < FIRST))


def train_in_keras(model, optimizer, steps, interactions, candidates):
    """-> the losses of all steps, and the hit rates after some of them."""
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
    interactions, candidates = (np.loadtxt(HERE / f"{name}.csv", "int32", delimiter=",") for name in ("interactions", "candidates"))
    export(candidates)
    initial = model.get_weights()
    losses, hits = train_in_keras(model, keras.optimizers.Adagrad(learning_rate=0.3), STEPS, interactions, candidates)
    model.set_weights(initial)
    adam, _ = train_in_keras(model, keras.optimizers.Adam(learning_rate=0.01), ADAM_STEPS, interactions, candidates)
    versions = {"keras": keras.__version__, "jax": jax.__version__}
    text = json.dumps({**versions, "hit_rate": hits, "losses": losses, "adam_losses": adam})
    (HERE / "keras-losses.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
