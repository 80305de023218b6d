#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Costs of a trivial closure for a coordinator of many workers, beside one of eight, in processor time; and costs of joins,
losses and the like cost the state machines of more tasks than fit on one machine.

usage: run.py BUILD [--workers 8,100,1000,4000] [--closures N] [--states 1000,4000,10000] [--json FILE]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

AT_ONCE = 500  # tasks of one process of the farm
TRIVIAL = pathlib.Path(__file__).resolve().parent.parent / "trivial/program.json"


class Farm:
    """Tasks until the end of the block; `spec` names them all."""

    def __init__(self, build, workers):
        self.parts = [("ps", 0, 1)] + [("worker", i, min(AT_ONCE, workers - i)) for i in range(0, workers, AT_ONCE)]
        self.program = build / "tests/bench/bench-farm"

    def __enter__(self):
        self.processes = [subprocess.Popen([self.program, *map(str, part)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                          for part in self.parts]
        self.spec = {"cluster": {"worker": [], "ps": []}}
        for (job, _, count), process in zip(self.parts, self.processes):
            self.spec["cluster"][job] += [process.stdout.readline().strip() for _ in range(count)]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--workers", default="8,100,1000,4000")
    arguments.add_argument("--closures", type=int, default=100000)
    arguments.add_argument("--states", default="1000,4000,10000")
    arguments.add_argument("--json", type=argparse.FileType("w"))
    given = arguments.parse_args()

    def show(line):
        print("  ".join(f"{key} {value}" for key, value in line.items()), flush=True)
        if given.json:
            given.json.write(json.dumps(line) + "\n")

    least = None
    for workers in map(int, filter(None, given.workers.split(","))):
        with Farm(given.build, workers) as farm, tempfile.NamedTemporaryFile("w", suffix=".json") as spec:
            json.dump(farm.spec, spec)
            spec.flush()
            done = subprocess.run([given.build / "tests/bench/bench-scale", spec.name, TRIVIAL, "add_one", str(given.closures)],
                                  stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{workers} workers: failed")
        line = json.loads(done.stdout)
        least = least or line["closure_cpu_us"]
        line["by_the_first"] = round(line["closure_cpu_us"] / least, 2)
        show(line)
    for tasks in filter(None, given.states.split(",")):
        done = subprocess.run([given.build / "tests/bench/bench-states", tasks], stdout=subprocess.PIPE, text=True, check=True)
        show(json.loads(done.stdout))


if __name__ == "__main__":
    main()
