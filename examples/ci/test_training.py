# SPDX-License-Identifier: Apache-2.0
"""Tests that use the cluster around them: tfd-serve --jobs worker=2,ps=1 -- pytest"""
import json
import os
import subprocess


def test_cluster_is_there():
    cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
    assert len(cluster["worker"]) == 2 and len(cluster["ps"]) == 1
    subprocess.run(["tfd-status", "--wait", "--timeout", "30s"], check=True)


def test_loss_falls(tmp_path):
    command = ["tfd-coordinate", "digits/program.json", "--cluster", "env", "--set", "train.steps=200", "--set", "train.log_every=50",
               "--set", f"train.checkpoint.dir={tmp_path}"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    losses = [event["metrics"]["loss"] for event in map(json.loads, lines) if event["event"] == "step"]
    assert losses[-1] < losses[0] / 2
