#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Version:   tensorflow-cpu 2.21.0, Python 3.10 to 3.13, x86-64.
# Expected:  The gradient of tf.nn.max_pool2d is the same in eager mode and with jit_compile=True, also where a window has
#            its maximum twice: both give it to the first one, by rows.
# Behavior:  XLA:CPU gives it to the first one by rows with VALID, and by columns where SAME pads one side only (an even
#            image with a window of 3 and a stride of 2, as in ResNet's first pool): in the window [[0, 1], [1, 0]] the
#            element below instead of the one to the right. After a ReLU such windows are common. A module's
#            select_and_scatter with such padding therefore trains differently from what its framework trains eagerly;
#            one whose operand was padded before (as jax exports it) does not.
# Seen:      VALID: equal, SAME with padding at one side: 2 elements differ
# Exits with 0 if the behavior is as stated, 1 if it has changed.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/python" -m pip install -q --disable-pip-version-check tensorflow-cpu==2.21.0
cat >"$T/pool.py" <<'PYTHON'
import numpy
import tensorflow as tf

image = tf.constant([[0.0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]])[None, :, :, None]


def gradient(x, window, padding):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.nn.max_pool2d(x, window, 2, padding))
    return tape.gradient(total, x)


def unlike(window, padding):
    compiled = tf.function(gradient, jit_compile=True)
    return int(numpy.sum(gradient(image, window, padding).numpy() != compiled(image, window, padding).numpy()))


valid, same = unlike(2, "VALID"), unlike(3, "SAME")
print(f"VALID: {'equal' if valid == 0 else valid}, SAME with padding at one side: {same} elements differ")
raise SystemExit(0 if valid == 0 and same == 2 else 1)
PYTHON
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES='' "$T/venv/bin/python" "$T/pool.py"
