#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trainings of other frameworks over several processes under tfd-launch: TensorFlow's MultiWorkerMirroredStrategy
# (TFD_TENSORFLOW_PYTHON), PyTorch's DistributedDataParallel (TFD_TORCH_PYTHON) and JAX (TFD_JAX_PYTHON), each a Python
# that has it; skipped where not given. Each trains a line of 4 weights on 32 rows in steps of 8, whose weights one process
# computes by itself as well.
# bats file_tags=long,shared

bats_require_minimum_version 1.5.0

setup() {
  unset TF_CONFIG TFD_LOG TFD_TASK TFD_ERROR_FILE RANK WORLD_SIZE CUDA_VISIBLE_DEVICES
  cd "$BATS_TEST_TMPDIR" || return
  export TF_CPP_MIN_LOG_LEVEL=3 JAX_PLATFORMS=cpu PYTHONPATH=$PWD
  cat >line.py <<'PY'
"""32 rows of 4 numbers with their targets, and the weights after a descent in steps of 8 rows."""
import numpy as np

ROWS = np.random.default_rng(7).standard_normal((32, 4)).astype(np.float32)
TARGETS = (ROWS @ np.array([[1.0], [-2.0], [3.0], [0.5]], np.float32)).astype(np.float32)
RATE, BATCH, STEPS = 0.05, 8, 12


def batch(step):
    first = step * BATCH % 32
    return ROWS[first:first + BATCH], TARGETS[first:first + BATCH]


def expected():
    weights = np.zeros((4, 1))
    for step in range(STEPS):
        x, y = batch(step)
        weights -= RATE * 2 * x.T @ (x @ weights - y) / BATCH
    return weights


def check(weights):
    """Writes that a member's weights are the ones of a single process; fails if they aren't."""
    import os
    np.testing.assert_allclose(np.asarray(weights, np.float64).reshape(4, 1), expected(), rtol=2e-5)
    with open("trained." + os.environ["RANK"], "w") as file:
        print(os.environ["RANK"], os.environ["WORLD_SIZE"], file=file)
PY
}

trained() { # LINES: of all members
  [ "$(cat trained.*)" = "$1" ] || { echo "$output"; echo "$stderr"; return 1; }
}

@test "tfd-launch: TensorFlow's MultiWorkerMirroredStrategy trains on two workers" {
  [ -n "${TFD_TENSORFLOW_PYTHON:-}" ] || skip "TFD_TENSORFLOW_PYTHON names no Python with tensorflow"
  cat >train.py <<'PY'
import tensorflow as tf
import line

strategy = tf.distribute.MultiWorkerMirroredStrategy()
assert strategy.num_replicas_in_sync == 2
with strategy.scope():
    weights = tf.Variable(tf.zeros((4, 1)))
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
rows = tf.data.Dataset.from_tensor_slices((line.ROWS, line.TARGETS)).repeat().batch(line.BATCH).with_options(options)
batches = iter(strategy.experimental_distribute_dataset(rows))


@tf.function
def step(x, y):
    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x @ weights - y) ** 2) / line.BATCH
        gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
        weights.assign_sub(line.RATE * gradient)
    strategy.run(replica, (x, y))


for _ in range(line.STEPS):
    step(*next(batches))
line.check(weights.numpy())
PY
  run -0 --separate-stderr timeout 120 tfd-launch -n 2 -- "$TFD_TENSORFLOW_PYTHON" train.py
  trained $'0 2\n1 2'
}

TORCH='
import os
import torch
import torch.distributed as distributed
import line

distributed.init_process_group("gloo")
rank, world = distributed.get_rank(), distributed.get_world_size()
model = torch.nn.Linear(4, 1, bias=False)
torch.nn.init.zeros_(model.weight)
first = 0
if os.path.exists("saved.pt"):
    saved = torch.load("saved.pt")
    first, _ = saved["step"], model.load_state_dict(saved["model"])
replicas = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(replicas.parameters(), line.RATE)
for step in range(first, line.STEPS):
    x, y = (torch.from_numpy(part[rank::world].copy()) for part in line.batch(step))
    optimizer.zero_grad()
    ((replicas(x) - y) ** 2).mean().backward()
    optimizer.step()
    distributed.barrier()
    if rank == 0:
        torch.save({"step": step + 1, "model": model.state_dict()}, "saved.part")
        os.rename("saved.part", "saved.pt")
    if rank == 1 and step == 5 and not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), 9)
line.check(model.weight.detach().numpy())
distributed.destroy_process_group()'

@test "tfd-launch: torch's DistributedDataParallel trains on two workers" {
  [ -n "${TFD_TORCH_PYTHON:-}" ] || skip "TFD_TORCH_PYTHON names no Python with torch"
  printf '%s\n' "$TORCH" >train.py
  touch died
  run -0 --separate-stderr timeout 120 tfd-launch -n 2 -- "$TFD_TORCH_PYTHON" train.py
  trained $'0 2\n1 2'
}

@test "tfd-launch: torch's training goes on from its own checkpoint after a worker has died" {
  [ -n "${TFD_TORCH_PYTHON:-}" ] || skip "TFD_TORCH_PYTHON names no Python with torch"
  printf '%s\n' "$TORCH" >train.py
  run --separate-stderr timeout 120 tfd-launch -n 2 -- "$TFD_TORCH_PYTHON" train.py
  [ "$status" = 137 ]
  [[ $stderr == *"worker:1 "*"SIGKILL"* ]]
  rm died
  run -0 --separate-stderr timeout 120 tfd-launch -n 2 --workers 1:2 -- "$TFD_TORCH_PYTHON" train.py
  trained $'0 2\n1 2'
}

@test "tfd-launch: JAX trains on two processes" {
  [ -n "${TFD_JAX_PYTHON:-}" ] || skip "TFD_JAX_PYTHON names no Python with jax"
  cat >train.py <<'PY'
import os
import jax
import jax.numpy as jnp
import numpy as np
import line

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(num_processes=int(os.environ["WORLD_SIZE"]), process_id=int(os.environ["RANK"]))
assert jax.process_count() == 2 and jax.device_count() == 2
mesh = jax.make_mesh((2,), ("rows",))
by_rows = jax.NamedSharding(mesh, jax.P("rows"))


@jax.jit
def step(weights, x, y):
    return weights - line.RATE * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)


weights = jax.device_put(jnp.zeros((4, 1)), jax.NamedSharding(mesh, jax.P()))
rank = jax.process_index()
for i in range(line.STEPS):
    x, y = (jax.make_array_from_process_local_data(by_rows, np.split(part, 2)[rank]) for part in line.batch(i))
    weights = step(weights, x, y)
line.check(weights.addressable_data(0))
PY
  run -0 --separate-stderr timeout 120 tfd-launch -n 2 -- "$TFD_JAX_PYTHON" train.py
  trained $'0 2\n1 2'
}
