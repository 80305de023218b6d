#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers in tfd, in XLA without tfd's choices (TFD_KERNELS=xla, once), and in PyTorch: medians of interleaved rounds.

usage: run.py BUILD JAX_PYTHON TORCH_PYTHON|- [--rounds 5] [--only WORDS] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def milliseconds(command, **environment):
    """The milliseconds of each layer. Names of modules are those of their files."""
    done = subprocess.run([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=os.environ | environment, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {pathlib.Path(row[0]).stem if row[0].endswith(".mlir") else row[0]: float(row[1]) for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("jax")
    parser.add_argument("torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([asked.jax, HERE / "layers.py", "export", folder], check=True, env=os.environ | {"JAX_PLATFORMS": "cpu"})
        modules = [one for one in sorted(pathlib.Path(folder).iterdir()) if asked.only in one.stem]
        bench = asked.build / "tests/bench/bench-module"
        xla = milliseconds([bench, *modules], TFD_KERNELS="xla")
        tfd, torch = {one.stem: [] for one in modules}, {one.stem: [] for one in modules}
        for _ in range(asked.rounds):
            for module in modules:
                tfd[module.stem].append(milliseconds([bench, module])[module.stem])
                if asked.torch != "-":
                    torch[module.stem].append(milliseconds([asked.torch, HERE / "layers.py", "torch", module.stem])[module.stem])
    print(f"{'layer':44} {'tfd':>9} {'XLA':>9} {'PyTorch':>9}   PyTorch's time / tfd's")
    with open(asked.json or os.devnull, "w", encoding="utf-8") as file:
        for name, times in tfd.items():
            row = {"layer": name, "tfd_ms": statistics.median(times), "xla_ms": xla[name]}
            peer = "-"
            if torch[name]:
                row["torch_ms"] = statistics.median(torch[name])
                row["ratio"] = round(row["torch_ms"] / row["tfd_ms"], 2)
                peer = f"{row['torch_ms']:.2f}"
            print(f"{name:44} {row['tfd_ms']:9.2f} {row['xla_ms']:9.2f} {peer:>9}   {row.get('ratio', '')}")
            print(json.dumps(row), file=file)


if __name__ == "__main__":
    sys.exit(main())
