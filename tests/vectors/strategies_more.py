#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/NAME_more.json of the sets below from the real TensorFlow: strategies_more.py GOLDEN_DIR.

Cases that the open sets don't have. Needs tensorflow-cpu==2.21.0; the parameter servers run in this process.
"""
import json
import logging
import os
import random
import socket
import sys
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from tensorflow.python.distribute import parameter_server_strategy_v2 as strategy_v2
from tensorflow.python.distribute import sharded_variable
from tensorflow.python.distribute.coordinator import cluster_coordinator, values
from tensorflow.python.framework import errors

logging.disable(logging.CRITICAL)
DRAW = random.Random(3)
STATUSES = ("InvalidArgumentError CancelledError UnavailableError AbortedError OutOfRangeError InternalError NotFoundError "
            "DeadlineExceededError FailedPreconditionError UnknownError").split()


def failure(error, **more):
  return {"error": {"type": type(error).__name__, "message": getattr(error, "message", None) or str(error), **more}}


def make_error(stated):
  if "original" in stated:
    return getattr(cluster_coordinator, stated["type"])(make_error(stated["original"]))
  if stated["type"] in STATUSES:
    return getattr(errors, stated["type"])(None, None, stated["message"])
  return {"ValueError": ValueError, "TypeError": TypeError}[stated["type"]](stated["message"])


# --- closure_queue

class Closure:
  def __init__(self, name, cancelled):
    self.name, self.cancelled, self.tag = name, cancelled, None

  def mark_cancelled(self):
    self.cancelled.append(self.name)


def queue_step(queue, op, closures, cancelled):
  verb, rest = op[0], op[1:]
  if verb == "put":
    closures[rest[0]] = Closure(rest[0], cancelled)
    queue.put(closures[rest[0]], tag=rest[1] if len(rest) > 1 else None)
  elif verb == "get":
    closure = queue.get(timeout=0.01, tag=rest[0] if rest else None)
    return closure.name if closure else None
  elif verb == "finished":
    queue.mark_finished()
  elif verb == "failed":
    queue.mark_failed(make_error({"type": rest[0], "message": rest[1]}))
  elif verb == "put_back":
    queue.put_back(closures[rest[0]])
  else:
    return queue.wait(timeout=0.01) if verb == "wait" else queue.done()
  return "ok"


def queue_case(name, steps):
  queue, closures, cancelled, trace = cluster_coordinator._CoordinatedClosureQueue(), {}, [], []
  for op in steps:
    step = {"op": op}
    try:
      step["result"] = queue_step(queue, op, closures, cancelled)
    except Exception as error:  # whatever the queue raises is the step's result
      step.update(failure(error))
    step.update(queued=queue._queue.qsize(), inflight=queue._inflight_closure_count, cancelled=list(cancelled))
    trace.append(step)
  queue.stop()
  return {"name": name, "input": {"steps": steps}, "expected": {"trace": trace}}


def random_queue_case(number):
  """Only steps that don't block: nothing that raises while something is in flight."""
  steps, flying, queued, tagged, pending = [], [], [], {0: [], 1: []}, False
  for i in range(DRAW.randint(8, 25)):
    verbs = ["get"] * 4 + ["tagged"] + ([] if pending and flying else ["put"] * 4 + ["wait", "done"])
    verb = DRAW.choice(verbs + (["finished"] * 3 + ["failed"] + ["put_back"] * 2 if flying else []))
    if verb in ("put", "wait", "done"):
      steps.append(["put", f"c{i}"] if verb == "put" else [verb])
      queued = [] if pending else queued + [f"c{i}"] * (verb == "put")
      pending = False
    elif verb == "tagged":
      tag = DRAW.randint(0, 1)
      steps.append(["put", f"r{i}", tag])
      tagged[tag].append(f"r{i}")
    elif verb == "get":
      tag = DRAW.randint(0, 1)
      steps.append(["get", tag])
      if tagged[tag]:
        tagged[tag].pop(0)
      elif queued:
        flying.append(queued.pop(0))
    elif verb == "put_back":
      steps.append(["put_back", flying.pop(DRAW.randrange(len(flying)))])
      queued += [] if pending else [steps[-1][1]]
    else:
      steps.append(["finished"] if verb == "finished" else ["failed", DRAW.choice(STATUSES), f"m{i}"])
      flying.pop(0)
      pending = pending or verb == "failed"
  return queue_case(f"random_{number}", steps)


