#!/usr/bin/env -S zsh -f
# SPDX-License-Identifier: Apache-2.0
# zsh-completes.zsh TYPED EXPECTED: types a command line and Tab into an interactive zsh with the project's completions,
# and waits until EXPECTED stands there. Run it under timeout(1).
zmodload zsh/zpty
zpty shell zsh -f -i
# The mark is written in two pieces, so that it isn't found in the echo of this very line.
# With TFD_COMPLETIONS=printed they are those that `tfd completion zsh` prints.
if [[ $TFD_COMPLETIONS == printed ]]; then
  load="autoload -Uz compinit; compinit -u -D; source <(tfd completion zsh)"
else
  load="fpath=(${(q)TFD_SOURCE}/completions/zsh \$fpath); autoload -Uz compinit; compinit -u -D"
fi
zpty -w shell "PS1= RPS1= ; unsetopt zle_bracketed_paste; $load; print REA''DY"
zpty -r -m shell text '*READY*' || exit 1
zpty -w -n shell "$1"$'\t'
zpty -r -m shell text "*$2*"
