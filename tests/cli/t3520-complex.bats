#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Complex values: a function takes and returns them as their real and imaginary part, a last dimension of 2, and complex
# arrays in files are read so.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

MODULES=${TFD_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/golden/modules

# NumPy's file of complex64, as numpy.save writes it; on stdin the parts, nested: [[re, im], …].
complex_npy() { # PATH
  python3 -c '
import json, struct, sys
def shape(value): return [] if not isinstance(value, list) else [len(value), *shape(value[0])]
def flat(value): return [value] if not isinstance(value, list) else [x for one in value for x in flat(one)]
value = json.load(sys.stdin)
dimensions = "".join(f"{size}, " for size in shape(value)[:-1])
header = "{\x27descr\x27: \x27<c8\x27, \x27fortran_order\x27: False, \x27shape\x27: (%s), }" % dimensions
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat(value))}f", *flat(value)))
' "$1"
}

@test "complex: a module of jax is called with its arguments in complex files, and returns jax's numbers" {
  cp "$MODULES"/complex.{mlir,json} .
  jq .arguments.gain complex.json | complex_npy gain.npy
  jq .arguments.mean complex.json | complex_npy mean.npy
  jq .arguments.z complex.json | complex_npy z.npy
  jq -c '.arguments.x' complex.json >x.json
  cat >program.json <<JSON
{"v": 1, "variables": {"gain": {"shape": [3, 2], "init": {"npy": {"path": "gain.npy"}}},
                       "mean": {"shape": [3, 2], "init": {"npy": {"path": "mean.npy"}}, "trainable": false}},
 "datasets": {"rows": [{"tensor_slices": {"fields": {"x": $(cat x.json)}}}, {"zip": [[{"npy": {"field": "z", "path": "z.npy"}}]]}, {"batch": 2}]},
 "functions": {"step": {"module": "complex.mlir",
   "inputs": {"gain": {"variable": "gain"}, "mean": {"variable": "mean"}, "x": {"dataset": "rows", "field": "x"}, "z": {"dataset": "rows", "field": "z"}},
   "outputs": [{"result": 0}, {"result": 1}, {"result": 2}, {"assign": "mean"}, {"result": 3}]},
  "add": {"module": "add.mlir", "inputs": [{"variable": "mean"}, {"arg": 0}], "outputs": [{"result": 0}]}}}
JSON
  cat >add.mlir <<'MLIR'
func.func @main(%mean: tensor<3xcomplex<f32>>, %z: tensor<complex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  %1 = stablehlo.add %mean, %0 : tensor<3xcomplex<f32>>
  return %1 : tensor<3xcomplex<f32>>
}
MLIR
  printf '%s\n' '{"op": "create_per_worker_dataset", "id": "d", "dataset": "rows"}' \
    '{"op": "schedule", "id": "step", "function": "step"}' '{"op": "join"}' '{"op": "schedule", "id": "add", "function": "add", "args": [[0, 1]]}' >closures
  run -0 --separate-stderr timeout 60 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q program.json --closures closures
  jq -es --slurpfile jax complex.json 'def same($a; $b): [$a | .. | numbers] as $x | [$b | .. | numbers] as $y |
      ($x | length) == ($y | length) and all(range($x | length); ($x[.] - $y[.]) | fabs < 1e-5);
    $jax[0].results as $of | (map(select(.id == "step"))[0].value) as $got | (map(select(.id == "add"))[0].value) as $added |
    same($got; [$of.conj, $of.gain, $of.loss, $of.z]) and same($added; $of.mean | map([.[0], .[1] + 1]))' <<<"$output"
}

