# SPDX-License-Identifier: Apache-2.0
"""The models of `./dev bench strategies`: one source for JAX, for TensorFlow and, exported from JAX, for tfd.

A model is a loss of parameters and a batch, written with the few operations that Jax and TensorFlow below both have;
and `np` has everything common to the two array namespaces. Values are the same wherever it runs: they come from seeds.
"""
import dataclasses
import pathlib
from typing import Any, Callable

import numpy

DIGITS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits-train.csv"
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


@dataclasses.dataclass
class Model:
    name: str
    batch: int  # of one replica
    parameters: dict[str, numpy.ndarray]
    loss: Callable[[Any, dict, list], Any]  # operations, parameters, fields of a batch
    fields: dict[str, numpy.ndarray]  # rows are examples

    def batches(self, size):
        """All of them, a list of fields for each."""
        count = len(next(iter(self.fields.values()))) // size
        return [[f[i * size:(i + 1) * size] for f in self.fields.values()] for i in range(count)]


class Jax:
    def __init__(self):
        import jax
        import jax.numpy

        self.np = jax.numpy
        self._jax = jax

    def one_hot(self, labels, count):
        return self._jax.nn.one_hot(labels, count)

    def fold(self, step, values, state):
        """The state after step(state, value) for each of them in turn."""
        return self._jax.lax.scan(lambda before, value: (step(before, value), None), state, values)[0]

    def convolution(self, x, kernel):
        """NHWC, the same size."""
        return self._jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


class TensorFlow:
    def __init__(self):
        import tensorflow

        self.np = tensorflow.experimental.numpy
        self._tf = tensorflow

    def one_hot(self, labels, count):
        return self._tf.one_hot(labels, count)

    def fold(self, step, values, state):
        return self._tf.foldl(step, values, initializer=state)

    def convolution(self, x, kernel):
        return self._tf.nn.conv2d(x, kernel, 1, "SAME")


def relu(ops, x):
    return ops.np.maximum(x, ops.np.zeros_like(x))


def log_softmax(ops, x):
    x = x - ops.np.max(x, axis=-1, keepdims=True)
    return x - ops.np.log(ops.np.sum(ops.np.exp(x), axis=-1, keepdims=True))


def cross_entropy(ops, logits, labels, classes):
    return -ops.np.mean(ops.np.sum(ops.one_hot(labels, classes) * log_softmax(ops, logits), axis=-1))


def digits_data():
    rows = numpy.loadtxt(DIGITS, delimiter=",")
    return {"image": rows[:, :64].astype(numpy.float32), "label": rows[:, 64].astype(numpy.int32)}


def glorot(random, *shape):
    fan = numpy.prod(shape[:-2]) * (shape[-2] + shape[-1])
    return random.uniform(-1, 1, shape) * (6 / fan) ** 0.5


def mlp():
    random = numpy.random.default_rng(1)
    parameters = {"w1": glorot(random, 64, 64), "b1": numpy.zeros(64), "w2": glorot(random, 64, 10), "b2": numpy.zeros(10)}

    def loss(ops, p, batch):
        image, label = batch
        hidden = relu(ops, ops.np.matmul(image / 16, p["w1"]) + p["b1"])
        return cross_entropy(ops, ops.np.matmul(hidden, p["w2"]) + p["b2"], label, 10)

    return Model("digits-mlp", 64, parameters, loss, digits_data())


