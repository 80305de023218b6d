#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives and steps of several processes of this host beside their peers, one after the other in the same run: all-reduces
against OpenMPI, MPICH, gloo (torch) and TensorFlow's RING; steps against one process (mirrored), JAX with gloo and TensorFlow's
MultiWorkerMirroredStrategy. Medians of latencies, and CPU time of a process, which a busy machine hardly changes. Where a
peer isn't here, its columns are missing. The machine's load is printed first, for latencies mean something on an idle one only.

usage: run.py BUILD JAX_PYTHON|- TENSORFLOW_PYTHON|- TORCH_PYTHON|- [--only reduce,steps,link] [--processes 2,4] [--json FILE]
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20)
RING_SIZES = (4 << 10, 1 << 20, 16 << 20)
STEPS = {"digits-mlp": 4000, "transformer": 60}


def ask(*command, **options):
    done = subprocess.run([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        print(f"no {command[0]}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}", file=sys.stderr)
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def launched(build, processes, *command, **options):
    """Its processes write lines to the same pipe."""
    return ask(build / "tools/tfd-launch", "-n", processes, "--no-prefix", "--", *command, **options)


def by_mpi(build, kind, folder, processes):
    """Times of this MPI by itself, and as the engine of tfd's collectives."""
    compiler, runner = shutil.which(f"mpicc.{kind}"), shutil.which(f"mpirun.{kind}")
    if not compiler or not runner:
        return []
    binary, plugin = folder / f"peer-{kind}", folder / f"{kind}.so"
    if not binary.exists():
        made = subprocess.run([compiler, "-O2", "-o", binary, HERE / "peer_mpi.c"], stderr=subprocess.PIPE)
        if made.returncode != 0:
            print(f"no {kind}: {compiler} finds no mpi.h (lib{kind}-dev)", file=sys.stderr)
            return []
        source = HERE.parents[2] / "share/mpi/tfd-mpi.c"
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", plugin, source], check=True)
    more = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if kind == "openmpi" else []
    bench, addresses = build / "tests/bench/bench-collective", folder / f"{kind}-{processes}"
    addresses.mkdir(exist_ok=True)
    ours = ask(runner, "-n", processes, *more, bench, "mpi", f"over_{kind}", addresses, *SIZES, env=os.environ | {"TFD_MPI_PLUGIN": str(plugin)})
    return ask(runner, "-n", processes, *more, binary, kind, *SIZES) + ours


def say(row, to):
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if to:
        to.write(json.dumps(row) + "\n")


def reduce(given, folder):
    for processes in map(int, given.processes.split(",")):
        found = ask(given.build / "tests/bench/bench-collective", processes, *SIZES)
        found += by_mpi(given.build, "openmpi", folder, processes) + by_mpi(given.build, "mpich", folder, processes)
        if given.torch != "-":
            found += launched(given.build, processes, given.torch, HERE / "peer_gloo.py", *SIZES)
        if given.tensorflow != "-":
            found += launched(given.build, processes, given.tensorflow, HERE / "peer_ring.py", *RING_SIZES)
        for size in SIZES:
            ways = {one["way"]: one for one in found if one["bytes"] == size}
            row = {"all_reduce": f"{size >> 10} KiB", "processes": processes}
            for way, one in ways.items():
                row |= {f"{way}_us": one["median_us"], f"{way}_cpu_us": one["cpu_us"]}
            ratios = [("shm", "openmpi"), ("shm", "mpich"), ("shm", "tensorflow"), ("tcp", "gloo"), ("tcp", "tensorflow"),
                      ("tcp", "bare"), ("over_openmpi", "openmpi"), ("over_mpich", "mpich")]
            for ours, peer in ratios:
                if ours in ways and peer in ways:
                    row[f"{ours}_by_{peer}"] = round(ways[peer]["median_us"] / ways[ours]["median_us"], 2)
            if "encrypted" in ways:
                row["encrypted_by_plain_time"] = round(ways["encrypted"]["median_us"] / ways["tcp"]["median_us"], 2)
            say(row, given.json)


def rate_of(events, key):
    rates = [event["rates"]["steps_per_second"] for event in events if event["event"] == "step"][1:]
    losses = [event["metrics"]["loss"] for event in events if event["event"] == "step"]
    return {f"{key}": round(statistics.median(rates), 1)} if rates else {}, losses


def steps(given, folder):
    environment = os.environ | {"PYTHONPATH": f"{HERE}:{HERE.parent / 'strategies'}", "TFD_CACHE_DIR": str(folder / "cache")}
    if given.jax == "-":
        print("no JAX here: nothing to export the models with", file=sys.stderr)
        return
    for model, count in STEPS.items():
        program = folder / model
        ask(given.jax, HERE.parent / "strategies/export.py", model, program, count, env=environment)
        tfd_run = [given.build / "tools/tfd-run", program / "program.json", "--set", f"train.log_every={count}", "--set",
                   f"train.steps={6 * count}"]
        row, losses = {"steps": model, "processes": 2}, {}
        for name, run in (("mirrored", lambda: ask(*tfd_run, "--strategy", "mirrored", "--replicas", 2, env=environment)),
                          ("shm", lambda: group("shm")), ("tcp", lambda: group("tcp"))):
            def group(engine):
                return launched(given.build, 2, *tfd_run, "--strategy", "multi-worker-mirrored", "--key-file", "none",
                                "--collectives", engine, env=environment)

            rate, losses[name] = rate_of(run(), name)
            row |= rate
        fewer = max(10, count // 20)
        peers = launched(given.build, 2, given.jax, HERE / "steps_jax.py", model, fewer, env=environment | {"JAX_PLATFORMS": "cpu"})
        if given.tensorflow != "-":
            peers += launched(given.build, 2, given.tensorflow, HERE / "steps_tensorflow.py", model, fewer, env=environment)
        for peer in peers:
            row[peer["peer"]] = peer["steps_per_s"]
        for ours in ("shm", "tcp"):
            for peer in ("mirrored", "jax", "tensorflow"):
                if ours in row and peer in row:
                    row[f"{ours}_by_{peer}"] = round(row[ours] / row[peer], 2)
        say(row, given.json)


class Link:
    """Two hosts as network namespaces, between them a cable of a given rate, shaped as tc does."""

    def __init__(self, bits):
        self.bits, self.ends = bits, [f"tfd-bench-{os.getpid()}-{i}" for i in range(2)]

    def __enter__(self):
        def run(*words):
            subprocess.run([str(word) for word in words], check=True, stderr=subprocess.DEVNULL)

        for end in self.ends:
            run("ip", "netns", "add", end)
            run("ip", "-n", end, "link", "set", "lo", "up")
        run("ip", "link", "add", "eth0", "netns", self.ends[0], "type", "veth", "peer", "name", "eth0", "netns", self.ends[1])
        for i, end in enumerate(self.ends):
            run("ip", "-n", end, "address", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
            run("ip", "-n", end, "link", "set", "eth0", "up")
            run("tc", "-n", end, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", self.bits, "burst", "256kb", "latency", "50ms")
        return self

    def __exit__(self, *_):
        for end in self.ends:
            subprocess.run(["ip", "netns", "del", end], stderr=subprocess.DEVNULL)

    def run(self, commands, **options):
        """A command at each end; what the first one prints."""
        processes = [subprocess.Popen(["ip", "netns", "exec", end, *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True, **options)
                     for end, command in zip(self.ends, commands)]
        outputs = [process.communicate()[0] for process in processes]
        return [json.loads(line) for line in outputs[0].splitlines() if line.startswith("{")]


def link(given, folder):
    """Steps over a cable of 1 Gbit/s, beside the longer of what they compute and what they send; a core for each process.

    Their computation is measured with both at work, too, since they share the memory of one machine here."""
    if os.geteuid() != 0 or not shutil.which("tc"):
        print("no link: it needs root, ip and tc", file=sys.stderr)
        return
    bits = 10**9
    environment = os.environ | {"PYTHONPATH": str(HERE.parent / "strategies"), "TFD_CACHE_DIR": str(folder / "cache"), "PJRT_NPROC": "1"}
    model, count = "transformer", 30
    program = folder / f"link-{model}"
    ask(given.jax, HERE.parent / "strategies/export.py", model, program, count, env=environment)
    sent = sum(4 * math.prod(one["shape"]) for one in json.loads((program / "program.json").read_text())["variables"].values())
    tfd_run = [given.build / "tools/tfd-run", program / "program.json", "--set", f"train.log_every={count}", "--set",
               f"train.steps={4 * count}"]
    spec = folder / "spec.json"
    spec.write_text(json.dumps({"cluster": {"worker": ["10.77.0.1:7000", "10.77.0.2:7000"]}}))
    with Link(bits) as cable:
        group = [[*tfd_run, "--strategy", "multi-worker-mirrored", "--cluster", spec, "--task", f"worker:{i}", "--key-file", "none",
                  "--insecure"] for i in range(2)]
        # In turns, since the machine may be slower for a while.
        turns = [[rate_of(cable.run(commands, env=environment), "rate")[0].get("rate")
                  for commands in ([[*tfd_run, "--strategy", "one-device"]] * 2, group)] for _ in range(5)]
    if not all(rate for turn in turns for rate in turn):
        print("no link: a training failed", file=sys.stderr)
        return
    compute, step = (1e3 / statistics.median(rates) for rates in zip(*turns))
    transfer = 8e3 * sent / bits
    say({"link": "1 Gbit/s", "steps": model, "sent_MB": round(sent / 1e6, 1), "compute_ms": round(compute, 1),
         "transfer_ms": round(transfer, 1), "step_ms": round(step, 1), "by_the_longer": round(step / max(compute, transfer), 2),
         "by_the_sum": round(step / (compute + transfer), 2)}, given.json)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", type=pathlib.Path)
    for name in ("jax", "tensorflow", "torch"):
        arguments.add_argument(name)
    arguments.add_argument("--only", default="reduce,steps,link")
    arguments.add_argument("--processes", default="2,4")
    arguments.add_argument("--json", type=argparse.FileType("w"))
    given = arguments.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    with tempfile.TemporaryDirectory() as work:
        if "reduce" in given.only:
            reduce(given, pathlib.Path(work))
        if "steps" in given.only:
            steps(given, pathlib.Path(work))
        if "link" in given.only:
            link(given, pathlib.Path(work))


if __name__ == "__main__":
    main()
