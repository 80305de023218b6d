#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/NAME_more.json of the sets of datasets from the real TensorFlow: inputs_more.py GOLDEN_DIR.

Random pipelines, distributed over replicas and hosts, sharded and rebatched. Needs tensorflow-cpu==2.21.0.
"""
import itertools
import json
import logging
import os
import random
import re
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from tensorflow.python.data.experimental.ops import distribute
from tensorflow.python.distribute import input_lib, input_util

logging.disable(logging.CRITICAL)
DRAW = random.Random(14)
DIRECTORY = tempfile.mkdtemp()
MOST = 60
POLICIES = ["OFF", "FILE", "DATA", "HINT", "AUTO"]


def failure(error, **more):
  """Without what changes from run to run: the operation in front, the graph behind."""
  message = getattr(error, "message", None) or str(error)
  message = re.sub(r"^\{\{.*?\}\} ?", "", message)
  message = re.sub(r"(Found an unshardable source dataset:).*", r"\1", message, flags=re.DOTALL)
  message = re.sub(r" *\[Op:.*", "", message, flags=re.DOTALL)
  return {"error": {"type": type(error).__name__, "message": message, "accidental": isinstance(error, IndexError),
                    **more}}


def draw_files(most):
  names = DRAW.sample(["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"], DRAW.randint(1, most))
  return [[name, [f"{name[0]}{i}" for i in range(DRAW.randint(1, 6))]] for name in names]


def draw_pipeline(batched, depth=0, sources=("range", "text_files", "file_names")):
  """With `batched` it ends with a batch, and with what leaves it one."""
  kind = DRAW.choice(sources)
  ops = []
  if kind == "range":
    source = {"range": DRAW.choice([DRAW.randint(0, 24), [DRAW.randint(0, 5), DRAW.randint(5, 30)]])}
  else:
    source = {kind: draw_files(5)}
  if kind == "file_names":
    ops.append(DRAW.choice([["flat_map_text"], ["interleave_text", DRAW.randint(1, 3), DRAW.randint(1, 2)]]))
  kinds = ["take", "skip", "repeat", "shard", "prefetch", "cache"] + (["map_add"] if kind == "range" else [])
  def draw_op():
    name = DRAW.choice(kinds)
    if name in ("take", "skip"):
      return [name, DRAW.randint(0, 12)]
    if name == "shard":
      count = DRAW.randint(1, 3)
      return [name, count, DRAW.randrange(count)]
    return {"repeat": ["repeat", DRAW.randint(1, 2)], "prefetch": ["prefetch", 1], "cache": ["cache"],
            "map_add": ["map_add", 100]}[name]
  ops += [draw_op() for _ in range(DRAW.randint(0, 2))]
  if batched:
    drop = kind == "range" and DRAW.random() < 0.25
    ops.append(["batch", DRAW.randint(1, 9)] + ([True] if drop else []))
    ops += [draw_op() for _ in range(DRAW.randint(0, 1))]
    if kind == "range" and depth == 0 and DRAW.random() < 0.2:
      ops.append(["zip", draw_pipeline(True, 1, ("range",))])
  pipeline = {"source": source, "ops": ops}
  if depth == 0 and DRAW.random() < 0.6:
    pipeline["policy"] = DRAW.choice(POLICIES)
  if pipeline.get("policy") == "HINT" and DRAW.random() < 0.7:
    ops.insert(1 if kind == "file_names" else 0, ["shard_hint"])
  return pipeline


def read_text(name):
  return tf.data.TextLineDataset(name)


def write(files):
  paths = []
  for name, lines in files:
    paths.append(os.path.join(DIRECTORY, name))
    with open(paths[-1], "w", encoding="utf-8") as out:
      out.writelines(line + "\n" for line in lines)
  return paths


def make(stated):
  source = stated["source"]
  if "range" in source:
    bounds = source["range"]
    dataset = tf.data.Dataset.range(*(bounds if isinstance(bounds, list) else [bounds]))
  elif "text_files" in source:
    dataset = tf.data.TextLineDataset(write(source["text_files"]))
  else:
    dataset = tf.data.Dataset.from_tensor_slices(write(source["file_names"]))
  for name, *rest in stated["ops"]:
    if name == "map_add":
      more = rest[0]
      dataset = dataset.map(lambda x, more=more: x + more)
    elif name == "flat_map_text":
      dataset = dataset.flat_map(read_text)
    elif name == "interleave_text":
      dataset = dataset.interleave(read_text, cycle_length=rest[0], block_length=rest[1])
    elif name == "zip":
      dataset = tf.data.Dataset.zip((dataset, make(rest[0])))
    elif name == "shard_hint":
      dataset = dataset.shard(tf.data.experimental.SHARD_HINT, tf.data.experimental.SHARD_HINT)
    elif name == "legacy_rebatch":
      dataset = distribute._LegacyRebatchDataset(dataset, rest[0])
    else:
      dataset = getattr(dataset, name)(*rest)
  if "policy" in stated:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(tf.data.experimental.AutoShardPolicy, stated["policy"])
    dataset = dataset.with_options(options)
  return dataset


def value_of(value):
  if isinstance(value, (tuple, list)):
    return [value_of(one) for one in value]
  value = value.numpy()
  value = value.tolist() if hasattr(value, "tolist") else value
  def text(one):
    return [text(x) for x in one] if isinstance(one, list) else one.decode() if isinstance(one, bytes) else one
  return text(value)


def elements_of(dataset):
  return [value_of(element) for element in itertools.islice(dataset, MOST)]


def attempt(key, call, **more):
  try:
    return {key: call()}
  except Exception as error:  # whatever TensorFlow raises is the case's answer
    return failure(error, **more)


def steps_of(iterator, strategy):
  steps = []
  for element in itertools.islice(iterator, MOST):
    fields = element if isinstance(element, tuple) else (element,)
    local = [strategy.experimental_local_results(field) for field in fields]
    replicas = [[value_of(field[i]) for field in local] for i in range(len(local[0]))]
    steps.append([one if len(fields) > 1 else one[0] for one in replicas])
  return steps


def strategy_of(replicas):
  return tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)])


def mirrored(case):
  strategy = strategy_of(case["replicas"])
  return attempt("steps", lambda: steps_of(
      iter(strategy.experimental_distribute_dataset(make(case["pipeline"]))), strategy))


def multi_host(case):
  strategy = strategy_of(case["replicas"])
  each = case["replicas"] // case["workers"]
  devices = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(case["replicas"])]
  workers = input_lib.InputWorkers([("/device:CPU:0" if w == 0 else f"/device:CPU:{w * each}", devices[w * each:(w + 1) * each])
                                    for w in range(case["workers"])])
  def steps():
    dataset = input_util.get_distributed_dataset(make(case["pipeline"]), workers, strategy,
                                                num_replicas_in_sync=case["replicas"])
    return steps_of(iter(dataset), strategy)
  return attempt("steps", steps)


def from_function(case):
  strategy = strategy_of(case["replicas"])
  contexts = []
  def function(context):
    contexts.append({"num_input_pipelines": context.num_input_pipelines, "input_pipeline_id": context.input_pipeline_id,
                     "num_replicas_in_sync": context.num_replicas_in_sync})
    return make(case["pipeline"])
  answer = attempt("steps", lambda: steps_of(iter(strategy.distribute_datasets_from_function(function)), strategy))
  return answer if "error" in answer else {**answer, "input_contexts": contexts}


def autoshard(case):
  shards = []
  for index in range(case["num_shards"]):
    answer = attempt("elements", lambda index=index: elements_of(
        distribute._AutoShardDataset(make(case["pipeline"]), case["num_shards"], index, case["num_shards"])
        if case["pipeline"].get("policy") != "OFF" else make(case["pipeline"])))
    shards.append({**answer, "index": index})
  return {"shards": shards}


def kernel(case):
  return attempt("elements", lambda: elements_of(make(case["pipeline"])))


def batch_size(case):
  return attempt("batch_size", lambda: int(distribute.compute_batch_size(make(case["pipeline"]))))


def draw_kernel():
  pipeline = {"source": {"range": DRAW.randint(0, 12)}, "ops": [["batch", DRAW.randint(1, 6)]]}
  sizes = [DRAW.randint(0, 4) for _ in range(DRAW.randint(1, 4))]
  sizes[DRAW.randrange(len(sizes))] = DRAW.randint(1, 4)
  pipeline["ops"].append(DRAW.choice([["rebatch", sizes], ["rebatch", sizes, True], ["legacy_rebatch", DRAW.randint(1, 5)]]))
  return {"pipeline": pipeline}


def draw_hosts():
  workers = DRAW.randint(1, 3)
  return {"workers": workers, "replicas": workers * DRAW.randint(1, 2), "pipeline": draw_pipeline(True)}


SETS = {
    "dataset_mirrored": (lambda: {"replicas": DRAW.randint(1, 4), "pipeline": draw_pipeline(True)}, mirrored, 120),
    "dataset_multi_host": (draw_hosts, multi_host, 120),
    "dataset_from_function": (lambda: {"replicas": DRAW.randint(1, 3), "pipeline": draw_pipeline(True, 1)}, from_function, 30),
    "autoshard": (lambda: {"num_shards": DRAW.randint(1, 4), "pipeline": draw_pipeline(DRAW.random() < 0.5)}, autoshard, 80),
    "rebatch_kernels": (draw_kernel, kernel, 60),
    "compute_batch_size": (lambda: {"pipeline": draw_pipeline(True)}, batch_size, 30),
}


def main():
  tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                             [tf.config.LogicalDeviceConfiguration()] * 8)
  for name, (draw, run, count) in SETS.items():
    cases = []
    for i in range(count):
      case = draw()
      cases.append({"name": f"random_{i}", "input": case, "expected": run(case)})
    path = os.path.join(sys.argv[1], f"{name}_more.json")
    with open(path, "w", encoding="utf-8") as out:
      out.write(json.dumps({"set": f"{name}_more", "source": f"TensorFlow {tf.__version__}", "cases": cases}) + "\n")
    print(name, len(cases), sum("error" in case["expected"] for case in cases), flush=True)


if __name__ == "__main__":
  main()
