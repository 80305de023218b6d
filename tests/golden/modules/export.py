#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports mlp_grads (text, bytecode, signature, and jax's own results), and modules for several platforms: platforms.mlir,
which doesn't ask for its platform, by_platform.*, which does, kernels.mlir, whose branch for cuda has a kernel of jaxlib, and cholesky.mlir, which has one.
And complex.*, whose arguments and results are complex, with jax's results in complex.json, in parts; magnitude.* has only a complex argument.
Made with jax 0.10.2."""
import json
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
    complex_values(random)


def complex_values(random):
    def step(gain, mean, x, z):
        def loss(gain):
            signal = jnp.fft.fft(x) * gain + z
            return jnp.mean(jnp.abs(signal) ** 2), signal.mean(0)

        (value, moved), gradient = jax.value_and_grad(loss, has_aux=True)(gain)
        return {"loss": value, "gain": jnp.conj(gradient), "mean": 0.5 * mean + moved, "z": z, "conj": jnp.conj(z)}

    def draw(*shape):
        return (random.randn(*shape) + 1j * random.randn(*shape)).astype(np.complex64)

    def in_parts(value):
        value = np.asarray(value)
        return (np.stack([value.real, value.imag], -1) if np.iscomplexobj(value) else value).tolist()

    arguments = {"gain": draw(3), "mean": draw(3), "x": random.randn(2, 3).astype(np.float32), "z": draw(2, 3)}
    jitted = jax.jit(step, donate_argnums=1)
    exported = export.export(jitted)(*arguments.values())
    write("complex.mlir", exported.mlir_module().encode())
    write("complex.mlirbc", exported.mlir_module_serialized)
    lines = [f"arg f32 {shape} {name}" for name, shape in (("gain", "3,2"), ("mean", "3,2"), ("x", "2,3"), ("z", "2,3,2"))]
    lines += [f"result f32 {shape} {name}" for name, shape in (("conj", "2,3,2"), ("gain", "3,2"), ("loss", "-"), ("mean", "3,2"), ("z", "2,3,2"))]
    write("complex.sig", "".join(line + "\n" for line in lines).encode())
    magnitude = export.export(jax.jit(jnp.abs))(arguments["gain"])
    write("magnitude.mlirbc", magnitude.mlir_module_serialized)
    write("magnitude.sig", b"arg f32 3,2 z\nresult f32 3 magnitude\n")
    values = {"arguments": {name: in_parts(value) for name, value in arguments.items()}}
    values["results"] = {name: in_parts(value) for name, value in sorted(jitted(*arguments.values()).items())}
    write("complex.json", json.dumps(values).encode())


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
