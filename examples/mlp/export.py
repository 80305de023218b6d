#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports this example, a PyTorch module, by tfd_export: program.json, its modules, and the initial weights.

usage: pip install torch==2.9.1 torchax==0.0.13 jax==0.10.2 && python export.py

It also trains the module in PyTorch, and writes the losses to torch-losses.json: tests demand that tfd has the same.
Made with torch 2.9.1, torchax 0.0.13, jax 0.10.2, numpy 2.4 and Python 3.11, on CPU.
"""
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "share"))
import tfd_export  # noqa: E402

BATCH, STEPS, RATE, MOMENTUM = 64, 50, 0.05, 0.9


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, 64), nn.Linear(64, 32), nn.Linear(32, 10)

    def forward(self, image):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(image / 16)))))


def loss(module, batch):
    """-> the mean loss, and how many are right, of how many."""
    logits = module(batch["image"])
    right = (logits.argmax(dim=1) == batch["label"]).float()
    return F.cross_entropy(logits, batch["label"]), {"accuracy": (right.sum(), torch.ones_like(right).sum())}


def pipeline(name, *stages):
    fields = {"image": {"columns": [0, 64], "dtype": "f32"}, "label": {"columns": 64, "dtype": "s32"}}
    return [{"csv": {"path": f"../digits/digits-{name}.csv", "fields": fields}}, *stages]


def rows_of(name):
    rows = np.loadtxt(HERE.parent / "digits" / f"digits-{name}.csv", "float32", delimiter=",")
    return {"image": torch.tensor(rows[:, :64]), "label": torch.tensor(rows[:, 64]).long()}


def losses_in_torch(module, train):
    optimizer, losses = torch.optim.SGD(module.parameters(), RATE, MOMENTUM), []
    for step in range(STEPS):
        places = torch.arange(step * BATCH, (step + 1) * BATCH) % len(train["label"])
        optimizer.zero_grad()
        value, _ = loss(module, {name: field[places] for name, field in train.items()})
        value.backward()
        optimizer.step()
        losses.append(float(str(np.float32(value.item()))))
    return losses


def main():
    torch.manual_seed(1)
    module = Digits()
    train, test = rows_of("train"), rows_of("test")
    stages = [{"shuffle": {"buffer": 2000}}, {"repeat": {}}, {"batch": {"size": BATCH, "drop_remainder": True}}]
    program = tfd_export.torch(module, loss, {name: field[:BATCH] for name, field in train.items()}, HERE, batch_sizes=[BATCH, BATCH // 2, BATCH // 4],
                               optimizer={"sgd": {"learning_rate": RATE, "momentum": MOMENTUM}}, data=pipeline("train", *stages), train={"steps": 600})
    program.evaluation(batch_sizes=[BATCH, len(test["label"]) % BATCH], data=pipeline("test", {"batch": {"size": BATCH}}), every=200)
    program.prediction(lambda module, inputs: module(inputs["image"]).argmax(dim=1), {"image": test["image"][:1].numpy()})
    record = {"torch": torch.__version__, "losses": losses_in_torch(module, train)}
    with torch.no_grad():
        record["test_loss"] = float(str(np.float32(loss(module.eval(), test)[0].item())))
    (HERE / "torch-losses.json").write_text(json.dumps(record) + "\n")
    print(f"torch: loss {record['losses'][0]:.4f} at first, {record['losses'][-1]:.4f} after {STEPS} steps, {record['test_loss']:.4f} of the test images")


if __name__ == "__main__":
    main()