# w x + b of complex numbers: the loss is the mean of |error|^2, and the gradients are the directions in which it grows.
line() {
  cat >line.mlirt <<'MLIR'
// tfd-template: b=4
module @line {
  func.func private @conj(%z: tensor<${b}xcomplex<f32>>) -> tensor<${b}xcomplex<f32>> {
    %re = stablehlo.real %z : (tensor<${b}xcomplex<f32>>) -> tensor<${b}xf32>
    %im = stablehlo.imag %z : (tensor<${b}xcomplex<f32>>) -> tensor<${b}xf32>
    %minus = stablehlo.negate %im : tensor<${b}xf32>
    %0 = stablehlo.complex %re, %minus : tensor<${b}xcomplex<f32>>
    return %0 : tensor<${b}xcomplex<f32>>
  }
  func.func public @main(%w: tensor<complex<f32>>, %b: tensor<complex<f32>>, %x: tensor<${b}xcomplex<f32>>, %y: tensor<${b}xcomplex<f32>>)
      -> (tensor<f32>, tensor<complex<f32>>, tensor<complex<f32>>) {
    %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %scale = stablehlo.constant dense<(${2.0/b}, 0.0)> : tensor<complex<f32>>
    %ws = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<complex<f32>>) -> tensor<${b}xcomplex<f32>>
    %bs = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<complex<f32>>) -> tensor<${b}xcomplex<f32>>
    %wx = stablehlo.multiply %ws, %x : tensor<${b}xcomplex<f32>>
    %prediction = stablehlo.add %wx, %bs : tensor<${b}xcomplex<f32>>
    %error = stablehlo.subtract %prediction, %y : tensor<${b}xcomplex<f32>>
    %conj = call @conj(%x) : (tensor<${b}xcomplex<f32>>) -> tensor<${b}xcomplex<f32>>
    %grow = stablehlo.multiply %error, %conj : tensor<${b}xcomplex<f32>>
    %sum_w = stablehlo.reduce(%grow init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<${b}xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    %sum_b = stablehlo.reduce(%error init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<${b}xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    %grad_w = stablehlo.multiply %sum_w, %scale : tensor<complex<f32>>
    %grad_b = stablehlo.multiply %sum_b, %scale : tensor<complex<f32>>
    %back = call @conj(%error) : (tensor<${b}xcomplex<f32>>) -> tensor<${b}xcomplex<f32>>
    %square = stablehlo.multiply %error, %back : tensor<${b}xcomplex<f32>>
    %squares = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<${b}xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    %mean = stablehlo.multiply %squares, %scale : tensor<complex<f32>>
    %twice = stablehlo.real %mean : (tensor<complex<f32>>) -> tensor<f32>
    %loss = stablehlo.multiply %twice, %half : tensor<f32>
    return %loss, %grad_w, %grad_b : tensor<f32>, tensor<complex<f32>>, tensor<complex<f32>>
  }
}
MLIR
  python3 - <<'PY'
import json, random
random.seed(5)
draw = lambda: complex(round(random.gauss(0, 1), 3), round(random.gauss(0, 1), 3))
x = [draw() for _ in range(22)]
y = [(2 - 1j) * one + (0.5 + 1j) + 0.1 * draw() for one in x]
for name, values in ("x", x), ("y", y):
    json.dump([[z.real, z.imag] for z in values], open(name + ".json", "w"))
w = b = 0
losses = []
for epoch in range(5):
    for at in range(0, 22, 4):
        batch = list(zip(x[at:at + 4], y[at:at + 4]))
        errors = [w * one + b - target for one, target in batch]
        losses.append(sum(abs(e) ** 2 for e in errors) / len(batch))
        grad_w = 2 / len(batch) * sum(e * one.conjugate() for e, (one, _) in zip(errors, batch))
        w, b = w - 0.1 * grad_w, b - 0.1 * 2 / len(batch) * sum(errors)
print(*losses, sep="\n", file=open("losses", "w"))
json.dump({"w": [w.real, w.imag], "b": [b.real, b.imag]}, open("trained.json", "w"))
PY
  complex_npy x.npy <x.json
  complex_npy y.npy <y.json
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"shape": [2], "init": {"zeros": {}}}, "b": {"shape": [2], "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 0.1}},
 "datasets": {"rows": [{"npy": {"fields": {"x": {"path": "x.npy"}, "y": {"path": "y.npy"}}}}, {"batch": 4}]},
 "functions": {"step": {"module": "line.mlirt",
   "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"dataset": "rows", "field": "x"}, "y": {"dataset": "rows", "field": "y"}},
   "outputs": [{"metric": "loss"}, {"gradient": "w"}, {"gradient": "b"}]}},
 "train": {"function": "step", "epochs": 5, "log_every": 1}}
