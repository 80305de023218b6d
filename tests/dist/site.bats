#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The site: every page is made, nothing comes from elsewhere, and a link that leads nowhere is found.

bats_require_minimum_version 1.5.0
# bats file_tags=shared

setup() {
  local line
  while read -r line; do export "${line?}"; done < <("$TFD_SOURCE/scripts/frameworks.sh" "${TFD_SETUP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tfd-setup}" site)
  [ -n "${TFD_SITE_PYTHON:-}" ] || skip "MkDocs can't be installed"
  cd "$BATS_TEST_TMPDIR" || return
  export NO_MKDOCS_2_WARNING=1
}

@test "site: README, docs and all man pages, with navigation, search and links between them" {
  run -0 "$TFD_SITE_PYTHON" -m mkdocs build --strict -f "$TFD_SOURCE/scripts/site/mkdocs.yml" -d "$PWD/site"
  [[ $output != *WARNING* ]]
  local page name section
  for page in "$TFD_SOURCE"/man/*.scd; do
    page=$(basename "$page" .scd)
    grep -q '<h2 id="name">' "site/reference/man/$page.html" || { echo "$page has no NAME"; false; }
    grep -q "href=\"man/$page.html\"" site/reference/man-pages.html
    jq -e --arg page "reference/man/$page.html#synopsis" 'any(.docs[]; .location == $page)' site/search/search_index.json || [[ $page != *.1 ]]
  done
  while read -r page; do
    grep -q "href=\"${page%.md}.html\"" site/index.html || { echo "$page isn't in the navigation"; false; }
  done < <(cd "$TFD_SOURCE/docs" && find . -name '*.md' -printf '%P\n' | grep -v '^explanation\|^reference\|^coming\|^how')
  grep -q 'href="tfd-coordinate.1.html"' site/reference/man/tfd-run.1.html
  grep -q 'href="../reference/man/tfd-exit.7.html"' site/how-to/mistakes.html
  # Options are terms of a list, and no markup of the man page's source is left.
  grep -q '<dt>.*<strong>--hosts</strong>' site/reference/man/tfd-launch.1.html
  run ! grep -E '^; |\\_|<p>\|' site/reference/man/*.html
  # A browser fetches nothing from another server.
  run ! grep -rhoE '<(script|img|iframe|source)[^>]* src="?(https?:)?//[^>]*>|<link[^>]* href="?(https?:)?//[^>]*>' site --include=*.html
  run ! grep -rhoE '(@import|url\()[^)]{0,4}(https?:)?//' site --include=*.css
}

@test "site: links that lead nowhere, unknown man pages and pages outside the navigation are named" {
  mkdir project
  cp -r "$TFD_SOURCE"/{scripts,man,docs,README.md,ARCHITECTURE.md,CHANGELOG.md,CONTRIBUTING.md} project
  echo '[gone](nowhere.md), [page](docs/start/tutorial.md#no-such-heading), tfd-nothing(1)' >>project/README.md
  echo '[gone](missing.md)' >>project/docs/start/gpu.md
  echo '# New' >project/docs/start/new.md
  run "$TFD_SITE_PYTHON" -m mkdocs build --strict -f project/scripts/site/mkdocs.yml -d "$PWD/site"
  [ "$status" = 1 ]
  [[ $output == *'Aborted with 5 warnings'* ]]
  [[ $output == *'README.md: nowhere.md is not in the project'* ]]
  [[ $output == *"'start/tutorial.md#no-such-heading'"* ]]
  [[ $output == *'there is no page tfd-nothing(1)'* ]]
  [[ $output == *"'missing.md'"* ]]
  [[ $output == *'start/new.md'* ]]
}
