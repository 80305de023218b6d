#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Costs of a start: the time of one step with more and more variables, from one weights file and from zeros, and the
memory of one step with large variables, from a weights file and from a checkpoint.

usage: start.py TFD_RUN DIRECTORY
Prints one JSON object a case. Fails over its budgets: four times the variables take at most five times as long, and at
its peak a process has at most 1.2 times the variables and slots of all its devices, beside what it has with few.
"""
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

TIMES = 5
MEMORY = 1.2
SIDE = 2048  # of a large matrix: 16 MiB
MATRICES = 8
tfd_run, directory = sys.argv[1], pathlib.Path(sys.argv[2])
failed = []


def run(program, devices=1, steps=1):
    """Seconds of it all, and the most memory that it had before its first step, in bytes: until then it has no data."""
    data = program.parent / "data"
    data.unlink(missing_ok=True)
    os.mkfifo(data)
    command = [tfd_run, "-q", "--devices", str(devices), "--set", f"train.steps={steps}", str(program)]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        started = process.stdout.readline()
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text() if started else ""
        if started:
            data.write_text("1\n" * (devices * steps))
        process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"start.py: {' '.join(command)} failed")
    return time.perf_counter() - begun, int(re.search(r"VmHWM:\s*(\d+)", status).group(1)) * 1024


def write_weights(path, shapes):
    """Zeros, which take no place on the disk."""
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + end)


def write_program(at, shapes, trained, weights=True, optimizer="adam", checkpoint=False):
    """A step whose gradient of a variable is its value."""
    at.mkdir(parents=True, exist_ok=True)
    types = [f"tensor<{'x'.join(map(str, [*shapes[name], 'f32']))}>" for name in trained]
    arguments = ", ".join(f"%v{i}: {one}" for i, one in enumerate(types))
    values = ", ".join(f"%v{i}" for i in range(len(types)))
    (at / "step.mlir").write_text(
        f"module @step {{\n  func.func public @main({arguments}, %x: tensor<1xf32>) -> ({', '.join(types)}) {{\n"
        f"    return {values} : {', '.join(types)}\n  }}\n}}\n"
    )
    data = {"argv": ["cat", str(at / "data")], "format": "csv", "header": False, "fields": {"x": {"columns": 0}}}
    program = {
        "v": 1,
        "variables": {n: {"shape": s} | ({} if weights else {"init": {"zeros": {}}}) for n, s in shapes.items()},
        "optimizer": {optimizer: {"learning_rate": 0.001}},
        "datasets": {"d": [{"command": data}, {"batch": {"size": 1}}]},
        "functions": {
            "f": {
                "module": "step.mlir",
                "inputs": [{"variable": n} for n in trained] + [{"dataset": "d", "field": "x"}],
                "outputs": [{"gradient": n} for n in trained],
            }
        },
        "train": {"function": "f", "steps": 1},
    }
    if weights:
        write_weights(at / "weights.safetensors", shapes)
        program["weights"] = "weights.safetensors"
    if checkpoint:
        program["train"]["checkpoint"] = {"dir": "checkpoints"}
    (at / "program.json").write_text(json.dumps(program))
    return at / "program.json"


def many():
    seconds = {}
    for weights in (True, False):
        for count in (250, 1000):
            shapes = {f"v{i}": [4] for i in range(count)}
            at = directory / f"{count}-{weights}"
            program = write_program(at, shapes, ["v0"], weights, "sgd")
            seconds[weights, count] = min(run(program)[0] for _ in range(3))
            source = "weights" if weights else "zeros"
            print(json.dumps({"variables": count, "from": source, "seconds": round(seconds[weights, count], 3)}))
        if seconds[weights, 1000] > TIMES * seconds[weights, 250]:
            failed.append(f"1000 variables take {seconds[weights, 1000] / seconds[weights, 250]:.1f} times as long as 250")


def large():
    few = write_program(directory / "few", {"v0": [4]}, ["v0"])
    shapes = {f"v{i}": [SIDE, SIDE] for i in range(MATRICES)}
    program = write_program(directory / "large", shapes, list(shapes), checkpoint=True)
    state = 3 * 4 * MATRICES * SIDE * SIDE  # Adam keeps two slots
    for devices in (1, 2):
        base = run(few, devices)[1]
        for steps, source in enumerate(("weights", "checkpoint"), 1):
            peak = run(program, devices, steps)[1] - base
            ratio = peak / (state * devices)
            case = {"devices": devices, "from": source, "state": state * devices, "peak": peak, "ratio": round(ratio, 3)}
            print(json.dumps(case))
            if ratio > MEMORY:
                failed.append(f"from {source} on {devices} devices a start takes {ratio:.2f} times its state")
        shutil.rmtree(directory / "large" / "checkpoints")


many()
large()
for one in failed:
    print(f"start.py: {one}", file=sys.stderr)
sys.exit(bool(failed))
