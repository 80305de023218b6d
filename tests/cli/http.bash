# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of --http: a client, and the address of a process's page.

# shellcheck source=run.bash
source "$(dirname "${BASH_SOURCE[0]}")/run.bash"

# Asks for a path of PAGE, http://HOST:PORT/: the status on the first line, then, with --headers, the headers, then the body.
get() { # [--headers] PATH [METHOD [HOST]]
  python3 - "$PAGE" "$@" <<'PY'
import http.client, sys, urllib.parse
page, *asked = sys.argv[1:]
shows = asked[0] == "--headers"
path, method, host = (asked[shows:] + ["GET", ""][len(asked) - shows - 1:])[:3]
place = urllib.parse.urlsplit(page)
connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
connection.request(method, path, headers={"Host": host} if host else {})
answer = connection.getresponse()
print(answer.status)
for header in answer.getheaders() if shows else []:
    print(f"{header[0]}: {header[1]}")
sys.stdout.write(answer.read().decode())
PY
}

body() { get "$@" | tail -n +2; }
status_of() { get "$@" | sed -n 1p; }

# Waits until what a process says, in file $1, names its page: PAGE.
page_in() { # FILE
  local deadline=$((SECONDS + 60))
  until PAGE=$(sed -nE 's/.*: the page is at (http:[^ ]*)$/\1/p' "$1" 2>/dev/null) && [ -n "$PAGE" ]; do
    [ "$SECONDS" -lt "$deadline" ] || { cat "$1"; return 1; }
  done
}

# Waits until the answer to a path has this status.
until_status() { # PATH STATUS
  local deadline=$((SECONDS + 60))
  until [ "$(status_of "$1")" = "$2" ]; do [ "$SECONDS" -lt "$deadline" ] || { get "$1"; return 1; }; done
}

# Waits until jq finds this true in status.json.
until_shown() { # FILTER
  local deadline=$((SECONDS + 60))
  until body /status.json | jq -e "$1" >/dev/null; do [ "$SECONDS" -lt "$deadline" ] || { body /status.json; return 1; }; done
}

# A python3 that has this module.
python_with() { # MODULE
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import $1" 2>/dev/null; then echo "$python" && return 0; fi
  done
  return 1
}

# The content of /metrics, by Prometheus' own parser: "NAME LABELS VALUE" a line, and "TYPE NAME" before.
parsed_metrics() {
  local python
  python=$(python_with prometheus_client) || skip "python has no prometheus_client"
  body /metrics | "$python" -c '
import sys
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    assert family.documentation and family.type in ("gauge", "counter"), family
    print(family.type, family.name)
    for sample in family.samples:
        assert family.type != "counter" or sample.name.endswith("_total"), sample
        print(sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items())), sample.value)'
}
