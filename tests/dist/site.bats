#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The site: every page is made, and a link that leads nowhere is found.

bats_require_minimum_version 1.5.0
# bats file_tags=shared

setup() {
  command -v mandoc >/dev/null && /usr/bin/python3 -c 'import markdown' 2>/dev/null || skip "no mandoc, or no python3-markdown"
  cd "$BATS_TEST_TMPDIR" || return
}

@test "site: README, the guides and all man pages, with links between them" {
  run -0 "$TFD_SOURCE/scripts/site/site.py" site
  [ -z "$output" ]
  local page
  for page in "$TFD_SOURCE"/man/*.scd; do
    page=$(basename "$page" .scd)
    grep -q "<h2[^>]*>NAME\|<h1[^>]*>.*NAME" "site/$page.html" || { echo "$page"; false; }
    grep -q "href=\"$page.html\"" site/pages.html
  done
  for page in "$TFD_SOURCE"/guides/*.md; do grep -q "href=\"$(basename "$page" .md).html\"" site/index.html; done
  grep -q 'href="tfd-coordinate.1.html"' site/tfd-run.1.html
  # Nothing is loaded from elsewhere.
  run ! grep -E '<(script|link|img)|src="http' site/*.html
}

@test "site: links that lead nowhere are named" {
  mkdir project
  cp -r "$TFD_SOURCE"/{scripts,man,guides,README.md} project
  echo '[gone](nowhere.md), [page](guides/tutorial.md#no-such-heading)' >>project/README.md
  run -1 project/scripts/site/site.py site
  [[ $output == *'index.html: nowhere.md is not in the project'* ]]
  [[ $output == *'index.html: tutorial.html has no #no-such-heading'* ]]
}
