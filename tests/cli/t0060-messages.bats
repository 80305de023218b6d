#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Mistakes that people make, and what each tool says then.

bats_require_minimum_version 1.5.0

setup() {
  EXAMPLES=$BATS_TEST_DIRNAME/../../examples
  cd "$BATS_TEST_TMPDIR" || return 1
  unset TF_CONFIG TFD_LOG TFD_KEY_FILE
}

says() { # CODE MESSAGE COMMAND…
  local code=$1 message=$2
  shift 2
  run -"$code" --separate-stderr timeout 60 "$@" </dev/null
  [[ $stderr == *"$message"* ]] || { echo "$stderr"; return 1; }
}

@test "resolve: several jobs need several --job" {
  says 64 "tfd-resolve: unexpected argument 'b=h2:1': repeat --job" tfd-resolve simple --job a=h1:1 b=h2:1
  says 64 "simple doesn't take ARG" tfd-resolve simple b=h2:1
}

@test "resolve, serve, launch: a job that is nearly a known one is a warning; a name of one's own isn't" {
  says 0 "--jobs: 'workers' is no job that tfd knows, did you mean 'worker'?" tfd-resolve local --jobs workers=2,ps=1
  says 0 "'wroker' is no job that tfd knows, did you mean 'worker'?" tfd-resolve local --jobs wroker=2
  says 0 "'evaluators' is no job" tfd-resolve local --jobs evaluators=1
  says 0 "'workers' is no job" tfd-launch --jobs workers=1 -- true
  for own in learner actor trainer reader pss p db master worker chief ps evaluator coworkers; do
    run -0 --separate-stderr tfd-resolve local --jobs "$own=1"
    [ -z "$stderr" ]
  done
  run -0 --separate-stderr tfd-resolve -q local --jobs workers=1
  [ -z "$stderr" ]
}

@test "run: --seed names the program's seeds" {
  says 64 "--set seed=N, and --set datasets.NAME[I].shuffle.seed=N of a shuffle" tfd-run "$EXAMPLES/digits/program.json" --seed 1
}

@test "tfd_export: without NumPy it says what to install, imported or as a command" {
  local without='import sys; sys.modules["numpy"] = None; sys.path.insert(0, sys.argv[1])' share=$BATS_TEST_DIRNAME/../../share
  says 1 "ImportError: tfd_export: NumPy is missing, as is what to export from: pip install keras jax, for example" \
    python3 -c "$without; import tfd_export" "$share"
  [[ $stderr != *ModuleNotFoundError* ]]
  says 78 "tfd_export: NumPy is missing" python3 -c "$without; import runpy; runpy.run_module('tfd_export', run_name='__main__')" "$share"
  [[ $stderr != *Traceback* ]]
}

@test "run and data: an unknown dataset is 65, with the nearest" {
  says 65 "no dataset 'tset', did you mean 'test'? (there: test and train)" tfd-data "$EXAMPLES/digits/program.json" tset
  says 65 "no dataset 'tset', did you mean 'test'? (there: test and train)" tfd-run "$EXAMPLES/digits/program.json" --check --predict predict --dataset tset
}

@test "run: a cluster without a task says which option names it, and what trains on the whole cluster" {
  tfd-resolve local --jobs worker=2,ps=1 >spec.json
  says 65 "which task is this? --task worker:0; to train on the whole cluster: tfd-coordinate" tfd-run "$EXAMPLES/linear/program.json" --cluster spec.json
}

@test "run: files that can't be written are 71, whichever they are" {
  says 71 "--trace: cannot write none/x: no such file or directory" tfd-run "$EXAMPLES/linear/program.json" --set train.steps=3 --trace none/x
  says 71 "--logdir: cannot make /dev/null/x: not a directory" tfd-run "$EXAMPLES/linear/program.json" --set train.steps=3 --logdir /dev/null/x
  says 71 "--trace: cannot write /dev/null/x: not a directory" tfd-run "$EXAMPLES/linear/program.json" --set train.steps=3 --trace /dev/null/x
  says 71 "--events: cannot open /dev/null/x: not a directory" tfd-run "$EXAMPLES/linear/program.json" --set train.steps=3 --events /dev/null/x
}

@test "status: --watch takes no value, and says what does" {
  tfd-resolve local --jobs worker=1 >spec.json
  says 64 "tfd-status: unexpected argument '1': --watch takes no value; --interval DUR is the time between two refreshes" tfd-status --cluster spec.json --watch 1
  says 64 "tfd-status: unexpected argument '1' (see" tfd-status 1
}

