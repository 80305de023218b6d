# SPDX-License-Identifier: Apache-2.0
# Plug-ins for accelerators, from PyPI into the set-up cache: tests with them don't need the hardware, or are skipped
# without it. libtpu's license lets nobody but its user fetch it.

CACHE=${TFD_SETUP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tfd-setup}/device

# The file of the wheel, on stdout; fails where it can't be had.
fetch_plugin() { # NAME VERSION FILE SHA256
  local folder=$CACHE/$1-$2 work
  if [ ! -f "$folder/$3" ]; then
    mkdir -p "$CACHE"
    work=$(mktemp -d "$CACHE/part.XXXXXX")
    python3 -m pip download -q --no-deps --no-cache-dir --python-version 3.11 --only-binary=:all: -d "$work" "$1==$2" >&2 &&
      echo "$4  $(echo "$work"/*.whl)" | sha256sum -c --quiet >&2 &&
      python3 -m zipfile -e "$work"/*.whl "$work/wheel" && mv -T "$work/wheel" "$folder" || { rm -rf "$work"; return 1; }
    rm -rf "$work"
  fi
  echo "$folder/$3"
}
