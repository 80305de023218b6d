#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the pinned PJRT wheels in the set-up cache and unpacks them beside, once.

usage: unpack.py REQUIREMENTS
Prints three lines: the directory of pjrt_c_api.h, the default plug-in, the second plug-in. Never uses the network.
"""
import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile

HEADER = "xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h"
MEMBERS = {  # what tfd needs of each wheel
    "lammps-jax-pjrt-cpu": ["lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"],
    "xla-cpu-pjrt": ["xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", HEADER],
}


def cache_directory():
    """As ./dev setup finds it."""
    if os.environ.get("TFD_SETUP_CACHE"):
        return os.environ["TFD_SETUP_CACHE"]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tfd-setup")


def read_requirements(path):
    """[(name, version, sha256)] in file order."""
    pins = []
    for line in open(path, encoding="utf-8"):
        found = re.fullmatch(r"([\w-]+)==(\S+)\s+--hash=sha256:([0-9a-f]{64})", line.strip())
        if found:
            pins.append(found.groups())
        elif line.strip() and not line.startswith("#"):
            sys.exit(f"{path}: not a pinned requirement: {line.strip()}")
    return pins


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def find_wheel(directory, name, sha256):
    prefix = name.replace("-", "_")
    if os.path.isdir(directory):
        for entry in sorted(os.listdir(directory)):
            path = os.path.join(directory, entry)
            if entry.startswith(prefix) and entry.endswith(".whl") and sha256_of(path) == sha256:
                return path
    sys.exit(f"the PJRT plug-in {name} is not in {directory}: run ./dev setup")


def fix_header(path):
    """GCC refuses members that change the meaning of a type's name ("fn_type* fn_type"), and can't be told not to."""
    before, after = "fn_type* fn_type\n", "::fn_type* fn_type\n"
    text = open(path, encoding="utf-8").read()
    if text.count(before) != 1:
        sys.exit(f"{path}: not the header that this script knows")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(before, after))


def unpack(wheel, target, members):
    """All or nothing: into a directory beside, which is renamed when it is complete."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    partial = tempfile.mkdtemp(prefix=".unpack-", dir=os.path.dirname(target))
    try:
        with zipfile.ZipFile(wheel) as archive:
            licences = [n for n in archive.namelist() if re.search(r"\.dist-info/(.*/)?(LICENSE|NOTICE|THIRD)", n)]
            archive.extractall(partial, members + licences)
        if HEADER in members:
            fix_header(os.path.join(partial, HEADER))
        os.chmod(partial, 0o755)
        try:
            os.rename(partial, target)
        except OSError:
            if not os.path.isdir(target):  # else another configuration was faster
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: unpack.py REQUIREMENTS")
    cache = cache_directory()
    found = {}
    for name, version, sha256 in read_requirements(sys.argv[1]):
        if name not in MEMBERS:
            continue
        target = os.path.join(cache, "pjrt", f"{name}-{version}-{sha256[:12]}")
        if not os.path.isdir(target):
            unpack(find_wheel(os.path.join(cache, "wheels"), name, sha256), target, MEMBERS[name])
        for member in MEMBERS[name]:
            found[member] = os.path.join(target, member)
    missing = [m for members in MEMBERS.values() for m in members if m not in found]
    if missing:
        sys.exit(f"{sys.argv[1]} pins no wheel with {missing[0]}")
    print(os.path.dirname(found[HEADER]))
    print(found[MEMBERS["lammps-jax-pjrt-cpu"][0]])
    print(found[MEMBERS["xla-cpu-pjrt"][0]])


if __name__ == "__main__":
    main()
