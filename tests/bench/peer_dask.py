# SPDX-License-Identifier: Apache-2.0
"""The same as bench_coordinate.cpp with Dask's scheduler: 2 workers, an actor on a third one in the place of the parameter server, a
trivial task, and two that read an array of the actor and add to it, of 1 000 floats and of 4 MiB.

Prints one JSON object. usage: peer_dask.py [COUNT]
"""
import sys

import distributed
import numpy

import peer
import peer_server


def add_one(x, _):
    return x + 1


def add(server, _):
    server.add(server.read().result() * numpy.float32(0.5) + numpy.float32(1)).result()


def main():
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        *workers, server = sorted(client.scheduler_info()["workers"])

        def run(function, argument, count):
            # Tasks with the same arguments would be one: each has a number.
            client.gather(client.map(function, [argument] * count, range(count), pure=False, workers=workers))

        servers = {elements: client.submit(peer_server.Server, elements, actor=True, workers=[server]).result() for elements in (1000, 1 << 20)}
        peer.measure(f"dask {distributed.__version__}", int(sys.argv[1]) if len(sys.argv) > 1 else 3000,
                     closures=lambda count: run(add_one, 1, count), add_1000=lambda count: run(add, servers[1000], count),
                     add_4mib=lambda count: run(add, servers[1 << 20], count),
                     one=lambda: client.submit(add_one, 1, 0, pure=False, workers=workers).result())


if __name__ == "__main__":
    main()