def queue_cases():
  a, b, c, get = ["put", "a"], ["put", "b"], ["put", "c"], ["get", 0]
  return [
    queue_case("wait_times_out", [a, ["wait"], get, ["wait"], ["finished"], ["wait"]]),
    queue_case("get_after_failed", [a, b, c, get, ["failed", "ValueError", "x"], ["get", 1], ["finished"], get, ["failed", "ValueError", "y"], ["wait"], ["done"]]),
    queue_case("put_back_second", [a, b, get, ["get", 1], ["put_back", "b"], ["get", 1], ["finished"], ["put_back", "a"], get, ["finished"], ["done"]]),
    queue_case("put_back_during_error", [a, b, c, get, ["get", 1], ["failed", "UnavailableError", "lost"], ["put_back", "b"], ["put", "d"], ["done"], ["put", "e"], get, ["finished"], ["wait"]]),
    queue_case("tagged_survive", [a, ["put", "r0", 0], ["put", "s0", 0], ["put", "r1", 1], get, get, get, ["failed", "OutOfRangeError", "End of sequence"], ["put", "r2", 2], b, ["get", 1], ["get", 2], ["get", 2], ["done"]]),
    queue_case("only_tagged", [["put", "r", 3], ["done"], ["wait"], get, ["get", 3]]),
    queue_case("same_name", [a, a, get, ["put_back", "a"], ["put_back", "a"], get, get, ["finished"], ["finished"], ["done"]]),
    queue_case("empty", [["wait"], ["done"], get]),
  ] + [queue_case(f"kind_{kind}", [a, b, get, ["failed", kind, "it went wrong"], ["wait"], ["done"]]) for kind in STATUSES] + [
    random_queue_case(i) for i in range(12)]


# --- remote_value

def value_case(name, steps):
  value = values.RemoteValueImpl(None, None)
  value._copy_to_local = lambda: value._values
  trace = [{"op": "new", "status": value._status.value}]
  for op in steps:
    step = {"op": op}
    if op[0] == "set_values":
      value._set_values(op[1])
    elif op[0] == "observe":
      try:
        step["get"] = value.get()
      except Exception as error:  # whatever it raises is the step's result
        step["get"] = failure(error)
    else:
      getattr(value, "_" + op[0])(make_error({"type": op[1], "message": op[2]}))
    step.update(status=value._status.value, has_error=value._get_error() is not None)
    trace.append(step)
  return {"name": name, "input": {"steps": steps}, "expected": {"trace": trace}}


def value_cases():
  look, aborted = ["observe"], ["set_aborted", "UnavailableError", "w"]
  return [
    value_case("first_fetched_stays", [["set_values", 1], look, ["set_values", 2], look]),
    value_case("not_fetched_yet", [["set_values", 1], ["set_values", 2], look]),
    value_case("stays_through_abort", [["set_values", 1], look, aborted, look, ["set_values", 2], look]),
    value_case("aborted_before_fetch", [["set_values", 1], aborted, ["set_values", 2], look]),
    value_case("error_then_value", [["set_error", "InternalError", "e"], look, ["set_values", 5], look, ["set_error", "AbortedError", "f"], look, look]),
    value_case("new", []),
    value_case("nothing_returned", [["set_values", None], look, ["set_values", 3], look]),
    value_case("structure", [["set_values", {"a": 1, "b": [2.5, [True]]}], look, look]),
    value_case("empty", [["set_values", []], look]),
  ] + [value_case(f"kind_{kind}", [["set_error", kind, "text 12"], look, ["set_aborted", kind, "other"], look]) for kind in STATUSES]


# --- error_classification, transient_failures

FROM_PS = "GRPC error information from remote target /job:ps/replica:0/task:%d while calling"
WORKER = "/job:worker/replica:0/task:1"
TEXTS = ["connection reset", "x " + WORKER, FROM_PS % 3, FROM_PS % 1 + " " + WORKER, FROM_PS % 0 + " and " + FROM_PS % 2, "/job:ps/replica:0/task:1 down",
         "Unknown device " + WORKER, FROM_PS % 1 + " unknown device.", "Unable to find the relevant tensor remote_handle: Op ID: 3, " + WORKER,
         FROM_PS % 1 + " Unable to find the relevant tensor remote_handle: Op ID: 3", "Primary device is not remote " + WORKER, "Primary device is not remote",
         "'f' is neither a type of a primitive operation nor a name of a function registered in binary running on " + WORKER,
         "Binding inputs to tf.function failed " + WORKER, "/job:worker", "/job:chief/replica:0/task:0", ""]


