#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports this example, a Keras model with batch normalization and dropout, by tfd_export: program.json, its modules, and the initial weights.

usage: pip install keras==3.15.1 jax==0.10.2 && python export.py

It also trains the model in Keras, and writes the losses to keras-losses.json: tests demand that tfd has the same. Those of several replicas are
of a loop over the model's own loss, as a synchronous strategy is defined: each replica has its share of the batch and its seeds, gradients and
moving averages are the mean of theirs, and Keras' optimizer applies them.
Made with keras 3.15.1, jax 0.10.2, jaxlib 0.10.2, numpy 2.4 and Python 3.11, on CPU.
"""
import json
import os
import pathlib
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

BATCH, STEPS, TRAIN_STEPS = 64, 50, 600


def make_model():
    def block(i, filters):
        return [keras.layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"conv{i}"),
                keras.layers.BatchNormalization(momentum=0.9, name=f"norm{i}"), keras.layers.ReLU(), keras.layers.MaxPooling2D()]

    model = keras.Sequential([
        keras.Input((64,)), keras.layers.Rescaling(1 / 16), keras.layers.Reshape((8, 8, 1)), *block(1, 8), *block(2, 16),
        keras.layers.Flatten(), keras.layers.Dropout(0.3, name="dropout"), keras.layers.Dense(10, name="classes")], name="cnn")
    rate = keras.optimizers.schedules.CosineDecay(0.0, TRAIN_STEPS, warmup_target=0.01, warmup_steps=20)
    model.compile(keras.optimizers.AdamW(rate, weight_decay=0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def pipeline(name, *stages):
    fields = {"image": {"columns": [0, 64], "dtype": "f32"}, "label": {"columns": 64, "dtype": "s32"}}
    return [{"csv": {"path": f"../digits/digits-{name}.csv", "fields": fields}}, *stages]


def rows_of(name):
    rows = np.loadtxt(HERE.parent / "digits" / f"digits-{name}.csv", "float32", delimiter=",")
    return rows[:, :64], rows[:, 64].astype("int32")


def batches(images, labels):
    for step in range(STEPS):
        places = np.arange(step * BATCH, (step + 1) * BATCH) % len(images)
        yield images[places], labels[places]


def shortened(losses):
    return [float(str(np.float32(loss))) for loss in losses]


def losses_in_keras(model, train):
    losses = []
    for image, label in batches(*train):
        model.reset_metrics()  # else it is the mean of all steps
        losses.append(model.train_on_batch(image, label)[0])
    return shortened(losses)


def losses_of_replicas(model, train, replicas):
    """The losses of steps on `replicas` replicas, each with its share of a batch and with its own seeds: those of replica 0 are Keras'."""
    seeds = ["seed_generator" in variable.path for variable in model.non_trainable_variables]

    def loss(trained, others, image, label):
        logits, others = model.stateless_call(trained, others, image, training=True)
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(label, logits), others

    @jax.jit
    def step(trained, others, slots, images, labels):
        outcomes = []
        for replica in range(replicas):
            own = [value + np.array([replica, 0], "uint32") if seed else value for value, seed in zip(others, seeds)]
            outcomes.append(jax.value_and_grad(loss, has_aux=True)(trained, own, images[replica], labels[replica]))
        (mean, averages), gradients = jax.tree.map(lambda *values: sum(values) / replicas, *outcomes)
        others = [first if seed else average for first, average, seed in zip(outcomes[0][0][1], averages, seeds)]
        trained, slots = model.optimizer.stateless_apply(slots, gradients, trained)
        return trained, others, slots, mean

    model.optimizer.build(model.trainable_variables)
    groups = (model.trainable_variables, model.non_trainable_variables, model.optimizer.variables)
    trained, others, slots = ([variable.value for variable in group] for group in groups)
    losses = []
    for image, label in batches(*train):
        trained, others, slots, mean = step(trained, others, slots, image.reshape(replicas, -1, 64), label.reshape(replicas, -1))
        losses.append(mean)
    return shortened(losses)


def main():
    keras.utils.set_random_seed(1)
    model = make_model()
    train, test = rows_of("train"), rows_of("test")
    stages = [{"shuffle": {"buffer": 2000}}, {"repeat": {}}, {"batch": {"size": BATCH, "drop_remainder": True}}]
    program = tfd_export.keras(model, batch=(train[0][:BATCH], train[1][:BATCH]), fields=["image", "label"], to=HERE,
                               data=pipeline("train", *stages), train={"steps": TRAIN_STEPS})
    program.evaluation(data=pipeline("test", {"batch": {"size": BATCH}}), every=200)
    program.prediction()
    record = {"keras": keras.__version__, "jax": jax.__version__}
    for replicas in (2, 4):
        record[f"losses_of_{replicas}"] = losses_of_replicas(model, train, replicas)
    record["losses"] = losses_in_keras(model, train)
    record["test_loss"], record["test_accuracy"] = shortened(model.evaluate(*test, batch_size=BATCH, verbose=0))
    (HERE / "keras-losses.json").write_text(json.dumps(record) + "\n")
    print(f"keras: loss {record['losses'][0]:.4f} at first, {record['losses'][-1]:.4f} after {STEPS} steps, test accuracy {record['test_accuracy']:.3f}")


if __name__ == "__main__":
    main()
