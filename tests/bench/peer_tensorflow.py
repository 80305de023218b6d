# SPDX-License-Identifier: Apache-2.0
"""The same as bench_coordinate.cpp with TensorFlow's ClusterCoordinator: 2 workers, 1 ps, a trivial tf.function.

Prints one JSON object. usage: peer_tensorflow.py [COUNT]
"""
import json
import multiprocessing
import os
import socket
import sys
import time

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

    def run(n):
        start = time.perf_counter()
        for _ in range(n):
            coordinator.schedule(add_one, args=(one,))
        coordinator.join()
        return n / (time.perf_counter() - start)

    run(max(count // 10, 50))
    rate = run(count)
    times = []
    for _ in range(300):
        start = time.perf_counter()
        coordinator.schedule(add_one, args=(one,)).fetch()
        times.append(time.perf_counter() - start)
    times.sort()
    print(json.dumps({"peer": f"tensorflow {tf.__version__}", "closures_per_s": round(rate),
                      "schedule_to_fetch_median_us": round(times[len(times) // 2] * 1e6, 1),
                      "p99_us": round(times[len(times) * 99 // 100] * 1e6, 1)}), flush=True)
    for child in children:
        child.kill()
    os._exit(0)  # TensorFlow's threads to dead servers would wait


if __name__ == "__main__":
    main()
