#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Costs of a fresh build, without a compiler cache: build.py SOURCE BUILD [COUNT].

Builds SOURCE as BUILD is configured, in a folder of its own beside it: first the executables, then everything. Prints the
CPU minutes of both, the COUNT (20) dearest objects, and the headers that cost most: the time that one adds to an empty
source, times the compiled files that include it. CPU time is user and system, so what else the machine does changes little.
"""
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

# A compiler launcher that adds a line to $TFD_BENCH_TIMES: user seconds, system seconds, the file that was made.
LAUNCHER = """#!/bin/bash
exec 3>&1 4>&2
spent=$(TIMEFORMAT='%U %S'; { time "$@" >&3 2>&4; } 2>&1)
code=$?
for ((i = 1; i < $#; i++)); do [ "${!i}" != -o ] || { i=$((i + 1)); printf '%s\\t%s\\n' "$spent" "${!i}" >>"$TFD_BENCH_TIMES"; }; done
exit "$code"
"""


def options_of(build: Path) -> list[str]:
    """The options that make a difference, as BUILD has them."""
    wanted = {"unity", "unity_size", "buildtype", "optimization", "debug", "warning_level", "b_sanitize"}
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    text = lambda value: str(value).lower() if isinstance(value, bool) else str(value)
    return [f"-D{o['name']}={text(o['value'])}" for o in options if o["name"] in wanted or o["section"] == "user"]


def ninja(folder: Path, target: str, env: dict[str, str]) -> tuple[float, float]:
    """CPU seconds and seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["ninja", "-C", folder, "--quiet", target], env=env, check=True, stdout=sys.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begun


def includers(folder: Path) -> dict[str, list[str]]:
    """The objects that were compiled with each header."""
    found: dict[str, list[str]] = {}
    target = ""
    for line in subprocess.check_output(["ninja", "-C", folder, "-t", "deps"], text=True).splitlines():
        if line.startswith("    "):
            found.setdefault(os.path.realpath(folder / line.strip()), []).append(target)
        elif line:
            target = line.split(":")[0]
    return found


def commands_of(folder: Path) -> dict[str, list[str]]:
    """The compiler's command of each object, without its input and output."""
    found = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        words = iter(shlex.split(entry["command"]))
        kept = [w for w in words if not (w in ("-o", "-MF", "-MQ") and next(words)) and w not in ("-c", "-MD", entry["file"])]
        if entry["file"].endswith(".cpp"):
            found[entry["output"]] = kept[1:]  # without the launcher
    return found


def cpu_seconds(command: list[str], folder: Path) -> float | None:
    """None where it doesn't compile."""
    process = subprocess.Popen([*command, "-x", "c++", "/dev/null"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    return used.ru_utime + used.ru_stime if status == 0 else None


def headers(source: Path, folder: Path) -> list[tuple[float, float, int, str]]:
    """(seconds altogether, seconds of one, compiled files, name) of our headers, and of others that we name.

    The cost of one is its addition to an empty source: the precompiled header's share is free.
    """
    named = set()
    for path in [*source.glob("lib/**/*.[ch]pp"), *source.glob("tools/**/*.[ch]pp"), *source.glob("tests/**/*.[ch]pp")]:
        named.update(re.findall(r"^#include <([^>]+)>", path.read_text(), re.MULTILINE))
    commands, empty, costs = commands_of(folder), {}, []
    for path, objects in includers(folder).items():
        own = path.startswith(f"{source}/") and path.endswith((".hpp", ".h"))
        theirs = next((name for name in named if path.endswith("/" + name)), None)
        example = next((commands[o] for o in objects if o in commands), None)
        if example is None or not (own or theirs):
            continue
        example = [*example, "-fsyntax-only"]
        if tuple(example) not in empty:
            empty[tuple(example)] = cpu_seconds(example, folder)
        whole, nothing = cpu_seconds([*example, "-include", path], folder), empty[tuple(example)]
        if whole is not None and nothing is not None:
            one = max(0.0, whole - nothing)
            costs.append((one * len(objects), one, len(objects), os.path.relpath(path, source) if own else f"<{theirs}>"))
    return sorted(costs, reverse=True)


def main() -> None:
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    folder = build.with_name(build.name + "-bench")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir()
        launcher, times = folder / "launcher", folder / "times"
        launcher.write_text(LAUNCHER)
        launcher.chmod(0o755)
        times.touch()
        env = os.environ | {"CXX": f"{launcher} {os.environ.get('CXX', 'c++')}", "CC": f"{launcher} {os.environ.get('CC', 'cc')}",
                            "TFD_BENCH_TIMES": str(times), "CCACHE_DISABLE": "1"}
        subprocess.run(["meson", "setup", folder / "build", source, *options_of(build)], env=env, check=True, stdout=subprocess.DEVNULL)
        times.write_text("")
        folder /= "build"
        executables, rest = ninja(folder, "executables", env), ninja(folder, "all", env)
        print(f"executables: {executables[0] / 60:.1f} CPU minutes, in {executables[1] / 60:.1f} minutes")
        print(f"everything: {(executables[0] + rest[0]) / 60:.1f} CPU minutes, in {(executables[1] + rest[1]) / 60:.1f} minutes on {os.cpu_count()} cores")
        made = []
        for line in times.read_text().splitlines():
            spent, name = line.split("\t")
            made.append((sum(map(float, spent.split())), name))
        print(f"\n{'seconds':>8}  of {len(made)} files made")
        for seconds, name in sorted(made, reverse=True)[:count]:
            print(f"{seconds:8.1f}  {name}")
        print(f"\n{'seconds':>8}  {'one':>6}  {'files':>5}  header")
        for altogether, one, files, name in headers(source, folder)[:count]:
            print(f"{altogether:8.1f}  {one:6.2f}  {files:5}  {name}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"build.py: {error.cmd[0]} failed: {' '.join(map(str, error.cmd))}")
    finally:
        shutil.rmtree(build.with_name(build.name + "-bench"), ignore_errors=True)


if __name__ == "__main__":
    main()