def error_case(name, stated):
  error = make_error(stated)
  return {"name": name, "input": {"error": stated}, "expected": {
    "is_ps_failure": cluster_coordinator._is_ps_failure(error), "is_worker_failure": cluster_coordinator._is_worker_failure(error),
    "failed_ps_instances": sorted(cluster_coordinator._extract_failed_ps_instances(str(error))), "str": str(error)}}


def error_cases():
  kinds = ["UnavailableError", "AbortedError", "CancelledError", "InvalidArgumentError", "NotFoundError", "TypeError"]
  plain = [error_case(f"{kind}_{i}", {"type": kind, "message": text}) for kind in kinds for i, text in enumerate(TEXTS)]
  wrapped = [error_case(f"{wrapper}_{kind}_{i}", {"type": wrapper, "original": {"type": kind, "message": text}})
             for wrapper in ("ClosureInputError", "ClosureAbortedError") for kind in kinds[:4] for i, text in enumerate(TEXTS[:4])]
  return plain + wrapped


def transient_case(name, workers, servers, stated, **env):
  cluster = cluster_coordinator.Cluster.__new__(cluster_coordinator.Cluster)
  cluster._transient_ps_failures_threshold = int(env.get("TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES", 3))
  cluster._transient_timeouts_threshold = int(env.get("TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS", workers // 10))
  cluster._potential_ps_failures_lock, cluster._transient_timeouts_lock = threading.Lock(), threading.Lock()
  cluster._potential_ps_failures_count, cluster._transient_timeouts_count = [0] * servers, 0
  decisions = [{"ignored_as_transient_ps": cluster._record_and_ignore_transient_ps_failure(error),
                "ignored_as_timeout": cluster._record_and_ignore_transient_timeouts(error)} for error in map(make_error, stated)]
  return {"name": name, "input": {"num_workers": workers, "num_ps": servers, **({"env": env} if env else {}), "errors": stated},
          "expected": {"decisions": decisions, "ps_counts": cluster._potential_ps_failures_count, "timeouts": cluster._transient_timeouts_count}}


def transient_cases():
  def of(server, kind="UnavailableError"):
    return {"type": kind, "message": FROM_PS % server}

  late = {"type": "DeadlineExceededError", "message": "x"}
  worker = {"type": "UnavailableError", "message": WORKER}
  return [
    transient_case("first_report_counts", 4, 2, [of(0), of(1)], TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES="1"),
    transient_case("five_reports", 4, 2, [of(0)] * 6, TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES="5"),
    transient_case("negative", 4, 2, [of(0)] * 3, TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES="-1"),
    transient_case("stated_timeouts", 4, 2, [late] * 4, TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS="3"),
    transient_case("no_timeouts", 40, 2, [late] * 4, TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS="0"),
    transient_case("timeouts_of_anybody", 40, 2, [{"type": "DeadlineExceededError", "message": WORKER}, of(1, "DeadlineExceededError"), late, late]),
    transient_case("two_in_one_text", 4, 3, [{"type": "UnavailableError", "message": FROM_PS % 0 + " " + FROM_PS % 2}] * 2 + [of(0), of(2), of(1)]),
    transient_case("wrapped", 4, 2, [{"type": "ClosureInputError", "original": of(1)}] * 2 + [of(1)]),
    transient_case("wrapped_timeout", 40, 2, [{"type": "ClosureInputError", "original": late}] * 2 + [late]),
    transient_case("lost_what_it_had", 4, 2, [{"type": "InvalidArgumentError", "message": FROM_PS % 1 + " unknown device"}] * 4),
    transient_case("mixed", 25, 2, [of(0), late, worker, of(0, "AbortedError"), late, of(1), of(0, "CancelledError"), of(0)]),
    transient_case("none", 4, 2, []),
  ]


# --- variables

STRATEGIES = {}


def numbers(value):
  return value.numpy().tolist()


def variable_step(strategy, variable, dtype, op):
  context, verb, value = op
  if context == "replica":
    each = strategy.experimental_distribute_values_from_function(lambda c: tf.constant(value[c.replica_id_in_sync_group], dtype))
    strategy.run(lambda x: getattr(variable, verb)(x), args=(each,))
  elif context == "replica_same":
    strategy.run(lambda: getattr(variable, verb)(value))
  else:
    with strategy.scope():
      getattr(variable, verb)(value)


def variable_case(name, stated):
  replicas, dtype = stated["replicas"], tf.as_dtype(stated["dtype"])
  strategy = STRATEGIES.setdefault(replicas, tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)]))
  settings = {"trainable": stated.get("trainable")}
  for key, kind in (("synchronization", tf.VariableSynchronization), ("aggregation", tf.VariableAggregation)):
    if key in stated:
      settings[key] = getattr(kind, stated[key])
  try:
    with strategy.scope():
      variable = tf.Variable(stated["initial"], dtype=dtype, name="v", **settings)
  except ValueError as error:
    return {"name": name, "input": stated, "expected": failure(error, stage="create")}
  expected = {"type": type(variable).__name__, "synchronization": variable.synchronization.name, "aggregation": variable.aggregation.name,
              "trainable": variable.trainable, "names": [copy.name for copy in variable.values], "trace": []}
  for op in stated["ops"]:
    step = {"op": op}
    try:
      variable_step(strategy, variable, dtype, op)
      step["result"] = "ok"
    except Exception as error:  # whatever it raises is the step's result
      step.update(failure(error))
    step["copies"] = [numbers(copy) for copy in variable.values]
    try:
      step["cross_replica_read"] = numbers(tf.convert_to_tensor(variable))
    except ValueError as error:
      step["cross_replica_read"] = failure(error)
    expected["trace"].append(step)
  return {"name": name, "input": stated, "expected": expected}


