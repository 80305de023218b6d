#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names the functions of lib that no tool reaches, and no documented example of the library.

    scripts/unreached.py BUILD_DIR

BUILD_DIR has the targets `executables` and `library-users`, compiled with -O0 -ffunction-sections and linked with
--gc-sections: a function that the linker kept in none of them is called by tests at most. Such a function is deleted with
its tests, or used, or scripts/unreached.txt says why it stays. Exits 1 and names those that it doesn't know, and lines of
that file that no longer say anything. Limits: it doesn't see virtual functions of a class that somebody makes, since the
class's table names them all, and functions in headers, which are compiled only where they are called. Standard library only.
"""
import fnmatch
import json
import os
import re
import subprocess
import sys

ALLOWED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unreached.txt")


def functions(path, kinds):
    """The demangled functions of namespace tfd that an archive or executable defines; `kinds`: nm's letters."""
    lines = subprocess.run(["nm", "--demangle", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {found[1] for found in re.finditer(rf"^[0-9a-f]+ [{kinds}] (.*\btfd::.*\(.*)$", lines, re.MULTILINE)}


def load_targets(build):
    """The rooms' archives and the executables among BUILD_DIR's targets: tools, and programs that use the library."""
    with open(os.path.join(build, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
        targets = json.load(file)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    archives = [target["filename"][0] for target in targets
                if target["type"] == "static library" and target["defined_in"].startswith(os.path.join(source, "lib", ""))
                and target["build_by_default"]]
    users = [target["filename"][0] for target in targets if target["type"] == "executable"
             and os.path.dirname(os.path.relpath(target["defined_in"], source)) in ("tools", os.path.join("tests", "dist"))]
    return archives, users


def load_allowed():
    """The lines `FUNCTION: why it stays`; FUNCTION is without its arguments, and may have a *."""
    with open(ALLOWED, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def short(function):
    """tfd::room::name of `Result<A> tfd::room::name[abi:cxx11](B) const`."""
    bare = function.replace("(anonymous namespace)::", "").replace("[abi:cxx11]", "").replace("operator()", "operator_call")
    name = re.split(r"\(", bare, maxsplit=1)[0].replace("operator_call", "operator()")
    return name[max(0, name.rfind(" tfd::") + 1):]


def main():
    archives, users = load_targets(sys.argv[1])
    # Letters t and W are functions that something of their own source uses, or the compiler wouldn't have made them.
    defined = set().union(*(functions(path, "T") for path in archives))
    reached = set().union(*(functions(path, "TtWw") for path in users))
    unreached = {short(function): function for function in sorted(defined - reached)}
    allowed = load_allowed()
    unknown = [name for name in unreached if not any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)]
    stale = [pattern for pattern in allowed if not fnmatch.filter(unreached, pattern)]
    for name in unknown:
        print(f"{unreached[name]}: only tests call it: delete it, use it, or say in scripts/unreached.txt why it stays")
    for pattern in stale:
        print(f"scripts/unreached.txt: {pattern}: no function of lib that only tests call: delete the line")
    print(f"{len(defined)} functions of lib, {len(unreached)} that no tool or example calls", file=sys.stderr)
    return 1 if unknown or stale else 0


if __name__ == "__main__":
    sys.exit(main())
