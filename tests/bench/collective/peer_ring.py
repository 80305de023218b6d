# SPDX-License-Identifier: Apache-2.0
"""All-reduces of f32 by TensorFlow's MultiWorkerMirroredStrategy, its RING over gRPC: a process of several, started by tfd-launch.
Rank 0 prints a JSON object for each size, as bench-collective does.

usage: peer_ring.py BYTES…   (with TensorFlow)
"""
import json
import os
import resource
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402


def cpu_us():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e6 * (used.ru_utime + used.ru_stime)


def main():
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

    @tf.function
    def reduce(values):
        def one(x):
            # An argument itself has no device: TensorFlow refuses it.
            return tf.distribute.get_replica_context().all_reduce("SUM", tf.identity(x))

        return strategy.run(one, args=(values,))

    for size in map(int, sys.argv[1:]):
        values, times, before = tf.zeros(size // 4), [], 0
        count = min(max((16 << 20) // size, 3), 200)
        for i in range(-3, count):
            if i == 0:
                before = cpu_us()
            began = time.perf_counter()
            reduce(values).numpy()
            if i >= 0:
                times.append(1e6 * (time.perf_counter() - began))
        if os.environ["RANK"] == "0":
            print(json.dumps({"way": "tensorflow", "processes": int(os.environ["WORLD_SIZE"]), "bytes": size,
                              "median_us": round(sorted(times)[count // 2], 1), "least_us": round(min(times), 1),
                              "cpu_us": round((cpu_us() - before) / count, 1)}), flush=True)


if __name__ == "__main__":
    main()