def cnn():
    random = numpy.random.default_rng(2)
    parameters = {"k1": glorot(random, 3, 3, 1, 16), "c1": numpy.zeros(16), "k2": glorot(random, 3, 3, 16, 32),
                  "c2": numpy.zeros(32), "w": glorot(random, 128, 10), "b": numpy.zeros(10)}

    def pool(ops, x, size, channels):
        x = ops.np.reshape(x, (-1, size // 2, 2, size // 2, 2, channels))
        return ops.np.max(x, axis=(2, 4))

    def loss(ops, p, batch):
        image, label = batch
        x = ops.np.reshape(image / 16, (-1, 8, 8, 1))
        x = pool(ops, relu(ops, ops.convolution(x, p["k1"]) + p["c1"]), 8, 16)
        x = pool(ops, relu(ops, ops.convolution(x, p["k2"]) + p["c2"]), 4, 32)
        return cross_entropy(ops, ops.np.matmul(ops.np.reshape(x, (-1, 128)), p["w"]) + p["b"], label, 10)

    return Model("digits-cnn", 64, parameters, loss, digits_data())


LAYERS, WIDTH, HEADS, LETTERS, LENGTH = 4, 64, 4, 96, 32


def transformer():
    random = numpy.random.default_rng(11)

    def normal(scale, *shape):
        return random.normal(0, scale, shape)

    parameters = {"tokens": normal(0.05, LETTERS, WIDTH), "positions": normal(0.05, LENGTH, WIDTH)}
    for layer in range(LAYERS):
        own = {"norm1/scale": numpy.ones(WIDTH), "norm1/bias": numpy.zeros(WIDTH), "qkv": normal(WIDTH**-0.5, WIDTH, 3 * WIDTH),
               "out": normal(WIDTH**-0.5, WIDTH, WIDTH), "norm2/scale": numpy.ones(WIDTH), "norm2/bias": numpy.zeros(WIDTH),
               "up": normal(WIDTH**-0.5, WIDTH, 4 * WIDTH), "up/bias": numpy.zeros(4 * WIDTH),
               "down": normal((4 * WIDTH) ** -0.5, 4 * WIDTH, WIDTH), "down/bias": numpy.zeros(WIDTH)}
        parameters |= {f"layer{layer}/{name}": value for name, value in own.items()}
    parameters |= {"norm/scale": numpy.ones(WIDTH), "norm/bias": numpy.zeros(WIDTH)}
    mask = numpy.tril(numpy.ones((LENGTH, LENGTH), bool))

    def norm(ops, p, name, x):
        x = x - ops.np.mean(x, axis=-1, keepdims=True)
        x = x / ops.np.sqrt(ops.np.mean(x * x, axis=-1, keepdims=True) + 1e-5)
        return x * p[name + "/scale"] + p[name + "/bias"]

    def gelu(ops, x):
        return 0.5 * x * (1 + ops.np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def attention(ops, p, name, x):
        def heads(part):
            return ops.np.transpose(ops.np.reshape(part, (-1, LENGTH, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

        qkv = ops.np.matmul(x, p[name + "/qkv"])
        q, k, v = (heads(qkv[..., i * WIDTH:(i + 1) * WIDTH]) for i in range(3))
        scores = ops.np.matmul(q, ops.np.transpose(k, (0, 1, 3, 2))) / (WIDTH // HEADS) ** 0.5
        weights = ops.np.exp(log_softmax(ops, ops.np.where(mask, scores, ops.np.full_like(scores, -1e9))))
        mixed = ops.np.reshape(ops.np.transpose(ops.np.matmul(weights, v), (0, 2, 1, 3)), (-1, LENGTH, WIDTH))
        return ops.np.matmul(mixed, p[name + "/out"])

    def loss(ops, p, batch):
        (text,) = batch
        x = ops.np.take(p["tokens"], text[:, :-1], axis=0) + p["positions"]
        for layer in range(LAYERS):
            name = f"layer{layer}"
            x = x + attention(ops, p, name, norm(ops, p, name + "/norm1", x))
            hidden = gelu(ops, ops.np.matmul(norm(ops, p, name + "/norm2", x), p[name + "/up"]) + p[name + "/up/bias"])
            x = x + ops.np.matmul(hidden, p[name + "/down"]) + p[name + "/down/bias"]
        logits = ops.np.matmul(norm(ops, p, "norm", x), ops.np.transpose(p["tokens"]))
        return cross_entropy(ops, logits, text[:, 1:], LETTERS)

    text = numpy.cumsum(random.integers(0, 5, (400, LENGTH + 1)), 1) % LETTERS
    return Model("transformer", 8, parameters, loss, {"text": text.astype(numpy.int32)})


def scalars(count=800):
    random = numpy.random.default_rng(5)
    parameters = {f"s{i}": random.normal(0, 1, ()) for i in range(count)}

    def loss(ops, p, batch):
        y = ops.np.matmul(batch[0], ops.np.stack(list(p.values())))
        return ops.np.mean(y * y)

    return Model("scalars-800", 8, parameters, loss, {"x": random.normal(0, 0.05, (256, count)).astype(numpy.float32)})


def layers(elements, count):
    """Residual layers with one variable of `elements` elements each: a scalar, a bias or a square matrix."""
    random, width = numpy.random.default_rng(6), max(16, int(elements**0.5)) if elements > 16 else 16
    shape = {1: (), 16: (16,)}.get(elements, (width, width))
    parameters = {f"layer{i}": random.normal(0, 0.1, shape) for i in range(count)}

    def loss(ops, p, batch):
        x = batch[0]
        for value in p.values():
            x = x + 0.01 * ops.np.tanh(ops.np.matmul(x, value) if len(shape) == 2 else x * value)
        return ops.np.mean((x - 1) * (x - 1))

    return Model(f"layers-{elements}x{count}", 8, parameters, loss, {"x": random.normal(0, 1, (256, width)).astype(numpy.float32)})


def blocks(count=250):
    """Equal small blocks of a matrix, two vectors and one number: four times as many variables."""
    random, parameters = numpy.random.default_rng(7), {}
    for i in range(count):
        parameters |= {f"block{i}/w": random.normal(0, 0.2, (16, 16)), f"block{i}/b": numpy.zeros(16), f"block{i}/g": numpy.ones(16),
                       f"block{i}/s": numpy.ones(1)}

    def loss(ops, p, batch):
        x = batch[0]
        for i in range(count):
            w, b, g, s = (p[f"block{i}/{name}"] for name in "wbgs")
            x = x + s * 0.01 * ops.np.tanh(ops.np.matmul(x, w) + b) * g
        return ops.np.mean((x - 1) * (x - 1))

    return Model(f"blocks-{4 * count}", 16, parameters, loss, {"x": random.normal(0, 1, (256, 16)).astype(numpy.float32)})


def lstm(length=32, width=32, hidden=128):
    random = numpy.random.default_rng(8)
    parameters = {"kernel": glorot(random, width, 4 * hidden), "recurrent": glorot(random, hidden, 4 * hidden), "bias": numpy.zeros(4 * hidden),
                  "w": glorot(random, hidden, 10), "b": numpy.zeros(10)}

    def loss(ops, p, batch):
        x, label = batch

        def sigmoid(z):
            return 0.5 * (1 + ops.np.tanh(0.5 * z))

        def cell(state, x):
            h, c = state
            z = ops.np.matmul(x, p["kernel"]) + ops.np.matmul(h, p["recurrent"]) + p["bias"]
            i, f, g, o = (z[:, k * hidden:(k + 1) * hidden] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * ops.np.tanh(g)
            return sigmoid(o) * ops.np.tanh(c), c

        zeros = ops.np.zeros_like(ops.np.matmul(x[:, 0], p["kernel"])[:, :hidden])
        h, _ = ops.fold(cell, ops.np.transpose(x, (1, 0, 2)), (zeros, zeros))
        return cross_entropy(ops, ops.np.matmul(h, p["w"]) + p["b"], label, 10)

    return Model("lstm", 16, parameters, loss, {"x": random.normal(0, 1, (256, length, width)).astype(numpy.float32),
                                                "label": random.integers(0, 10, 256).astype(numpy.int32)})


def all_models(asked=""):
    """The models by name; `asked` may be a "layers-ELEMENTSxCOUNT" too."""
    models = [mlp(), cnn(), transformer(), scalars(), blocks(), lstm()]
    if asked.startswith("layers-"):
        models.append(layers(*map(int, asked.removeprefix("layers-").split("x"))))
    for model in models:
        model.parameters = {name: numpy.asarray(value, numpy.float32) for name, value in model.parameters.items()}
        whole = 4 * model.batch  # so that one, two and four devices see the same examples in every epoch
        model.fields = {name: field[:len(field) // whole * whole] for name, field in model.fields.items()}
    return {model.name: model for model in models}
