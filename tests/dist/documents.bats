#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What stands in documents and in the files of the repository's host about ./dev, files and folders is true.

load common

# The commands that ./dev knows, and its suites.
dev_commands() { sed -nE '/^case \$command in/,$ s/^  ([a-z |-]+)\).*/\1/p' "$TFD_SOURCE/dev" | tr -d ' ' | tr '|' '\n'; }
suites() { sed -nE 's/^is_suite\(\).*\^\((.*)\)\$.*/\1/p' "$TFD_SOURCE/dev" | tr '|' '\n'; }

# The words behind "./dev" in a file; in the workflow also those that its matrix puts there.
said_commands() { # FILE
  if [[ $1 == *.yml ]]; then
    sed -nE 's/^ *command: \[(.*)\]$/\1/p' "$1" | tr ',' '\n' | tr -d '"' | sed 's/^ *//'
    sed -nE 's/^ *- run: \.\/dev ([a-z].*)/\1/p' "$1"
  else
    grep -oE '(^|[`(& ])\./dev [a-z][a-z/ ]*' "$1" | sed -E 's/.*\.\/dev //'
  fi
}

@test "every ./dev command and suite in a document or workflow is one" {
  [ "$(dev_commands | grep -cx 'test\|lint\|asan')" = 3 ]
  [ "$(suites | grep -cx 'unit\|cli\|cluster')" = 3 ]
  local file command rest
  for file in "$TFD_SOURCE"/*.md "$TFD_SOURCE"/tests/README.md "$TFD_SOURCE"/lib/*.md "$TFD_SOURCE"/.github/*.md "$TFD_SOURCE"/.github/workflows/*.yml; do
    [ -e "$file" ] || continue
    while read -r command rest; do
      dev_commands | grep -qxF -- "$command" || fault "${file#"$TFD_SOURCE/"}: ./dev $command: no such command"
      [ "$command" = test ] && [ -n "$rest" ] || continue
      rest=${rest%% *}
      [[ $rest == quick || $rest == all ]] || suites | grep -qxF -- "${rest%%/*}" || fault "${file#"$TFD_SOURCE/"}: ./dev test $rest: no such suite"
    done < <(said_commands "$file")
  done
  no_faults
  [ "$(said_commands "$TFD_SOURCE/.github/workflows/ci.yml" | sort | tr '\n' ,)" = "asan,lint,test,test cluster,test fuzz,tsan," ]
}

@test "the files for the repository's host are YAML, and have what it asks for" {
  python3 -c 'import yaml' 2>/dev/null || skip "python has no yaml"
  python3 - "$TFD_SOURCE/.github" <<'PYTHON'
import pathlib, sys, yaml
root = pathlib.Path(sys.argv[1])
jobs = yaml.safe_load((root / "workflows/ci.yml").read_text())["jobs"]
for name, job in jobs.items():
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs[-1].startswith("./dev "), (name, runs)
for form in (root / "ISSUE_TEMPLATE").glob("*.yml"):
    if form.name == "config.yml":
        continue
    stated = yaml.safe_load(form.read_text())
    assert stated["name"] and stated["description"], form
    ids = [part["id"] for part in stated["body"]]
    assert len(ids) == len(set(ids)) and all(part["attributes"]["label"] for part in stated["body"]), form
bug = {part["id"] for part in yaml.safe_load((root / "ISSUE_TEMPLATE/bug.yml").read_text())["body"]}
assert {"command", "version", "program", "log"} <= bug, bug
PYTHON
}

@test "links in documents lead to files that are there" {
  local file target
  while IFS= read -r file; do
    while IFS= read -r target; do
      [[ $target == http* || $target == '#'* ]] || [ -e "$(dirname "$TFD_SOURCE/$file")/${target%%#*}" ] || fault "$file: $target isn't there"
    done < <(grep -oE '\]\([^)]+\)' "$TFD_SOURCE/$file" | sed -E 's/^\]\(([^ )]*).*/\1/')
  done < <(cd "$TFD_SOURCE" && find . -name '*.md' -not -path './build*' -not -path './subprojects/*' -not -path './.git/*')
  no_faults
}

@test "headers, files and folders that documents name are there" {
  python3 - "$TFD_SOURCE" <<'PYTHON'
import glob, pathlib, re, sys
root = pathlib.Path(sys.argv[1])
missing = []
for page in [*root.glob("*.md"), root / "tests/README.md", *root.glob("lib/**/README.md")]:
    for name in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
        if re.search(r"[A-Z…<>]", name) or " " in name:
            continue  # a pattern such as tests/cli/t3…, or more than a path
        if re.match(r"tfd/\w+/\w+\.h(pp)?$", name):
            there = glob.glob(f"{root}/lib/*/include/{name}")
        elif re.match(r"(lib|tests|tools|scripts|man|share|examples|completions)/[\w/*.-]+$", name):
            there = glob.glob(f"{root}/{name}")
        else:
            continue
        if not there:
            missing.append(f"{page.relative_to(root)}: {name}")
print("\n".join(missing))
sys.exit(bool(missing))
PYTHON
}

@test "each room's README says its job, and names the rooms that its meson.build does" {
  python3 - "$TFD_SOURCE" <<'PYTHON'
import pathlib, re, sys
lib = pathlib.Path(sys.argv[1]) / "lib"
rooms = re.search(r"foreach room : \[(.*?)\]", (lib.parent / "meson.build").read_text(), re.S)[1]
rooms = re.findall(r"'(\w+)'", rooms)
uses, wrong = {}, []
for room in rooms:  # lowest first
    names = set(re.findall(r"\b(\w+)_dep\b", (lib / room / "meson.build").read_text()))
    direct = names & set(rooms) - {room}
    uses[room] = direct.union(*(uses[other] for other in direct))
    page = (lib / room / "README.md").read_text()
    for line in ["Job: ", "May use: ", "Threads: "]:
        if "\n" + line not in page:
            wrong.append(f"lib/{room}/README.md: no line '{line}'")
    stated = re.search(r"^May use: (.*?)(\.|$)", page, re.M)
    stated = set(re.findall(r"\w+", stated[1])) & set(rooms) if stated else set()
    if not direct <= stated:
        wrong.append(f"lib/{room}/README.md: May use: {sorted(direct - stated)} is missing")
    if not stated <= uses[room]:
        wrong.append(f"lib/{room}/README.md: May use: {sorted(stated - uses[room])} isn't in its meson.build")
print("\n".join(wrong))
sys.exit(bool(wrong))
PYTHON
}

@test "ARCHITECTURE.md is one page that a reader can hold in the head" {
  [ "$(wc -w <"$TFD_SOURCE/ARCHITECTURE.md")" -le 900 ]
  [ "$(LC_ALL=C.UTF-8 wc -L <"$TFD_SOURCE/ARCHITECTURE.md")" -le 130 ]
}
