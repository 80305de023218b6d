#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Costs of a checkpoint for a training of tfd-coordinate: the steps that it makes from the snapshot until the checkpoint exists,
against those that it makes in as much time without one.

usage: checkpoint.py TOOLS DIRECTORY [--mib 1024] [--shards 64] [--rounds 3] [--by coordinator,servers]
One worker updates rows of a table that is on two parameter servers. First the coordinator writes the checkpoints, then the
servers. Prints one JSON object each: lost is the share of those steps that weren't made; pause_s is the longest time without
a step meanwhile; lost_s is how long the steps take that weren't made.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

ROWS = 8  # of a step
WIDTH = 64
EVERY = 20  # steps between two lines
CALM = 3.0  # seconds between two checkpoints, in which the rate is measured

parser = argparse.ArgumentParser()
parser.add_argument("tools")
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--mib", type=int, default=1024)
parser.add_argument("--shards", type=int, default=64)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--by", default="coordinator,servers")
args = parser.parse_args()
os.environ["PATH"] = args.tools + ":" + os.environ["PATH"]
rows = (args.mib << 20) // (4 * WIDTH)

args.directory.mkdir(parents=True, exist_ok=True)
(args.directory / "step.mlir").write_text(f"""module @step {{
  func.func public @main(%rows: tensor<{ROWS}x{WIDTH}xf32>) -> (tensor<f32>, tensor<{ROWS}x{WIDTH}xf32>) {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<{ROWS}x{WIDTH}xf32>, tensor<f32>) -> tensor<f32>
    return %sum, %rows : tensor<f32>, tensor<{ROWS}x{WIDTH}xf32>
  }}
}}
""")
program = args.directory / "program.json"
program.write_text(json.dumps({
    "v": 1,
    "variables": {"table": {"shape": [rows, WIDTH], "init": {"ones": {}}, "partitioner": {"fixed_shards": {"num_shards": args.shards}}}},
    "optimizer": {"sgd": {"learning_rate": 0.001}},
    "datasets": {"ids": [{"range": rows}, {"shuffle": {"buffer": 100000, "seed": 3}}, {"repeat": {}}, {"batch": {"size": ROWS, "drop_remainder": True}}]},
    "functions": {"step": {"module": "step.mlir", "inputs": [{"lookup": "table", "ids": {"dataset": "ids"}}],
                           "outputs": [{"metric": "sum"}, {"gradient": "table", "ids": {"dataset": "ids"}}]}},
    "train": {"function": "step", "steps": 1000000000, "log_every": EVERY,
              "checkpoint": {"dir": "ck", "every": 1000000000, "keep": 1}}}))


def run(by):
    """Times and steps of the lines, and the rounds of checkpoints as (asked, there)."""
    serve = subprocess.Popen(["tfd-serve", "--jobs", "worker=1,ps=2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    (args.directory / "spec.json").write_text(serve.stdout.readline())
    train = subprocess.Popen(["tfd-coordinate", "-q", str(program), "--cluster", str(args.directory / "spec.json"), "--start-over", "--timeout", "120s", "--grace", "300s",
                              "--set", f"train.checkpoint.by={json.dumps(by)}"], stdout=subprocess.PIPE, text=True)
    lines, rounds, asked, due = [], [], None, time.perf_counter() + 2 * CALM
    try:
        for text in train.stdout:
            now, event = time.perf_counter(), json.loads(text)
            if event["event"] == "step":
                lines.append((now, event["step"]))
            if event["event"] == "checkpoint":
                rounds.append((asked, now))
                due = now + CALM
                if len(rounds) == args.rounds:
                    due = float("inf")
                    last = now + CALM
            if len(rounds) == args.rounds and now > last:
                break
            if now > due:
                asked, due = now, float("inf")
                train.send_signal(signal.SIGUSR1)
    finally:
        train.kill()
        train.communicate()
        serve.stdout.close()  # in a pipe it lives as long as its reader
        serve.wait()
    return lines, rounds


def made(lines, begin, end):
    within = [one for one in lines if begin <= one[0] <= end]
    return within[-1][1] - within[0][1] if len(within) > 1 else 0


for by in args.by.split(","):
    lines, rounds = run(by)
    calm = []
    for begin, end in zip([None] + [there for _, there in rounds], [asked for asked, _ in rounds] + [lines[-1][0]]):
        begin = end - CALM if begin is None else begin
        calm.append(made(lines, begin + 0.5, end) / (end - begin - 0.5))
    rate = statistics.median(calm)
    seconds = [there - asked for asked, there in rounds]
    lost = [rate * (there - asked) - made(lines, asked, there) for asked, there in rounds]
    pauses = []
    for asked, there in rounds:
        times = [asked] + [at for at, _ in lines if asked <= at <= there] + [there]
        pauses.append(max(b - a for a, b in zip(times, times[1:])))
    print(json.dumps({
        "by": by, "mib": args.mib, "shards": args.shards, "steps_per_s": round(rate), "checkpoint_s": round(statistics.median(seconds), 2),
        "lost": round(statistics.median(one / (rate * s) for one, s in zip(lost, seconds)), 3),
        "lost_s": round(statistics.median(lost) / rate, 2), "pause_s": round(statistics.median(pauses), 2)}), flush=True)
