#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports what JAX makes of linear algebra on a CPU: for each case linear_algebra/NAME.mlir, a module of f32, f64, c64 and c128
(complex values go in and come out as their parts), and NAME.safetensors, its arguments and what jaxlib's own LAPACK computes.
Results don't depend on what a LAPACK is free to choose, such as the signs of vectors. Made with jax 0.10.2."""
import json
import os
import re
import struct
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import export, lax
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lax import linalg as raw
from jaxlib.mlir import ir

jax.config.update("jax_enable_x64", True)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "linear_algebra")
CASES = {}
# JAX doesn't promise to keep these as they are.
UNCHECKED = [export.DisabledSafetyCheck.custom_call(f"lapack_{letter}{name}_ffi") for letter in "sdcz"
             for name in ("ormqr", "unmqr", "geqp3", "gesvd")]
H = lambda x: jnp.conj(jnp.swapaxes(x, -1, -2))


def case(function):
    CASES[function.__name__] = function
    return function


def positive(a):
    return a @ H(a) + 4 * jnp.eye(a.shape[-1], dtype=a.dtype)


def gradient(function, a):
    """Of two of the four types, to keep the modules small."""
    if a.dtype in (np.float32, np.complex128):
        return a[:0]
    return jax.grad(lambda a: jnp.sum(jnp.abs(function(a)) ** 2).real)(a)


# Each takes a [2, 4, 4] and b [2, 4, 3] of one dtype.
@case
def cholesky(a, b):
    lower = jnp.linalg.cholesky(positive(a))
    return lower, jnp.linalg.cholesky(positive(a), upper=True), gradient(lambda a: jnp.linalg.cholesky(positive(a)), a)


@case
def triangular_solve(a, b):
    t = positive(a)
    solve = lambda b, **how: lax.linalg.triangular_solve(t, b, **how)
    return (solve(b, left_side=True, lower=True), solve(b, left_side=True, lower=False, transpose_a=True, conjugate_a=True),
            solve(H(b), lower=True, unit_diagonal=True), solve(H(b), lower=False, transpose_a=True),
            gradient(lambda t: lax.linalg.triangular_solve(t, b, left_side=True, lower=True), t))


@case
def lu(a, b):
    sign, logdet = jnp.linalg.slogdet(a)
    p, l, u = jax.vmap(jsl.lu)(b)
    return (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), sign, logdet, p, l @ u,
            gradient(lambda a: jnp.linalg.slogdet(a)[1], a))


@case
def qr(a, b):
    q, r = jnp.linalg.qr(b)
    full, _ = jnp.linalg.qr(b, mode="complete")
    h, taus = raw.geqrf(b)
    return (q @ r, H(q) @ q, jnp.abs(r), H(full) @ full, gradient(lambda a: jnp.linalg.qr(positive(a))[1], a),
            raw.ormqr(h, taus, a, left=True, transpose=True) - H(full) @ a, raw.ormqr(h, taus, a, left=False) - a @ full)


@case
def pivoted_qr(a, b):
    q, r, p = jsl.qr(b[0], pivoting=True, mode="economic")
    return q @ r - b[0][:, p], p, jnp.abs(jnp.diag(r))


@case
def svd(a, b):
    u, s, vt = jnp.linalg.svd(b, full_matrices=False)
    full_u, _, full_vt = jnp.linalg.svd(H(b), full_matrices=True)
    q = lax.linalg.svd(b, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.QR)
    return ((u * s[..., None, :]) @ vt, s, jnp.linalg.svd(a, compute_uv=False), H(full_u) @ full_u, full_vt @ H(full_vt),
            q[1], (q[0] * q[1][..., None, :].astype(b.dtype)) @ q[2], jnp.linalg.pinv(b),
            gradient(lambda a: jnp.linalg.svd(a, compute_uv=False), a))


@case
def eigh(a, b):
    h = positive(a)
    w, v = jnp.linalg.eigh(h)
    lower = lax.linalg.eigh(a + 2 * jnp.tril(a), lower=True, symmetrize_input=False)[1]
    upper = lax.linalg.eigh(a + 2 * jnp.tril(a), lower=False, symmetrize_input=False)[1]
    square_root = lambda a: (lambda w, v: (v * jnp.sqrt(w)[..., None, :].astype(v.dtype)) @ H(v))(*jnp.linalg.eigh(positive(a)))
    return w, h @ v - v * w[..., None, :].astype(v.dtype), lower, upper, square_root(a), gradient(square_root, a)


