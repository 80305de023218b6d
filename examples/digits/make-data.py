#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Splits the hand-written digits in scikit-learn's wheel into digits-train.csv and digits-test.csv.

usage: pip download --no-deps scikit-learn==1.9.1 && python make-data.py scikit_learn-*.whl

Test: every fifth image of each class, in file order; train: the others. A row is 64 gray values (0 to 16) and the class.
"""
import collections
import gzip
import pathlib
import sys
import zipfile


def main(wheel):
    rows = gzip.decompress(zipfile.ZipFile(wheel).read("sklearn/datasets/data/digits.csv.gz")).decode().split()
    assert len(rows) == 1797, f"{len(rows)} rows instead of 1797"
    split = {"train": [], "test": []}
    seen = collections.Counter()
    for row in rows:
        values = [int(float(value)) for value in row.split(",")]
        assert len(values) == 65 and max(values[:64]) <= 16 and values[64] <= 9, row
        seen[values[64]] += 1
        split["test" if seen[values[64]] % 5 == 0 else "train"].append(",".join(map(str, values)) + "\n")
    here = pathlib.Path(__file__).parent
    for name, lines in split.items():
        (here / f"digits-{name}.csv").write_text("".join(lines))
        print(f"digits-{name}.csv: {len(lines)} images")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