def drawn_value(dtype):
  # Not 0: reducing that constant crashes.
  return DRAW.choice([-9.5, -3.0, 0.25, 2.0, 7.75]) if "float" in dtype else DRAW.randint(1, 40) * (1 if dtype == "uint8" else DRAW.choice([-1, 1]))


def variable_cases():
  cases = []
  for dtype, replicas in (("float32", 1), ("float32", 3), ("bfloat16", 2), ("int32", 3), ("uint8", 2)):
    for synchronization in ("AUTO", "ON_WRITE", "ON_READ"):
      for aggregation in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"):
        ops = []
        for _ in range(5):
          context = DRAW.choice(["replica", "replica", "replica_same", "cross"])
          value = [drawn_value(dtype) for _ in range(replicas)] if context == "replica" else drawn_value(dtype)
          ops.append([context, DRAW.choice(["assign", "assign_add", "assign_sub"]), value])
        stated = {"replicas": replicas, "initial": drawn_value(dtype), "dtype": dtype, "synchronization": synchronization, "aggregation": aggregation, "ops": ops}
        if DRAW.random() < 0.3:
          stated["trainable"] = DRAW.random() < 0.5
        cases.append(variable_case(f"{dtype}_{replicas}_{synchronization}_{aggregation}", stated))
  for initial in (10, -10, 7, -1, 0):
    cases.append(variable_case(f"cut_{initial}", {"replicas": 3, "initial": initial, "dtype": "int32", "synchronization": "ON_READ", "aggregation": "SUM",
                                                  "ops": [["cross", "assign", initial], ["replica", "assign_add", [0, 1, 2]], ["cross", "assign", -initial]]}))
  cases.append(variable_case("vector", {"replicas": 2, "initial": [1.0, 2.0, 3.0], "dtype": "float32", "aggregation": "MEAN",
                                        "ops": [["replica", "assign", [[1.0, 0.5, -1.0], [2.0, 2.0, 2.0]]], ["cross", "assign_sub", [0.5, 0.25, 0.0]]]}))
  return cases


# --- partitioners

def partitioner_case(name, kind, settings, shape, dtype):
  stage = "constructor"
  try:
    partitioner = getattr(tf.distribute.experimental.partitioners, kind + "Partitioner")(**settings)
    stage = "call"
    expected = {"partitions": [int(n) for n in partitioner(tf.TensorShape(shape), tf.as_dtype(dtype))]}
  except Exception as error:  # whatever it raises is the result
    expected = failure(error, stage=stage, **({} if isinstance(error, ValueError) else {"accidental": True}))
  return {"name": name, "input": {"kind": kind, "args": settings, "shape": shape, "dtype": dtype}, "expected": expected}


