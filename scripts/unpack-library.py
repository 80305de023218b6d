#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a library out of a wheel: unpack-library.py WHEEL PATH. The one whose name begins with PATH's; PATH appears when it is whole."""
import os
import pathlib
import shutil
import sys
import tempfile
import zipfile

wheel, path = sys.argv[1], pathlib.Path(sys.argv[2])
path.parent.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(wheel) as archive, tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
    name = next(one for one in archive.namelist() if one.rsplit("/", 1)[-1].startswith(path.name))
    with archive.open(name) as library:
        shutil.copyfileobj(library, part)
os.replace(part.name, path)
