#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Replaces ssh in tests: runs the command here, in an environment of its own, as a login would. HOST unreachable.test can't
# be reached. SSH_LOG has a line for each call; SSH_PIDS is a folder that has each one's process.
shopt -s extglob
[ "$1 $2" = "-o BatchMode=yes" ] || exit 64
echo "$3" >>"$SSH_LOG"
if [ "$3" = unreachable.test ]; then
  echo "ssh: Could not resolve hostname $3: Name or service not known" >&2
  exit 255
fi
echo $$ >"$SSH_PIDS/${3##*@}"
exec env -i HOME="$HOME" PATH=/usr/bin:/bin TFD_LAUNCH_TEST="$TFD_LAUNCH_TEST" sh -c "$4"