@test "run: an interrupted training without a cluster has no task's name" {
  cp -r "$EXAMPLES/linear" .
  env --default-signal=INT timeout 60 tfd-run linear/program.json --set train.steps=100000000 --set train.log_every=100 >events 2>talk &
  local training=$!
  until grep -q '"step"' events; do kill -0 "$training"; sleep 0.05; done
  kill -INT "$training"
  wait "$training" || true
  [[ $(cat talk) != *"local at step"* ]]
}

@test "launch, run, coordinate: options of like tools are answered with where the thing is" {
  option() { # TOOL OPTION TEXT
    says 64 "$1: no option '${2%%=*}': $3" "$1" "$EXAMPLES/digits/program.json" "$2"
  }
  option tfd-run --eval 'tfd-run PROGRAM --evaluate[=FUNCTION] evaluates the trained weights once'
  option tfd-run --val=x 'tfd-run PROGRAM --evaluate'
  option tfd-run --test 'tfd-run PROGRAM --evaluate'
  option tfd-run --tensorboard=x '--logdir DIR'
  option tfd-run --mixed-precision=bf16 "precision is the module's"
  option tfd-run --num_machines=2 'tfd-launch --nnodes starts'
  option tfd-run --master-addr=x 'tfd-launch --rendezvous HOST:PORT has'
  option tfd-run --rdzv-backend=c10d 'tfd-launch --rendezvous HOST:PORT has'
  option tfd-coordinate --evaluate 'tfd-run PROGRAM --evaluate[=FUNCTION] evaluates the trained weights once'
  option tfd-run --gpus=2 'devices are chosen by --devices, as in --devices gpu:N'
  option tfd-coordinate --gpus=2 "devices are the workers': tfd-serve --devices gpu:N"
  says 64 "no option '--gpus': devices are the command's: -- tfd-run program.json --devices gpu:N" tfd-launch --gpus 2 -- true
  says 64 "no option '--steps': options of a training follow its program: -- tfd-run program.json --set train.steps=N" tfd-launch --steps 2 -- true
  says 64 "no option '--np': -n N starts N tasks on each host" tfd-launch --np 2 -- true
  says 64 "no option '--node_rank': ranks follow from which hosts have come" tfd-launch --node_rank 0 -- true
}

@test "run: a setting of an optimizer that the program hasn't names the one that it has" {
  says 65 "optimizer: it is 'adam', and there can be no 'sgd' beside it: its settings are optimizer.adam.…, and all of it is replaced by optimizer={\"sgd\": {…}}" \
    tfd-run "$EXAMPLES/digits/program.json" --check --set optimizer.sgd.learning_rate=0.1
  says 65 "optimizer.lr: unknown key, did you mean 'optimizer.adam.learning_rate'?" tfd-run "$EXAMPLES/digits/program.json" --check --set optimizer.lr=0.1
}

@test "tfd: commands of others say what there is" {
  says 64 "unknown command 'init': tfd example NAME copies an example" tfd init
  says 64 "tfd fit trains a model, tfd run trains, evaluates and predicts with a program on this host" tfd train
}

@test "launch and serve: a command without -- is answered with the line that has it" {
  says 64 "tfd-launch: unexpected argument 'tfd-run': put -- before a command: tfd-launch -n 2 -- tfd-run program.json --strategy multi-worker-mirrored (see" \
    tfd-launch -n 2 tfd-run program.json --strategy multi-worker-mirrored
  says 64 "tfd-launch -n 2 -- python train.py --timeout 5s" tfd-launch -n 2 python train.py --timeout 5s
  says 64 "tfd-launch -- tfd-run --version" tfd-launch tfd-run --version
  says 64 "tfd-launch -n 2 -- tfd-run --help" tfd-launch -n 2 tfd-run --help
  run -0 tfd-launch --version tfd-run
  run -0 tfd-launch -vh tfd-run
  run -0 tfd-launch -n 2 --no-prefix -- tfd-run --version
  [[ $output == tfd-run\ *$'\n'tfd-run\ * ]]
  says 64 "tfd-serve --jobs worker=1 -- pytest -k 'a or b'" tfd-serve --jobs worker=1 pytest -k 'a or b'
  says 64 "unknown option '--nporc'" tfd-launch --nporc 2 -- true
  says 64 "-n N starts N tasks on each host" tfd-launch --nproc-per-node 2 tfd-run program.json
}
