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
