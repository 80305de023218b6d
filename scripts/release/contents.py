#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the contents of a release: licenses into TREE/share/doc/tfd/licences, and a bill of materials (CycloneDX, JSON).

usage: contents.py TREE VERSION PLUGIN-FOLDER ZIG SBOM      ZIG: the program; - where it links nothing
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

# Debian's packages whose code is linked into the tools, with their licenses.
LINKED = {
    "libcli11-dev": "BSD-3-Clause", "libfmt-dev": "MIT", "nlohmann-json3-dev": "MIT", "libzmq3-dev": "LGPL-3.0-or-later WITH LGPL-3.0-linking-exception",
    "cppzmq-dev": "MIT", "libexpected-dev": "CC0-1.0", "libmd-dev": "BSD-3-Clause", "libyaml-cpp-dev": "MIT", "zlib1g-dev": "Zlib",
    "libmicrohttpd-dev": "LGPL-2.1-or-later", "libmimalloc-dev": "MIT", "libminizip-dev": "Zlib", "libisal-dev": "BSD-3-Clause", "libsimdjson-dev": "Apache-2.0", "libsodium-dev": "ISC",
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
}
# Parts of zig's own folder that zig links in: into the tools, and into the launchers of a wheel.
OF_ZIG = {"zig": ("LICENSE", "MIT"), "libunwind": ("lib/libunwind/LICENSE.TXT", "Apache-2.0 WITH LLVM-exception"), "musl": ("lib/libc/musl/COPYRIGHT", "MIT")}


def version_of(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, text=True, check=True).stdout


def debian(package, licence):
    version = version_of(package)
    return {"type": "library", "name": package, "version": version, "purl": f"pkg:deb/debian/{package}@{version}?distro=bookworm",
            "licenses": [{"expression": licence}]}


def main():
    tree, version, plugin, sbom = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[5])
    zig = None if sys.argv[4] == "-" else pathlib.Path(sys.argv[4])
    licences = tree / "share/doc/tfd/licences"
    licences.mkdir(parents=True, exist_ok=True)
    for package in LINKED:
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", licences / f"{package}.txt")
    of_zig = OF_ZIG if zig else {}
    for name, (file, _) in of_zig.items():
        shutil.copyfile(zig.parent / file, licences / f"{name}.txt")
    pinned = plugin.parent.name.rsplit("-", 2)  # NAME-VERSION-HASH, as scripts/pjrt-requirements.txt has it
    info = next(plugin.parent.glob("*.dist-info"))
    for file in sorted((info / "licenses").iterdir()):
        shutil.copyfile(file, licences / f"pjrt-cpu-{file.name}.txt")
    binary = tree / "lib/tfd/pjrt-cpu.so"
    components = [debian(*one) for one in sorted(LINKED.items())]
    components.append({"type": "library", "name": pinned[0], "version": pinned[1], "purl": f"pkg:pypi/{pinned[0]}@{pinned[1]}",
                       "licenses": [{"expression": "Apache-2.0"}],
                       "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(binary.read_bytes()).hexdigest()}]})
    for name, (_, licence) in of_zig.items():
        made_by = subprocess.run([zig, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        components.append({"type": "library", "name": name, "version": made_by if name == "zig" else f"of zig {made_by}",
                           "licenses": [{"expression": licence}]})
    made = int(os.environ["SOURCE_DATE_EPOCH"])
    stamp = subprocess.run(["date", "-u", "-d", f"@{made}", "+%Y-%m-%dT%H:%M:%SZ"], stdout=subprocess.PIPE, text=True, check=True).stdout
    sbom.write_text(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": stamp.strip(),
                     "component": {"type": "application", "name": "tfd", "version": version, "licenses": [{"expression": "Apache-2.0"}]}},
        "components": components}, indent=1) + "\n")


main()
