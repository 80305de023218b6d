#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports batch_norm_step.mlir and batch_norm_eval.mlir: a Keras model with batch normalization, as Keras trains it.

The moving mean and variance are arguments of the step, and results: read and assigned..
usage: pip install keras==3.15.1 jax==0.10.2 && python export_batch_norm.py
"""
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax import export

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths of this machine in the files
HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = keras.Sequential([
    keras.Input((4,)),
    keras.layers.BatchNormalization(momentum=0.95, name="bn"),
    keras.layers.Dense(8, activation="relu", name="hidden"),
    keras.layers.Dense(1, name="out"),
])


def named(variables):
    return {"/".join(variable.path.split("/")[-2:]): variable for variable in variables}


TRAINED, STATE = named(MODEL.trainable_variables), named(MODEL.non_trainable_variables)


def squares(trained, state, x, y, training):
    out, state = MODEL.stateless_call(trained, state, x, training=training)
    return jnp.square(out[:, 0] - y), state


def step(*arguments):
    trained, state, (x, y) = arguments[: len(TRAINED)], arguments[len(TRAINED) : -2], arguments[-2:]

    def loss(trained):
        each, new = squares(trained, state, x, y, True)
        return jnp.mean(each), new

    (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(list(trained))
    return (value, *gradients, *new)


def evaluate(*arguments):
    trained, state, (x, y) = arguments[: len(TRAINED)], arguments[len(TRAINED) : -2], arguments[-2:]
    each, _ = squares(list(trained), list(state), x, y, False)
    return jnp.sum(each), jnp.float32(each.shape[0])


def write(name, function, batch):
    variables = [*TRAINED.values(), *STATE.values()]
    shapes = [jax.ShapeDtypeStruct(variable.shape, np.float32) for variable in variables]
    data = [jax.ShapeDtypeStruct((batch, 4), np.float32), jax.ShapeDtypeStruct((batch,), np.float32)]
    exported = export.export(jax.jit(function, keep_unused=True))(*shapes, *data)
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write(exported.mlir_module())


for kind, variables in ("trained", TRAINED), ("state", STATE):
    print(kind, {name: list(variable.shape) for name, variable in variables.items()})
write("batch_norm_step.mlir", step, 32)
write("batch_norm_eval.mlir", evaluate, 32)
