# SPDX-License-Identifier: Apache-2.0
"""The same as bench_coordinate.cpp with Ray: 2 workers, an actor in the place of the parameter server, a trivial task, and two
that read an array of the actor and add to it, of 1 000 floats and of 4 MiB.

Prints one JSON object. usage: peer_ray.py [COUNT]
"""
import sys

import numpy
import ray

import peer
import peer_server


@ray.remote
def add_one(x):
    return x + 1


@ray.remote
def add(server):
    value = ray.get(server.read.remote())
    ray.get(server.add.remote(value * numpy.float32(0.5) + numpy.float32(1)))


def main():
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)

    def run(function, argument, count):
        ray.get([function.remote(argument) for _ in range(count)])

    server = ray.remote(num_cpus=0)(peer_server.Server)
    servers = {elements: server.remote(elements) for elements in (1000, 1 << 20)}
    peer.measure(f"ray {ray.__version__}", int(sys.argv[1]) if len(sys.argv) > 1 else 6000,
                 closures=lambda count: run(add_one, 1, count), add_1000=lambda count: run(add, servers[1000], count),
                 add_4mib=lambda count: run(add, servers[1 << 20], count), one=lambda: ray.get(add_one.remote(1)))
    ray.shutdown()


if __name__ == "__main__":
    main()
