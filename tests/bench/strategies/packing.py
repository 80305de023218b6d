#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Costs of small variables as slices of a pack (--step fused) and as views of it (--step threads), beside JAX, which has
each by itself: CPU seconds of a run of a few steps with an empty compile cache, nearly all of it compiling, and steps/s:
figures for the limits in lib/strategy/device/device_layout.cpp. A model of N variables of E elements each is N residual layers
that have one each. Prints a table.

The curve on two cores that were busy, in CPU seconds (slices, views, JAX), which is why 16 variables are the limit:
    16 elements:   8 variables 2.5 1.7 1.6   16: 3.4 2.6 2.7   50: 12.4 8.4 8.8   300: more than 100, all three
    256 elements:  8 variables 1.8 1.6 1.9   16: 2.0 1.6 1.9   50: 2.7 2.0 3.3

usage: packing.py TFD_RUN JAX_PYTHON [--elements 1,16,256,4096,16384] [--numbers 16,50,300,1000] [--limit SECONDS]
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 200


def cpu_of(command, limit, **options):
    """(CPU seconds, what it printed), or None where it takes longer than `limit`, or fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=limit, **options)
    except subprocess.TimeoutExpired:
        return None
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout) if done.returncode == 0 else None


def steps_per_s(printed):
    last = [json.loads(line) for line in printed.splitlines()][-2]  # before the end
    return last["rates"]["steps_per_second"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tfd_run", type=pathlib.Path)
    arguments.add_argument("jax")
    arguments.add_argument("--elements", default="1,16,256,4096,16384")
    arguments.add_argument("--numbers", default="16,50,300,1000")
    arguments.add_argument("--limit", type=float, default=300)
    given = arguments.parse_args()
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    print("elements  number  slices: s, steps/s  views: s, steps/s  JAX: s, steps/s")
    for elements in given.elements.split(","):
        for number in given.numbers.split(","):
            with tempfile.TemporaryDirectory() as work:
                model, row = f"layers-{elements}x{number}", []
                subprocess.run([given.jax, HERE / "export.py", model, work, "0"], env=environment, check=True)
                for way in ("fused", "threads"):
                    ran = cpu_of([given.tfd_run, "-q", "--step", way, "--set", f"train.steps={STEPS}", "--set", f"train.log_every={STEPS // 2}",
                                  pathlib.Path(work) / "program.json"], given.limit, env=environment | {"TFD_CACHE_DIR": f"{work}/{way}"})
                    row.append(f"{ran[0]:.1f} {steps_per_s(ran[1]):.0f}" if ran else "-")
                ran = cpu_of([given.jax, HERE / "peer_jax.py", model, "1", "20"], given.limit, env=environment)
                row.append(f"{ran[0]:.1f} {json.loads(ran[1].splitlines()[-1])['steps_per_s']:.0f}" if ran else "-")
                print(f"{elements:>8}  {number:>6}  {row[0]:>18}  {row[1]:>17}  {row[2]:>15}", flush=True)


if __name__ == "__main__":
    main()
