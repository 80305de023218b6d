# SPDX-License-Identifier: Apache-2.0
"""Trains a model of ../strategies/models.py with TensorFlow's MultiWorkerMirroredStrategy in several processes, started by
tfd-launch; its loss is read after every step. Rank 0 prints one JSON object.

usage: steps_tensorflow.py MODEL STEPS
"""
import json
import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

import models  # noqa: E402

ROUNDS = 3


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    tf.experimental.numpy.experimental_enable_numpy_behavior()
    name, steps, processes = sys.argv[1], int(sys.argv[2]), int(os.environ["WORLD_SIZE"])
    model = models.all_models()[name]
    ops = models.TensorFlow()
    with strategy.scope():
        parameters = {name: tf.Variable(value) for name, value in model.parameters.items()}
        optimizer = tf.keras.optimizers.Adam(models.RATE, models.BETA1, models.BETA2, models.EPSILON)
        optimizer.build(list(parameters.values()))
    data = tf.data.Dataset.from_tensor_slices(tuple(model.fields.values()))
    data = data.batch(model.batch * processes, drop_remainder=True).repeat().prefetch(2)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batches = iter(strategy.experimental_distribute_dataset(data.with_options(options)))

    def one(*batch):
        with tf.GradientTape() as tape:
            loss = model.loss(ops, {name: tf.convert_to_tensor(v) for name, v in parameters.items()}, batch)
        gradients = tape.gradient(loss, list(parameters.values()))
        optimizer.apply_gradients([(g / processes, v) for g, v in zip(gradients, parameters.values())])
        return loss

    @tf.function
    def step(batch):
        return strategy.reduce("MEAN", strategy.run(one, args=batch), axis=None)

    def go(count):
        begun = time.perf_counter()
        losses = [float(step(next(batches))) for _ in range(count)]
        return count / (time.perf_counter() - begun), losses

    _, first = go(50)
    rate = statistics.median(go(steps)[0] for _ in range(ROUNDS))
    if os.environ["RANK"] == "0":
        print(json.dumps({"peer": "tensorflow", "steps_per_s": round(rate, 1), "losses": first}))


if __name__ == "__main__":
    main()
