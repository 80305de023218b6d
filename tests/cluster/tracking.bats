#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trainings logged to MLflow (TFD_MLFLOW_PYTHON) and Weights & Biases (TFD_WANDB_PYTHON), each a Python that has it, by the scripts
# of docs/how-to/recipes.md and tfd-events(5). MLflow has a server of its own here; wandb is offline.
# bats file_tags=shared,third0

bats_require_minimum_version 1.5.0
load ../cli/until

# One MLflow server for all cases, without its jobs.
setup_file() {
  local port deadline=$((SECONDS + 180))
  [ -n "${TFD_MLFLOW_PYTHON:-}" ] || return 0
  cd "$BATS_FILE_TMPDIR" || return
  port=$("$TFD_MLFLOW_PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  export TRACKER=http://127.0.0.1:$port
  MLFLOW_DISABLE_TELEMETRY=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false "$TFD_MLFLOW_PYTHON" -m mlflow server --host 127.0.0.1 --port "$port" \
    --workers 1 --backend-store-uri "sqlite:///$PWD/mlflow.db" --artifacts-destination "$PWD/artifacts" </dev/null >server.log 2>&1 3>&- &
  echo $! >server.pid
  until curl -fs --max-time 10 "$TRACKER/health" >/dev/null; do
    if ! kill -0 "$(cat server.pid)" || [ "$SECONDS" -ge "$deadline" ]; then cat server.log; return 1; fi
    read -rt 0.2 <> <(:) || :
  done
}
teardown_file() {
  [ ! -e "$BATS_FILE_TMPDIR/server.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/server.pid")"
}

setup() {
  unset TF_CONFIG TFD_LOG "${!MLFLOW_@}" "${!WANDB_@}"
  export MLFLOW_TRACKING_URI=${TRACKER:-} MLFLOW_DISABLE_TELEMETRY=true WANDB_MODE=offline WANDB_ERROR_REPORTING=false PYTHONDONTWRITEBYTECODE=1
  cd "$BATS_TEST_TMPDIR" || return
}

needs() { # VARIABLE WHAT
  [ -n "${!1:-}" ] || skip "$1 names no Python with $2"
  PATH=$(dirname "${!1}"):$PATH
}

# The block of the page below this heading, in a folder with the example.
recipe() { # HEADING
  awk -v heading="## $1" '/^## / { inside = ($0 == heading) } inside && /^```$/ { exit } shown { print } inside && /^```sh$/ { shown = 1 }' \
    "$TFD_SOURCE/docs/how-to/recipes.md" >recipe.sh
  [ -s recipe.sh ]
  [ -e examples/digits ] || tfd-example digits examples/digits
}

api() { # METHOD BODY
  curl -fsS --json "$2" "$MLFLOW_TRACKING_URI/api/2.0/mlflow/$1"
}
newest_run() {
  api runs/search '{"experiment_ids": ["0"], "order_by": ["attributes.start_time DESC"], "max_results": 1}' | jq '.runs[0]'
}
logs_steps() { # the newest run, still in progress
  newest_run | jq -e '.info.status == "RUNNING" and ([.data.metrics[]?] | any(.key == "step/loss"))' >/dev/null
}
# [[step, value], …] of a metric of a run.
logged_metric() { # RUN METRIC
  curl -fsS -G "$MLFLOW_TRACKING_URI/api/2.0/mlflow/metrics/get-history" -d "run_id=$1" --data-urlencode "metric_key=$2" |
    jq -c '[.metrics[] | [.step, .value]]'
}
# The same in the events of a training.
metric_of_events() { # EVENT METRIC
  jq -cs --arg event "$1" --arg metric "$2" 'map(select(.event == $event) | [.step, .metrics[$metric]])' events
}

@test "tracking: MLflow's server gets steps, evaluations, settings and the status of a training" {
  needs TFD_MLFLOW_PYTHON mlflow
  recipe MLflow
  sed -i "s/tfd run /&--events events --set 'datasets.train[1].shuffle.buffer=700' /" recipe.sh
  bash -euo pipefail recipe.sh </dev/null
  newest_run >run
  id=$(jq -r .info.run_id run)
  jq -e '.info.status == "FINISHED" and .info.run_name == "examples/digits/program.json" and .info.end_time >= .info.start_time' run
  jq -e '.data.params | from_entries | .["train.steps"] == "300" and .["train.log_every"] == "20" and .["datasets.train_1_.shuffle.buffer"] == "700" and length == 5' run
  for metric in step/loss eval/loss eval/accuracy end/loss; do
    [ "$(logged_metric "$id" $metric)" = "$(metric_of_events "${metric%/*}" "${metric#*/}")" ]
  done
  [ "$(logged_metric "$id" step/loss | jq -c 'map(.[0])')" = "[$(seq -s, 20 20 300)]" ]
  [ "$(logged_metric "$id" eval/accuracy | jq -c 'map(.[0])')" = '[100,200,300]' ]
}

@test "tracking: an MLflow run is marked if the training fails or is interrupted; a missing server doesn't stop the training" {
  needs TFD_MLFLOW_PYTHON mlflow
  recipe MLflow
  sed -n "/^cat /,/^SH/p" recipe.sh >make.sh
  bash make.sh
  linear=$(tfd-example linear first)
  run -70 bash -o pipefail -c 'tfd-run -q "$0" --set optimizer.sgd.learning_rate=1e30 --set train.checkpoint=null | sh to_mlflow.sh' "$linear"
  newest_run | jq -e '.info.status == "FAILED" and .info.end_time'

  # Ctrl-C reaches the script, too.
  set -m
  tfd-run -q "$linear" --set train.steps=1000000000 --set train.log_every=100000 --set train.checkpoint.dir=ck | sh to_mlflow.sh &
  set +m
  until_true logs_steps
  kill -INT -- "-$(jobs -p %%)"
  wait %% || :
  newest_run | jq -e '.info.status == "KILLED" and (.data.metrics | any(.key == "end/loss"))'

  MLFLOW_TRACKING_URI=http://127.0.0.1:1 run -0 bash -c 'tfd-run -q "$0" --set train.checkpoint=null --events events | sh to_mlflow.sh; echo "${PIPESTATUS[0]}" >code' "$linear"
  [[ $output == *"curl: (7)"* && $(cat code) = 0 && $(tail -n 1 events | jq -r .reason) = "done" ]]
}

@test "tracking: the example of tfd-events(5) logs to MLflow by its Python package" {
  needs TFD_MLFLOW_PYTHON mlflow
  TFD_HAVE_MLFLOW=1 run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" man/tfd-events
  [[ $output == *" 0 failed" ]]
  newest_run >run
  jq -e '.info.status == "FINISHED" and (.data.params | from_entries | .program == "examples/digits/program.json" and .["train.steps"] == "60")' run
  logged_metric "$(jq -r .info.run_id run)" eval/accuracy | jq -e 'map(.[0]) == [20, 40, 60] and all(.[][1]; 0 < . and . < 1)'
}

@test "tracking: wandb gets the steps and evaluations of a training, offline" {
  needs TFD_WANDB_PYTHON wandb
  recipe 'Weights and Biases'
  sed -i 's/tfd run /&--events events /' recipe.sh
  run -0 bash -euo pipefail recipe.sh </dev/null
  [ -s "$(echo wandb/offline-run-*/run-*.wandb)" ]
  # wandb has no public reader of that file. Its summary on stderr has the last values, with five digits.
  for metric in step/loss eval/loss eval/accuracy end/loss; do
    ours=$(metric_of_events "${metric%/*}" "${metric#*/}" | jq '.[-1][1]')
    theirs=$(sed -n "s|^wandb: *$metric  *\([0-9.e-]*\)\$|\1|p" <<<"$output")
    jq -en --argjson ours "$ours" --argjson theirs "$theirs" '($ours - $theirs) | fabs < 1e-5'
  done
  TFD_HAVE_WANDB=1 run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" man/tfd-events
  [[ $output == *" 0 failed" ]]
}
