#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports mlp_grads (text, bytecode, signature, and jax's own results), and modules for several platforms: platforms.mlir,
which doesn't ask for its platform, by_platform.*, which does, kernels.mlir, whose branch for cuda has a kernel of jaxlib, and cholesky.mlir, which has one.
Made with jax 0.10.2."""
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths of this machine in the files
HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {"float32": "f32", "int32": "s32"}


def mlp(w1, b1, w2, b2, x, y):
    def loss(params):
        w1, b1, w2, b2 = params
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

    value, gradients = jax.value_and_grad(loss)((w1, b1, w2, b2))
    return {"loss": value, **dict(zip(("w1", "b1", "w2", "b2"), gradients))}


def write(name, content):
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(content)


def main():
    random = np.random.RandomState(0)
    arguments = {
        "w1": random.randn(12, 8).astype(np.float32),
        "b1": np.zeros(8, np.float32),
        "w2": random.randn(8, 3).astype(np.float32),
        "b2": np.zeros(3, np.float32),
        "x": random.rand(5, 12).astype(np.float32),
        "y": random.randint(0, 3, 5).astype(np.int32),
    }
    exported = export.export(jax.jit(mlp, keep_unused=True))(*arguments.values())
    results = jax.jit(mlp)(*arguments.values())
    write("mlp_grads.mlir", exported.mlir_module().encode())
    write("mlp_grads.mlirbc", exported.mlir_module_serialized)
    lines = [("arg", name, value) for name, value in arguments.items()] + [("result", name, results[name]) for name in sorted(results)]
    text = ""
    for kind, name, value in lines:
        text += f"{kind} {DTYPES[str(value.dtype)]} {','.join(map(str, value.shape)) or '-'} {name}\n"
    write("mlp_grads.sig", text.encode())
    for name, value in arguments.items():
        np.save(os.path.join(HERE, f"mlp_grads.arg.{name}.npy"), value)
    for name in sorted(results):
        np.save(os.path.join(HERE, f"mlp_grads.result.{name}.npy"), np.asarray(results[name]))
    both = export.export(jax.jit(lambda x: x + 1), platforms=["cpu", "tpu"])(np.float32(1))
    write("platforms.mlir", both.mlir_module().encode())
    by_platform()


def by_platform():
    def scale(x):
        return jax.lax.platform_dependent(x, cuda=lambda x: x * 3, tpu=lambda x: x * 5, cpu=lambda x: x * 2)

    def solve(x):
        return jax.lax.platform_dependent(x, cpu=lambda x: x * 2, tpu=jnp.linalg.cholesky, cuda=jnp.linalg.cholesky)

    exported = export.export(jax.jit(scale), platforms=["cuda", "cpu", "tpu"])(jax.ShapeDtypeStruct((3,), np.float32))
    write("by_platform.mlir", exported.mlir_module().encode())
    write("by_platform.mlirbc", exported.mlir_module_serialized)
    write("by_platform.sig", b"arg s32 - _platform_index\narg f32 3 x\nresult f32 3 result\n")
    matrix = jax.ShapeDtypeStruct((2, 2), np.float32)
    write("kernels.mlir", export.export(jax.jit(solve), platforms=["cpu", "cuda"])(matrix).mlir_module().encode())
    write("cholesky.mlir", export.export(jax.jit(jnp.linalg.cholesky), platforms=["cpu"])(matrix).mlir_module().encode())


main()
