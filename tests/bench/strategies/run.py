#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings on 1, 2 and 4 devices by tfd-run, JAX and TensorFlow's MirroredStrategy, and the bare PJRT loop on one: the
same models, the same values, one after the other in the same run. Prints a table, and one JSON object per row to --json.

usage: run.py BUILD JAX_PYTHON TENSORFLOW_PYTHON|- [--models A,B] [--devices 1,2,4] [--kind cpu|gpu] [--json FILE]
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Steps of one of five rounds: about a second each.
STEPS = {"digits-mlp": 4000, "digits-cnn": 600, "transformer": 60, "scalars-800": 300}
FIRST = 50  # losses that are compared


def ask(*command, **options):
    done = subprocess.run([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return done.stdout


def last_object(text):
    return text if isinstance(text, dict) else json.loads(text.strip().splitlines()[-1])


def tfd(build, folder, devices, steps, kind):
    """A training of five rounds; a second one, which logs every step, for the losses."""
    def run(count, every):
        chosen = devices if kind == "cpu" else ",".join(f"{kind}:{i}" for i in range(devices))
        events = ask(build / "tools/tfd-run", "--devices", chosen, "--strategy", "one-device" if devices == 1 else "mirrored",
                     "--set", f"train.steps={count}", "--set", f"train.log_every={every}", folder / "program.json")
        if isinstance(events, dict):
            return events
        return [event for event in map(json.loads, events.splitlines()) if event["event"] == "step"]

    first, all_steps = run(FIRST, 1), run(6 * steps, steps)
    if isinstance(all_steps, dict) or isinstance(first, dict):
        return first if isinstance(first, dict) else all_steps
    rates = [event["rates"]["steps_per_second"] for event in all_steps[1:]]  # in the first one is what begins
    return {"peer": "tfd", "steps_per_s": statistics.median(rates), "losses": [event["metrics"]["loss"] for event in first]}


def difference(one, other):
    return max(abs(a - b) for a, b in zip(one, other)) if one and other else math.nan


def row_of(model, devices, peers):
    ours = peers["tfd"]
    row = {"model": model, "devices": devices}
    for name, peer in peers.items():
        row[name] = peer.get("error") or round(peer["steps_per_s"], 1)
        if "steps_per_s_loss_every_50" in peer:
            row["jax_loss_every_50"] = round(peer["steps_per_s_loss_every_50"], 1)
        if name != "tfd" and "error" not in peer and "error" not in ours:
            row[f"by_{name}"] = round(ours["steps_per_s"] / peer["steps_per_s"], 2)
            row[f"loss_difference_{name}"] = float(f"{difference(ours['losses'], peer['losses']):.2g}")
    if "bare" in peers and "error" not in ours and "error" not in peers["bare"]:
        row["us_above_bare"] = round(1e6 / ours["steps_per_s"] - 1e6 / peers["bare"]["steps_per_s"], 1)
    return row


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("jax")
    arguments.add_argument("tensorflow")
    arguments.add_argument("--models", default=",".join(STEPS))
    arguments.add_argument("--devices", default="1,2,4")
    arguments.add_argument("--kind", default="cpu", help="of tfd's devices; JAX takes what it finds")
    arguments.add_argument("--json", type=argparse.FileType("w"))
    given = arguments.parse_args()
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    with tempfile.TemporaryDirectory() as work:
        for model in given.models.split(","):
            folder, steps = pathlib.Path(work) / model, STEPS[model]
            made = ask(given.jax, HERE / "export.py", model, folder, steps, env=environment)
            if isinstance(made, dict):
                sys.exit(f"{model}: {made['error']}")
            for devices in map(int, given.devices.split(",")):
                peers = {"tfd": tfd(given.build, folder, devices, steps, given.kind)}
                if devices == 1 and given.kind == "cpu" and (given.build / "tests/bench/bare-step").exists():
                    peers["bare"] = last_object(ask(given.build / "tests/bench/bare-step", folder, steps))
                for name, python in (("jax", given.jax), ("tensorflow", given.tensorflow)):
                    if python != "-":
                        peers[name] = last_object(ask(python, HERE / f"peer_{name}.py", model, devices,
                                                      max(10, steps // (1 if devices == 1 else 4)), env=environment))
                row = row_of(model, devices, peers)
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                if given.json:
                    given.json.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
