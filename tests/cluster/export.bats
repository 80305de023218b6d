#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# share/tfd_export.py with the frameworks: JAX (TFD_JAX_PYTHON), Keras 3 (TFD_KERAS_PYTHON), TensorFlow
# (TFD_TENSORFLOW_PYTHON), PyTorch with torchax (TFD_TORCH_PYTHON), each a Python that has it: those that scripts/frameworks.sh
# makes for ./dev test, or your own; skipped where there is none.
# The shipped examples are in tests/cli/t3500-exported.bats.
# bats file_tags=long,shared

bats_require_minimum_version 1.5.0

setup() {
  export PYTHONPATH=$TFD_SOURCE/share PYTHONDONTWRITEBYTECODE=1 JAX_PLATFORMS=cpu KERAS_BACKEND=jax TF_CPP_MIN_LOG_LEVEL=3
  cd "$BATS_TEST_TMPDIR" || return
}

needs() { # VARIABLE WHAT
  [ -n "${!1:-}" ] || skip "$1 names no Python with $2"
  PYTHON=${!1}
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

# A small model with a mutable state, a counter among it, metrics, and what tfd gives; theirs() trains it in JAX.
write_model() {
  cat >model.py <<'PY'
import jax
import jax.numpy as jnp
import numpy as np
import tfd_export

random = np.random.default_rng(3)
data = {"x": random.normal(0, 1, (96, 5)).astype("float32"), "y": random.integers(0, 3, 96)}
params = {"hidden": {"kernel": random.normal(0, 0.5, (5, 8)).astype("float32"), "bias": np.zeros(8, "float32")},
          "out": [random.normal(0, 0.5, (8, 3)).astype("float32"), np.zeros(3, "float32")]}
state = {"mean": np.zeros(8, "float32"), "seen": np.int32(0)}


def logits(params, mean, x):
    hidden = jnp.tanh(x @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    return (hidden - mean) @ params["out"][0] + params["out"][1], hidden


def loss(params, state, batch):
    result, hidden = logits(params, state["mean"], batch["x"])
    label = jax.nn.one_hot(batch["y"], 3)
    new = {"mean": 0.9 * state["mean"] + 0.1 * hidden.mean(axis=0), "seen": state["seen"] + 1}
    right = jnp.sum((jnp.argmax(result, axis=1) == batch["y"]).astype(jnp.float32))
    metrics = {"accuracy": (right, jnp.float32(len(label))), "size": jnp.float32(len(label))}
    return -jnp.mean(jnp.sum(label * jax.nn.log_softmax(result), axis=1)), jax.lax.stop_gradient(new), metrics


def evaluate(params, state, batch):
    return loss(params, state, batch)[2]


def predict(params, state, batch):
    return logits(params, state["mean"], batch["x"])[0]


def theirs(steps, rate=0.1):
    p, s, values = params, state, []
    for i in range(steps):
        batch = {name: value[16 * i % 96:][:16] for name, value in data.items()}
        (value, (s, _)), g = jax.value_and_grad(lambda p: (lambda r: (r[0], r[1:]))(loss(p, s, batch)), has_aux=True)(p)
        p = jax.tree.map(lambda v, g: v - rate * g, p, g)
        values.append(float(value))
    return values, p, s
PY
}

@test "export: from JAX, with state, metrics, evaluation and prediction; and the trained weights back" {
  needs TFD_JAX_PYTHON jax
  write_model
  cat >export.py <<'PY'
from model import *
program = tfd_export.jax(loss, params, {n: v[:16] for n, v in data.items()}, "out", state=state, batch_sizes=[16, 8], data=data,
                         optimizer={"sgd": {"learning_rate": 0.1}}, train={"steps": 30}, variables={"hidden/*": {"aggregation": "mean"}})
program.evaluation(evaluate, batch_sizes=[64], data=data)
program.prediction(predict, {"x": data["x"][:1]}, batch_sizes=[1, 32])
PY
  "$PYTHON" export.py
  jq -e '.functions.train_step | .inputs == [{"variables": "*"}, {"dataset": "train", "field": "x"}, {"dataset": "train", "field": "y"}] and
    .outputs == [{"metric": "loss"}, {"gradients": "*"}, {"assign": "mean", "apply": "difference"}, {"assign": "seen", "apply": "difference"},
      {"metric": "accuracy", "part": "numerator"}, {"metric": "accuracy", "part": "denominator"}, {"metric": "size"}]' out/program.json
  jq -e '.variables | keys_unsorted == ["hidden/bias", "hidden/kernel", "out/0", "out/1", "mean", "seen"] and
    .mean == {"shape": [8], "dtype": "f32", "trainable": false} and .seen.dtype == "s32" and ."hidden/bias".aggregation == "mean"' out/program.json
  run ! grep -l 'loc(#\|#loc\|loc(unknown)' out/*.mlir
  losses --set train.checkpoint.dir=ck >ours
  tfd-run out/program.json --checkpoint ck --predict predict --dataset test --output logits.npy
  jq -es '.[-1].event == "end" and (.[-1].eval.accuracy | . > 0.3 and . <= 1)' events
  "$PYTHON" - <<'PY'
from model import *
values, p, s = theirs(30)
np.testing.assert_allclose(np.loadtxt("ours"), values, atol=2e-6)
trained, moved = tfd_export.load_into(params, "ck"), tfd_export.load_into(state, "ck")
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-6), (trained, moved), (p, s))
assert moved["seen"] == 30 and isinstance(trained["out"], list) and trained["out"][1].dtype == np.float32
np.testing.assert_allclose(np.load("logits.npy"), predict(trained, moved, data), atol=2e-6)
try:
    tfd_export.load_into({"hidden": {"kernel": np.zeros((5, 9))}}, "ck")
except ValueError as problem:
    assert "'hidden/kernel' has the shape [5, 8], not [5, 9]" in str(problem), problem
else:
    raise AssertionError
PY
  # The mean of the gradients and of the state over two replicas is that of the whole batch.
  losses --strategy mirrored --devices 2 >two
  paste ours two | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) exit 1 } END { exit NR != 30 }'
}

@test "export: one module for any batch size; where there is none, one for each, or the reason" {
  needs TFD_JAX_PYTHON jax
  write_model
  cat >export.py <<'PY'
from model import *
first = {n: v[:16] for n, v in data.items()}
program = tfd_export.jax(loss, params, first, "out", state=state, data=data, optimizer={"sgd": {"learning_rate": 0.1}}, train={"steps": 30})
program.evaluation(evaluate, {n: v[:64] for n, v in data.items()}, data=data)
program.prediction(predict, {"x": data["x"][:32]})
assert all(open(f"out/{name}.mlirt").readline() == f"// tfd-template: b={size}, a module for any batch size b\n"
           for name, size in (("train_step", 16), ("eval_step", 64), ("predict", 32)))
tfd_export.jax(lambda params, batch: loss(params, state, batch)[0], params, first, "plain/out", data=data,
               optimizer={"sgd": {"learning_rate": 0.1}}, train={"steps": 30})
def in_rounds(params, state, batch):  # as many operations as the batch has bits
    value, new, metrics = loss(params, state, batch)
    for _ in range(len(batch["x"]).bit_length()):
        value = value + jnp.sin(value) * 0
    return value, new, metrics
tfd_export.jax(in_rounds, params, first, "listed", state=state, data=data, train={"steps": 3})
try:
    tfd_export.jax(in_rounds, params, first, "none", state=state, data=data, batch_sizes="any")
except ValueError as problem:
    assert str(problem).startswith("train_step: there is no module for any batch size: the modules for batches of 7, 17, 37 have different operations"), problem
else:
    raise AssertionError
# What constants depend on the batch by, at sizes that weren't compared.
for form, value in (("b*28*28", lambda b: 784.0 * b), ("1/(b-1)", lambda b: 1 / (b - 1)), ("unbiased", lambda b: 0.1 * 48 * b / (48 * b - 1)),
                    ("0.3/b", lambda b: 0.3 / b), ("(b-1)/b", lambda b: (b - 1) / b), ("pairs", lambda b: float(b * b))):
    lines = {b: f"%c = stablehlo.constant dense<{np.float32(value(b)):.9g}> : tensor<f32>".replace("<784>", "<784.0>") for b in (7, 17, 37)}
    values = [f"{value(b):.9e}" for b in lines]
    found = tfd_export._expression(values, list(lines), lines[7])
    for b in (2, 5, 64, 1000):
        assert np.float32(eval(found, {"b": b})) == np.float32(value(b)), (form, found, b)
PY
  "$PYTHON" export.py
  [ "$(jq -r '.functions.train_step.module' listed/program.json)" = train_step.mlir ]
  [ "$(ls out/*.mlir* | wc -l)" = 3 ]
  losses --set train.checkpoint.dir=ck >ours
  tfd-run out/program.json --checkpoint ck --predict predict --dataset test --output logits.npy
  "$PYTHON" - <<'PY'
from model import *
values, p, s = theirs(30)
np.testing.assert_allclose(np.loadtxt("ours"), values, atol=2e-6)
np.testing.assert_allclose(np.load("logits.npy"), predict(p, s, data), atol=2e-6)
PY
  # 6, 5 and 5 rows: the mean over three replicas is that of the batch, where none has statistics of its own.
  cd plain
  losses >one
  losses --strategy mirrored --devices 3 >three
  paste one three | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) exit 1 } END { exit NR != 30 }'
}

@test "export: a program keeps its weights beside itself, replicas share its batches, and load_into() takes its folder" {
  needs TFD_JAX_PYTHON jax
  write_model
  cat >export.py <<'PY'
from model import *
first = {n: v[:16] for n, v in data.items()}
def export(to="out", **more):
    return tfd_export.jax(loss, params, first, to, state=state, data=data, optimizer={"sgd": {"learning_rate": 0.1}}, **more)
def refused(kind, text, function, *arguments, **more):
    try: function(*arguments, **more)
    except kind as problem: assert text in str(problem), problem
    else: raise AssertionError(text)
if __name__ == "__main__":
    program = export(train={"epochs": 2})
    assert repr(program) == "<Program out/program.json: 6 variables, 84 numbers; functions train_step; datasets train>", program
    refused(FileNotFoundError, "out/checkpoints has no checkpoint (step-N.safetensors): has the program been trained yet? tfd-run out/program.json",
            tfd_export.load_into, params, "out")
    refused(FileNotFoundError, "nosuch doesn't exist: has the program been trained yet? tfd-run", tfd_export.load_into, params, "nosuch")
    assert export("plain").document["train"] == {"function": "train_step", "epochs": 1, "checkpoint": {"dir": "checkpoints"}, "replicas": "split"}
    assert export("plain", train={"checkpoint": None, "replicas": None}).document["train"] == {"function": "train_step", "epochs": 1}
    stated = export("plain", train={"steps": 3, "checkpoint": {"every": 2}, "replicas": "each"}).document["train"]
    assert stated == {"function": "train_step", "steps": 3, "checkpoint": {"dir": "checkpoints", "every": 2}, "replicas": "each"}, stated
    export("plain", train={"checkpoint": None})
    refused(FileNotFoundError, "plain/program.json states no train.checkpoint.dir", tfd_export.load_into, params, "plain")
    refused(ValueError, "train: unknown key 'batch_size': it is that of the batch (there are function, steps", export, train={"batch_size": 32})
    refused(ValueError, "train: unknown key 'epoch', did you mean 'epochs'?", export, train={"epoch": 3})
    refused(ValueError, "train: unknown key 'early_stopping': train={\"stop\": {", export, train={"early_stopping": {}})
    refused(ValueError, "train.stop: unknown key 'patient', did you mean 'patience'?", export, train={"stop": {"metric": "loss", "patient": 3}})
    refused(ValueError, "train.checkpoint: unknown key 'directory'", export, train={"checkpoint": {"directory": "ck"}})
    pipeline = [{"npy": {"fields": {name: {"path": f"train_{name}.npy"} for name in first}}}, {"batch": {"size": 16, "drop_remainder": True}}]
    tfd_export.jax(loss, params, first, "piped", state=state, data=pipeline)  # whose files are brought later
    np.save("piped/train_x.npy", data["x"][:, :4]), np.save("piped/train_y.npy", data["y"].astype("int32"))
    refused(ValueError, "data: ", tfd_export.jax, loss, params, first, "piped", state=state, data=pipeline)
    refused(ValueError, "data: datasets.train", tfd_export.jax, loss, params, first, "piped", state=state, data=[*pipeline, {"bach": {"size": 3}}])
    tfd_export.jax(loss, params, first, "piped", state=state, data=pipeline, check=False)
    # The keys of `train` are those of the schema.
    import json
    found = json.load(open("program.schema.json"))["$defs"]["train"]["properties"]
    def keys_of(properties):
        return {key: keys_of(value["properties"]) if "properties" in value else None for key, value in properties.items()}
    assert keys_of(found) == tfd_export._TRAIN_KEYS, (keys_of(found), tfd_export._TRAIN_KEYS)
    def in_rounds(params, state, batch):  # of which there is no module for any size
        value, new, metrics = loss(params, state, batch)
        for _ in range(len(batch["x"]).bit_length()):
            value = value + jnp.sin(value) * 0
        return value, new, metrics
    tfd_export.jax(in_rounds, params, first, "fixed", state=state, data=data, train={"steps": 3})
PY
  python3 "$TFD_SOURCE/scripts/gen-schema.py" .
  run -0 --separate-stderr "$PYTHON" export.py
  [ "${stderr_lines[0]}" = "to train it: tfd-run out/program.json" ]
  timeout 120 tfd-run -q out/program.json </dev/null >events
  [ -e out/checkpoints/step-00000012.safetensors ]
  "$PYTHON" - <<'PY'
from export import *
values, p, s = theirs(12)
for where in ("out", "out/program.json", "out/checkpoints", "out/checkpoints/step-00000012.safetensors"):
    assert tfd_export.load_into(state, where)["seen"] == 12
PY
  # An epoch has as many steps on two devices, and a training that is there is named.
  rm -r out/checkpoints
  timeout 120 tfd-run -q out/program.json --strategy mirrored --devices 2 </dev/null >events
  jq -es '.[-1].event == "end" and .[-1].step == 12' events
  run -0 --separate-stderr "$PYTHON" -c 'from export import *; export()'
  [ "$stderr" = "to train it: tfd-run out/program.json --start-over    # without it, the training in out/checkpoints continues" ]
  # A module for one size can't be shared.
  run -65 --separate-stderr timeout 120 tfd-run -q fixed/program.json --strategy mirrored --devices 2
  [[ $stderr == *"2 replicas share a batch of 16 of dataset 'train', and no module accepts 8 (available: 16): export it for any batch size"* ]]
  timeout 120 tfd-run -q fixed/program.json </dev/null >events
}

@test "export: a step of JAX and one of the exported module are compared, and a variable in which they differ is named" {
  needs TFD_JAX_PYTHON jax
  write_model
  cat >export.py <<'PY'
from model import *
from unittest import mock
first = {n: v[:16] for n, v in data.items()}
def export(**more):
    return tfd_export.jax(loss, params, first, "out", state=state, data=data, **more)
def refused(text, what, replacement):
    with mock.patch.object(tfd_export._Jax, what, replacement):
        try: export()
        except ValueError as problem: assert str(problem).startswith(text) and "check=False exports without" in str(problem), problem
        else: raise AssertionError(text)
        assert export(check=False).document["functions"]
refused("jax: 'mean' changes in a step of jax ([0, 0, 0, …] becomes [", "unchanged", lambda self, text, place: {0})
refused("jax: the gradient of 'hidden/bias' differs: [", "decayed",
        lambda self, params, gradients: ({**gradients[0], "hidden": {**gradients[0]["hidden"], "bias": gradients[0]["hidden"]["bias"] * 1.001}}, gradients[1]))
# Without values, which a batch needs not have; numbers of a key, and steps that begin with NaN.
shapes = {n: jax.ShapeDtypeStruct(v.shape, v.dtype) for n, v in first.items()}
tfd_export.jax(lambda p, b, rng: loss(p, state, b)[0] + jax.random.normal(rng, ()), params, shapes, "shapes")
tfd_export.jax(lambda p, b: jnp.log(p["w"]) * b["x"].mean(), {"w": np.float32(-1)}, {"x": np.ones(4, "float32")}, "nan")
# What differs by rounding alone is the same: a gradient that is zero but for that, and a step that amplifies it.
def noisy(params, batch):
    x = batch["x"] @ params["w"] + params["b"]
    x = (x - x.mean(0)) / x.std(0)
    return jnp.mean(jnp.sin(1e4 * x))
tfd_export.jax(noisy, {"w": np.full((5, 4), 0.3, "float32"), "b": np.ones(4, "float32")}, {"x": first["x"]}, "noisy")
tables = {"table": (np.arange(12, dtype="float32").reshape(6, 2), ["i"])}
tfd_export.jax(lambda p, b: jnp.mean(b["i"] ** 2) * p["w"], {"w": np.float32(2)}, {"i": np.int32([1, 2, 2])}, "tables", tables=tables)
PY
  "$PYTHON" export.py
}

@test "export: the program of a model that TensorFlow and Keras step otherwise is refused, and their models stay as they were" {
  needs TFD_KERAS_PYTHON "keras and jax"
  cat >export.py <<'PY'
import tfd_export
import keras, numpy as np
from unittest import mock
keras.utils.set_random_seed(3)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.BatchNormalization(name="norm"), keras.layers.Dropout(0.5), keras.layers.Dense(1)], name="m")
model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
x, y = np.random.default_rng(1).normal(0, 1, (32, 4)).astype("float32"), np.ones((32, 1), "float32")
model.train_on_batch(x, y)
every = lambda: [np.asarray(one.value) for one in [*model.variables, *model.optimizer.variables]]  # noqa: E731
before, optimizer, function = every(), model.optimizer, model.train_function
tfd_export.keras(model, batch=(x[:16], y[:16]), to="out", data=(x, y))
with mock.patch.object(tfd_export._Jax, "unchanged", lambda self, text, place: set(range(9))):
    try: tfd_export.keras(model, batch=(x[:16], y[:16]), to="out")
    except ValueError as problem: assert str(problem).startswith("keras: 'm/norm/moving_mean' changes in a step of keras ("), problem
    else: raise AssertionError
assert all(np.array_equal(a, b) for a, b in zip(before, every(), strict=True)) and model.optimizer is optimizer and model.train_function is function
# Data as the batch is.
inputs = {"num": keras.Input((2,), name="num"), "city": keras.Input((1,), dtype="int32", name="city")}
nested = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Concatenate()([inputs["num"], keras.layers.Flatten()(keras.layers.Embedding(5, 2)(inputs["city"]))])))
data = {"num": x[:, :2], "city": np.arange(32, dtype="int32")[:, None] % 5}
for stated in ({"x": data, "y": y}, (data, y), {"x/num": data["num"], "x/city": data["city"], "y": y}):
    program = tfd_export.keras(nested, "mse", batch=({name: one[:16] for name, one in data.items()}, y[:16]), to="nested", data=stated)
    program.evaluation(data=stated)
    assert sorted(program.document["datasets"]["test"][0]["npy"]["fields"]) == ["x/city", "x/num", "y"], program.document["datasets"]
try: tfd_export.keras(nested, "mse", batch=({name: one[:16] for name, one in data.items()}, y[:16]), to="nested", data={"x": {"num": data["num"]}, "y": y})
except ValueError as problem: assert "data: there is no 'x/city', a field of the batch (there are x/num, y)" in str(problem), problem
else: raise AssertionError
PY
  "$PYTHON" -c 'import os; del os.environ["KERAS_BACKEND"]; exec(open("export.py").read())'
  timeout 120 tfd-run -q nested/program.json </dev/null >events
  # A backend that isn't JAX, and Keras where its backend isn't installed.
  echo 'import tfd_export; tfd_export.keras(None, batch=(1,), to="refused")' >refused.py
  KERAS_BACKEND=numpy run -1 --separate-stderr "$PYTHON" refused.py
  [[ ${stderr##*$'\n'} == "ValueError: keras: the backend is numpy, but models are exported from JAX: import tfd_export before keras, or set KERAS_BACKEND=jax, and start Python again" ]]
  mkdir -p without/tensorflow && echo 'raise ModuleNotFoundError("No module named '\''tensorflow'\''")' >without/tensorflow/__init__.py
  KERAS_BACKEND=tensorflow PYTHONPATH=without:$PYTHONPATH run -1 --separate-stderr "$PYTHON" refused.py
  [[ ${stderr##*$'\n'} == "ImportError: keras: Keras can't be imported (No module named 'tensorflow'): pip install keras jax, and import tfd_export before keras, or set KERAS_BACKEND=jax" ]]
  # Options come first: no framework is loaded for what is wrong with them.
  mkdir -p broken/keras && echo 'raise SystemExit("Keras was loaded")' >broken/keras/__init__.py
  PYTHONPATH=broken:$PYTHONPATH run -64 --separate-stderr "$PYTHON" -m tfd_export model.keras
  [ "$stderr" = "tfd_export: --data is missing: FILE.npz, FILE.csv or FIELD=FILE.npy" ]
}

@test "export: a step of TensorFlow and one of the exported module are compared, with JAX and without" {
  needs TFD_TENSORFLOW_PYTHON tensorflow
  cat >export.py <<'PY'
import importlib.util, sys
import numpy as np, tensorflow as tf, tfd_export
from unittest import mock
if "without" in sys.argv:
    find = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *rest: None if name == "jax" else find(name, *rest)
w, mean = tf.Variable(np.ones((4, 3), "float32"), name="w"), tf.Variable(np.zeros(3, "float32"), trainable=False, name="mean")
x = np.random.default_rng(1).normal(0, 1, (16, 4)).astype("float32")
def loss(x):
    y = x @ w
    mean.assign(0.75 * mean + 0.25 * tf.reduce_mean(y, axis=0))
    return tf.reduce_mean(y ** 2) + 0 * tf.random.uniform([])
def export(function=loss):
    return tfd_export.tensorflow(function, {"x": x}, "out", data={"x": x})
export()
sized = tfd_export._Module.sized
with mock.patch.object(tfd_export._Module, "sized", lambda self, size: sized(self, size).replace("2.500000e-01", "5.000000e-01")):
    export()  # random numbers are drawn: only which variables change is compared
    try: export(lambda x: (mean.assign(0.75 * mean + 0.25 * tf.reduce_mean(x @ w, axis=0)), tf.reduce_mean((x @ w) ** 2))[1])
    except ValueError as problem: assert str(problem).startswith("tensorflow: 'mean' differs: ["), problem
    else: raise AssertionError
assert (mean.numpy() == 0).all() and (w.numpy() == 1).all()
PY
  for how in with without; do "$PYTHON" export.py $how 2>talk || { tail -n 5 talk; false; }; done
}

@test "export: from PyTorch, running statistics of InstanceNorm and of torch.batch_norm(), and what torch changes otherwise is refused" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax' || skip "TFD_TORCH_PYTHON names no Python with torchax"
  cat >model.py <<'PY'
import numpy as np, random, torch, tfd_export
import torch.nn as nn
from torch import batch_norm as imported
x = np.random.default_rng(0).normal(3, 2, (16, 6)).astype("float32")
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.one, self.two = nn.Linear(6, 12, bias=False), nn.InstanceNorm1d(3, affine=True, track_running_stats=True), nn.InstanceNorm2d(3, momentum=0.3, track_running_stats=True)
        for name in "abcd":
            self.register_buffer(name, torch.zeros(12) if name in "ac" else torch.ones(12))
        self.scale = nn.Parameter(torch.linspace(1, 2, 12))
        self.unused = nn.Linear(3, 3)  # which AdamW of torch passes over
    def forward(self, x):
        x = torch.batch_norm(self.first(x), self.scale, None, self.a, self.b, self.training, 0.2, 1e-5, False)
        x = torch.tanh(self.one(x.view(-1, 3, 4)).flatten(1)) + torch.sin(self.two(x.view(-1, 3, 2, 2)).flatten(1) * self.scale)
        return imported(x, None, None, self.c, self.d, self.training, 0.1, 1e-5, False) * self.scale
def loss(module, batch):
    return (module(batch["x"]) ** 3).mean() + module.scale.sum()
class Other(nn.Module):
    def __init__(self, kind):
        super().__init__()
        torch.manual_seed(3)
        self.kind, self.layer, self.norm, self.calls, self.last = kind, nn.Linear(6, 6), nn.BatchNorm1d(6), 0, torch.zeros(6)
        self.register_buffer("unsaved", torch.zeros(6), persistent=False)
    def forward(self, x):
        h = self.norm(self.layer(x))
        if self.kind == "buffer": self.unsaved.mul_(0.9).add_(h.detach().mean(0))
        if self.kind == "clamp":
            with torch.no_grad(): self.layer.weight.clamp_(-0.1, 0.1)
        if self.kind == "count":
            self.calls += 1
            h = h * self.calls
        if self.kind == "last":
            h, self.last = h - self.last, h.detach().mean(0) + 1
        if self.kind == "python": h = h * random.random()
        if self.kind == "numpy": h = h * float(np.random.rand())
        if self.kind == "torch": h = h * torch.rand(h.shape)
        return h
PY
  cat >export.py <<'PY'
from model import *
from unittest import mock
model = Norms()
program = tfd_export.torch(model, loss, {"x": x}, "out", optimizer=torch.optim.AdamW(model.parameters(), 0.01, weight_decay=0.5), data={"x": x}, train={"steps": 5})
assert program.document["variables"]["unused.weight"]["trainable"] is False
def export(module, **more):
    return tfd_export.torch(module, lambda m, b: (m(b["x"]) ** 3).mean(), {"x": x}, "other", data={"x": x}, **more)
def refused(kind, text):
    module = Other(kind).train()
    module.norm.eval()  # frozen, and so it stays
    gradient = module.layer.bias.grad = torch.ones(6)
    kept = {name: one.clone() for name, one in [*module.named_parameters(), *module.named_buffers()]}
    states = lambda: (torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state()))  # noqa: E731
    before = states()
    try: export(module)
    except ValueError as problem: assert text is not None and str(problem).startswith(f"torch: {text}") and "check=False" in str(problem), problem
    else: assert text is None, text
    assert all(torch.equal(one, kept[name]) for name, one in [*module.named_parameters(), *module.named_buffers()])
    assert module.layer.bias.grad is gradient and module.layer.weight.grad is None and module.calls == 0 and (module.last == 0).all()
    assert states() == before and module.training and module.layer.training and not module.norm.training
refused("nothing", None)
refused("torch", None)
refused("buffer", "'unsaved' changes in a step, but isn't saved with the model")
refused("clamp", "'layer.weight' is a parameter that forward() changes in place")
refused("count", "the loss of step 2 differs: ")
refused("last", "the loss of step 2 differs: ")
refused("python", "a step draws random numbers in a way that would make them constants")
refused("numpy", "a step draws random numbers in a way that would make them constants")
with mock.patch.object(tfd_export, "_move_statistics", lambda *_: None):
    try: export(Other("nothing"))
    except ValueError as problem: assert str(problem).startswith("torch: 'norm.running_mean' changes in a step of torch ([0, 0, 0, …] becomes ["), problem
    else: raise AssertionError
    assert export(Other("nothing"), check=False).document["functions"]
def integers(module, batch): raise RuntimeError("no such thing in torch") if type(batch["x"]) is torch.Tensor else None
try: tfd_export.torch(Other("nothing"), integers, {"x": x}, "other")
except ValueError as problem: assert "the step fails in torch itself: no such thing in torch" in str(problem), problem
else: raise AssertionError
PY
  "$PYTHON" export.py
  timeout 120 tfd-run -q out/program.json --set 'datasets.train[1].shuffle.buffer=1' </dev/null >events
  "$PYTHON" - <<'PY'
from model import *
model = Norms()
optimizer = torch.optim.AdamW(model.parameters(), 0.01, weight_decay=0.5)
for _ in range(5):
    optimizer.zero_grad()
    loss(model, {"x": torch.tensor(x)}).backward()
    optimizer.step()
ours = tfd_export.load_into(Norms(), "out").state_dict()
for name, theirs in model.state_dict().items():
    np.testing.assert_allclose(ours[name], theirs, rtol=1e-5, atol=1e-5, err_msg=name)
assert all((ours[name] - 1).abs().max() > 0.01 for name in ("b", "d", "one.running_var", "two.running_var")), ours
PY
}

@test "export: tables of which JAX gets rows, one for two fields, without initial weights" {
  needs TFD_JAX_PYTHON jax
  cat >export.py <<'PY'
import jax, jax.numpy as jnp, numpy as np, tfd_export
random = np.random.default_rng(2)
table, w = random.normal(0, 1, (20, 3)).astype("float32"), np.ones(3, "float32")
data = {"a": random.integers(0, 20, 32).astype("int32"), "b": random.integers(0, 20, 32).astype("int32"), "y": random.normal(0, 1, 32).astype("float32")}
def loss(params, batch):
    return jnp.mean((jnp.sum(batch["a"] * batch["b"] * params["w"], axis=1) - batch["y"]) ** 2)
if __name__ == "__main__":
    tfd_export.jax(loss, {"w": w}, {n: v[:8] for n, v in data.items()}, "out", tables={"table": (table, ["a", "b"])}, data=data, train={"steps": 20},
                   optimizer={"sgd": {"learning_rate": 0.1}}, variables={"table": {"partitioner": {"fixed_shards": {"num_shards": 2}}}})
    constant = {"w": {"init": {"ones": {}}}, "table": {"init": {"constant": {"value": 0.5}}}}
    program = tfd_export.jax(loss, {"w": w}, {n: v[:8] for n, v in data.items()}, "without", tables={"table": (table, ["a", "b"])}, data=data, train={"steps": 5},
                             weights=None, variables=constant)
    program.document["optimizer"] = {"adagrad": {}}
    program.write()
PY
  "$PYTHON" export.py
  jq -e '.functions.train_step | .inputs[1] == {"lookup": "table", "ids": {"dataset": "train", "field": "a"}} and
    .outputs[3] == {"gradient": "table", "ids": {"dataset": "train", "field": "b"}}' out/program.json
  losses >ours
  "$PYTHON" - <<'PY'
from export import *
trained, values = ({"w": w}, table), []
for i in range(20):
    batch = {n: v[8 * i % 32:][:8] for n, v in data.items()}
    value, gradients = jax.value_and_grad(lambda t: loss(t[0], batch | {"a": t[1][batch["a"]], "b": t[1][batch["b"]]}))(trained)
    trained = jax.tree.map(lambda v, g: v - 0.1 * g, trained, gradients)
    values.append(float(value))
np.testing.assert_allclose(np.loadtxt("ours"), values, atol=1e-5)
PY
  [ ! -e without/initial.safetensors ]
  jq -e '.optimizer == {"adagrad": {}}' without/program.json
  tfd-run -q without/program.json >events
}

@test "export: a function of JAX gets keys, the step and the learning rate; gradients of its own; bfloat16" {
  needs TFD_JAX_PYTHON jax
  cat >export.py <<'PY'
import jax, jax.numpy as jnp, numpy as np, tfd_export
def step(params, batch, rng, step, learning_rate):
    noise = jax.random.normal(rng, (4,))
    return jnp.mean(noise), {"w": jnp.ones(3, jnp.bfloat16)}, {"step": step.astype(jnp.float32), "rate": learning_rate}
tfd_export.jax(step, {"w": jnp.zeros(3, jnp.bfloat16)}, [np.zeros(4)], "out", gradients=True, data={"0": np.zeros(8)}, train={"steps": 20},
               optimizer={"sgd": {"learning_rate": {"exponential_decay": {"initial_learning_rate": 0.5, "decay_steps": 1, "decay_rate": 0.5}}}})
PY
  "$PYTHON" export.py
  losses --set train.checkpoint.dir=ck >ours
  [ "$(sort -u ours | wc -l)" = 20 ]
  jq -es '[.[] | select(.event == "step").metrics] | [.[0, 1, 19].step] == [0, 1, 19] and [.[0, 1].rate] == [0.5, 0.25]' events
  "$PYTHON" -c '
import jax.numpy as jnp, tfd_export
w = tfd_export.load_into({"w": jnp.zeros(3, jnp.bfloat16)}, "ck")["w"]
assert w.dtype == jnp.bfloat16 and abs(float(w[0]) + 1) < 0.05, w'
}

@test "export: from JAX, a tree of dataclasses and tuples, keys and state that stays, with a loss scale" {
  needs TFD_JAX_PYTHON jax
  cat >model.py <<'PY'
import dataclasses, typing
import jax, jax.numpy as jnp, numpy as np, tfd_export
random = np.random.default_rng(3)
class Layer(typing.NamedTuple):
    kernel: jax.Array
    bias: jax.Array
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    layers: list
    scale: float = 1.0
params = Model([Layer(random.normal(0, 0.5, (4, 4)).astype("float32"), np.zeros(4, "float32")) for _ in range(2)])
state = {"key": jax.random.key(3), "fixed": np.arange(4, dtype="float32"), "norm": np.zeros(2, "float32")}
data = {"x": random.normal(0, 1, (48, 4)).astype("float32"), "y": random.normal(0, 1, 48).astype("float32")}
def loss(params, state, batch):
    key, own = jax.random.split(state["key"])
    x = batch["x"] * jax.random.bernoulli(own, 0.9, batch["x"].shape)
    for layer in params.layers:
        x = jnp.tanh(x @ layer.kernel + layer.bias)
    value = jnp.mean((params.scale * x @ state["fixed"] - batch["y"]) ** 2)
    return value, jax.lax.stop_gradient(state | {"key": key, "norm": state["norm"] + value})
def theirs(steps):
    p, s, values = params, state, []
    for i in range(steps):
        (value, s), g = jax.value_and_grad(loss, has_aux=True)(p, s, {name: value[16 * i % 48:][:16] for name, value in data.items()})
        p = jax.tree.map(lambda v, g: v - 0.05 * g, p, g)
        values.append(float(value))
    return values, p, s
PY
  "$PYTHON" -c '
from model import *
tfd_export.jax(loss, params, {n: v[:16] for n, v in data.items()}, "out", state=state, data=data, train={"steps": 20},
               optimizer={"sgd": {"learning_rate": 0.05, "loss_scale": {}}})'
  jq -e '.variables.key == {"shape": [2], "dtype": "u32"} and (.functions.train_step | .inputs[-2:] == ["loss_scale", "replica_id"] and
    [.outputs[] | select(.assign) | .assign] == ["key", "norm"])' out/program.json
  losses --set train.checkpoint.dir=ck >ours
  losses_of_worker >coordinated
  "$PYTHON" - <<'PY'
from model import *
values, p, s = theirs(20)
for ours in ("ours", "coordinated"):
    np.testing.assert_allclose(np.loadtxt(ours), values, atol=1e-5)
trained, moved = tfd_export.load_into(params, "ck"), tfd_export.load_into(state, "ck")
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), (trained, moved["norm"]), (p, s["norm"]))
assert isinstance(trained, Model) and isinstance(trained.layers[1], Layer) and moved["key"] == s["key"]
PY
}

@test "export: from JAX, complex parameters, state, data and results, as their parts; and linear algebra" {
  needs TFD_JAX_PYTHON jax
  cat >model.py <<'PY'
import jax, jax.numpy as jnp, jax.scipy.linalg as jsl, numpy as np, tfd_export
random = np.random.default_rng(3)
def complex_normal(*shape):
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype("complex64")
params = {"filter": complex_normal(5), "gain": np.float32(1), "mix": complex_normal(5, 5)}
state = {"mean": np.zeros(5, "complex64")}
data = {"x": random.normal(size=(48, 8)).astype("float32"), "z": complex_normal(48, 5)}
def spectrum(params, batch):
    q, r = jnp.linalg.qr(params["mix"] + 4 * jnp.eye(5))
    return (jnp.fft.rfft(batch["x"]) * params["filter"] + batch["z"]) @ q * params["gain"]
def loss(params, state, batch):
    z = spectrum(params, batch)
    pivots = jsl.qr(jnp.abs(params["mix"]), pivoting=True)[2]  # JAX doesn't promise how it calls that
    return jnp.mean(jnp.abs(z - 1j) ** 2) + 0 * pivots.sum(), {"mean": 0.5 * state["mean"] + jax.lax.stop_gradient(z.mean(0))}
def theirs(steps):
    p, s, values = params, state, []
    for i in range(steps):
        (value, s), g = jax.value_and_grad(loss, has_aux=True)(p, s, {name: value[16 * i % 48:][:16] for name, value in data.items()})
        p = jax.tree.map(lambda v, g: v - 0.01 * jnp.conj(g), p, g)
        values.append(float(value))
    return values, p, s
PY
  "$PYTHON" -c '
from model import *
program = tfd_export.jax(loss, params, {n: v[:16] for n, v in data.items()}, "out", state=state, data=data, train={"steps": 20},
                         optimizer={"sgd": {"learning_rate": 0.01}})
program.prediction(lambda params, state, batch: spectrum(params, batch), {n: v[:1] for n, v in data.items()})'
  jq -e '.variables.filter == {"shape": [5, 2], "dtype": "f32"} and .variables.mean.shape == [5, 2]' out/program.json
  losses --set train.checkpoint.dir=ck >ours
  losses_of_worker >coordinated
  tfd-run out/program.json --checkpoint ck --predict predict --output predicted.npy --dataset '[{"npy": {"fields":
    {"x": {"path": "out/train_x.npy"}, "z": {"path": "out/train_z.npy"}}}}, {"batch": 1}]'
  "$PYTHON" - <<'PY'
from model import *
values, p, s = theirs(20)
for ours in ("ours", "coordinated"):
    np.testing.assert_allclose(np.loadtxt(ours), values, rtol=1e-5)
trained, moved = tfd_export.load_into(params, "ck"), tfd_export.load_into(state, "ck")
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), (trained, moved), (p, s))
assert trained["filter"].dtype == moved["mean"].dtype == "complex64"
predicted = np.load("predicted.npy")
np.testing.assert_allclose(predicted[..., 0] + 1j * predicted[..., 1], spectrum(p, data), atol=1e-4)
PY
}

@test "export: from JAX, a step with an optimizer of its own" {
  needs TFD_JAX_PYTHON jax
  cat >export.py <<'PY'
import jax, jax.numpy as jnp, numpy as np, tfd_export
random = np.random.default_rng(3)
data = {"x": random.normal(0, 1, (48, 4)).astype("float32"), "y": random.normal(0, 1, 48).astype("float32")}
state = (np.zeros(4, "float32"), {"velocity": np.zeros(4, "float32"), "count": 0})
def step(_, state, batch):
    w, kept = state
    value, gradient = jax.value_and_grad(lambda w: jnp.mean((batch["x"] @ w - batch["y"]) ** 2))(w)
    velocity = 0.9 * kept["velocity"] - 0.05 * gradient
    return value, (w + velocity, {"velocity": velocity, "count": kept["count"] + 1})
if __name__ == "__main__":
    tfd_export.jax(step, {}, {n: v[:16] for n, v in data.items()}, "out", state=state, data=data, train={"steps": 20})
PY
  "$PYTHON" export.py
  losses --set train.checkpoint.dir=ck >ours
  losses_of_worker >coordinated
  "$PYTHON" - <<'PY'
from export import *
moved, values = state, []
for i in range(20):
    value, moved = step({}, moved, {name: value[16 * i % 48:][:16] for name, value in data.items()})
    values.append(float(value))
for ours in ("ours", "coordinated"):
    np.testing.assert_allclose(np.loadtxt(ours), values, atol=1e-6)
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), tfd_export.load_into(state, "ck"), moved)
PY
}

@test "export: for several platforms, and what cannot be exported is said" {
  needs TFD_JAX_PYTHON jax
  cat >export.py <<'PY'
import jax, jax.numpy as jnp, numpy as np, tfd_export
def loss(params, batch): return jnp.mean((params["w"] * batch["x"]) ** 2)
params, batch = {"w": np.float32(1)}, {"x": np.ones(4, "float32")}
def refused(text, *arguments, **more):
    try: tfd_export.jax(*arguments, "refused", **more)
    except ValueError as problem: assert text in str(problem), problem
    else: raise AssertionError(text)
tfd_export.jax(loss, params, batch, "out", data=batch, train={"steps": 3}, platforms=("cpu", "cuda"))
refused("params and state have the same names: w", loss, params, batch, state={"w": np.float32(0)})
refused("with state the function has to return (loss, new state)", lambda p, s, b: loss(p, b), params, batch, state={"s": np.float32(0)})
refused("batch: y has the shape [3]", loss, params, {"x": np.ones(4), "y": np.ones(3)})
refused("no variable matches 'v*' (there are w)", loss, params, batch, variables={"v*": {}})
refused("act is 'tanh', not an array of numbers", loss, params | {"act": "tanh"}, batch)
refused("params: n is int64, which has no gradient", loss, params | {"n": 3}, batch)
refused("two leaves of the tree are called 'a/b'", loss, {"a": {"b": 1.0}, "a/b": 1.0}, batch)
refused("the loss has the shape [4] and the dtype float32; it has to be a floating-point scalar", lambda p, b: b["x"], params, batch)
refused("has to return loss or (loss, {metric: value})", lambda p, b: (loss(p, b), 1), params, batch)
refused("the metric 'm' has to be a scalar number, or a pair", lambda p, b: (loss(p, b), {"m": b["x"]}), params, batch)
refused("the metric 'm' has to be a scalar number, or a pair", lambda p, b: (loss(p, b), {"m": (1, 2, 3)}), params, batch)
refused("the metric 'm' has to be a scalar number, or a pair", lambda p, b: (loss(p, b), {"m": b["x"][0] > 0}), params, batch)
refused("a metric is called loss", lambda p, b: (loss(p, b), {"loss": 1.0}), params, batch)
refused("new state: s has to be float32[2], but is float32[3]", lambda p, s, b: (loss(p, b), {"s": jnp.zeros(3)}), params, batch, state={"s": np.zeros(2)})
refused("with gradients the function has to return (loss, gradients)", loss, params, batch, gradients=True)
refused("data: there is no 'x', a field of the batch (there are z)", loss, params, batch, data={"z": np.ones(4)})
refused("data: 'x' has the shape [4, 2], not [4]", loss, params, batch, data={"x": np.ones((4, 2))})
refused("data: there are 3 examples, fewer than a batch of 4", loss, params, batch, data={"x": np.ones(3)})
refused("data: 'x' has numbers that int32, its dtype in the batch, does not hold", loss, params, {"x": np.ones(4, int)}, data={"x": np.full(4, 0.5)})
refused("data: it has to be {field: array}, or a pipeline as in program.json, a list of objects; the fields here are x", loss, params, batch, data=(np.ones(4),))
refused("data: it has to be {field: array}", loss, params, batch, data=iter([batch]))
refused("optimizer: float is not as in program.json", loss, params, batch, optimizer=0.1)
refused("batch: it has 1 fields, and there are 2 names for them", loss, params, batch, fields=["x", "y"])
for option, text in (("epochs", 'there is no option epochs: train={"epochs": 3}; the options are '), ("speed", "there is no option speed; the options are batch_sizes, data")):
    try: tfd_export.jax(loss, params, batch, "refused", **{option: 3})
    except TypeError as problem: assert text in str(problem), problem
    else: raise AssertionError(option)
try: tfd_export.jax(loss, params, batch, "refused").evaluation(data=batch)
except ValueError as problem: assert "evaluation: the function must be given" in str(problem), problem
else: raise AssertionError
PY
  "$PYTHON" export.py
  [ "$(losses --set train.log_every=1 | wc -l)" = 3 ]
  # Data of one's own: the program names the files.
  "$PYTHON" -c 'from export import *; tfd_export.jax(loss, params, batch, "placeholder")'
  run -65 --separate-stderr tfd-run --check placeholder/program.json
  [[ $stderr == *"datasets.train[0].npy.fields.x.path: cannot open "*train_x.npy* ]]
  # Weights that are none.
  head -c 40 out/initial.safetensors >cut.safetensors
  run -1 "$PYTHON" -c 'import tfd_export; tfd_export.read_safetensors("cut.safetensors")'
  [[ ${lines[-1]} == 'ValueError: cut.safetensors is no safetensors file: '* ]]
}

@test "export: from Keras, two inputs, sample weights, regularizers and dropout; and the trained weights back" {
  needs TFD_KERAS_PYTHON "keras and jax"
  cat >model.py <<'PY'
import keras, numpy as np, tfd_export
from keras import layers
random = np.random.default_rng(5)
data = {"a": random.normal(0, 1, (96, 6)).astype("float32"), "b": random.normal(0, 1, (96, 4)).astype("float32")}
y, weight = random.normal(0, 1, (96, 1)).astype("float32"), random.uniform(0.5, 2, 96).astype("float32")
def make():
    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    a, b = keras.Input((6,), name="a"), keras.Input((4,), name="b")
    x = layers.Concatenate()([layers.Dense(8, kernel_regularizer="l2", name="left")(a), layers.Dense(8, name="right")(b)])
    x = layers.Dropout(0.5)(layers.BatchNormalization(name="norm")(layers.Dropout(0.2)(layers.ReLU()(x))))
    return keras.Model({"a": a, "b": b}, layers.Dense(1, name="out")(x), name="two")
compiled = dict(loss="mse", optimizer=keras.optimizers.RMSprop(0.01, momentum=0.5, clipnorm=1.0), metrics=["mae"])
PY
  cat >export.py <<'PY'
from model import *
first = {n: v[:16] for n, v in data.items()}
program = tfd_export.keras(make(), **compiled, batch=(first, y[:16], weight[:16]), to="out", batch_sizes=[16, 8],
                           data={"x/a": data["a"], "x/b": data["b"], "y": y, "sample_weight": weight}, train={"steps": 30})
program.evaluation(data={"x/a": data["a"], "x/b": data["b"], "y": y, "sample_weight": weight}, batch_sizes=[40])
program.prediction(batch_sizes=[16])
PY
  "$PYTHON" export.py
  jq -e '.optimizer == {"rmsprop": {"learning_rate": 0.01, "clipnorm": 1.0, "rho": 0.9, "momentum": 0.5, "epsilon": 1e-7}} and
    (.functions.eval_step.module == ["eval_step_40.mlir", "eval_step_16.mlir"])' out/program.json
  losses --set train.checkpoint.dir=ck >ours
  tfd-run out/program.json --checkpoint ck --predict predict --dataset test --output predicted.npy
  "$PYTHON" - <<'PY'
import json
from model import *
model, values = make(), []
model.compile(**compiled)
for i in range(30):
    rows = slice(16 * i % 96, 16 * i % 96 + 16)
    model.reset_metrics()
    values.append(model.train_on_batch({n: v[rows] for n, v in data.items()}, y[rows], weight[rows])[0])
np.testing.assert_allclose(np.loadtxt("ours"), values, rtol=1e-4)
ours = tfd_export.load_into(make(), "ck")
for mine, theirs in zip(ours.variables, model.variables):
    np.testing.assert_allclose(mine.value, theirs.value, atol=1e-4, err_msg=mine.path)
np.testing.assert_allclose(np.load("predicted.npy"), ours.predict(data, verbose=0), atol=1e-5)
end = [json.loads(line) for line in open("events")][-1]["eval"]
ours.compile(loss="mse", metrics=["mae"])
loss, mae = ours.evaluate(data, y, sample_weight=weight, verbose=0)
assert abs(end["loss"] - loss) < 2e-3, (end, loss, mae)  # tfd: the mean of the batches' losses; Keras weights them by their weights
PY
}

@test "export: from Keras, two outputs with the same metrics, a frozen layer, half precision and its loss scale" {
  needs TFD_KERAS_PYTHON "keras and jax"
  cat >model.py <<'PY'
import keras, numpy as np, tfd_export
from keras import layers
random = np.random.default_rng(5)
x, y = random.integers(0, 9, (48, 5)).astype("int32"), [random.integers(0, 3, 48), random.normal(0, 1, (48, 1)).astype("float32")]
def make():
    keras.utils.clear_session()
    keras.mixed_precision.set_dtype_policy("mixed_float16")
    keras.utils.set_random_seed(7)
    tokens = keras.Input((5,), dtype="int32")
    h = layers.GRU(6, name="gru")(layers.Embedding(9, 4, trainable=False, name="frozen")(tokens))
    model = keras.Model(tokens, [layers.Dense(3, "softmax", dtype="float32", name="kind")(h), layers.Dense(1, dtype="float32", name="size")(h)], name="m")
    schedule = keras.optimizers.schedules.CosineDecay(0.05, 20)
    model.compile(keras.optimizers.AdamW(schedule, weight_decay=0.01, clipnorm=1.0), ["sparse_categorical_crossentropy", "mse"], metrics=[["sparse_categorical_accuracy"], ["mae"]])
    return model
PY
  "$PYTHON" -c '
from model import *
tfd_export.keras(make(), batch=(x[:16], [one[:16] for one in y]), to="out", data={"x": x, "y/0": y[0], "y/1": y[1]}, train={"steps": 20})'
  jq -e '.optimizer.adamw.loss_scale == {"initial": 32768, "growth_steps": 2000} and .variables."frozen/embeddings".trainable == false and
    ([.functions.train_step.outputs[] | .assign // .metric // empty | select(contains("seed") | not)] ==
      ["loss", "kind_sparse_categorical_accuracy", "kind_sparse_categorical_accuracy", "size_mae", "size_mae"])' out/program.json
  losses --set train.checkpoint.dir=ck >ours
  cp events one
  losses_of_worker >coordinated
  "$PYTHON" - <<'PY'
import json
from model import *
model, values = make(), []
for i in range(20):
    rows = slice(16 * i % 48, 16 * i % 48 + 16)
    model.reset_metrics()
    values.append(model.train_on_batch(x[rows], [one[rows] for one in y], return_dict=True))
for ours in ("ours", "coordinated"):
    np.testing.assert_allclose(np.loadtxt(ours), [one["loss"] for one in values], rtol=2e-3)
steps = [one["metrics"] for one in map(json.loads, open("one")) if one["event"] == "step"]
np.testing.assert_allclose([one["size_mae"] for one in steps], [one["size_mae"] for one in values], rtol=2e-3)
for mine, theirs in zip(tfd_export.load_into(make(), "ck").variables, model.variables):
    np.testing.assert_allclose(mine.value, theirs.value, atol=2e-3, err_msg=mine.path)
PY
}

# The blocks of README's "Your own model", as they stand there: block1 and so on.
readme_blocks() {
  awk '/^## / { on = /Your own model/ } on && /^```/ { inside = !inside; if (inside) ++block; next } on && inside { print >("block" block) }' \
    "$TFD_SOURCE/README.md"
}

# Trains by a block of README, and brings the weights back.
readme_trains() { # BLOCK
  readme_blocks
  cat >whole.py <<'PY'
import numpy, subprocess, sys, tfd_export
x = numpy.random.rand(1000, 20).astype("float32")
keep = {"x": x, "y": (x.sum(axis=1) > 10).astype("float32"), "numpy": numpy, "tfd_export": tfd_export}
exec(open(sys.argv[1]).read(), keep)
subprocess.run(["timeout", "120", "sh", "-euc", open("block2").read()], check=True, stdin=subprocess.DEVNULL, stdout=open("events", "w"))
if "module" in keep:
    module = tfd_export.load_into(keep["module"], "mine")
    predicted = module(keep["torch"].tensor(x)).detach().numpy()[:, 0]
else:
    params = tfd_export.load_into(keep["params"], "mine")
    predicted = x @ params["w"] + params["b"]
assert ((predicted > 0) == keep["y"]).mean() > 0.8, predicted
PY
  "$PYTHON" whole.py "$1"
  jq -es '.[-1].event == "end" and .[-1].step == 1000' events
}

@test "export: README's lines of PyTorch train, and the weights come back" {
  needs TFD_TORCH_PYTHON "torch, torchax and jax"
  readme_trains block4
}

@test "export: README's lines of JAX train, and the weights come back" {
  needs TFD_JAX_PYTHON jax
  readme_trains block5
}

@test "export: README's first lines: a model of Keras trains, and its weights come back" {
  needs TFD_KERAS_PYTHON "keras and jax"
  readme_blocks
  cat >whole.py <<'PY'
import subprocess
keep = {}
exec(open("block1").read(), keep)
subprocess.run(["timeout", "120", "sh", "-euc", open("block2").read()], check=True, stdin=subprocess.DEVNULL, stdout=open("events", "w"))
before = keep["model"].evaluate(keep["x"], keep["y"], verbose=0)
exec(open("block3").read(), keep)
after = keep["model"].evaluate(keep["x"], keep["y"], verbose=0)
assert after[0] < before[0] and after[1] > 0.8, (before, after)
PY
  "$PYTHON" whole.py
  jq -es '.[-1].event == "end" and .[-1].step == 1000' events
}

@test "export: from Keras, with tfd's random numbers, and what cannot be exported is said" {
  needs TFD_KERAS_PYTHON "keras and jax"
  cat >export.py <<'PY'
import keras, numpy as np, tfd_export
from keras import layers, optimizers
def make():
    return keras.Sequential([keras.Input((4,)), layers.Dropout(0.5), layers.Dropout(0.5), layers.Dense(1, kernel_initializer="ones", use_bias=False)], name="m")
x, y = np.ones((8, 4), "float32"), np.zeros((8, 1), "float32")
batch = (x, y)
program = tfd_export.keras(make(), "mse", {"sgd": {"learning_rate": 0.0}}, batch=batch, to="out", seeds="rng", data={"x": x, "y": y}, train={"steps": 20})
assert list(program.document["variables"]) == ["m/dense/kernel"], program.document["variables"]
def refused(text, *arguments, **more):
    try: tfd_export.keras(make(), *arguments, batch=batch, to="refused", **more)
    except ValueError as problem: assert text in str(problem), problem
    else: raise AssertionError(text)
refused("the model isn't compiled")
refused("tfd has no optimizer Adafactor; it has SGD", "mse", "adafactor")
refused("r2_score is no mean, nor AUC", "mse", "adam", [keras.metrics.R2Score()])
refused("precision is 2 numbers, one for each threshold", "mse", "adam", [keras.metrics.Precision([0.3, 0.6], name="precision")])
for more in ({"summation_method": "minoring"}, {"curve": "PRGAIN"}, {"multi_label": True, "num_labels": 1}):
    refused("auc: tfd has the AUC of the curves ROC and PR by interpolation, without multi_label", "mse", "adam", [keras.metrics.AUC(name="auc", **more)])
class Own(keras.Sequential):
    def train_step(self, *arguments): pass
for wrong, text in ((Own([layers.Dense(1)]), "Own has a train_step() of its own"),
                    (keras.Sequential([layers.Dense(1, kernel_constraint="non_neg", name="d")], name="c"), "c/d/kernel: a constraint, which")):
    try: tfd_export.keras(wrong, "mse", batch=batch, to="refused")
    except ValueError as problem: assert text in str(problem), problem
    else: raise AssertionError(text)
try: tfd_export.keras(make(), "mse", batch=x, to="refused")
except ValueError as problem: assert "batch has to be (x, y) or" in str(problem), problem
else: raise AssertionError
refused("seeds is 'both'", "mse", seeds="both")
def program_of(optimizer):
    return tfd_export._keras_optimizer(optimizer)
S = optimizers.schedules
assert program_of(optimizers.SGD(S.PiecewiseConstantDecay([10, 20], [0.1, 0.2, 0.3]), 0.9, nesterov=True, use_ema=True)) == {"sgd": {
    "learning_rate": {"piecewise_constant_decay": {"boundaries": [10, 20], "values": [0.1, 0.2, 0.3]}}, "momentum": 0.9, "nesterov": True,
    "use_ema": True, "ema_momentum": 0.99}}
assert program_of(optimizers.Adam(0.1, amsgrad=True, gradient_accumulation_steps=2))["adam"]["gradient_accumulation_steps"] == 2
optimizer = optimizers.AdamW(S.ExponentialDecay(0.1, 10, 0.5, staircase=True))
optimizer.exclude_from_weight_decay(var_names=["bias"])
model = keras.Sequential([keras.Input((4,)), layers.Dense(2, name="d")], name="m2")
stated = tfd_export._keras_optimizer(optimizer, model)["adamw"]
assert stated["exclude_from_weight_decay"] == ["m2/d/bias"] and stated["learning_rate"] == {
    "exponential_decay": {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": True}}, stated
PY
  "$PYTHON" export.py
  losses --set train.checkpoint.dir=ck >ours
  [ "$(sort -u ours | wc -l)" -gt 5 ]
  "$PYTHON" -c 'from export import *; keras.utils.clear_session(); assert (tfd_export.load_into(make(), "ck").get_weights()[0] == 1).all()'
}

@test "export: Keras' AUC, Precision, Recall and RootMeanSquaredError, on devices, in a cluster and in a group, are Keras' own of all rows" {
  needs TFD_KERAS_PYTHON "keras and jax"
  cat >export.py <<'PY'
import json, keras, numpy as np, tfd_export
from keras.metrics import AUC, Precision, Recall, RootMeanSquaredError
random = np.random.default_rng(1)
x = random.normal(0, 1, (1000, 6)).astype("float32")
y = (x.sum(axis=1) + random.normal(0, 1, 1000) > 1).astype("float32")[:, None]
def make():
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1, "sigmoid")], name="m")
def metrics():
    return [AUC(name="roc"), AUC(curve="PR", name="pr", num_thresholds=50), Precision(name="precision"), Recall(0.3, name="recall"),
            Precision(0.9999, name="none"), RootMeanSquaredError(name="rmse"), "accuracy"]
if __name__ == "__main__":
    program = tfd_export.keras(make(), "binary_crossentropy", keras.optimizers.Adam(0.02), metrics(), batch=(x[:32], y[:32]), to="out",
                               data={"x": x[:640], "y": y[:640]}, train={"steps": 40})
    program.evaluation(data={"x": x[640:], "y": y[640:]})  # the last batch is smaller
PY
  "$PYTHON" export.py
  train() { timeout 120 "${@:2}" --set "train.checkpoint.dir=$1" --set train.log_every=1 </dev/null >"$1.events"; }
  train one tfd-run -q out/program.json
  train two tfd-run -q out/program.json --strategy mirrored --devices 2
  train cluster tfd-serve --jobs worker=3,ps=2 -- tfd-coordinate -q out/program.json
  train group tfd-launch -n 2 -- tfd-run -q out/program.json --strategy multi-worker-mirrored
  cat >compare.py <<'PY'
from export import *
model = make()
model.compile("adam", "binary_crossentropy", metrics=metrics())
for name in ("one", "two", "cluster", "group"):
    tfd_export.load_into(model, name)
    theirs = model.evaluate(x[640:], y[640:], batch_size=32, verbose=0, return_dict=True)
    events = [json.loads(line[line.index("{"):]) for line in open(name + ".events") if '"event":"' in line]
    ours = next(event for event in events if event["event"] == "end")["eval"]
    assert set(ours) == set(theirs) and theirs["none"] == 0 and theirs["roc"] > 0.6, theirs
    for metric, value in theirs.items():
        assert abs(ours[metric] - value) < 2e-6, (name, metric, ours, theirs)
    assert all(set(event["metrics"]) == set(ours) for event in events if event["event"] == "step"), events[1]
PY
  "$PYTHON" compare.py
}

@test "export: python -m tfd_export takes a saved Keras model, data and names, and saves it with the weights of a checkpoint" {
  needs TFD_KERAS_PYTHON "keras and jax"
  cat >make.py <<'PY'
import keras, numpy as np
random = np.random.default_rng(1)
x = random.normal(0, 1, (400, 6)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")
np.savez("train.npz", x=x[:320], y=y[:320])
np.savez("test.npz", x=x[320:], y=y[320:])
np.save("x.npy", x), np.save("y.npy", y)
np.savetxt("train.csv", np.c_[y, x], delimiter=",", header="label," + ",".join("abcdef"), comments="")
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1, "sigmoid")])
model.save("raw.keras")
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
model.save("model.keras")
a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
keras.Model([a, b], keras.layers.Dense(1)(a + b)).save("two.keras")
np.savez("two.npz", a=x, b=x, y=y)
PY
  "$PYTHON" make.py
  run -0 --separate-stderr "$PYTHON" -m tfd_export model.keras --data train.npz --test test.npz --epochs 5
  [ "$output" = model/program.json ]
  [ "${stderr##*$'\n'}" = "to train it: tfd-run model/program.json" ]
  timeout 120 tfd-run -q "$output" </dev/null >events
  jq -es '.[-1].event == "end" and .[-1].step == 50' events
  cat >others.py <<'PY'
import contextlib, io, json, keras, numpy as np, tfd_export
def run(line):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return tfd_export.main(line.split()), out.getvalue(), err.getvalue()
def refused(line, code, text):
    found, out, err = run(line)
    assert (found, out, err.count("\n")) == (code, "", 1) and err.startswith("tfd_export: ") and text in err, (line, found, out, err)
assert run("model.keras --load model --to trained.keras") == (0, "trained.keras\n", "")
model, test = keras.saving.load_model("trained.keras"), np.load("test.npz")
loss, accuracy = model.evaluate(test["x"], test["y"], verbose=0)
end = [json.loads(line) for line in open("events")][-1]
end = end["eval"]
assert abs(loss - end["loss"]) < 1e-6 and abs(accuracy - end["accuracy"]) < 1e-6 and accuracy > 0.9, (loss, accuracy, end)
def program(line):
    code, out, err = run(line)
    assert code == 0, err
    return json.load(open(out.strip()))
made = program("model.keras --data x=x.npy y=y.npy --to one --learning-rate 0.5 --steps 7 --batch-size 8")
assert made["optimizer"]["adam"]["learning_rate"] == 0.5, made
assert made["train"] == {"function": "train_step", "steps": 7, "checkpoint": {"dir": "checkpoints"}, "replicas": "split"}, made
made = program('raw.keras --loss mse --metric mae --optimizer {"sgd":{"momentum":0.9}} --data train.csv --label label')
assert made["optimizer"] == {"sgd": {"momentum": 0.9}} and "'mae'" in str(made["functions"]["train_step"]["outputs"]), made
assert np.load("raw/train_x.npy").shape == (400, 6) and (np.load("raw/train_y.npy") == np.load("y.npy")).all()
made = program("two.keras --loss mse --data two.npz")
assert list(made["datasets"]["train"][0]["npy"]["fields"]) == ["x/a", "x/b", "y"], made
refused("", 64, "MODEL")
refused("--frob", 64, "MODEL")
refused("model.keras --frob", 64, "unrecognized arguments: --frob; see --help")
refused("model.pt --data x.npz", 64, "name that as FILE.py:NAME")
refused("model.keras", 64, "--data is missing")
refused("none.keras --data train.npz", 65, "there is no file none.keras")
refused("model.keras --data none.npz", 65, "none.npz: no such file or directory")
refused("model.keras --data x.npy", 64, "FIELD=FILE.npy")
refused("model.keras --data x=x.npy y=y.npy z=y.npy", 65, "'z' is neither x, y")
refused("model.keras --data train.csv --label size", 65, "train.csv has no column 'size' (there are label, a, b, c")
refused("model.keras --data x=x.npy y=y.npy --label size", 64, "--label is for .csv")
refused("model.keras --data train.npz --steps 0", 64, "--steps has to be 1 or more")
refused("raw.keras --data train.npz", 64, "state its --loss")
refused("raw.keras --data train.npz --loss msee", 64, "Keras has no 'msee'")
refused("raw.keras --data train.npz --loss mse --metric maee", 64, "Keras has no 'maee'")
refused("raw.keras --data train.npz --loss mse --optimizer adamm", 64, "Keras has no 'adamm' (such as sgd")
refused("raw.keras --data train.npz --loss mse --optimizer {adam}", 64, "it isn't JSON")
refused("model.keras --load model", 64, "--load needs --to")
refused("model.keras --load none --to a.keras", 65, "none doesn't exist: has the program been trained yet? tfd-run")
refused("raw.keras --loss mse --data two.npz", 65, "'a' is neither x, y")
PY
  "$PYTHON" others.py
  run -65 --separate-stderr "$PYTHON" -m tfd_export none.keras --data train.npz
  [ "$stderr" = "tfd_export: there is no file none.keras" ]
  [ -z "$output" ]
  run -0 "$PYTHON" -m tfd_export --help
  [[ $output == *"--load CHECKPOINT"* ]]
}

@test "export: python -m tfd_export takes a torch module and a file of its weights" {
  needs TFD_TORCH_PYTHON "torch, torchax and jax"
  cat >net.py <<'PY'
import numpy as np, torch
class Net(torch.nn.Module):
    def __init__(self, outputs=2):
        super().__init__()
        self.a, self.b = torch.nn.Linear(6, 8), torch.nn.Linear(8, outputs)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
def one():
    return Net(1)
if __name__ == "__main__":
    torch.manual_seed(3)
    x = np.random.default_rng(1).normal(0, 1, (320, 6)).astype("float32")
    np.savez("train.npz", x=x, y=(x.sum(axis=1) > 0).astype("int64"))
    weights = Net().state_dict()
    torch.save(weights, "net.pt")
    torch.save({"model_state_dict": {"module." + name: one for name, one in weights.items()}, "epoch": 3}, "whole.pt")
PY
  "$PYTHON" net.py
  loss=(--loss cross_entropy --metric accuracy --data train.npz)
  run -0 --separate-stderr "$PYTHON" -m tfd_export net.py:Net --state-dict whole.pt "${loss[@]}" --test train.npz --epochs 5 --lr 0.01
  [ "$output" = net/program.json ]
  timeout 120 tfd-run -q net/program.json --set train.checkpoint.dir=ck </dev/null >events
  cat >others.py <<'PY'
import contextlib, io, json, numpy as np, tfd_export, torch
from net import Net
def run(line):
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        return tfd_export.main(line.split()), err.getvalue()
def refused(line, code, text):
    found, err = run(line)
    assert found == code and err.count("\n") == 1 and text in err, (line, found, err)
assert run("net.py:Net --load net/initial.safetensors --to initial.pt") == run("net.py:Net --load ck --to trained.pt") == (0, "")
begin, initial, trained = (torch.load(name) for name in ("net.pt", "initial.pt", "trained.pt"))
assert all(torch.equal(begin[name], initial[name]) and not torch.equal(begin[name], trained[name]) for name in begin)
model, data = Net(), np.load("train.npz")
model.load_state_dict(trained)
assert all(torch.equal(one, trained[name]) for name, one in tfd_export.load_into(Net(), "ck").state_dict().items())
try: tfd_export.load_into(Net().state_dict(), "ck")
except ValueError as problem: assert "load_into(module, checkpoint).state_dict()" in str(problem)
else: raise AssertionError("a state_dict was taken")
loss = torch.nn.functional.cross_entropy(model(torch.tensor(data["x"])), torch.tensor(data["y"])).item()
end = [json.loads(line) for line in open("events")][-1]
end = end["eval"]
assert abs(loss - end["loss"]) < 1e-6 and end["accuracy"] > 0.9, (loss, end)
assert run("net.py:one --loss mse_loss --optimizer sgd --data train.npz --to one")[0] == 0
assert json.load(open("one/program.json"))["optimizer"] == {"sgd": {"learning_rate": 0.001}}
tfd_export.write_safetensors("net.safetensors", {name: value.numpy() for name, value in begin.items()})
assert run("net.py:Net --state-dict net.safetensors --load net/initial.safetensors --to again.pt")[0] == 0
torch.save({"a.weight": torch.ones(3)}, "wrong.pt")
data = "--data train.npz"
refused(f"net.py:Net {data}", 64, "state its --loss, such as cross_entropy")
refused(f"net.py:Net {data} --loss xent", 64, "torch.nn.functional has no 'xent'")
refused(f"net.py:Net {data} --loss cross_entropy --metric auc", 64, "it can be accuracy only")
refused(f"net.py:Net {data} --loss cross_entropy --optimizer rms", 64, "torch.optim has no 'rms'")
refused(f"net.py:Net {data} --loss cross_entropy --optimizer rmsprop", 65, "no optimizer with the formula of torch's RMSprop")
refused(f"net.py:Net {data} --loss cross_entropy --state-dict wrong.pt", 65, "it has no a.bias; it has no b.weight")
refused(f"net.py:Net {data} --loss cross_entropy --state-dict train.npz", 65, "train.npz can't be read as a state_dict")
refused(f"net.py:Other {data}", 65, "net.py has no Other")
refused(f"net.py:np {data}", 65, "net.py:np is a module, neither")
PY
  "$PYTHON" others.py
}

@test "export: from TensorFlow, with an embedding, state, constants, metrics; and the trained weights back" {
  needs TFD_TENSORFLOW_PYTHON tensorflow
  cat >export.py <<'PY'
import numpy as np, tensorflow as tf, tfd_export
random = np.random.default_rng(4)
data = {"x": random.integers(0, 9, 96).astype("int32"), "y": random.normal(0, 1, (96, 3)).astype("float32")}
class Model(tf.Module):
    def __init__(self):
        values = np.random.default_rng(8)
        self.w = tf.Variable(values.normal(0, 0.5, (4, 3)).astype("float32"), name="w")
        self.table = tf.Variable(values.normal(0, 1, (9, 4)).astype("float32"), name="table")
        self.calls = tf.Variable(0, trainable=False, name="calls")
        self.mean = tf.Variable(np.zeros(3, "float32"), trainable=False, name="mean")
        self.unused = tf.Variable(1.0, name="unused")
        self.scale = tf.constant(np.arange(1, 301, dtype="float32"))
    def __call__(self, x):
        return tf.gather(self.table, x) @ self.w + self.mean
    @tf.function
    def loss(self, x, y):
        result = self(x)
        self.calls.assign_add(1)
        self.mean.assign(0.9 * self.mean + 0.1 * tf.reduce_mean(result, axis=0))
        if tf.reduce_sum(self.scale) > 0:  # autograph
            result = result * 2
        return tf.reduce_mean((result - y) ** 2), {"far": (tf.reduce_sum(tf.abs(result - y)), tf.cast(tf.size(y), tf.float32))}
model = Model()
if __name__ == "__main__":
    first = {n: v[:16] for n, v in data.items()}
    program = tfd_export.tensorflow(model.loss, first, "out", batch_sizes=[16, 8], data=data, train={"steps": 30}, optimizer={"sgd": {"learning_rate": 0.1}})
    program.evaluation(tf.function(lambda x, y: {"error": tf.reduce_mean((model(x) - y) ** 2)}), data=data, batch_sizes=[40])
    program.prediction(lambda x: model(x), {"x": data["x"][:1]}, batch_sizes=[96])
PY
  "$PYTHON" export.py 2>talk || { tail -n 5 talk; false; }
  jq -e '(.variables | keys | sort == ["calls", "constant_0", "mean", "table", "w"]) and .variables.constant_0.trainable == false and
    ([.functions.train_step.outputs[] | select(.assign)] | sort_by(.assign) == [{"assign": "calls", "apply": "difference"}, {"assign": "mean", "apply": "difference"}])' out/program.json
  run ! grep -l 'loc(#\|#loc\|loc(unknown)\|XLA_Args' out/*.mlir
  losses --set train.checkpoint.dir=ck >ours
  tfd-run out/program.json --checkpoint ck --predict predict --dataset test --output predicted.npy
  losses --strategy mirrored --devices 2 >two
  "$PYTHON" - 2>talk <<'PY' || { tail -n 5 talk; false; }
import json
from export import *
ours, values = Model(), []
for i in range(30):
    x, y = data["x"][16 * i % 96:][:16], data["y"][16 * i % 96:][:16]
    with tf.GradientTape() as tape:
        value, _ = model.loss(x, y)
    for v, g in zip((model.w, model.table), tape.gradient(value, (model.w, model.table))):
        v.assign_sub(0.1 * tf.convert_to_tensor(g))
    values.append(float(value))
np.testing.assert_allclose(np.loadtxt("ours"), values, atol=5e-6)
np.testing.assert_allclose(np.loadtxt("two"), values, atol=5e-6)
tfd_export.load_into([ours.w, ours.table, ours.calls, ours.mean], "ck")
for name in ("w", "table", "calls", "mean"):
    np.testing.assert_allclose(getattr(ours, name), getattr(model, name), atol=5e-6, err_msg=name)
np.testing.assert_allclose(np.load("predicted.npy"), model(data["x"]), atol=5e-6)
end = [json.loads(line) for line in open("events")][-1]["eval"]
assert abs(end["error"] - float(tf.reduce_mean((model(data["x"]) - data["y"]) ** 2))) < 1e-5, end
try: tfd_export.load_into(ours, "ck")
except ValueError as problem: assert "has no variable 'unused'" in str(problem), problem
else: raise AssertionError
PY
}

@test "export: from TensorFlow, a step that trains by itself, variables of one name, fields in another order; and what cannot be exported is said" {
  needs TFD_TENSORFLOW_PYTHON tensorflow
  cat >export.py <<'PY'
import keras, numpy as np, tensorflow as tf, tfd_export
random = np.random.default_rng(4)
data = {"y": random.normal(0, 1, (96, 4)).astype("float32"), "x": random.normal(0, 1, (96, 4)).astype("float32")}
class Model(tf.Module):
    def __init__(self):
        values = np.random.default_rng(8)
        self.second, self.first, self.velocity = [tf.Variable(values.normal(0, 0.5, (4, 4)).astype("float32")) for _ in range(3)]
    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            value = tf.reduce_mean((tf.tanh(x @ self.first) @ self.second - y) ** 2)
        first, second = tape.gradient(value, (self.first, self.second))
        self.velocity.assign(0.9 * self.velocity + first)
        self.first.assign_sub(0.1 * self.velocity)
        self.second.assign_sub(0.1 * second)
        return value
def refused(text, function, **more):
    try: tfd_export.tensorflow(function, {n: v[:16] for n, v in data.items()}, "refused", **more)
    except ValueError as problem: assert text in str(problem), problem
    else: raise AssertionError(text)
if __name__ == "__main__":
    model = Model()
    tfd_export.tensorflow(model.step, {n: v[:16] for n, v in data.items()}, "out", names=model, data=data, train={"steps": 20})
    refused("several variables are called 'Variable': give names", model.step)
    w = tf.Variable(np.ones(4, "float32"))
    refused("the loss has the shape [16, 4]", lambda x, y: x * w)
    refused("the metric 'm' has to be a scalar", lambda x, y: (tf.reduce_mean(x * w), {"m": x}))
    refused("data: it has to be {field: array}", lambda x, y: tf.reduce_mean(x * w), data=tf.data.Dataset.from_tensor_slices(data))
    own = keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(0.1, 50), weight_decay=0.01)
    program = tfd_export.tensorflow(lambda x, y: tf.reduce_mean(x * w), {n: v[:16] for n, v in data.items()}, "translated", optimizer=own)
    stated = program.document["optimizer"]["adamw"]
    assert stated["weight_decay"] == 0.01 and stated["learning_rate"] == {"cosine_decay": {
        "initial_learning_rate": 0.1, "decay_steps": 50, "alpha": 0.0, "warmup_steps": 0}}, stated
    own.exclude_from_weight_decay(var_names=["w"])
    refused("optimizer: state what is excluded from the weight decay in program.json", lambda x, y: tf.reduce_mean(x * w), optimizer=own)
    refused("has the operation EagerPyFunc, which XLA cannot compile", lambda x, y: tf.reduce_mean(x * w) + tf.py_function(lambda: 1.0, [], tf.float32))
PY
  "$PYTHON" export.py 2>talk || { tail -n 5 talk; false; }
  jq -e '(.variables | length == 3 and all(.trainable == false)) and [.functions.train_step.outputs[] | .metric // .assign] == ["loss", "Variable", "Variable_2", "Variable_3"]' out/program.json
  losses --set train.checkpoint.dir=ck >ours
  losses_of_worker >coordinated
  "$PYTHON" - 2>talk <<'PY' || { tail -n 5 talk; false; }
from export import *
model, values = Model(), []
for i in range(20):
    rows = slice(16 * i % 96, 16 * i % 96 + 16)
    values.append(float(model.step(data["x"][rows], data["y"][rows])))
for ours in ("ours", "coordinated"):
    np.testing.assert_allclose(np.loadtxt(ours), values, atol=5e-6)
for mine, theirs in zip(tfd_export.load_into(Model(), "ck").variables, model.variables):
    np.testing.assert_allclose(mine, theirs, atol=5e-6)
one = tf.Variable(np.zeros_like(model.first), name="Variable")
assert tfd_export.load_into(one, "ck") is one
np.testing.assert_allclose(one, model.variables[0], atol=5e-6)
PY
}

@test "export: a function of TensorFlow gets seeds and the step" {
  needs TFD_TENSORFLOW_PYTHON tensorflow
  cat >export.py <<'PY'
import numpy as np, tensorflow as tf, tfd_export
w = tf.Variable(1.0)
def loss(x, rng, step):
    return w * tf.reduce_sum(tf.random.stateless_uniform([4], rng)) + 0 * x[0], {"step": tf.cast(step, tf.float32)}
tfd_export.tensorflow(loss, [np.zeros(4, "float32")], "out", names={"the/w": w}, data={"x": np.zeros(8)}, train={"steps": 20}, optimizer={"sgd": {"learning_rate": 0.0}})
PY
  "$PYTHON" export.py 2>talk || { tail -n 5 talk; false; }
  jq -e '.variables | keys == ["the/w"]' out/program.json
  losses >ours
  [ "$(sort -u ours | wc -l)" = 20 ]
  jq -es '[.[] | select(.event == "step").metrics.step] == [range(20)]' events
}

@test "export: from PyTorch, with batch normalization and dropout; and the trained weights back" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax' || skip "TFD_TORCH_PYTHON names no Python with torchax"
  cat >export.py <<'PY'
import numpy as np, torch, tfd_export
import torch.nn as nn, torch.nn.functional as F
random = np.random.default_rng(4)
data = {"x": random.normal(0, 1, (96, 1, 6, 6)).astype("float32"), "y": random.integers(0, 3, 96)}
def make(dropout=0.0):
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(dropout), nn.Linear(64, 3))
def loss(module, batch):
    result = module(batch["x"])
    right = (result.argmax(dim=1) == batch["y"]).sum()
    return F.cross_entropy(result, batch["y"]), {"accuracy": (right.float(), torch.tensor(float(len(result))))}
def export(to, **more):
    first = {n: torch.tensor(v[:16]) for n, v in data.items()}
    return tfd_export.torch(make(**more), loss, first, to, batch_sizes=[16, 8], data=data, optimizer={"sgd": {"learning_rate": 0.1, "momentum": 0.9}}, train={"steps": 30})
if __name__ == "__main__":
    program = export("out")
    program.evaluation(data=data, batch_sizes=[40])
    program.prediction(None, data["x"][:1], fields=["x"], batch_sizes=[32])
    export("dropout", dropout=0.5)
PY
  "$PYTHON" export.py
  jq -e '(.variables | keys_unsorted == ["0.weight", "0.bias", "1.weight", "1.bias", "5.weight", "5.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]) and
    .functions.train_step.inputs == [{"variables": "*"}, {"dataset": "train", "field": "x"}, {"dataset": "train", "field": "y"}]' out/program.json
  losses --set train.checkpoint.dir=ck >ours
  tfd-run out/program.json --checkpoint ck --predict predict --dataset '[{"npy": {"fields": {"x": {"path": "out/train_x.npy"}}}}, {"batch": 32}]' --output predicted.npy
  "$PYTHON" - <<'PY'
import json
from export import *
model, values = make(), []
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
tensors = {n: torch.tensor(v) for n, v in data.items()}
for i in range(30):
    optimizer.zero_grad()
    value = loss(model, {n: v[16 * i % 96:][:16] for n, v in tensors.items()})[0]
    value.backward()
    optimizer.step()
    values.append(value.item())
np.testing.assert_allclose(np.loadtxt("ours"), values, atol=2e-5)
ours = tfd_export.load_into(make(), "ck")
for (name, mine), theirs in zip(ours.state_dict().items(), model.state_dict().values()):
    np.testing.assert_allclose(mine, theirs, atol=2e-5, err_msg=name)
    assert mine.dtype == theirs.dtype, name
assert ours[1].num_batches_tracked == 30
ours.eval()
np.testing.assert_allclose(np.load("predicted.npy"), ours(tensors["x"]).detach(), atol=2e-5)
end = [json.loads(line) for line in open("events")][-1]["eval"]
value, metrics = loss(ours, tensors)
assert abs(end["loss"] - value.item()) < 1e-5 and abs(end["accuracy"] - metrics["accuracy"][0].item() / 96) < 1e-6, end
PY
  # Dropout: other numbers in every run of another seed, and in every step.
  mv dropout out.dropout && rm -r out && mv out.dropout out
  jq -e '.functions.train_step.inputs[-1] == "rng"' out/program.json
  frozen=(--set optimizer.sgd.learning_rate=0 --set 'datasets.train[1]={"take": 16}')
  losses "${frozen[@]}" >one
  losses "${frozen[@]}" --set seed=2 >two
  [ "$(sort -u one | wc -l)" = 30 ]
  run ! cmp -s one two
}

@test "export: from PyTorch, frozen parameters, tied ones, tensors that are no variables, and bfloat16" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax' || skip "TFD_TORCH_PYTHON names no Python with torchax"
  cat >export.py <<'PY'
import numpy as np, torch, tfd_export
import torch.nn as nn, torch.nn.functional as F
data = {"t": np.random.default_rng(4).integers(0, 9, (96, 7))}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.out = nn.Embedding(9, 8), nn.Linear(8, 9)
        self.out.weight = self.embed.weight
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        for parameter in self.layer.norm1.parameters():
            parameter.requires_grad = False
        self.register_buffer("place", torch.linspace(0, 1, 8))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(6), persistent=False)
    def forward(self, t):
        return self.out(self.layer(self.embed(t) + self.place * torch.ones(8), src_mask=self.mask))
weighted = nn.CrossEntropyLoss(weight=torch.linspace(1, 2, 9))
def loss(module, batch):
    return weighted(module(batch["t"][:, :-1]).flatten(0, 1), batch["t"][:, 1:].flatten())
if __name__ == "__main__":
    first = {"t": data["t"][:16]}
    tfd_export.torch(Model(), loss, first, "out", data=data, optimizer={"sgd": {"learning_rate": 0.1}}, train={"steps": 20})
    half = {"t": torch.tensor(first["t"]), "y": torch.ones(16, dtype=torch.bfloat16)}
    model = nn.Sequential(nn.Embedding(9, 1), nn.Flatten(), nn.Linear(7, 1)).bfloat16()
    tfd_export.torch(model, lambda m, b: F.mse_loss(m(b["t"])[:, 0], b["y"]), half, "half", train={"steps": 3})
    other = nn.Linear(8, 9)
    for text, wrong in (("a parameter of the shape [9, 8] is not one of the module", lambda m, b: other(m.embed(b["t"])).mean()),
                        ("the loss has the shape [16, 6, 9]", lambda m, b: m(b["t"][:, 1:]))):
        try: tfd_export.torch(Model(), wrong, first, "refused")
        except ValueError as problem: assert text in str(problem), problem
        else: raise AssertionError(text)
PY
  "$PYTHON" export.py
  jq -e '(.variables | has("place") and (has("mask") or has("out.weight") | not)) and ([.functions.train_step.outputs[] | select(.assign)] == []) and
    .variables."layer.norm1.weight".trainable == false' out/program.json
  jq -e '.variables."2.weight".dtype == "bf16"' half/program.json
  losses --set train.checkpoint.dir=ck >ours
  "$PYTHON" - <<'PY'
from export import *
model, values = Model(), []
optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], 0.1)
for i in range(20):
    optimizer.zero_grad()
    value = loss(model, {"t": torch.tensor(data["t"][16 * i % 96:][:16])})
    value.backward()
    optimizer.step()
    values.append(value.item())
np.testing.assert_allclose(np.loadtxt("ours"), values, atol=2e-5)
ours = tfd_export.load_into(Model(), "ck")
for (name, mine), theirs in zip(ours.state_dict().items(), model.state_dict().values()):
    np.testing.assert_allclose(mine, theirs, atol=2e-5, err_msg=name)
PY
}

@test "export: from PyTorch, with its optimizers, backward() of one's own, bags of embeddings and recurrent layers" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax' || skip "TFD_TORCH_PYTHON names no Python with torchax"
  cat >export.py <<'PY'
import numpy as np, torch, tfd_export
import torch.nn as nn, torch.nn.functional as F
random = np.random.default_rng(4)
data = {"t": random.integers(0, 9, (96, 7)).astype("int32"), "y": random.integers(0, 3, 96)}
class Round(torch.autograd.Function):  # the gradient goes straight through, but for what is far from zero
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.limit = 4 / scale
        return torch.round(x * scale) / scale
    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * (x.abs() < ctx.limit), None
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(x, by):
        return x * by, (x > by).to(torch.int32)
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.by = inputs
        ctx.mark_non_differentiable(output[1])
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient, _):
        return 2 * gradient * ctx.by, (gradient * ctx.x).sum(0)
class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.mean, self.most = nn.EmbeddingBag(9, 8, padding_idx=0), nn.EmbeddingBag(9, 8, mode="max")
        self.sum, self.out, self.by = nn.EmbeddingBag(9, 8, mode="sum"), nn.Linear(8, 3), nn.Parameter(torch.linspace(1, 2, 8))
    def forward(self, t):
        offsets = torch.arange(0, t.numel(), t.shape[1], device=t.device)
        x, over = Scaled.apply(self.mean(t) + self.most(t) + self.sum(t.flatten(), offsets), self.by)
        return self.out(Round.apply(x, 8.0) + self.sum(t[:, :2], per_sample_weights=x[:, :2])) + 0.01 * over.sum(1, keepdim=True)
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.lstm = nn.Embedding(9, 8), nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True)
        self.gru, self.rnn, self.out = nn.GRU(12, 8, 2), nn.RNN(8, 8, bias=False), nn.Linear(16, 3)
    def forward(self, t):
        x, (h, c) = self.lstm(self.embed(t))
        x, last = self.gru(x.transpose(0, 1))
        return self.out(torch.cat([self.rnn(x)[0][-1] + last[0], h[0], c[1, :, :2]], dim=1))
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.out = nn.Embedding(9, 8), nn.Linear(8, 3)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=True)
    def forward(self, t):
        return self.out(self.layer(self.embed(t)).mean(1))
optim = torch.optim
schedules = optim.lr_scheduler
MODELS = {"bags": (Bags, lambda m: optim.SGD([{"params": [*m.parameters()][:2]}, {"params": [*m.parameters()][2:], "momentum": 0, "nesterov": False}], 0.003, momentum=0.9,
                                             weight_decay=0.3, nesterov=True),
                   lambda o: schedules.StepLR(o, 10)),
          "recurrent": (Recurrent, lambda m: optim.Adam([{"params": m.rnn.parameters()}, {"params": [p for n, p in m.named_parameters() if "rnn" not in n], "weight_decay": 0.1}], 3e-3),
                        lambda o: None),
          "attention": (Attention, lambda m: optim.AdamW([{"params": m.layer.parameters()}, {"params": [*m.embed.parameters(), *m.out.parameters()], "weight_decay": 0.2}], 3e-3),
                        lambda o: schedules.OneCycleLR(o, [3e-3, 1e-2], 24, cycle_momentum=False))}
def loss(module, batch):
    return F.cross_entropy(module(batch["t"]), batch["y"].long())
if __name__ == "__main__":
    for name, (make, optimizer, scheduler) in MODELS.items():
        model = make()
        optimizer = optimizer(model)
        tfd_export.torch(model, loss, {n: v[:16] for n, v in data.items()}, name, data=data, optimizer=optimizer, scheduler=scheduler(optimizer), train={"steps": 24})
PY
  "$PYTHON" export.py
  jq -e '.optimizer.adamw | .corrected_epsilon and .epsilon == 1e-8 and .weight_decay == 0.01 and .groups."out.bias".weight_decay == 0.2' attention/program.json
  jq -e '.optimizer.sgd.learning_rate.piecewise_constant_decay | .boundaries == [9, 19] and (.values | map(. * 1e5 | round) == [300, 30, 3])' bags/program.json
  for model in bags recurrent attention; do
    rm -rf out && cp -r $model out
    losses --set "train.checkpoint.dir=$model.ck" >$model.losses
  done
  # The weight decay is a part of each replica's gradient, and so of their mean.
  rm -rf out && cp -r bags out
  losses --strategy mirrored --devices 2 | paste bags.losses - | awk '{ d = $1 - $2; if (d > 1e-4 || d < -1e-4) exit 1 } END { exit NR != 24 }'
  # A loop, not its steps one after the other.
  grep -q stablehlo.while recurrent/train_step.mlir && [ "$(wc -c <recurrent/train_step.mlir)" -lt 150000 ]
  "$PYTHON" - <<'PY'
from export import *
for name, (make, optimizer, scheduler) in MODELS.items():
    model, values = make(), []
    optimizer = optimizer(model)
    scheduler = scheduler(optimizer)
    for i in range(24):
        optimizer.zero_grad()
        value = loss(model, {n: torch.tensor(v[16 * i % 96:][:16]) for n, v in data.items()})
        value.backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
        values.append(value.item())
    np.testing.assert_allclose(np.loadtxt(name + ".losses"), values, rtol=1e-6 if name != "bags" else 1e-5, err_msg=name)
    ours = tfd_export.load_into(make(), name + ".ck")
    for (key, mine), theirs in zip(ours.state_dict().items(), model.state_dict().values()):
        if "in_proj_bias" not in key:  # the keys' part of it has no gradient but rounding, which Adam makes as large as any other
            np.testing.assert_allclose(mine, theirs, atol=2e-5, err_msg=f"{name}: {key}")
PY
}

@test "export: from PyTorch, what is computed under no_grad is a constant of the gradient; checkpoint() changes nothing" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax' || skip "TFD_TORCH_PYTHON names no Python with torchax"
  cat >export.py <<'PY'
import numpy as np, torch, tfd_export
import torch.nn as nn, torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
random = np.random.default_rng(6)
data = {"x": random.normal(size=(8, 5)).astype("float32"), "y": np.ones(8, "float32")}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.a, self.b = nn.Linear(5, 8), nn.Linear(8, 1)
        self.register_buffer("mean", torch.ones(5))
    def forward(self, x):
        return self.b(torch.relu(self.a(x * self.mean)))[:, 0]
def frozen(model, batch):
    with torch.no_grad():
        inside = torch.relu(model.a(batch["x"]))
    return F.mse_loss(model.b(inside)[:, 0], batch["y"])
@torch.no_grad()
def target(model, x):
    return torch.tanh(model.a(x)).t().contiguous().t()
def bootstrap(model, batch):
    return F.mse_loss(model.a(batch["x"]), target(model, batch["x"]) + 1) + F.mse_loss(model(batch["x"]), batch["y"])
def switched(model, batch):
    torch.set_grad_enabled(False)
    inside = model.a(batch["x"])
    torch.set_grad_enabled(True)
    return F.mse_loss(model.b(inside + model.a(batch["x"]))[:, 0], batch["y"])
def buffers(model, batch):
    if model.training:
        with torch.no_grad():
            model.mean.mul_(0.9).add_(batch["x"].mean(0) * 0.1)
            model.mean[0:2].copy_(batch["x"].mean(0)[0:2])
    return F.mse_loss(model(batch["x"]), batch["y"])
def recomputed(model, batch):
    return F.mse_loss(model.b(checkpoint(lambda x: torch.relu(model.a(x)), batch["x"], use_reentrant=False))[:, 0], batch["y"])
LOSSES = {one.__name__: one for one in (frozen, bootstrap, switched, buffers, recomputed)}
if __name__ == "__main__":
    for name, loss in LOSSES.items():
        model = Model()
        tfd_export.torch(model, loss, data, name, data=data, optimizer=torch.optim.SGD(model.parameters(), 0.1), train={"steps": 6})
PY
  "$PYTHON" export.py
  for name in frozen bootstrap switched buffers recomputed; do
    rm -rf out && cp -r $name out
    losses --set "train.checkpoint.dir=$name.ck" >$name.losses
  done
  "$PYTHON" - <<'PY'
from export import *
for name, loss in LOSSES.items():
    model, values = Model(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(6):
        optimizer.zero_grad()
        value = loss(model, {n: torch.tensor(v) for n, v in data.items()})
        value.backward()
        optimizer.step()
        values.append(value.item())
    np.testing.assert_allclose(np.loadtxt(name + ".losses"), values, rtol=2e-6, err_msg=name)
    ours = tfd_export.load_into(Model(), name + ".ck")
    for (key, mine), theirs in zip(ours.state_dict().items(), model.state_dict().values()):
        np.testing.assert_allclose(mine, theirs, atol=1e-6, err_msg=f"{name}: {key}")
PY
}

@test "export: what PyTorch does and torchax doesn't is refused, or told" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax' || skip "TFD_TORCH_PYTHON names no Python with torchax"
  cat >export.py <<'PY'
import warnings
import numpy as np, torch, tfd_export
import torch.nn as nn
data = {"x": np.ones((4, 3), "float32")}
model, optim = nn.Linear(3, 2), torch.optim
def loss(module, batch): return module(batch["x"]).mean()
def amp(enabled):
    def function(module, batch):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            return loss(module, batch)
    return function
def refused(text, loss=loss, **more):
    try: tfd_export.torch(model, loss, data, "refused", **more)
    except ValueError as problem: assert text in str(problem) and "\n" not in str(problem), problem
    else: raise AssertionError(text)
parallel = nn.DataParallel(model)  # which can't be made any more once torchax is there
autocast = torch.amp.autocast_mode.autocast.__enter__
refused("torch.autocast can't be exported", amp(True))
with torch.autocast("cpu"):
    refused("torch.autocast can't be exported")
tfd_export.torch(model, amp(False), data, "out")
assert torch.amp.autocast_mode.autocast.__enter__ is autocast and not torch.is_autocast_enabled("cpu")
refused("torch: tfd has no optimizer with the formula of torch's RMSprop; it has SGD, Adam, AdamW", optimizer=optim.RMSprop(model.parameters()))
refused("torch: tfd has no dampening as torch's SGD means it", optimizer=optim.SGD(model.parameters(), 0.1, 0.9, dampening=0.1))
refused("torch: a scheduler is for an optimizer of torch.optim", optimizer="sgd", scheduler=1)
for own in (nn.functional.mse_loss, nn.CrossEntropyLoss(), nn.functional.binary_cross_entropy_with_logits, nn.functional.gelu):
    refused("torch: the loss has to be a function of the module and a batch", own)
try: tfd_export.torch(parallel, loss, data, "refused")
except ValueError as problem: assert "give its module, model.module" in str(problem), problem
else: raise AssertionError
plain, scheduled = (optim.SGD(model.parameters(), 0.1, momentum=0.9) for _ in range(2))
refused("torch: ReduceLROnPlateau depends on the loss", optimizer=plain, scheduler=optim.lr_scheduler.ReduceLROnPlateau(plain))
scheduler = optim.lr_scheduler.OneCycleLR(scheduled, 0.1, 10)
rate, momentum = scheduled.param_groups[0]["lr"], scheduled.param_groups[0]["momentum"]
refused("torch: a scheduler changes the learning rate of the optimizer: give it as scheduler", optimizer=scheduled)
refused("torch: the OneCycleLR is not one of this optimizer", optimizer=plain, scheduler=scheduler)
refused("torch: for how many steps is the scheduler? State train={\"steps\": N}", optimizer=scheduled, scheduler=scheduler)
refused("torch: the OneCycleLR changes momentum too", optimizer=scheduled, scheduler=scheduler, train={"steps": 10})
assert scheduler.last_epoch == 0 and scheduled.param_groups[0]["lr"] == rate and scheduled.param_groups[0]["momentum"] == momentum
own = optim.SGD(model.parameters(), 0.1)
own.param_groups[0]["trust"] = 0.5
refused("torch: tfd has no trust as torch's SGD means it", optimizer=own)
refused("torch: the optimizer doesn't have bias", optimizer=optim.SGD([model.weight], 0.1))
refused("torch: the optimizer has a parameter of the shape [7]", optimizer=optim.SGD([*model.parameters(), nn.Parameter(torch.ones(7))], 0.1))
refused("optimizer: float is not as in program.json", optimizer=0.1)
def hooked(module, batch):
    inside = module(batch["x"])
    inside.register_hook(lambda gradient: 0 * gradient)
    return inside.mean()
refused("torch: hooks of gradients", hooked)
for register in (lambda: model.weight.register_hook(lambda gradient: 0 * gradient), lambda: model.register_full_backward_hook(lambda *_: None)):
    handle = register()
    refused("torch: hooks of gradients")
    handle.remove()
class Bag(nn.EmbeddingBag):
    def __init__(self): super().__init__(3, 2, max_norm=1.0)
try: tfd_export.torch(Bag(), lambda m, b: m(b["x"]).mean(), {"x": np.ones((4, 3), int)}, "refused")
except ValueError as problem: assert "an EmbeddingBag with max_norm" in str(problem), problem
else: raise AssertionError
class Named(nn.Linear):
    def forward(self, image): return super().forward(image)
for one in (nn.Sequential(model), Named(3, 2)):
    program = tfd_export.torch(one, loss, data, "predicts")
    try: program.prediction(inputs=data)  # the field is called x, which neither has
    except TypeError as problem:
        assert "tfd_export: forward() got a dict: its parameters are image, the inputs x" in problem.__notes__ and isinstance(one, Named), problem
    else: assert "predict" in program.document["functions"] and isinstance(one, nn.Sequential)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tfd_export.torch(nn.Linear(3, 2).double(), loss, data, "double")
    assert ["weight, bias: float64 becomes float32: set jax_enable_x64" in str(one.message) for one in caught].count(True) == 1, caught
PY
  "$PYTHON" export.py
  jq -e '.variables.weight.dtype == "f32"' double/program.json
  # A torchax that dies of this torch, as the last release does of torch 2.10 and later.
  mkdir torchax
  echo 'import torch; torch.ops.aten.prod.of_another_release' >torchax/__init__.py
  run -1 --separate-stderr "$PYTHON" -c '
import torch, tfd_export
tfd_export.torch(torch.nn.Linear(1, 1), None, {"x": torch.ones(1, 1)}, "refused")'
  [[ ${stderr##*$'\n'} == "ImportError: torch: torch 2.9, torchax 0.0.13 and jax 0.10 fit each other, but here are torch "*": "*"aten.prod"* ]]
}

@test "export: transformers of Hugging Face, with PyTorch's losses, evaluation and predictions" {
  needs TFD_TORCH_PYTHON "torch and torchax"
  "$PYTHON" -c 'import torchax, transformers' || skip "TFD_TORCH_PYTHON names no Python with torchax and transformers"
  cat >export.py <<'PY'
import numpy as np, torch, tfd_export, transformers
random = np.random.default_rng(7)
ids = random.integers(1, 60, (96, 12))
ids[::2, 9:] = 0
DATA = {"bert": {"input_ids": ids, "attention_mask": (ids > 0).astype(int), "labels": (ids[:, 0] > 30).astype(int)},
        "gpt": {"input_ids": ids, "labels": np.where(ids > 0, ids, -100)}}
def make(name):
    torch.manual_seed(3)
    if name == "gpt":  # with one tensor for the embeddings and the last layer
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=60, n_positions=12, n_embd=16, n_layer=1, n_head=2, bos_token_id=0,
                                                                    eos_token_id=0, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False))
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=12,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0))
def loss(model, batch):
    return model(**batch).loss
def training(model):
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    return optimizer, transformers.get_linear_schedule_with_warmup(optimizer, 4, 20)
if __name__ == "__main__":
    for name, data in DATA.items():
        model = make(name)
        optimizer, scheduler = training(model)
        program = tfd_export.torch(model, loss, {n: v[:16] for n, v in data.items()}, name, optimizer=optimizer, scheduler=scheduler, data=data, train={"steps": 20})
        program.evaluation(data=data)
        program.prediction(inputs={n: v[:1] for n, v in data.items() if n != "labels"})
PY
  "$PYTHON" export.py
  for model in bert gpt; do
    rm -rf out && cp -r $model out
    losses --set "train.checkpoint.dir=$model.ck" >$model.losses
    tfd-run out/program.json --checkpoint $model.ck --predict predict --dataset test --output $model.npy
    jq -s '.[-1].eval.loss' events >$model.eval
  done
  "$PYTHON" - <<'PY'
from export import *
for name, data in DATA.items():
    model, values = make(name), []
    optimizer, scheduler = training(model)
    tensors = {n: torch.tensor(v) for n, v in data.items()}
    for i in range(20):
        optimizer.zero_grad()
        value = loss(model, {n: v[16 * i % 96:][:16] for n, v in tensors.items()})
        value.backward()
        optimizer.step()
        scheduler.step()
        values.append(value.item())
    np.testing.assert_allclose(np.loadtxt(name + ".losses"), values, rtol=1e-5, err_msg=name)
    ours = tfd_export.load_into(make(name), name + ".ck").eval()
    with torch.no_grad():
        logits = ours(**{n: v for n, v in tensors.items() if n != "labels"}).logits
        np.testing.assert_allclose(np.load(name + ".npy"), logits, atol=1e-5, err_msg=name)
        evaluated = np.mean([loss(ours, {n: v[i:i + 16] for n, v in tensors.items()}) for i in range(0, 96, 16)])
    np.testing.assert_allclose(np.loadtxt(name + ".eval"), evaluated, rtol=1e-5, err_msg=name)
PY
}

@test "export: optax' Adam and AdamW, and models of Flax NNX and Linen" {
  needs TFD_JAX_PYTHON jax
  "$PYTHON" -c 'import optax, flax' 2>/dev/null || skip "TFD_JAX_PYTHON names no Python with optax and flax"
  cat >export.py <<'PY'
import jax, jax.numpy as jnp, numpy as np, optax, tfd_export
from flax import linen, nnx
random = np.random.default_rng(3)
data = {"x": random.normal(0, 1, (96, 5)).astype("float32"), "y": random.normal(0, 1, (96, 1)).astype("float32")}
class Model(nnx.Module):
    def __init__(self, rngs):
        self.first, self.norm, self.out = nnx.Linear(5, 8, use_bias=False, rngs=rngs), nnx.BatchNorm(8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, x):
        return self.out(jnp.tanh(self.norm(self.first(x))))
graph, params, state = nnx.split(Model(nnx.Rngs(3)), nnx.Param, ...)
def loss(params, state, batch):
    model = nnx.merge(graph, params, state, copy=True)
    value = jnp.mean((model(batch["x"]) - batch["y"]) ** 2)
    return value, nnx.state(model, nnx.Not(nnx.Param))
class Linen(linen.Module):
    @linen.compact
    def __call__(self, x, train):
        x = linen.BatchNorm(use_running_average=not train)(linen.Dense(8, use_bias=False)(x))
        return linen.Dense(1)(jnp.tanh(x))
variables = Linen().init(jax.random.key(3), data["x"][:1], False)
def loss_of_linen(params, state, batch):
    y, new = Linen().apply({"params": params, "batch_stats": state}, batch["x"], True, mutable=["batch_stats"])
    return jnp.mean((y - batch["y"]) ** 2), new["batch_stats"]
ADAM = optax.adam(3e-3), {"adam": {"learning_rate": 3e-3, "epsilon": 1e-8, "corrected_epsilon": True}}
ADAMW = optax.adamw(3e-3), {"adamw": {"learning_rate": 3e-3, "epsilon": 1e-8, "corrected_epsilon": True, "weight_decay": 1e-4}}
TRAININGS = {"adam": (loss, params, state, *ADAM), "adamw": (loss, params, state, *ADAMW),
             "linen": (loss_of_linen, variables["params"], variables["batch_stats"], *ADAM)}
if __name__ == "__main__":
    for name, (loss, params, state, _, stated) in TRAININGS.items():
        tfd_export.jax(loss, params, {n: v[:16] for n, v in data.items()}, name, state=state, data=data, optimizer=stated, train={"steps": 24})
    try: tfd_export.jax(loss, params, {n: v[:16] for n, v in data.items()}, "refused", state=state, optimizer=optax.adam(1e-3))
    except ValueError as problem: assert 'is not as in program.json; that is a name, or {"adam": {"learning_rate": 0.001, "epsilon": 1e-8, "corrected_epsilon": true}}' in str(problem), problem
    else: raise AssertionError
    def in_place(params, state, batch):
        return jnp.mean((nnx.merge(graph, params, state)(batch["x"]) - batch["y"]) ** 2), state
    try: tfd_export.jax(in_place, *TRAININGS["adam"][1:2], {n: v[:16] for n, v in data.items()}, "refused", state=TRAININGS["adam"][2])
    except Exception as problem: assert type(problem).__name__ == "TraceContextError" and "copy=True" in problem.__notes__[-1], problem.__notes__
    else: raise AssertionError
PY
  "$PYTHON" export.py
  for name in adam adamw linen; do
    rm -rf out && cp -r $name out
    losses --set "train.checkpoint.dir=$name.ck" >$name.losses
  done
  "$PYTHON" - <<'PY'
from export import *
for name, (loss, params, state, optimizer, _) in TRAININGS.items():
    p, s, kept, values = params, state, optimizer.init(params), []
    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    for i in range(24):
        (value, s), gradients = step(p, s, {n: v[16 * i % 96:][:16] for n, v in data.items()})
        updates, kept = optimizer.update(gradients, kept, p)
        p = optax.apply_updates(p, updates)
        values.append(float(value))
    np.testing.assert_allclose(np.loadtxt(name + ".losses"), values, rtol=3e-6, err_msg=name)  # optax takes the powers of beta in float32
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), tfd_export.load_into(params, name + ".ck"), p)
PY
}

@test "export: dropout of Flax NNX drops other units out on each replica; the first one's are JAX' own" {
  needs TFD_JAX_PYTHON jax
  "$PYTHON" -c 'import flax' 2>/dev/null || skip "TFD_JAX_PYTHON names no Python with flax"
  cat >export.py <<'PY'
import jax, jax.numpy as jnp, numpy as np, tfd_export
from flax import nnx
model = nnx.Sequential(nnx.Linear(1, 64, rngs=nnx.Rngs(0), kernel_init=nnx.initializers.ones), nnx.Dropout(0.5, rngs=nnx.Rngs(7)))
graph, params, state = nnx.split(model, nnx.Param, ...)
data = {"x": np.ones((32, 1), "float32")}
def loss(params, state, batch):
    model = nnx.merge(graph, params, state, copy=True)
    return model(batch["x"]).mean(), nnx.state(model, nnx.Not(nnx.Param))
def by_replica(params, state, batch, replica_id):
    own = jax.tree.map(lambda leaf: jax.random.fold_in(leaf, replica_id) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf, state)
    value, new = loss(params, own, batch)
    return value, jax.tree.map(lambda old, new: old if jnp.issubdtype(old.dtype, jax.dtypes.prng_key) else new, state, new)
def losses_of(replica, steps):
    own, values = jax.tree.map(lambda leaf: jax.random.wrap_key_data(jax.random.key_data(leaf) + np.uint32([replica, 0]))
                               if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf, state), []
    for _ in range(steps):
        value, own = loss(params, own, {"x": data["x"][:16]})
        values.append(float(value))
    return values
if __name__ == "__main__":
    for name, function in (("out", loss), ("own", by_replica)):
        program = tfd_export.jax(function, params, {"x": data["x"][:16]}, name, state=state, data=data, optimizer={"sgd": {"learning_rate": 0.0}},
                                 train={"steps": 6, "replicas": "each"})
        document = program.document["functions"]["train_step"]
        assert document["inputs"][-1] == "replica_id", document
        assert [one["assign"] for one in document["outputs"] if "assign" in one] == ["layers/1/rngs/count/value"], document
PY
  "$PYTHON" export.py
  losses --set train.checkpoint.dir=ck >one
  losses --strategy mirrored --devices 2 >two
  losses --strategy mirrored --devices 2 --set train.replicas=split >split
  timeout 120 tfd-launch -n 2 -- tfd-run -q out/program.json --strategy multi-worker-mirrored --set 'datasets.train[1].shuffle.buffer=1' --set train.log_every=1 >events
  sed -n 's/^worker:0: //p' events | jq 'select(.event == "step").metrics.loss' >group
  rm -r out && mv own out
  losses --strategy mirrored --devices 2 >own
  "$PYTHON" - <<'PY'
from export import *
first, second = losses_of(0, 6), losses_of(1, 6)
assert len({*first, *second}) == 12, (first, second)
np.testing.assert_allclose(np.loadtxt("one"), first, rtol=1e-6)
for both in ("two", "group"):
    np.testing.assert_allclose(np.loadtxt(both), np.add(first, second) / 2, rtol=1e-6)
assert np.loadtxt("split").shape == np.loadtxt("own").shape == (6,)
moved = tfd_export.load_into(state, "ck")
rngs, before = (tree["layers"][1]["rngs"] for tree in (moved, state))
assert int(rngs["count"][...]) == 6 and rngs["key"][...] == before["key"][...], moved
PY
}

@test "export: what tfd has made of the CNN is as good in Keras" {
  needs TFD_KERAS_PYTHON "keras and jax"
  tfd-run -q "$TFD_SOURCE/examples/cnn/program.json" --set train.steps=200 --set train.checkpoint.dir=ck </dev/null >events
  PYTHONPATH+=:$TFD_SOURCE/examples/cnn "$PYTHON" - <<'PY'
import json
from export import *
model = tfd_export.load_into(make_model(), "ck")
loss, accuracy = model.evaluate(*rows_of("test"), batch_size=BATCH, verbose=0)
end = [json.loads(line) for line in open("events")][-1]["eval"]
assert abs(loss - end["loss"]) < 1e-5 and abs(accuracy - end["accuracy"]) < 1e-6 and accuracy > 0.9, (loss, accuracy, end)
PY
}

@test "export: what tfd has made of the transformer is as good in JAX" {
  needs TFD_JAX_PYTHON jax
  "$PYTHON" -c 'import optax' 2>/dev/null || skip "TFD_JAX_PYTHON names no Python with optax"
  tfd-run -q "$TFD_SOURCE/examples/transformer/program.json" --set train.steps=100 --set train.checkpoint.dir=ck </dev/null >events
  PYTHONPATH+=:$TFD_SOURCE/examples/transformer "$PYTHON" - <<'PY'
from export import *
params = tfd_export.load_into(initial(np.random.default_rng(2)), "ck")
test = windows((HERE / "sonnets.txt").read_text())[-56:]
end = [json.loads(line) for line in open("events")][-1]["eval"]
assert abs(loss(params, {"text": test}) - end["loss"]) < 1e-5, end
PY
}

@test "export: the examples of tfd-export(1) run" {
  local kind variable
  for kind in jax keras; do
    variable=TFD_${kind^^}_PYTHON
    needs "$variable" $kind
    export "TFD_HAVE_${kind^^}=1" "PATH=$(dirname "$PYTHON"):$PATH"
  done
  TFD_HAVE_TENSORFLOW=1 run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" tfd-export
  [[ $(grep -c '^skip .*(torch)$' <<<"$output") == $(($(grep -c '^skip' <<<"$output") - 1)) && $output == *"(torch transformers)"* && $output == *", 0 failed" ]]
}

@test "export: the example of tfd-export(1) for PyTorch runs" {
  needs TFD_TORCH_PYTHON "torch, torchax and jax"
  export PATH=$(dirname "$PYTHON"):$PATH TFD_HAVE_TORCH=1
  run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" "tfd-export.1.scd:$(grep -n '^# needs: torch$' "$TFD_SOURCE/man/tfd-export.1.scd" | awk -F: '{ print $1 - 1 }')"
  [[ $output == "ok "*"1 examples, 0 failed" ]]
}

@test "export: the example of tfd-export(1) for a transformer of Hugging Face runs" {
  needs TFD_TORCH_PYTHON "torch, torchax and jax"
  "$PYTHON" -c 'import transformers' || skip "TFD_TORCH_PYTHON names no Python with transformers"
  export PATH=$(dirname "$PYTHON"):$PATH TFD_HAVE_TORCH=1 TFD_HAVE_TRANSFORMERS=1
  run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" "tfd-export.1.scd:$(grep -n '^# needs: torch transformers$' "$TFD_SOURCE/man/tfd-export.1.scd" | awk -F: '{ print $1 - 1 }')"
  [[ $output == "ok "*"1 examples, 0 failed" ]]
}
