#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Statements of documents and of the files of the repository's host about ./dev, files and folders are true.

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
  for file in "$TFD_SOURCE"/*.md "$TFD_SOURCE"/docs/*/*.md "$TFD_SOURCE"/tests/README.md "$TFD_SOURCE"/lib/*.md "$TFD_SOURCE"/.github/*.md "$TFD_SOURCE"/.github/workflows/*.yml; do
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
for page in [*root.glob("*.md"), *root.glob("docs/**/*.md"), root / "tests/README.md", *root.glob("lib/**/README.md")]:
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

@test "README.md is short: 120 lines, and the first training within 45" {
  [ "$(wc -l <"$TFD_SOURCE/README.md")" -le 120 ]
  [ "$(grep -n '^tfd run mine$' "$TFD_SOURCE/README.md" | cut -d: -f1)" -le 45 ]
}

@test "docs/how-to/mistakes.md: each command prints the message below it" {
  ln -s "$TFD_SOURCE/examples" "$BATS_TEST_TMPDIR/examples"
  python3 - "$TFD_SOURCE/docs/how-to/mistakes.md" "$BATS_TEST_TMPDIR" <<'PYTHON'
import re, subprocess, sys
pairs = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)\n```$", open(sys.argv[1]).read(), re.M | re.S)
for command, message in pairs:
    ran = subprocess.run(["bash", "-c", command], cwd=sys.argv[2], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert message in ran.stderr, (message, ran.stderr)
assert len(pairs) >= 6, pairs
PYTHON
}

@test "ARCHITECTURE.md is one page that a reader can hold in the head" {
  [ "$(wc -w <"$TFD_SOURCE/ARCHITECTURE.md")" -le 900 ]
  [ "$(LC_ALL=C.UTF-8 wc -L <"$TFD_SOURCE/ARCHITECTURE.md")" -le 130 ]
}

@test "tfd-migrate(7): every option and subcommand that it names is there, and every key of a program" {
  [ -s "$TFD_BUILD/share/schema/program.schema.json" ]
  python3 - "$TFD_SOURCE" "$TFD_BUILD" $(tools) <<'PYTHON'
import json, pathlib, re, subprocess, sys
source, build, tools = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
dumps = {tool: json.loads(subprocess.run([build / "tools" / tool, "--dump-cli"], capture_output=True, check=True).stdout) for tool in tools}
def options(tool):
    dump = dumps[tool]
    return {name: one for one in [*dump["options"], *dump.get("common", [])] for name in one["names"]}
everywhere = set().union(*(options(tool) for tool in tools))

def keys(schema):
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for child in schema.values():
            yield from keys(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from keys(child)
stated = set(keys(json.loads((build / "share/schema/program.schema.json").read_text())))

page = (source / "man/tfd-migrate.7.scd").read_text()
wrong, seen = [], 0
for here in re.findall(r"^\t(.*)$", re.sub(r"^# EXAMPLES$.*?(?=^# [A-Z])", "", page, flags=re.S | re.M), re.M):  # our names; the lines above are others' names
    for bold in re.findall(r"\*([^*]+)\*", here):
        tool = None
        for words in bold.split("|"):
            for word in re.split(r"[\s=;]+", words.split(" -- ")[0] if " -- tfd-" not in words else words):
                if word in tools:
                    tool = word
                elif re.match(r"--?[a-z]", word):
                    seen += 1
                    if word not in (options(tool) if tool else everywhere):
                        wrong.append(f"{bold}: {tool or 'no tool'} has no option {word}")
    for name in re.findall(r"(?<![\\\w])_([\w.\\]+)_(?!\w)", here):
        for key in name.replace("\\", "").split("."):
            seen += 1
            if key not in stated and not key.isupper():
                wrong.append(f"a program has no key {key} ({name})")
for kind in re.findall(r"\*tfd-resolve (\w[\w-]*)\*((?:, \*[\w-]+\*)*)", page):
    kinds = [kind[0], *re.findall(r"\*([\w-]+)\*", kind[1])]
    said = subprocess.run([build / "tools/tfd-resolve", "--help"], capture_output=True, text=True).stdout
    wrong += [f"tfd-resolve has no kind {one}" for one in kinds if not re.search(rf"\b{one}\b", said)]
print("\n".join(wrong))
sys.exit(bool(wrong) or seen < 60)
PYTHON
}
