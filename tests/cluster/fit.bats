#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd fit: tables with words, folders with an earlier training, and errors.
# bats file_tags=shared,third2

bats_require_minimum_version 1.5.0
load export-bed

# Models of Keras, and a table of 96 people.
keras_models() {
  needs TFD_KERAS_PYTHON "keras and jax"
  without_tensorflow
  export PATH=$(dirname "$PYTHON"):$PATH
  cat >make.py <<'PY'
import keras, numpy as np
random = np.random.default_rng(1)
numbers = random.normal(0, 1, (96, 2)).round(3)
cities = ["Rome", "Oslo", "Paris"]
rows = [f"{a},{cities[i % 3]},{b},{'yes' if a > 0 else 'no'}\n" for i, (a, b) in enumerate(numbers)]
open("people.csv", "w").writelines(["age,city,height,churn\n", *rows])
open("plain.csv", "w").writelines(["age,height,churn,other\n", *(f"{a},{b},{int(a > 0)},{int(b > 0)}\n" for a, b in numbers)])
keras.utils.set_random_seed(1)
age, height = keras.Input((1,), name="age"), keras.Input((), name="height")
city = keras.Input((), name="city", dtype="int32")
every = [age, keras.ops.expand_dims(height, 1), keras.layers.Embedding(3, 2)(city)]
model = keras.Model([age, height, city], keras.layers.Dense(1, "sigmoid")(keras.layers.Concatenate()(every)))
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.save("named.keras")
for columns in (2, 3):
    model = keras.Sequential([keras.Input((columns,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy")
    model.save(f"plain{columns}.keras")
PY
  "$PYTHON" make.py
}

# tfd fit fails with this code, and this is its only line.
fails() { # CODE LINE ARGS…
  run "-$1" --separate-stderr tfd fit "${@:3}"
  [[ -z $output && $stderr == "tfd fit: "$2 ]] || { echo "$stderr"; return 1; }
}

@test "fit: words of a .csv are numbers by their vocabulary, for the label and for inputs of whole numbers" {
  keras_models
  run -0 --separate-stderr tfd fit named.keras --data people.csv --label churn --epochs 2
  [ "$output" = trained.keras ]
  [[ $stderr == "tfd fit: column 'city': 'Oslo' is 0, 'Paris' is 1, 'Rome' is 2"$'\n'"tfd fit: label 'churn': 'no' is 0, 'yes' is 1"$'\n'* ]]
  "$PYTHON" - <<'PY'
import csv, numpy as np
rows = list(csv.DictReader(open("people.csv")))
for name, field in (("city", "x_city"), ("churn", "y")):
    words = sorted({row[name] for row in rows})
    found = np.load(f"named/train_{field}.npy")
    assert found.dtype == "int32" and found.tolist() == [words.index(row[name]) for row in rows], (field, found)
ages = np.load("named/train_x_age.npy")
assert ages.shape == (96, 1) and np.allclose(ages[:, 0], [float(row["age"]) for row in rows])
PY
  # A vocabulary is that of the data to train with.
  { head -n 1 people.csv && echo '1,Oslo,2,perhaps'; } >test.csv
  run -65 --separate-stderr tfd fit named.keras --data people.csv --test test.csv -q
  [ "$stderr" = "tfd fit: test.csv: label 'churn' has 'perhaps' in line 2, which the data to train with don't have" ]
  fails 65 "people.csv: column 'city' has words, such as 'Rome' in line 2, but the model takes floating-point numbers: *keras.Input((), dtype=\"int32\", name=\"city\")*tfd-pipeline(5)" plain3.keras --data people.csv
  printf '%s\n' 'age,height,churn' '1,2,no' '' '1,"n/a",yes' >mixed.csv
  fails 65 "mixed.csv: column 'height' has 'n/a', not a number, in line 4" plain2.keras --data mixed.csv
  printf '%s\n' 'age,height,churn' '1,2,no' '1,,yes' >mixed.csv
  fails 65 "mixed.csv: column 'height' has no value in line 3" plain2.keras --data mixed.csv
  printf '%s\n' 'age,height,churn' '1,2,no' '1,yes' >mixed.csv
  fails 65 "mixed.csv: line 3 has 2 columns, not 3" plain2.keras --data mixed.csv
  echo age,height,churn >mixed.csv
  fails 65 "mixed.csv has no rows" plain2.keras --data mixed.csv
  : >mixed.csv
  fails 65 "mixed.csv is empty, or begins with an empty line" plain2.keras --data mixed.csv
  fails 65 "plain.csv has no column for the model's input 'city' (there are age, height, churn)" named.keras --data plain.csv
}

@test "fit: a folder whose training runs is refused before its files change; a failed export leaves a good program, and no new folder" {
  keras_models
  cut -d, -f1,2,3 plain.csv >churn.csv
  cut -d, -f1,2,4 plain.csv >other.csv
  tfd fit plain2.keras --data churn.csv --epochs 1000000000 >stopped 2>err &
  local first=$!
  until grep -q '^epoch 2/' err; do kill -0 $first; sleep 0.1; done
  (cd plain2 && sha256sum ./*.*) >before
  fails 77 "plain2/checkpoints is in use by process +([0-9]) on $(hostname), which trains there: wait until it ends, or train in another folder with --program DIR" \
    plain2.keras --data other.csv --lr 0.5
  (cd plain2 && sha256sum -c --quiet -) <before
  kill $first
  wait $first || [ $? = 75 ]
  # In another folder, or once it has ended.
  run -0 tfd fit plain2.keras --data other.csv -q --program elsewhere
  # Rows to evaluate with that the model doesn't take, a file that is too large, and a path below a file.
  fails 65 "data: 'x' has the shape [[]96, 3], not [[]96, 2]" plain2.keras --data churn.csv --test plain.csv --batch 8 --start-over
  fails 65 "data: 'x' has the shape *" plain2.keras --data churn.csv --test plain.csv --program new/folder
  (cd plain2 && sha256sum -c --quiet -) <before
  [ ! -e new ]
  run -71 --separate-stderr bash -c 'ulimit -f 2; exec tfd fit plain2.keras --data churn.csv --program new'
  [ "$stderr" = "tfd fit: new/train_step.mlirt: file too large" ] || { echo "$stderr" && false; }
  fails 71 "before/program: not a directory" plain2.keras --data churn.csv --program before/program
  [[ ! -e new && -z $(find . -maxdepth 1 -name '.*-*') ]]
}

@test "fit: a finished training continues with a larger length only, and says which; other settings need --start-over" {
  keras_models
  fits() { run -0 --separate-stderr tfd fit plain3.keras --data plain.csv --label churn --epochs "$@"; }
  fits 3
  [[ $stderr == *$'\n'"tfd fit: the same command, with --epochs 6, for example, continues the training; --start-over begins anew; without Python: tfd-run plain3" ]]
  # Nothing is left: 3 epochs of 3 steps are done.
  fits 1
  [[ $stderr == *$'\n'"tfd fit: nothing is left to train: plain3/checkpoints is at step 9"$'\n'*"the same command, with --epochs 4, for example, "* && $stderr != *"already at"* ]]
  fits 4
  [[ $stderr == *"epoch 4/4  step 12/12  "* ]]
  (cd plain3 && sha256sum ./*.*) >before
  other() { # WORDS ARGS…
    fails 65 "plain3 was trained with $1: --start-over trains from the beginning, and --program DIR in another folder" plain3.keras --data plain.csv --epochs 5 "${@:2}"
  }
  other "the label 'churn', not 'other'" --label other
  other "optimizer.adam.learning_rate=0.001, not 0.5" --label churn --lr 0.5
  other "the optimizer adam, not sgd" --label churn --optimizer sgd
  other "the loss 'binary_crossentropy', not 'mse'" --label churn --loss mse
  other "batches of 32 rows, not 16" --label churn --batch-size 16
  (cd plain3 && sha256sum -c --quiet -) <before
  # A folder of an earlier release has no fit.json.
  rm plain3/fit.json
  other "batches of 32 rows, not 16" --label churn --batch-size 16
  fits 5 --lr 0.5 --start-over
  [[ $stderr == *"epoch 5/5  step 15/15  "* ]]
  other "optimizer.adam.learning_rate=0.5, not 0.001" --label churn
}

@test "fit: errors of tfd-run name options of tfd fit" {
  keras_models
  OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 run -64 --separate-stderr tfd fit plain3.keras --data plain.csv
  [ "$(tail -n 1 <<<"$stderr")" = "tfd fit: OMPI_COMM_WORLD_SIZE is 2: tfd fit trains on this host only; start it once, outside of a cluster's tasks" ]
}

@test "fit: errors have their cause, hints are options, and labels that the loss doesn't take are named" {
  keras_models
  cat >more.py <<'PY'
import keras, numpy as np
class Drawn(keras.layers.Layer):
    def call(self, x):
        return x * float(np.random.default_rng().uniform(1, 9))
def drawn():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1), Drawn()])
    model.compile("adam", "mse")
    return model
if __name__ == "__main__":
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(4, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.save("classes.keras")
    x = np.random.default_rng(1).normal(0, 1, (96, 2)).astype("float32")
    np.savez("floats.npz", x=x, y=x[:, 0] + 0.25)
PY
  "$PYTHON" more.py
  fails 65 "Input 0 *of layer *expected axis -1 of input shape to have value 2, but received input with shape (32, 3)" plain2.keras --data plain.csv
  run -65 --separate-stderr tfd fit plain2.keras --data plain.csv --verbose
  [[ $stderr == "Traceback "*"expected axis -1 of input shape to have value 2"* ]]
  cut -d, -f1,2,3 plain.csv >churn.csv
  fails 65 "*; --no-check exports without this comparison" more.py:drawn --data churn.csv --to drawn.keras
  # Known before the training.
  fails 71 "--to none/t.keras: there is no folder none" plain2.keras --data churn.csv --to none/t.keras
  [ ! -e plain2 ]
  fails 65 "label 'y': * in row 1, but the loss sparse_categorical_crossentropy takes whole numbers from 0 to 3, one for each of the model's 4 outputs" classes.keras --data floats.npz
  { cat churn.csv && echo 1,1,7; } >seven.csv
  fails 65 "label 'churn': 7 in line 98 of seven.csv, but the loss sparse_categorical_crossentropy takes whole numbers from 0 to 3, *" classes.keras --data seven.csv
  fails 65 "label 'churn': 7 in line 98 of seven.csv, but *" classes.keras --data seven.csv --validation-split 0.5
  fails 65 "label 'churn': 7 in line 98 of seven.csv, but the loss binary_crossentropy takes numbers from 0 to 1" plain2.keras --data seven.csv
}

@test "fit: torch's losses name the labels that they don't take" {
  needs TFD_TORCH_PYTHON "torch, torchax and jax"
  export PATH=$(dirname "$PYTHON"):$PATH
  echo 'import torch
Net = lambda: torch.nn.Linear(3, 4)' >net.py
  "$PYTHON" -c '
import numpy as np
x = np.random.default_rng(1).normal(0, 1, (64, 3)).astype("float32")
y = np.arange(64) % 4
np.savez("fits.npz", x=x, y=y)
y[63] = 4
np.savez("more.npz", x=x, y=y), np.savez("floats.npz", x=x, y=x[:, 0])'
  fails 65 "label 'y': 4 in row 64, but the loss cross_entropy takes whole numbers from 0 to 3, *" net.py:Net --loss cross_entropy --data more.npz
  fails 65 "label 'y': * in row 1, but the loss cross_entropy takes whole numbers *" net.py:Net --loss cross_entropy --data floats.npz
  run -0 tfd fit net.py:Net --loss cross_entropy --data fits.npz -q
}

@test "fit and export: names of optimizers, options and files that are nearly right" {
  keras_models
  fails 64 "unrecognized arguments: --epoch 3, did you mean --epochs[?]" plain3.keras --data plain.csv --epoch 3
  fails 64 "x=floats.npz: a .npz has several arrays, so give it without x=" plain3.keras --data x=floats.npz
  fails 65 "optimizer: unknown key 'adm', did you mean 'adam'[?] (there are sgd, adagrad, *)" plain3.keras --data plain.csv --label churn --optimizer '{"adm": {}}'
  "$PYTHON" - "$TFD_SOURCE/scripts" <<'PY'
import importlib.util, json, sys, numpy as np, keras, tfd_export
def fails(optimizer, text):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    try: tfd_export.keras(model, "mse", optimizer, batch=(np.zeros((4, 2), "float32"), np.zeros((4, 1), "float32")), to="out")
    except ValueError as problem: assert text in str(problem), problem
    else: raise AssertionError(optimizer)
fails({"adm": {}}, "optimizer: unknown key 'adm', did you mean 'adam'?")
fails({"adam": {"lr": 1}}, "optimizer.adam: unknown key 'lr', did you mean 'learning_rate'? (there are learning_rate, clipvalue, ")
fails({"adam": {"groups": {"*": {"momentum": 1}}}}, "optimizer.adam.groups['*']: unknown key 'momentum' (there are ")
fails({"adam": {}, "sgd": {}}, "optimizer: it has to name one optimizer, not 2: ")
fails({"adam": 0.1}, "optimizer: adam has to have an object of settings")
# The names are those of the schema.
spec = importlib.util.spec_from_file_location("gen_schema", sys.argv[1] + "/gen-schema.py")
schema = importlib.util.module_from_spec(spec)
spec.loader.exec_module(schema)
for name, own in schema.OPTIMIZERS.items():
    known = schema.optimizer(own)["properties"]
    assert set(known) == {*tfd_export._OF_GROUPS, *tfd_export._OPTIMIZERS[name], *tfd_export._OF_ALL_OPTIMIZERS}, name
    assert set(known["groups"]["additionalProperties"]["properties"]) == {*tfd_export._OF_GROUPS, *tfd_export._OPTIMIZERS[name]}, name
assert list(schema.OPTIMIZERS) == list(tfd_export._OPTIMIZERS)
PY
}

@test "export: from PyTorch, Adam by default, as at the shell, and predictions of the inputs of a batch" {
  needs TFD_TORCH_PYTHON "torch, torchax and jax"
  cat >net.py <<'PY'
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(3, 1)
    def forward(self, x, scale=1.0):
        return scale * self.linear(x)
PY
  "$PYTHON" - 2>err <<'PY'
import numpy as np, tfd_export, torch
from net import Net
random = np.random.default_rng(1)
data = {"x": random.normal(0, 1, (32, 3)).astype("float32"), "scale": random.normal(1, 1, (32, 1)).astype("float32"), "y": np.ones((32, 1), "float32")}
np.savez("train.npz", x=data["x"], y=data["y"])
loss = lambda m, b: ((m(b["x"], b["scale"]) - b["y"]) ** 2).mean()  # noqa: E731
module = Net()
program = tfd_export.torch(module, loss, data, "out", data=data).prediction()
program.fit(epochs=1, verbose=False)
got = program.predict({"x": data["x"], "scale": data["scale"]})
want = module(torch.tensor(data["x"]), torch.tensor(data["scale"])).detach().numpy()
np.testing.assert_allclose(got, want, atol=1e-5)
layer = torch.nn.Linear(3, 1)  # its parameter is called input
program = tfd_export.torch(layer, lambda m, b: (m(b["x"]) - b["y"]).pow(2).mean(), {"x": data["x"], "y": data["y"]}, "layer", data=data).prediction()
assert [one["field"] for one in program.document["functions"]["predict"]["inputs"] if "field" in one] == ["x"], program.document
program.prediction(lambda m, b: -m(b["x"]), name="negative")
try: tfd_export.torch(layer, lambda m, b: m(b["a"]).mean(), {"a": data["x"]}, "other").prediction()
except ValueError as problem: assert "prediction: which fields of the batch are inputs? Give inputs={NAME: array} of a" in str(problem), problem
else: raise AssertionError
PY
  grep -qx "to train it with adam, the default optimizer: tfd-run out/program.json" err
  run -0 --separate-stderr "$PYTHON" -m tfd_export net.py:Net --loss mse_loss --data train.npz
  [ "${stderr##*$'\n'}" = "to train it with adam, the default optimizer: tfd-run net/program.json" ]
  [ "$(jq -c .optimizer out/program.json)" = "$(jq -c .optimizer net/program.json)" ]
  run -0 --separate-stderr "$PYTHON" -m tfd_export net.py:Net --loss mse_loss --optimizer sgd --data train.npz
  [ "${stderr##*$'\n'}" = "to train it: tfd-run net/program.json" ]
}
