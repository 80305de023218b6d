#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Version:   jax 0.10.2, jaxlib 0.10.2, NumPy 2.4.6, Python 3.11 or newer, x86-64 with AVX2.
# Expected:  compile(compiler_options={"xla_cpu_max_isa": "SSE4_2"}) gives the bits that a process with
#            XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 gives, since both set the same debug option of XLA.
# Behavior:  The compiler option is accepted and changes no bit of exp(x): the result is that of AVX2 and FMA. A name
#            that XLA does not know is refused, so the option was read. XLA_FLAGS, set before the plug-in loads, does
#            change the bits. Processes that must have the same bits on different CPUs need the flag, not the option.
# Seen:      option == nothing: True, flag == nothing: False
# Exits with 0 if the behavior is as stated, 1 if it has changed, 77 if the processor has no AVX2.
set -euo pipefail
grep -qm1 ' avx2' /proc/cpuinfo || { echo "no AVX2 here: nothing to compare"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/python" -m pip install -q --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat >"$T/exp.py" <<'PYTHON'
import hashlib, sys
import jax, numpy

x = numpy.random.RandomState(0).randn(64, 300).astype("float32")
options = dict(argument.split("=") for argument in sys.argv[1:])
exp = jax.jit(jax.numpy.exp).lower(x).compile(compiler_options=options)
print(hashlib.sha256(numpy.asarray(exp(x)).tobytes()).hexdigest())
PYTHON
run() { JAX_PLATFORMS=cpu "$T/venv/bin/python" "$T/exp.py" "$@"; }
nothing=$(run)
[ "$nothing" = "$(run)" ] || { echo "exp isn't repeatable here"; exit 1; }
option=$(run xla_cpu_max_isa=SSE4_2)
flag=$(XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 run)
if run xla_cpu_no_such_option=1 >/dev/null 2>&1; then
  echo "changed: an unknown option is accepted"
  exit 1
fi
is() { if [ "$1" = "$2" ]; then echo True; else echo False; fi; }
echo "option == nothing: $(is "$option" "$nothing"), flag == nothing: $(is "$flag" "$nothing")"
[ "$option" = "$nothing" ] && [ "$flag" != "$nothing" ]
