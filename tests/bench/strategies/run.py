#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings on 1, 2 and 4 devices by tfd-run, JAX and TensorFlow's MirroredStrategy, and the bare PJRT loop on one: the
same models, the same values, one after the other in the same run. Prints a table, and one JSON object per row to --json: steps/s;
seconds from the start of the process to its first step, with an empty compile cache and with a full one (tfd, JAX); the highest
resident memory, in MiB.

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
import time

HERE = pathlib.Path(__file__).resolve().parent
# Steps of one of five rounds: about a second each.
STEPS = {"digits-mlp": 4000, "digits-cnn": 600, "transformer": 60, "scalars-800": 300, "blocks-1000": 60, "lstm": 100}
FIRST = 50  # losses that are compared


def ask(*command, **options):
    done = subprocess.run([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return done.stdout


def first_step(*command, **options):
    """Seconds until its first step, what it printed, and the memory that it needed."""
    begun, seconds, lines = time.monotonic(), None, []
    process = subprocess.Popen([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
    for line in process.stdout:
        lines.append(line)
        if seconds is None and '"event"' in line and json.loads(line)["event"] == "step":
            seconds = time.monotonic() - begun
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or seconds is None:
        return {"error": f"exit code {process.returncode}"}
    return {"first_step_s": round(seconds, 2), "max_rss_MiB": usage.ru_maxrss // 1024, "text": "".join(lines)}


def last_object(text):
    return text if isinstance(text, dict) else json.loads(text.strip().splitlines()[-1])


def tfd(build, folder, devices, steps, kind):
    """A training of five rounds; before it two that log every step, for the losses and for how they begin."""
    def run(count, every):
        chosen = devices if kind == "cpu" else ",".join(f"{kind}:{i}" for i in range(devices))
        ran = first_step(build / "tools/tfd-run", "--devices", chosen, "--strategy", "one-device" if devices == 1 else "mirrored",
                         "--set", f"train.steps={count}", "--set", f"train.log_every={every}", folder / "program.json",
                         env=os.environ | {"TFD_CACHE_DIR": str(folder / f"cache{devices}")})
        if "error" not in ran:
            ran["events"] = [event for event in map(json.loads, ran["text"].splitlines()) if event["event"] == "step"]
        return ran

    cold, warm, whole = run(FIRST, 1), run(1, 1), run(6 * steps, steps)
    for one in (cold, warm, whole):
        if "error" in one:
            return {"error": one["error"]}
    rates = [event["rates"]["steps_per_second"] for event in whole["events"][1:]]  # in the first one is what begins
    return {"peer": "tfd", "steps_per_s": statistics.median(rates), "losses": [event["metrics"]["loss"] for event in cold["events"]],
            "cold_s": cold["first_step_s"], "warm_s": warm["first_step_s"], "MiB": cold["max_rss_MiB"]}


def jax(python, model, folder, devices, steps, environment):
    """Twice with the same compile cache."""
    environment = environment | {"JAX_COMPILATION_CACHE_DIR": str(folder / f"jax{devices}"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    command = (python, HERE / "peer_jax.py", model, devices)
    cold, warm = first_step(*command, 1, env=environment), first_step(*command, steps, env=environment)
    for one in (cold, warm):
        if "error" in one:
            return one
    return last_object(warm["text"]) | {"cold_s": cold["first_step_s"], "warm_s": warm["first_step_s"], "MiB": cold["max_rss_MiB"]}


def difference(one, other):
    return max(abs(a - b) for a, b in zip(one, other)) if one and other else math.nan


def row_of(model, devices, peers):
    ours = peers["tfd"]
    row = {"model": model, "devices": devices}
    for name, peer in peers.items():
        row[name] = peer.get("error") or round(peer["steps_per_s"], 1)
        row |= {f"{name}_{column}": peer[column] for column in ("cold_s", "warm_s", "MiB") if column in peer}
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
                fewer = max(10, steps // (1 if devices == 1 else 4))
                peers["jax"] = jax(given.jax, model, folder, devices, fewer, environment)
                if given.tensorflow != "-":
                    peers["tensorflow"] = last_object(
                        ask(given.tensorflow, HERE / "peer_tensorflow.py", model, devices, fewer, env=environment))
                row = row_of(model, devices, peers)
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                if given.json:
                    given.json.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
