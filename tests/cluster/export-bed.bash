# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of share/tfd_export.py. They run with the frameworks: JAX (TFD_JAX_PYTHON), Keras 3 (TFD_KERAS_PYTHON),
# TensorFlow (TFD_TENSORFLOW_PYTHON), PyTorch with torchax (TFD_TORCH_PYTHON), each a Python that has it: those that
# scripts/frameworks.sh makes for ./dev test, or your own. A test is skipped where its framework is missing.
# The shipped examples are in tests/cli/t3500-exported.bats.

setup() {
  export PYTHONPATH=$TFD_SOURCE/share PYTHONDONTWRITEBYTECODE=1 JAX_PLATFORMS=cpu KERAS_BACKEND=jax TF_CPP_MIN_LOG_LEVEL=3
  cd "$BATS_TEST_TMPDIR" || return
}

needs() { # VARIABLE WHAT
  [ -n "${!1:-}" ] || skip "$1 names no Python with $2"
  PYTHON=${!1}
}

# Hides TensorFlow from Keras, whose set_random_seed() and other functions import it where it is installed, which takes as long as most exports.
without_tensorflow() {
  local hidden=$BATS_TEST_TMPDIR/hidden
  mkdir "$hidden"
  echo 'raise ModuleNotFoundError("TensorFlow is hidden", name="tensorflow")' >"$hidden/tensorflow.py"
  PYTHONPATH+=:$hidden
}

# Whether Python has these modules, which are found without being loaded.
has() { # MODULES…
  "$PYTHON" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' "$@"
}

# tfd's losses, a line each, of one after another of the elements of the file. Without a checkpoint directory in ARGS nothing is saved.
losses() { # ARGS…
  timeout 120 tfd-run -q out/program.json --set train.checkpoint=null --set 'datasets.train[1].shuffle.buffer=1' --set train.log_every=1 "$@" </dev/null >events
  jq 'select(.event == "step").metrics.loss' events
}

# The same under a coordinator with one worker.
losses_of_worker() { # ARGS…
  timeout 120 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q out/program.json --set train.checkpoint=null --set 'datasets.train[1].shuffle.buffer=1' --set train.log_every=1 "$@" >events
  jq 'select(.event == "step").metrics.loss' events
}

# Runs a page of the documentation, or parts of it, in the Python that exports: see run-page.py.
page_runs() { # PAGE [OPTIONS…]
  JAX_PLATFORMS=cpu "$PYTHON" "$BATS_TEST_DIRNAME/run-page.py" "$TFD_SOURCE/$1" "${@:2}"
}
