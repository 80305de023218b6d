#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The committed completions complete: options, choices, files, commands and tfd's own subcommands.

load common

# Bash's offers for a command line. Words are given as readline splits them: "=" and ":" are separate, and the last
# one is the word under the cursor.
offered() {
  (cd "$BATS_TEST_TMPDIR" && bash --norc -c '
    . "$1/completions/bash/$2"
    COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
    function=$(complete -p "$2" | sed -E "s/.*-F ([^ ]+).*/\1/")
    "$function" "$2" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' bash "$TFD_SOURCE" "$@")
}

setup() {
  mkdir "$BATS_TEST_TMPDIR/folder"
  touch "$BATS_TEST_TMPDIR/spec.json" "$BATS_TEST_TMPDIR/spec two.json"
}

@test "bash: every option of every tool is completed, hidden ones are not" {
  for tool in $(tools); do
    wanted=$("$tool" --dump-cli | jq -r '.options[] | select(.hidden | not) | select(.positional | not)
      | .names[], (select(.negatable) | .names[] | select(startswith("--")) | "--no-" + .[2:])' | sort)
    [ "$(offered "$tool" - | sort)" = "$wanted" ] || fault "$tool: offered $(offered "$tool" - | tr '\n' ' ')"
    [ "$(offered "$tool" --vers)" = "--version" ] || fault "$tool: --vers"
    [ "$(offered "$tool" --dump)" = "" ] || fault "$tool: --dump"
  done
  no_faults
}

@test "bash: the choices of every option are completed, after a space and after =" {
  for tool in $(tools); do
    while IFS=$'\t' read -r name choices; do
      wanted=$(tr ' ' '\n' <<<"$choices")
      [ "$(offered "$tool" "$name" "")" = "$wanted" ] || fault "$tool $name: $(offered "$tool" "$name" "")"
      [[ $name != --* || $(offered "$tool" "$name" =) == "$wanted" ]] || fault "$tool $name=: $(offered "$tool" "$name" =)"
      first=${choices%% *}
      [[ $name != --* || $(offered "$tool" "$name" = "$first" | head -n 1) == "$first" ]] || fault "$tool $name=$first"
    done < <("$tool" --dump-cli |
      jq -r '.options[] | select((.positional or .hidden) | not) | select(.choices != []) | [.names[-1], (.choices | join(" "))] | @tsv')
  done
  no_faults
}

@test "bash: an option that takes a file completes files" {
  for tool in $(tools); do
    for name in $("$tool" --dump-cli | jq -r '.options[] | select((.positional or .hidden) | not) | select(.complete == "file") | .names[-1]'); do
      [ "$(offered "$tool" "$name" spec | sort)" = "$(printf 'spec two.json\nspec.json')" ] || fault "$tool $name spec"
      [ "$(offered "$tool" "$name" = spec.)" = spec.json ] || fault "$tool $name=spec."
    done
    for name in $("$tool" --dump-cli | jq -r '.options[] | select((.positional or .hidden) | not) | select(.complete == "dir") | .names[-1]'); do
      [ "$(offered "$tool" "$name" "")" = folder ] || fault "$tool $name"
    done
  done
  no_faults
}

@test "bash: --cluster offers the kinds beside files" {
  touch "$BATS_TEST_TMPDIR/slurm.json"
  for tool in tfd-serve tfd-coordinate tfd-run tfd-status tfd-exec; do
    [ "$(offered "$tool" --cluster slu | sort)" = $'slurm\nslurm.json' ] || fault "$tool --cluster slu"
    [ "$(offered "$tool" --cluster kub)" = kubernetes ] || fault "$tool --cluster kub"
  done
  no_faults
}

@test "bash: positionals complete their choices or files, options with values don't count" {
  for tool in $(tools); do
    while IFS=$'\t' read -r name complete choices; do
      if [ -n "$choices" ]; then
        [ "$(offered "$tool" --color never -v "")" = "$(tr ' ' '\n' <<<"$choices")" ] || fault "$tool $name"
      elif [ "$complete" = file ]; then
        [ "$(offered "$tool" --color = never spec.)" = spec.json ] || fault "$tool $name"
      fi
    done < <("$tool" --dump-cli | jq -r '[.options[] | select(.positional and (.hidden | not))][0] // empty
      | [.names[0], (.complete | if . == "" then "-" else . end), (.choices | join(" "))] | @tsv')
  done
  no_faults
}

# A program, and a name in it that a shell would run.
write_program() {
  cat >"$BATS_TEST_TMPDIR/p.json" <<'JSON'
{"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}}, "optimizer": {"adam": {"learning_rate": 0.1}},
 "datasets": {"rows": [{"range": 8}, {"batch": {"size": 4}}], "$(touch made)": [{"range": 2}]},
 "functions": {"step": {}, "predict": {}}, "train": {"function": "step", "steps": 5}}
JSON
}

@test "bash: --set completes what the program on the line has, other options its functions and datasets" {
  write_program
  for tool in tfd-run tfd-coordinate tfd-data; do
    offered "$tool" p.json --set "" >"$BATS_TEST_TMPDIR/settings"
    for name in seed optimizer.adam.learning_rate 'datasets.rows[0].range' 'datasets.rows[1].batch.size' train.steps train.epochs train.checkpoint.dir; do
      grep -qxF "$name=" "$BATS_TEST_TMPDIR/settings" || fault "$tool: $name isn't offered: $(<"$BATS_TEST_TMPDIR/settings")"
    done
    run ! grep touch "$BATS_TEST_TMPDIR/settings"
    [ "$(offered "$tool" p.json --set train.st)" = $'train.steps=\ntrain.stop=' ] || fault "$tool: train.st"
    [ "$(offered "$tool" p.json --set = train.ste)" = train.steps= ] || fault "$tool: --set=train.ste"
    [ "$(offered "$tool" p.json --set train.steps = 3)" = "" ] || fault "$tool: a value"
    [ "$(offered "$tool" --set "")" = "" ] || fault "$tool: without a program"
  done
  [ "$(offered tfd-run p.json --predict "" | sort)" = $'predict\nstep' ] || fault "functions"
  [ "$(offered tfd-run p.json --evaluate = "" | sort)" = $'predict\nstep' ] || fault "--evaluate="
  [ "$(offered tfd-run p.json --evaluate = pre)" = predict ] || fault "--evaluate=pre"
  [ "$(offered tfd-run --evaluate p.)" = p.json ] || fault "--evaluate takes no word"
  cp "$BATS_TEST_TMPDIR/p.json" "$BATS_TEST_TMPDIR/folder/p q.json"
  export HOME=$BATS_TEST_TMPDIR
  cd /
  [ "$(offered tfd-run '~/p.json' --predict pre)" = predict ] || fault "a program in ~"
  [ "$(offered tfd-run '~/folder/p\ q.json' --predict pre)" = predict ] || fault "a program with a space"
  cd - >/dev/null
  [ "$(offered tfd run p.json --dataset r)" = rows ] || fault "datasets"
  [ "$(offered tfd-data p.json r)" = rows ] || fault "datasets of tfd-data"
  [ ! -e "$BATS_TEST_TMPDIR/made" ]
  no_faults
}

@test "bash: after -- a command is completed, then files" {
  for tool in $(tools); do
    [ "$("$tool" --dump-cli | jq .takes_command)" = true ] || continue
    offered "$tool" -- prin | grep -qx printf || fault "$tool -- prin"
    offered "$tool" -v -- cat spec. | grep -qx spec.json || fault "$tool -- cat spec."
    [ "$(offered "$tool" -- cat --vers)" = "" ] || fault "$tool -- cat --vers"
  done
  no_faults
}

@test "bash: tfd completes its commands, and theirs" {
  commands=$(tools | sed -n 's/^tfd-//p')
  [ "$(offered tfd "" | sort)" = "$(printf '%s\n' $commands help completion export fit schema | sort)" ]
  guides=$(tfd help | sed -n '/^guides:$/,/^$/s/^  \([a-z]*\) .*/\1/p')
  [ "$(offered tfd help "" | sort)" = "$(printf '%s\n' $commands $guides help completion export fit schema | sort -u)" ]
  [ "$(offered tfd completion "" | tr '\n' ' ')" = "bash zsh fish " ]
  [ "$(offered tfd export spec.)" = spec.json ]
  [ "$(offered tfd fit spec.)" = spec.json ]
  [ "$(offered tfd help tut)" = tutorial ]
  [ "$(offered tfd -v hel)" = help ]
  for command in $commands; do
    [ "$(offered tfd "$command" -)" = "$(offered "tfd-$command" -)" ] || fault "tfd $command -"
    [ "$(offered tfd "$command" --color a)" = "$(printf 'auto\nalways')" ] || fault "tfd $command --color a"
  done
  [ -z "$(offered tfd no-such-command -)" ]
  no_faults
}

@test "bash: the files pass shellcheck" {
  command -v shellcheck >/dev/null || skip "no shellcheck"
  shellcheck -s bash "$TFD_SOURCE"/completions/bash/tfd*
}

@test "bash: source <(tfd completion bash) completes all tools, without the installed files" {
  completes_after() {
    (cd "$BATS_TEST_TMPDIR" && bash --norc -c '
      . <(tfd completion bash)
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      function=$(complete -p "$1" | sed -E "s/.*-F ([^ ]+).*/\1/")
      "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
      printf "%s\n" "${COMPREPLY[@]}"' bash "$@")
  }
  for tool in $(tools); do
    [ "$(completes_after "$tool" --color al)" = always ] || fault "$tool --color al"
    [ "$tool" = tfd ] || [ "$(completes_after tfd "${tool#tfd-}" --versi)" = --version ] || fault "tfd ${tool#tfd-} --versi"
  done
  no_faults
}

@test "zsh: the files are well-formed and name their command" {
  for tool in $(tools); do
    [ "$(head -n 1 "$TFD_SOURCE/completions/zsh/_$tool")" = "#compdef $tool" ] || fault "_$tool: no #compdef"
  done
  no_faults
  command -v zsh >/dev/null || skip "no zsh"
  for file in "$TFD_SOURCE"/completions/zsh/_tfd*; do zsh -n "$file" || fault "$file"; done
  no_faults
}

@test "zsh: options and choices are completed in a real shell" {
  command -v zsh >/dev/null || skip "no zsh"
  completes() {  # the typed text, the completed line
    timeout 20 zsh -f "$TFD_SOURCE/tests/dist/zsh-completes.zsh" "$1" "$2" 2>&1 || fault "'$1' doesn't become '$2'"
  }
  for tool in $(tools); do
    completes "$tool --versi" "$tool --version"
    completes "$tool --color alw" "$tool --color always"
  done
  for command in $(tools | sed -n 's/^tfd-//p'); do completes "tfd $command --color alw" "tfd $command --color always"; done
  completes "tfd hel" "tfd help"
  TFD_COMPLETIONS=printed
  export TFD_COMPLETIONS
  completes "tfd hel" "tfd help"
  completes "tfd-run --color alw" "tfd-run --color always"
  completes "tfd run --color alw" "tfd run --color always"
  unset TFD_COMPLETIONS
  write_program
  cd "$BATS_TEST_TMPDIR"
  completes "tfd-run p.json --set optim" "tfd-run p.json --set optimizer.adam.learning_rate="
  completes "tfd-run p.json --predict pre" "tfd-run p.json --predict predict"
  completes "tfd-run p.json --evaluate=pre" "tfd-run p.json --evaluate=predict"
  completes "tfd-run p.json --evaluate --start" "tfd-run p.json --evaluate --start-over"
  completes "tfd help tut" "tfd help tutorial"
  export HOME=$BATS_TEST_TMPDIR
  completes "tfd-run ~/p.json --predict pre" "tfd-run ~/p.json --predict predict"
  no_faults
}

@test "fish: options, choices and subcommands are completed" {
  command -v fish >/dev/null || skip "no fish"
  export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config XDG_DATA_HOME=$BATS_TEST_TMPDIR/data HOME=$BATS_TEST_TMPDIR
  fish_offered() {
    fish --no-config -c 'for file in $argv[1]/completions/fish/*.fish; source $file; end; complete -C $argv[2]' -- "$TFD_SOURCE" "$1" | cut -f 1
  }
  for tool in $(tools); do
    fish -n "$TFD_SOURCE/completions/fish/$tool.fish" || fault "$tool.fish"
    [ "$(fish_offered "$tool --versio")" = --version ] || fault "$tool --versio: $(fish_offered "$tool --versio")"
    [ "$(fish_offered "$tool --color al")" = always ] || fault "$tool --color al: $(fish_offered "$tool --color al")"
  done
  write_program
  cd "$BATS_TEST_TMPDIR"
  [ "$(fish_offered "tfd-run p.json --set optim")" = optimizer.adam.learning_rate= ] || fault "tfd-run --set: $(fish_offered "tfd-run p.json --set optim")"
  [ "$(fish_offered "tfd run p.json --predict pre")" = predict ] || fault "tfd run --predict: $(fish_offered "tfd run p.json --predict pre")"
  [ "$(fish_offered "tfd-run ~/p.json --evaluate=pre")" = --evaluate=predict ] || fault "--evaluate=: $(fish_offered "tfd-run ~/p.json --evaluate=pre")"
  [ "$(fish_offered "tfd help tut")" = tutorial ] || fault "tfd help: $(fish_offered "tfd help tut")"
  for command in $(tools | sed -n 's/^tfd-//p'); do
    fish_offered "tfd " | grep -qx "$command" || fault "tfd $command isn't offered"
    [ "$(fish_offered "tfd $command --versio")" = --version ] || fault "tfd $command --versio: $(fish_offered "tfd $command --versio")"
    [ "$(fish_offered "tfd $command --color al")" = always ] || fault "tfd $command --color al: $(fish_offered "tfd $command --color al")"
  done
  no_faults
}
