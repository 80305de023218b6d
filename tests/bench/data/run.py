#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast datasets are read, shuffled and batched: tfd-data --bench, tf.data, pyarrow and numpy on the same files in the same
run. Prints a table, and one JSON object per row to --json. Bytes are those of the file before compression.

usage: run.py BUILD TENSORFLOW_PYTHON|- [--mib 128] [--rounds 3] [--formats csv,tfrecord,npy] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS, BATCH, BUFFER, SEED = 64, 128, 10000, 7
STAGES = [{"shuffle": {"buffer": BUFFER, "seed": SEED}}, {"batch": {"size": BATCH}}]
MODULE = f"""module @twice {{
  func.func public @main(%x: tensor<{BATCH}x{COLUMNS}xf32>) -> tensor<{BATCH}x{COLUMNS}xf32> {{
    %y = stablehlo.add %x, %x : tensor<{BATCH}x{COLUMNS}xf32>
    return %y : tensor<{BATCH}x{COLUMNS}xf32>
  }}
}}
"""


def ask(*command):
    """Its last output, as JSON, and the most memory it had; {"error": …} where it fails."""
    process = subprocess.Popen([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return {"error": (err.strip().splitlines() or ["no word"])[-1]}
    return json.loads(out.strip().splitlines()[-1]) | {"peak_mib": usage.ru_maxrss / 1024}


def numbers(rows):
    """Lists of rows: hundredths, about as many digits as measurements have."""
    draw = random.Random(SEED)
    some = [round(draw.gauss(0, 10), 2) for _ in range(1 << 16)]
    for row in range(rows):
        first = draw.randrange(len(some) - COLUMNS)
        yield row, some[first:first + COLUMNS]


def write_csv(path, bytes_wanted):
    rows = bytes_wanted // (COLUMNS * 9)
    draw = random.Random(SEED)
    some = [f"{draw.gauss(0, 10):.6f}" for _ in range(1 << 16)]
    with open(path, "w") as file:
        for row in range(rows):
            first = draw.randrange(len(some) - COLUMNS)
            file.write(",".join(some[first:first + COLUMNS]) + f",{row % 10}\n")
    return rows


def write_npy(path, bytes_wanted):
    rows = bytes_wanted // (COLUMNS * 4)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {COLUMNS}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for _, row in numbers(rows):
            file.write(struct.pack(f"<{COLUMNS}f", *row))
    return rows


SOURCES = {
    "csv": {"fields": {"x": {"columns": [0, COLUMNS]}, "y": {"columns": COLUMNS, "dtype": "s64"}}},
    "tfrecord": {"features": {"x": {"shape": [COLUMNS]}, "y": {"dtype": "s64"}}},
    "npy": {"field": "x"},
}


class Bench:
    def __init__(self, given, folder):
        self.given, self.folder, self.tool = given, folder, given.build / "tools/tfd-data"

    def pipeline(self, name, stages):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(stages))
        return path

    def files(self, kind):
        """The plain file, and how many rows it has; a gzipped one beside it."""
        path = self.folder / f"rows.{kind}"
        if kind == "tfrecord":
            rows = write_npy(self.folder / "to_write.npy", self.given.mib << 20)
            written = self.pipeline("write", [{"npy": {"field": "x", "path": "to_write.npy"}}, {"enumerate": {"field": "y"}}])
            subprocess.run([self.tool, written, "--write", path], check=True, stdout=subprocess.DEVNULL)
            (self.folder / "to_write.npy").unlink()
        else:
            rows = {"csv": write_csv, "npy": write_npy}[kind](path, self.given.mib << 20)
        with open(f"{path}.gz", "wb") as file:
            subprocess.run(["gzip", "-c", path], check=True, stdout=file)
        return path, rows

    def tfd(self, kind, path, maps):
        stages = [{kind: {"path": str(path)} | SOURCES[kind]}] + STAGES
        if maps:
            (self.folder / "twice.mlir").write_text(MODULE)
            stages[-1] = {"batch": {"size": BATCH, "drop_remainder": True}}
            stages.append({"map": {"function": "twice", "fields": ["x"]}})
            functions = {"twice": {"module": "twice.mlir", "inputs": [{"arg": 0, "field": "x"}], "outputs": [{"result": 0}]}}
            written = self.pipeline("program", {"v": 1, "functions": functions, "datasets": {"data": stages}})
        else:
            written = self.pipeline("pipeline", stages)
        runs = [ask(self.tool, written, "--bench", "--duration", "300s") for _ in range(self.given.rounds)]
        failed = [run for run in runs if "error" in run]
        return failed[0] if failed else {"seconds": statistics.median(run["seconds"] for run in runs),
                                         "peak_mib": max(run["peak_mib"] for run in runs)}

    def peer(self, name, kind, path, maps):
        if self.given.tensorflow == "-":
            return {"error": "no TensorFlow"}
        return ask(self.given.tensorflow, HERE / "peer.py", name, kind, path, self.given.rounds, "map" if maps else "-")

    def row(self, kind, path, rows, size, maps=False):
        peers = {"tfd": self.tfd(kind, path, maps), "tf.data": self.peer("tensorflow", kind, path, maps)}
        if not maps and kind != "tfrecord":
            peers |= {"pyarrow": self.peer("arrow", kind, path, False)} if kind == "csv" else {"numpy": self.peer("numpy", kind, path, False)}
        row = {"file": path.name + (" map" if maps else ""), "rows": rows, "mib": round(size / (1 << 20))}
        for name, peer in peers.items():
            if "error" in peer:
                row[name] = peer["error"]
                continue
            row[name] = {"rows_per_s": round(rows / peer["seconds"]), "mib_per_s": round(size / peer["seconds"] / (1 << 20), 1),
                         "peak_mib": round(peer["peak_mib"])}
            if name != "tfd" and "error" not in peers["tfd"]:
                row[f"tfd_by_{name}"] = round(peer["seconds"] / peers["tfd"]["seconds"], 2)
        return row

    def memory(self, path, size):
        """Shuffles the file eight times over: more than what tfd keeps decoded, or reads ahead."""
        many = self.folder / "many"
        many.mkdir()
        for i in range(8):
            os.link(path, many / f"{i}.tfrecord")
        stages = [{"tfrecord": {"path": str(many / "*")} | SOURCES["tfrecord"]}] + STAGES
        run = ask(self.tool, self.pipeline("memory", stages), "--bench", "--duration", "300s")
        shutil.rmtree(many)
        return {"file": "8 x rows.tfrecord", "mib": round(8 * size / (1 << 20)), "tfd_peak_mib": run.get("error") or round(run["peak_mib"])}


def show(row):
    print("  ".join([f"{row['file']:<18}", f"{row['mib']:>5} MiB"] + [
        f"{name}: {value['rows_per_s']}/s {value['mib_per_s']} MiB/s {value['peak_mib']} MiB" if isinstance(value, dict)
        else f"{name}: {value}" for name, value in row.items() if name not in ("file", "mib", "rows")]), flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("tensorflow")
    arguments.add_argument("--mib", type=int, default=128)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--formats", default="csv,tfrecord,npy")
    arguments.add_argument("--json", type=argparse.FileType("w"))
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(given, pathlib.Path(work))
        for kind in given.formats.split(","):
            path, rows = bench.files(kind)
            size = path.stat().st_size
            made = [bench.row(kind, path, rows, size), bench.row(kind, path.with_name(path.name + ".gz"), rows, size),
                    bench.row(kind, path, rows, size, maps=True)]
            if kind == "tfrecord":
                made.append(bench.memory(path, size))
            for row in made:
                show(row)
                if given.json:
                    given.json.write(json.dumps(row) + "\n")
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