JSON
}

same() { # FILE
  jq 'select(.event == "step").metrics.loss' said >own
  [ "$(wc -l <own)" = 30 ]
  paste own losses | awk '{ d = $1 - $2; if (NF != 2 || d > 1e-5 || d < -1e-5) { print "line " NR ": " $0; exit 1 } }'
}

@test "complex: a line is learnt with the losses of the formula, on one device, on two and on a worker" {
  line
  timeout 60 tfd-run -q program.json --set train.checkpoint.dir=ck </dev/null >said
  same
  python3 - ck/step-*.safetensors <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, values = json.loads(data[8:8 + size]), data[8 + size:]
for name, value in json.load(open("trained.json")).items():
    assert header[name]["dtype"] == "F32" and header[name]["shape"] == [2]
    assert all(abs(a - b) < 1e-5 for a, b in zip(struct.unpack("<2f", values[slice(*header[name]["data_offsets"])]), value))
PY
  for way in threads fused; do
    timeout 60 tfd-run -q --strategy mirrored --devices 2 --step $way --set train.replicas=split program.json </dev/null >said
    same
  done
  timeout 60 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q program.json >said
  same
}

@test "complex: data are read with their parts, from .npz too" {
  line
  tfd-data - <<<'[{"npy": {"field": "z", "path": "x.npy"}}]' >said
  jq -e --slurpfile x x.json '.spec.z == {"dtype": "f32", "shape": [2]} and .cardinality == 22 and (.elements[1].z[1] - $x[0][1][1] | fabs < 1e-6)' said
  python3 -c 'import zipfile; zipfile.ZipFile("all.npz", "w").write("x.npy")'
  tfd-data - <<<'[{"npz": {"path": "all.npz"}}]' >zipped
  [ "$(jq -c '[.spec.x, .elements[].x]' zipped)" = "$(jq -c '[.spec.z, .elements[].z]' said)" ]
}

@test "complex: what can't be read is one line that says what stands for it" {
  line
  run -65 --separate-stderr tfd-run --check program.json --set 'variables.w={"shape": [], "dtype": "complex64", "init": {"zeros": {}}}' </dev/null
  [[ $stderr == *"variables.w.dtype: dtype 'complex64': a complex value is its real and its imaginary part, f32 with a last dimension of 2" ]]
  run -65 --separate-stderr tfd-run --check program.json --set variables.w.shape=[] </dev/null
  [[ $stderr == *"program.json: "*"'w'"*"f32[2]"* ]]
  sed -i 's/%conj = call @conj(%x)/%conj = call @conj(%nothing)/' line.mlirt
  run -65 --separate-stderr tfd-run --cluster none program.json </dev/null
  [[ $stderr == *"line.mlirt (b=4) does not compile: line 20 of line.mlirt (b=4): use of undeclared SSA value name"* ]]
  cp "$MODULES"/magnitude.* .
  echo '{"v": 1, "functions": {"f": {"module": "magnitude.mlirbc", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}}}' >program.json
  echo '{"op": "schedule", "function": "f", "args": [[[1, 2], [3, 4], [5, 6]]]}' >closures
  run -65 --separate-stderr timeout 60 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q program.json --closures closures
  [[ $stderr == *"magnitude.mlirbc is bytecode with complex arguments or results, which tfd only reads from text: save it as text"* ]]
}