def partitioner_cases():
  settings = [("FixedShards", {"num_shards": n}) for n in (0, 1, 100)] + [
    ("MinSize", {"min_shard_bytes": 1, "max_shards": 100}), ("MinSize", {"max_shards": -1}), ("MinSize", {"bytes_per_string": 0}), ("MinSize", {"min_shard_bytes": 3, "max_shards": 1 << 40}),
    ("MaxSize", {"max_shard_bytes": 1}), ("MaxSize", {"max_shard_bytes": 16, "max_shards": 0}), ("MaxSize", {"max_shard_bytes": 16, "max_shards": -1}),
    ("MaxSize", {"max_shard_bytes": 100, "bytes_per_string": 7}), ("MaxSize", {"max_shard_bytes": 1 << 40})]
  cases = []
  for i, (kind, own) in enumerate(settings):
    for shape in ([], [0], [7], [0, 3], [3, 0], [3, 1, 2], [1000000, 64]):
      cases.append(partitioner_case(f"{kind}_{i}_{shape}", kind, own, shape, "string" if shape == [7] else "float32"))
  for dtype in ("complex64", "uint16", "float16", "bfloat16", "bool", "float64"):
    cases.append(partitioner_case(dtype, "MaxSize", {"max_shard_bytes": 24}, [11, 2], dtype))
  return cases


# --- ps_placement, ps_verify, ps_v1

def start_servers():
  def port():
    with socket.socket() as free:
      free.bind(("127.0.0.1", 0))
      return free.getsockname()[1]

  cluster = tf.train.ClusterSpec({job: [f"localhost:{port()}" for _ in range(count)] for job, count in (("worker", 2), ("ps", 3))})
  servers = [tf.distribute.Server(cluster, job_name=job, task_index=i) for job in cluster.jobs for i in range(cluster.num_tasks(job))]
  resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
  return servers, tf.distribute.ParameterServerStrategy(resolver)


def place(strategy, stated, others):
  dtype = tf.as_dtype(stated.get("dtype", "float32"))
  value = tf.constant(stated["values"], dtype) if "values" in stated else tf.zeros(stated["shape"], dtype)
  if "colocate_with" in stated:
    with strategy.extended.colocate_vars_with(others[stated["colocate_with"]]):
      made = tf.Variable(value, name=stated["name"])
  else:
    made = tf.Variable(value, name=stated["name"])
  others[stated["name"]] = made
  out = {"name": stated["name"], "sharded": isinstance(made, sharded_variable.ShardedVariable), "shape": made.shape.as_list()}
  if not out["sharded"]:
    return {**out, "device": made.device.replace("/replica:0", "")}
  out["shards"] = [{"name": shard.name, "shape": shard.shape.as_list(), "device": shard.device.replace("/replica:0", ""),
                    **({"values": numbers(shard)} if "values" in stated else {})} for shard in made.variables]
  return out


def placement_case(strategy, name, stated):
  partitioner = stated.get("partitioner")
  if partitioner and partitioner["kind"] == "raw":
    made = lambda shape, dtype: partitioner["returns"]
  elif partitioner:
    made = getattr(tf.distribute.experimental.partitioners, partitioner["kind"] + "Partitioner")(**partitioner["args"])
  else:
    made = None
  strategy.extended._variable_partitioner, strategy.extended._variable_count = made, 0
  placed, others = [], {}
  with strategy.scope():
    for one in stated["variables"]:
      try:
        placed.append(place(strategy, one, others))
      except Exception as error:  # whatever it raises is this variable's result
        placed.append({"name": one["name"], **failure(error)})
  return {"name": name, "input": stated, "expected": {"variables": placed, "num_ps": 3}}


