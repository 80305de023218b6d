# SPDX-License-Identifier: Apache-2.0
# The examples as they are shipped: files. Directories that a training or a build has left beside them belong to somebody
# else's.

copy_examples() { # SOURCE, TO
  local example
  mkdir -p "$2"
  for example in "$1"/examples/*/; do
    [ -d "$example" ] || continue
    mkdir -p "$2/$(basename "$example")"
    find "$example" -maxdepth 1 -type f -exec cp -t "$2/$(basename "$example")" {} +
  done
}