@case
def eig(a, b):
    w, v = jnp.linalg.eig(a)
    _, left, right = lax.linalg.eig(a, compute_left_eigenvectors=True, compute_right_eigenvectors=True)
    c = a.astype(v.dtype)
    order = lambda w: jnp.sort(w.real, axis=-1)
    return (order(w), jnp.sort(jnp.abs(w.imag), axis=-1), c @ v - v * w[..., None, :], H(left) @ c - w[..., :, None] * H(left),
            order(jnp.linalg.eigvals(a)))


@case
def schur(a, b):
    t, z = jsl.schur(a[0])
    return z @ t @ H(z), H(z) @ z, jnp.tril(t, -2)


@case
def hessenberg(a, b):
    packed, taus = lax.linalg.hessenberg(a)
    return packed, taus


@case
def tridiagonal(a, b):
    packed, d, e, taus = lax.linalg.tridiagonal(a + H(a), lower=True)
    upper = lax.linalg.tridiagonal(a + H(a), lower=False)
    return packed, d, e, taus, upper[1]


@case
def tridiagonal_solve(a, b):
    return lax.linalg.tridiagonal_solve(a[..., 0].at[..., 0].set(0), a[..., 1] + 4, a[..., 2].at[..., -1].set(0), b),


@case
def singular(a, b):
    """The second matrix has no factor; the first has."""
    indefinite = jnp.stack([positive(a)[0], -positive(a)[0]])
    holes = a.at[1, 0, 0].set(jnp.nan)
    return (jnp.linalg.cholesky(indefinite), jnp.linalg.slogdet(jnp.stack([a[0], jnp.zeros_like(a[0])]))[1],
            jnp.sort(jnp.abs(jnp.linalg.eigvals(holes)), axis=-1), jnp.linalg.svd(holes, compute_uv=False))


def parts(x):
    return [x.real, x.imag] if jnp.iscomplexobj(x) else [x]


def write_safetensors(path, values):
    header, data = {}, b""
    names = {"float32": "F32", "float64": "F64", "int32": "I32", "int64": "I64"}
    for name, value in values.items():
        raw_bytes = np.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": names[str(value.dtype)], "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw_bytes)]}
        data += raw_bytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    os.makedirs(HERE, exist_ok=True)
    random = np.random.RandomState(3)
    a, b = random.randn(2, 2, 4, 4), random.randn(2, 2, 4, 3)  # real and imaginary
    for name, function in CASES.items():
        def whole(*arguments):
            results = []
            for dtype, (ar, ai, br, bi) in zip((np.float32, np.complex64, np.float64, np.complex128), (arguments[:4],) * 2 + (arguments[4:],) * 2):
                take = (lambda re, im: re) if np.issubdtype(dtype, np.floating) else lax.complex
                for result in function(take(ar, ai), take(br, bi)):
                    results += parts(result)
            return results
        arguments = [x.astype(t) for t in (np.float32, np.float64) for x in (a[0], a[1], b[0], b[1])]
        exported = export.export(jax.jit(whole, keep_unused=True), disabled_checks=UNCHECKED)(*arguments)
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(exported.mlir_module())
            text = module.operation.get_asm(enable_debug_info=False)
        # What is for partitioners is a third of it.
        text = re.sub(r", mhlo\.frontend_attributes = \{num_batch_dims[^}]*\}|, sdy\.sharding_rule = #sdy\.op_sharding_rule<.*?, custom>", "", text)
        with open(os.path.join(HERE, name + ".mlir"), "w") as file:
            file.write(text)
        results = [np.asarray(x) for x in jax.jit(whole)(*arguments)]
        values = {f"argument{i}": x for i, x in enumerate(arguments)} | {f"result{i}": x for i, x in enumerate(results)}
        write_safetensors(os.path.join(HERE, name + ".safetensors"), values)
        print(name, len(results), len(text), sorted(set(w for w in text.replace("(", " ").split() if w.startswith("@lapack"))), file=sys.stderr)


if __name__ == "__main__":
    main()