def placement_cases(strategy):
  four = [{"name": "x", "shape": []}, {"name": "a", "shape": [4, 4]}, {"name": "b", "shape": [1]}, {"name": "c", "shape": [7], "values": list(range(7))}]
  cases = [placement_case(strategy, f"raw_{returns}", {"partitioner": {"kind": "raw", "returns": returns}, "variables": four})
           for returns in ([], [0], [1], [2], [3, 1, 1], [1, 2], [-1, 1])]
  empty = [{"name": "a", "shape": [0]}, {"name": "b", "shape": [0, 3]}, {"name": "c", "shape": [3, 0]}, {"name": "d", "shape": [4]}]
  sizes = [{"name": dtype, "shape": [6], "dtype": dtype} for dtype in ("float64", "int64", "float16", "bool")]
  for kind, own in (("FixedShards", {"num_shards": 3}), ("MinSize", {"min_shard_bytes": 4, "max_shards": 3}), ("MaxSize", {"max_shard_bytes": 8})):
    for name, variables in (("empty", empty), ("sizes", sizes)):
      cases.append(placement_case(strategy, f"{name}_{kind}", {"partitioner": {"kind": kind, "args": own}, "variables": variables}))
  beside = [{"name": "s", "shape": []}, {"name": "a", "shape": [5, 2]}, {"name": "b", "shape": [6], "colocate_with": "s"}, {"name": "c", "shape": [], "colocate_with": "b"}, {"name": "d", "shape": [3]}]
  cases.append(placement_case(strategy, "beside", {"variables": beside}))
  cases.append(placement_case(strategy, "beside_cut", {"partitioner": {"kind": "FixedShards", "args": {"num_shards": 2}}, "variables": beside}))
  cases.append(placement_case(strategy, "rows_of_two", {"partitioner": {"kind": "FixedShards", "args": {"num_shards": 2}}, "variables": [{"name": "a", "shape": [3, 2], "values": [[0, 1], [2, 3], [4, 5]]}]}))
  return cases


def resolver_of(stated):
  return tf.distribute.cluster_resolver.SimpleClusterResolver(
    tf.train.ClusterSpec(stated["cluster"]), task_type=stated.get("task_type"), task_id=stated.get("task_id"), num_accelerators=stated.get("num_accelerators"))


def verify_case(name, cluster, task_type=None, task_id=None):
  stated = {"cluster": cluster, **({"task_type": task_type, "task_id": task_id} if task_type is not None else {})}
  try:
    strategy_v2.ParameterServerStrategyV2._verify_args_and_config(None, resolver_of(stated))
    verified = "ok"
  except ValueError as error:
    verified = failure(error)
  return {"name": name, "input": stated, "expected": {"verify": verified}}


def verify_cases():
  workers, servers, one = ["w:1", "w:2"], ["p:1"], ["x:1"]
  both = {"worker": workers, "ps": servers}
  return [
    verify_case("evaluator", {**both, "evaluator": one}), verify_case("two_evaluators", {**both, "evaluator": ["a:1", "b:1"]}),
    verify_case("empty_ps", {"worker": workers, "ps": []}), verify_case("empty_worker", {"worker": [], "ps": servers}), verify_case("empty_both", {"worker": [], "ps": []}),
    verify_case("empty_chief", {**both, "chief": []}), verify_case("only_chief", {"chief": one}), verify_case("chief_missing", both, "chief", 0),
    verify_case("evaluator_missing", both, "evaluator", 9), verify_case("index_high", both, "worker", 2), verify_case("index_negative", both, "worker", -1),
    verify_case("as_ps", both, "ps", 0), verify_case("strange_type", both, "tpu", 0), verify_case("empty_type", both, "", 0), verify_case("upper_case", {"Worker": workers, "ps": servers}),
    verify_case("sparse", {"worker": {"3": "w:1"}, "ps": servers}, "worker", 3), verify_case("sparse_ps", {"worker": workers, "ps": {"1": "p:1"}}),
    verify_case("two_chiefs_no_ps", {"chief": ["a:1", "b:1"]}), verify_case("strange_job_first", {"chief": ["a:1", "b:1"], "x": one}), verify_case("no_ps_index_high", {"worker": workers}, "worker", 7),
  ]


def create_v1(stated):
  settings = {"partitioner": tf.compat.v1.fixed_size_partitioner(stated["num_shards"])} if "num_shards" in stated else {}
  return tf.compat.v1.get_variable(stated["name"], [4], use_resource=True, **settings)


def describe_v1(strategy, stated):
  out, others = [], {}
  for one in stated.get("variables", []):
    if "colocate_with" in one:
      with strategy.extended.colocate_vars_with(others[one["colocate_with"]]):
        made = create_v1(one)
    else:
      made = create_v1(one)
    others[one["name"]] = made
    parts = list(made) if "num_shards" in one else [made]
    out += [{"name": part.name.split(":")[0], "device": part.device, "type": type(part).__name__} for part in parts]
  return out


