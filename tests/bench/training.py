#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small model on parameter servers against one jitted JAX loop on the same machine: the digits of `./dev bench strategies`
on three workers and two servers, and JAX's step of the same model, in turns. Prints a JSON object: steps/s and processor time
of a step (of the cluster over all its processes), and their ratios; of each the median and [the least, the most].

usage: training.py TOOLS JAX_PYTHON DIRECTORY [--jobs worker=3,ps=2] [--rounds 5] [--seconds 5]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent / "strategies"
MODEL, STEPS = "digits-mlp", 4000  # of a round of JAX's

parser = argparse.ArgumentParser()
parser.add_argument("tools")
parser.add_argument("jax")
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--jobs", default="worker=3,ps=2")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=5)
args = parser.parse_args()
os.environ["PATH"] = args.tools + ":" + os.environ["PATH"]
os.environ["PYTHONPATH"] = str(HERE)


def processor_seconds(pids):
    """CPU time of all threads of these processes."""
    return sum(int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
               for pid in pids for task in os.listdir(f"/proc/{pid}/task")) / 1e9


def ours(program):
    """Steps/s and microseconds of processor time of a step, once the training is under way."""
    serve = subprocess.Popen(["tfd-serve", "--jobs", args.jobs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    spec = args.directory / "spec.json"
    spec.write_text(serve.stdout.readline())
    train = subprocess.Popen(["tfd-coordinate", "-q", "--cluster", str(spec), "--set", "train.steps=1000000000", "--set", "train.log_every=500",
                              str(program)], stdout=subprocess.PIPE, text=True)
    pids = [train.pid] + [int(pid) for pid in pathlib.Path(f"/proc/{serve.pid}/task/{serve.pid}/children").read_text().split()]
    begun = None
    try:
        for event in map(json.loads, train.stdout):
            now = time.perf_counter()
            if event["event"] == "step" and begun is None and event["step"] >= 1000:
                begun = (now, event["step"], processor_seconds(pids))
            if event["event"] == "step" and begun is not None and now > begun[0] + args.seconds:
                steps = event["step"] - begun[1]
                return steps / (now - begun[0]), (processor_seconds(pids) - begun[2]) / steps * 1e6
        raise SystemExit("the training ended")
    finally:
        train.kill()
        train.communicate()
        serve.stdout.close()  # in a pipe it lives as long as its reader
        serve.wait()


def jax():
    """The same; the loss is read after every fiftieth step."""
    text = subprocess.run([args.jax, HERE / "peer_jax.py", MODEL, "1", str(STEPS)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    peer = json.loads(text.strip().splitlines()[-1])
    return peer["steps_per_s_loss_every_50"], peer["us_per_step"]


def spread(values, digits=0):
    return [round(one, digits) for one in (statistics.median(values), min(values), max(values))]


subprocess.run([args.jax, HERE / "export.py", MODEL, args.directory, str(STEPS)], check=True, stderr=subprocess.DEVNULL)
rounds = [(ours(args.directory / "program.json"), jax()) for _ in range(args.rounds)]
print(json.dumps({
    "jobs": args.jobs, "steps_per_s": spread([a[0] for a, _ in rounds]), "jax_steps_per_s": spread([b[0] for _, b in rounds]),
    "by_jax": spread([a[0] / b[0] for a, b in rounds], 2), "us_per_step": spread([a[1] for a, _ in rounds]),
    "jax_us_per_step": spread([b[1] for _, b in rounds]), "load": round(os.getloadavg()[0], 1)}))
