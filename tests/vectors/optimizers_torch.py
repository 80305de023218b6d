#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/optimizers_torch.json from the real PyTorch and optax: optimizers_torch.py GOLDEN_DIR.

Adam and AdamW with epsilon beside the corrected root. torch takes the powers of beta in double, and so does optax here, with jax_enable_x64.
Needs torch==2.9.1, jax==0.10.2 and optax==0.2.8.
"""
import json
import os
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

jax.config.update("jax_enable_x64", True)
PARAMS = [[1.0, 2.0], [0.5]]
GRADS = [[[0.1, -0.2], [0.3]], [[0.05, 0.4], [-0.1]], [[-0.3, 0.2], [0.2]],
         [[0.02, -1.5], [2.0]], [[0.0, 0.7], [-0.4]], [[1.25, -0.01], [0.05]]]
SMALL = [[[1e-7 * x for x in of_variable] for of_variable in step] for step in GRADS]  # as small as epsilon


def bits(array):
  return ["%08x" % struct.unpack("<I", struct.pack("<f", x))[0] for x in np.asarray(array).ravel()]


def case(name, optimizer, args, grads, steps):
  args = {"epsilon": 1e-8, "corrected_epsilon": True} | args
  return {"name": name, "input": {"params": PARAMS, "grads": grads, "optimizer": optimizer, "args": args},
          "expected": {"steps": [{"params": [np.asarray(v).tolist() for v in step], "bits": [bits(v) for v in step]} for step in steps], "slots": {}, "ulps": 6}}


def torch_case(name, optimizer, args, grads=GRADS):
  own = {{"learning_rate": "lr", "epsilon": "eps"}.get(key, key): value for key, value in args.items() if not key.startswith("beta")}
  variables = [torch.nn.Parameter(torch.tensor(p)) for p in PARAMS]
  made = getattr(torch.optim, optimizer)(variables, betas=(args.get("beta_1", 0.9), args.get("beta_2", 0.999)), **own)
  steps = []
  for gradients in grads:
    for variable, gradient in zip(variables, gradients):
      variable.grad = torch.tensor(gradient)
    made.step()
    steps.append([variable.detach().numpy().copy() for variable in variables])
  return case(name, optimizer, args, grads, steps)


def optax_case(name, optimizer, args, grads=GRADS):
  own = {{"beta_1": "b1", "beta_2": "b2", "epsilon": "eps"}.get(key, key): value for key, value in args.items()}
  variables = [jnp.array(p, jnp.float32) for p in PARAMS]
  made = getattr(optax, optimizer.lower())(**own)
  state, steps = made.init(variables), []
  for gradients in grads:
    updates, state = made.update([jnp.array(g, jnp.float32) for g in gradients], state, variables)
    variables = optax.apply_updates(variables, updates)
    assert all(one.dtype == jnp.float32 for one in variables)
    steps.append(variables)
  return case(name, optimizer, args, grads, steps)


CASES = [
  torch_case("torch_adam", "Adam", {"learning_rate": 0.1}),
  torch_case("torch_adam_small", "Adam", {"learning_rate": 0.1}, SMALL),
  torch_case("torch_adam_options", "Adam", {"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-3}),
  torch_case("torch_amsgrad", "Adam", {"learning_rate": 0.1, "amsgrad": True}, SMALL),
  torch_case("torch_adamw", "AdamW", {"learning_rate": 0.1, "weight_decay": 0.1}),
  torch_case("torch_adamw_small", "AdamW", {"learning_rate": 0.001, "weight_decay": 0.01}, SMALL),
  optax_case("optax_adam", "Adam", {"learning_rate": 0.1}),
  optax_case("optax_adam_small", "Adam", {"learning_rate": 0.1, "epsilon": 1e-6}, SMALL),
  optax_case("optax_adamw", "AdamW", {"learning_rate": 0.1, "weight_decay": 0.1}),
]

with open(os.path.join(sys.argv[1], "optimizers_torch.json"), "w", encoding="utf-8") as file:
  head = {"set": "optimizers_torch", "source": f"PyTorch {torch.__version__.split('+')[0]} / optax {optax.__version__}, float32 on CPU",
          "notes": "bits = IEEE-754 float32 bits in hex. Accept `ulps` units in the last place: torch divides by both corrections, tfd multiplies epsilon.", "count": len(CASES)}
  file.write("{\n" + "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()))
  file.write(' "cases": [\n' + ",\n".join("  " + json.dumps(one) for one in CASES) + "\n ]\n}\n")
