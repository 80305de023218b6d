#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes wheels of an unpacked release, by the standard library alone, the same bytes each time.

usage: wheel.py tools|plugin --root TREE --version V --out DIR

Files go where pip puts them, so that no Python is needed at run time:
  TREE/bin/*                    the environment's bin. A wheel has no links: tools other than tfd are small programs that execute it
  TREE/share/**                 the environment's share: man pages, completions, examples
  TREE/share/tfd/tfd_export.py  its site-packages, too
  TREE/lib/tfd/pjrt-cpu.so      (tfdist-pjrt-cpu) the environment's lib/tfd, where tools look, beside themselves
TFD_RELEASE_LEVEL: how hard to compress, 1 to 9.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import time
import zipfile

TOOLS, PLUGIN = "tfdist", "tfdist-pjrt-cpu"
EXTRAS = {"cuda12": ["jax-cuda12-plugin[with-cuda]"], "cuda13": ["jax-cuda13-plugin[with-cuda]"], "tpu": ["libtpu"], "export": ["jax", "numpy"]}
METADATA = """Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: {summary}
License-Expression: Apache-2.0
Requires-Python: >=3.6
Classifier: Operating System :: POSIX :: Linux
"""


class Wheel:
    def __init__(self, out, name, version, platform):
        self.stem = f"{name.replace('-', '_')}-{version}"
        self.tag = f"py3-none-{platform}"
        self.when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
        self.records = []
        self.zip = zipfile.ZipFile(pathlib.Path(out) / f"{self.stem}-{self.tag}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=int(os.environ.get("TFD_RELEASE_LEVEL", "9")))

    def write(self, name, data, mode):
        info = zipfile.ZipInfo(name, self.when)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(info, data)

    def add(self, name, data, mode=0o644):
        self.write(name, data, mode)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def data(self, scheme, name, data, mode=0o644):
        self.add(f"{self.stem}.data/{scheme}/{name}", data, mode)

    def close(self, metadata):
        info = self.stem + ".dist-info/"
        self.add(info + "METADATA", metadata.encode())
        self.add(info + "WHEEL", f"Wheel-Version: 1.0\nGenerator: tfd\nRoot-Is-Purelib: false\nTag: {self.tag}\n".encode())
        self.write(info + "RECORD", ("\n".join([*self.records, info + "RECORD,,"]) + "\n").encode(), 0o644)
        self.zip.close()


def files_of(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def licences(wheel, root, is_wanted):
    for path in files_of(root / "share/doc/tfd/licences"):
        if is_wanted(path.name):
            wheel.add(f"{wheel.stem}.dist-info/licenses/{path.name}", path.read_bytes())


def tools(asked, root):
    wheel = Wheel(asked.out, TOOLS, asked.version, "manylinux_2_28_x86_64")
    for path in sorted((root / "bin").iterdir()):
        wheel.data("scripts", path.name, pathlib.Path(asked.called).read_bytes() if path.is_symlink() else path.read_bytes(), 0o755)
    for path in files_of(root / "share"):
        wheel.data("data", path.relative_to(root).as_posix(), path.read_bytes())
    wheel.add("tfd_export.py", (root / "share/tfd/tfd_export.py").read_bytes())
    licences(wheel, root, lambda name: not name.startswith("pjrt-cpu"))
    lines = METADATA.format(name=TOOLS, version=asked.version, summary="TensorFlow's tf.distribute for the shell")
    lines += f"Requires-Dist: {PLUGIN}=={asked.version}\n"
    for extra, needs in EXTRAS.items():
        lines += f"Provides-Extra: {extra}\n" + "".join(f'Requires-Dist: {need}; extra == "{extra}"\n' for need in needs)
    wheel.close(lines)


def plugin(asked, root):
    wheel = Wheel(asked.out, PLUGIN, asked.version, "manylinux_2_27_x86_64")
    wheel.data("data", "lib/tfd/pjrt-cpu.so", (root / "lib/tfd/pjrt-cpu.so").read_bytes())
    licences(wheel, root, lambda name: name.startswith("pjrt-cpu"))
    wheel.close(METADATA.format(name=PLUGIN, version=asked.version, summary="XLA's CPU plug-in (PJRT), for tfd"))


parser = argparse.ArgumentParser()
parser.add_argument("kind", choices=["tools", "plugin"])
for name in ("root", "version", "out"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("--called", help="the program that stands for a link, for tools")
given = parser.parse_args()
{"tools": tools, "plugin": plugin}[given.kind](given, pathlib.Path(given.root))