def input_context_v1(strategy):
  seen = []

  def make(context):
    seen.append(context)
    return tf.data.Dataset.range(2)

  with tf.Graph().as_default(), strategy.scope():
    try:
      strategy.extended._distribute_datasets_from_function(make, None)
    except (KeyError, ValueError) as error:
      return failure(error)
  return {key: getattr(seen[0], key) for key in ("num_input_pipelines", "input_pipeline_id", "num_replicas_in_sync")}


def v1_case(name, cluster, task_type=None, task_id=None, **more):
  stated = {"cluster": cluster, **({"task_type": task_type, "task_id": task_id} if task_type else {}), **more}
  try:
    strategy = tf.compat.v1.distribute.experimental.ParameterServerStrategy(resolver_of(stated))
    extended = strategy.extended
    expected = {"num_replicas_in_sync": strategy.num_replicas_in_sync, "worker_devices": list(extended.worker_devices),
                "parameter_devices": list(extended.parameter_devices), "is_chief": extended._is_chief, "should_checkpoint": extended.should_checkpoint}
    with tf.Graph().as_default(), strategy.scope():
      expected["variables"] = describe_v1(strategy, stated)
      step = tf.compat.v1.train.get_or_create_global_step()
      expected["global_step"] = {"device": step.device, "type": type(step).__name__, "aggregation": str(step.aggregation)}
    expected["device_filters"] = list(strategy.update_config_proto(tf.compat.v1.ConfigProto()).device_filters)
    expected["input_context"] = input_context_v1(strategy)
  except ValueError as error:
    expected = failure(error)
  return {"name": name, "input": stated, "expected": expected}


def v1_cases():
  both = {"worker": ["w0:1", "w1:1", "w2:1"], "ps": ["p0:1", "p1:1"]}
  all_jobs = {**both, "chief": ["c:1"], "evaluator": ["e:1"]}
  four = [{"name": name} for name in "abcd"]
  mixed = [{"name": "a"}, {"name": "b", "num_shards": 3}, {"name": "c", "colocate_with": "a"}, {"name": "d", "colocate_with": "c"}, {"name": "e"}]
  return [
    v1_case("evaluator", all_jobs, "evaluator", 0, variables=four), v1_case("evaluator_missing", both, "evaluator", 0, variables=four[:1]), v1_case("as_ps", both, "ps", 1, variables=four[:2]),
    v1_case("no_task", both), v1_case("empty_ps", {"worker": ["w:1"], "ps": []}, "worker", 0), v1_case("strange_type", both, "tpu", 0), v1_case("index_high", both, "worker", 9),
    v1_case("two_chiefs", {**both, "chief": ["a:1", "b:1"]}, "chief", 0), v1_case("chief_gpus", all_jobs, "chief", 0, num_accelerators={"GPU": 4}, variables=mixed),
    v1_case("worker_beside_chief", all_jobs, "worker", 2, variables=mixed), v1_case("one_gpu", both, "worker", 2, num_accelerators={"GPU": 1}, variables=four),
    v1_case("no_gpus", both, "worker", 1, num_accelerators={"GPU": 0, "TPU": 4}, variables=four), v1_case("sparse_workers", {"worker": {"1": "w:1", "4": "x:1"}, "ps": ["p:1"]}, "worker", 1),
    v1_case("alone", {}, variables=four[:1]), v1_case("alone_two_gpus", {}, num_accelerators={"GPU": 2}, variables=four[:2]),
  ]


def write(folder, name, cases):
  head = {"set": name + "_more", "source": f"TensorFlow {tf.__version__}", "count": len(cases)}
  with open(os.path.join(folder, name + "_more.json"), "w", encoding="utf-8") as file:
    file.write("{\n" + "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()))
    file.write(' "cases": [\n' + ",\n".join("  " + json.dumps(one, allow_nan=False) for one in cases) + "\n ]\n}\n")


def main(folder):
  cpu = tf.config.list_physical_devices("CPU")[0]
  tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
  for name, cases in (("closure_queue", queue_cases), ("remote_value", value_cases), ("error_classification", error_cases), ("transient_failures", transient_cases),
                      ("variables", variable_cases), ("partitioners", partitioner_cases), ("ps_verify", verify_cases), ("ps_v1", v1_cases)):
    write(folder, name, cases())
  servers, strategy = start_servers()  # last: it makes this process a task of theirs
  write(folder, "ps_placement", placement_cases(strategy))


main(sys.argv[1])
