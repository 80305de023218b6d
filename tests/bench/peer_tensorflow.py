# SPDX-License-Identifier: Apache-2.0
"""The same as bench_coordinate.cpp with TensorFlow's ClusterCoordinator: 2 workers, 1 ps, a trivial tf.function, and two that
read a variable and add to it, of 1 000 floats and of 4 MiB.

Prints one JSON object. usage: peer_tensorflow.py [COUNT]
"""
import multiprocessing
import os
import socket
import sys

import peer

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(cluster, job, index):
    import tensorflow as tf

    server = tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=job, task_index=index, protocol="grpc", start=True)
    server.join()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    cluster = {job: [f"127.0.0.1:{free_port()}" for _ in range(n)] for job, n in (("worker", 2), ("ps", 1))}
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=serve, args=(cluster, job, i), daemon=True)
                for job, tasks in cluster.items() for i in range(len(tasks))]
    for child in children:
        child.start()
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({**cluster, "chief": [f"127.0.0.1:{free_port()}"]}), rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    @tf.function
    def add_one(x):
        return x + 1

    one = tf.constant(1, tf.int64)

    def adding(elements):
        with strategy.scope():
            variable = tf.Variable(tf.zeros(elements))

        @tf.function
        def add():
            variable.assign_add(variable * 0.5 + 1.0)

        return add

    def run(function, args, n):
        for _ in range(n):
            coordinator.schedule(function, args=args)
        coordinator.join()

    small, large = adding(1000), adding(1 << 20)
    peer.measure(f"tensorflow {tf.__version__}", count, closures=lambda n: run(add_one, (one,), n),
                 add_1000=lambda n: run(small, (), n), add_4mib=lambda n: run(large, (), n),
                 one=lambda: coordinator.schedule(add_one, args=(one,)).fetch())
    for child in children:
        child.kill()
    os._exit(0)  # TensorFlow's threads to dead servers would wait


if __name__ == "__main__":
    main()
