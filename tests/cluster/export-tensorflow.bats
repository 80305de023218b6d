#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# share/tfd_export.py from TensorFlow.
# bats file_tags=long,shared,third1

bats_require_minimum_version 1.5.0
load export-bed

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
