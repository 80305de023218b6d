#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/NAME_more.json of the sets below from the real TensorFlow: resolvers_more.py GOLDEN_DIR.

Cases that the open sets don't have. Needs tensorflow-cpu==2.21.0; nobody is asked over the network.
"""
import datetime
import json
import os
import random
import subprocess
import sys
import types
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from absl import flags
from tensorflow.python.distribute.cluster_resolver import kubernetes_cluster_resolver, slurm_cluster_resolver
from tensorflow.python.tpu import tpu_system_metadata
from tensorflow.python.tpu.client import client

DRAW = random.Random(14)
NODE = "projects/proj/locations/us-central1-b/nodes/my-tpu"
TPU = {"tpu": "my-tpu", "project": "proj", "zone": "us-central1-b"}


def failure(error, **more):
  return {"error": {"type": type(error).__name__, "message": str(error), **more}}


def result_of(function, **more):
  try:
    return function()
  except Exception as error:  # whatever it raises is the result
    return failure(error, **more)


def as_dict(spec):
  return {job: tasks if isinstance(tasks, list) else {str(i): address for i, address in tasks.items()} for job, tasks in spec.as_dict().items()}


# --- Cloud TPU

def make_client(property_of):
  made = client.Client.__new__(client.Client)
  made._get_tpu_property = property_of
  made.name = lambda: "my-tpu"
  return made


def wait_case(name, sequence, last, **settings):
  """Its clock is moved by the pauses alone."""
  clock, calls, pauses = [0.0], [0], []

  def property_of(key):
    calls[0] += 1
    return (sequence[calls[0] - 1] if calls[0] <= len(sequence) else last).get(key)

  def pause(seconds):
    pauses.append(seconds)
    clock[0] += seconds

  def wait():
    make_client(property_of).wait_for_healthy(**settings)
    return "ok"

  with mock.patch.object(client.time, "sleep", pause), mock.patch.object(client.time, "time", lambda: clock[0]):
    result = result_of(wait)
  stated = {"args": TPU, "nodes": {NODE: last}, **({"node_sequence": sequence} if sequence else {}), **({"kwargs": settings} if settings else {})}
  return {"name": name, "input": stated, "expected": {"result": result, "sleeps": pauses, "api_calls": calls[0]}}


def wait_cases():
  well, ill, new = {"state": "READY", "health": "HEALTHY"}, {"state": "READY", "health": "TIMEOUT"}, {"state": "CREATING"}
  return [
    wait_case("no_time", [], ill, timeout_s=0), wait_case("no_time_but_well", [], well, timeout_s=0), wait_case("no_health", [], new, timeout_s=10, interval=5),
    wait_case("three_pauses", [], ill, timeout_s=30, interval=10), wait_case("interval_longer", [], ill, timeout_s=10, interval=30), wait_case("interval_as_long", [], ill, timeout_s=30),
    wait_case("well_at_the_end", [ill] * 9, well, timeout_s=30, interval=10), wait_case("well_between", [ill, well, well], well, timeout_s=1, interval=1),
  ]


def recoverable_case(name, node, now, **exits):
  made = make_client(node.get)
  client.FLAGS.runtime_oom_exit, client.FLAGS.hbm_oom_exit = exits.get("runtime_oom_exit", True), exits.get("hbm_oom_exit", True)
  with mock.patch.object(client, "_utcnow", lambda: datetime.datetime.fromisoformat(now)):
    recoverable = result_of(made.recoverable, accidental=True)
  return {"name": name, "input": {"args": TPU, "now": now, "nodes": {NODE: node}, **exits},
          "expected": {"recoverable": recoverable, "state": made.state(), "health": made.health()}}


def recoverable_cases():
  kinds = ["OUT_OF_MEMORY", "HBM_OUT_OF_MEMORY", "LOW_MEMORY"]
  cases = [recoverable_case("nothing_said", {}, "2020-01-01T00:01:00"), recoverable_case("lower_case", {"state": "preempted"}, "2020-01-01T00:01:00")]
  for i in range(20):
    symptoms = [{"createTime": f"2020-01-01T00:0{DRAW.randint(0, 2)}:{DRAW.randint(0, 59):02}.{DRAW.choice(['5', '123456789', '0'])}Z", "symptomType": DRAW.choice(kinds)} for _ in range(DRAW.randint(1, 3))]
    exits = {key: DRAW.random() < 0.5 for key in ("runtime_oom_exit", "hbm_oom_exit") if DRAW.random() < 0.3}
    cases.append(recoverable_case(f"symptoms_{i}", {"state": DRAW.choice(["READY", "READY", "STOPPED"]), "symptoms": symptoms}, "2020-01-01T00:02:30", **exits))
  return cases


def master_job_cases():
  cases = []
  for master in ("local", "", "grpc://a:1"):
    for cluster in (None, {}, {"coordinator": ["a:1"]}, {"coordinator": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}, {"tpu_worker": ["a:1"], "worker": ["b:1"]}, {"x": ["a:1"], "coordinator": ["b:1"]}, {"worker": []}):
      stated = {"master": master, **({} if cluster is None else {"cluster": cluster})}
      definition = None if cluster is None else tf.train.ClusterSpec(cluster).as_cluster_def()
      expected = result_of(lambda: {"job": tpu_system_metadata.master_job(master, definition)})
      cases.append({"name": f"{master}_{len(cases)}", "input": stated, "expected": expected})
  return cases


# --- Kubernetes

def selects(selector, labels):
  for part in selector.split(","):
    if "!=" in part:
      key, value = part.split("!=")
      fits = labels.get(key) != value
    elif "=" in part:
      key, value = part.replace("==", "=").split("=")
      fits = labels.get(key) == value
    else:
      fits = (part.lstrip("!") in labels) != part.startswith("!")
    if not fits:
      return False
  return True


class Pods:
  def __init__(self, pods):
    self.pods, self.calls = pods, []

  def list_pod_for_all_namespaces(self, label_selector):
    self.calls.append({"call": "list_pod_for_all_namespaces", "label_selector": label_selector})
    items = [types.SimpleNamespace(metadata=types.SimpleNamespace(name=pod["metadata"]["name"]), status=types.SimpleNamespace(phase=pod["status"]["phase"], host_ip=pod["status"]["hostIP"]))
             for pod in self.pods if selects(label_selector, pod["metadata"]["labels"])]
    return types.SimpleNamespace(items=items)


def kubernetes_case(name, stated):
  pods = Pods(stated["pods"])
  library = mock.MagicMock()
  with mock.patch.dict(sys.modules, {"kubernetes": library, "kubernetes.config": library.config}):
    resolver = kubernetes_cluster_resolver.KubernetesClusterResolver(override_client=pods, **stated.get("args", {}))
    expected = {"task_type": resolver.task_type, "task_id": resolver.task_id, "rpc_layer": resolver.rpc_layer, "cluster_spec": result_of(lambda: as_dict(resolver.cluster_spec()))}
    expected["calls"] = list(pods.calls)
    expected["masters"] = [result_of(lambda: resolver.master(*query)) for query in stated["masters"]]
  return {"name": name, "input": stated, "expected": expected}


def kubernetes_cases():
  selectors = ["job-name=tensorflow", "job-name=ps", "app=x", "app==y", "app!=x", "tier", "!tier", "job-name=worker,app=x"]
  cases = []
  for i in range(25):
    pods = [{"metadata": {"name": f"{DRAW.choice(['tf', 'a', 'Z', 'w-'])}{DRAW.choice([n, n + 10])}", "namespace": DRAW.choice(["default", "ml"]),
                          "labels": {key: DRAW.choice(of) for key, of in {"job-name": ["tensorflow", "ps", "worker"], "app": ["x", "y"], "tier": ["1"]}.items() if DRAW.random() < 0.7}},
             "status": {"phase": "Running" if DRAW.random() < 0.95 else "Pending", "hostIP": f"10.1.{n}.{DRAW.randint(1, 9)}", "podIP": f"172.0.0.{n}"}} for n in range(DRAW.randint(0, 6))]
    mapping = {job: DRAW.sample(selectors, DRAW.choice([0, 1, 2, 3])) for job in DRAW.sample(["worker", "ps", "Z"], DRAW.choice([1, 2]))}
    settings = {"job_to_label_mapping": mapping, **({"rpc_layer": DRAW.choice(["", "http", None])} if DRAW.random() < 0.3 else {})}
    cases.append(kubernetes_case(f"selectors_{i}", {"pods": pods, "args": settings, "masters": [["worker", 0], ["ps", 1, "http"]]}))
  return cases


# --- Slurm

def run_slurm(stated):
  def list_gpus(*_, **__):
    raise subprocess.CalledProcessError(9, "nvidia-smi", "no driver\n")

  others = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_") and key != "CUDA_VISIBLE_DEVICES"}
  with mock.patch.dict(os.environ, {**others, **stated["env"]}, clear=True), mock.patch("subprocess.check_output", list_gpus):
    try:
      resolver = slurm_cluster_resolver.SlurmClusterResolver(**stated.get("args", {}))
    except (RuntimeError, ValueError) as error:
      return failure(error, stage="constructor")
    expected = {"before_cluster_spec": {"task_type": resolver.task_type, "task_id": resolver.task_id, "master": resolver.master()},
                "num_accelerators": resolver.num_accelerators(), "rpc_layer": resolver.rpc_layer}
    try:
      spec = resolver.cluster_spec()
    except (IndexError, ValueError) as error:
      return {**expected, **failure(error, accidental=True, stage="cluster_spec")}
    return {**expected, "cluster_spec": as_dict(spec), "task_type": resolver.task_type, "task_id": resolver.task_id, "gpu_allocation_by_rank": resolver._gpu_allocation,
            "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES"), "master": resolver.master()}


def slurm_cases():
  cases = []
  for i in range(40):
    counts = [DRAW.randint(1, 3) for _ in range(DRAW.randint(1, 3))]
    total, hosts = sum(counts), DRAW.choice(["n[8-{}]".format(7 + len(counts)), ",".join(DRAW.sample(["b1", "A", "n10", "n9"], len(counts)))])
    env = {"SLURM_PROCID": str(DRAW.choice([0, total - 1, total])), "SLURM_STEP_NODELIST": hosts, "SLURM_STEP_TASKS_PER_NODE": ",".join(map(str, counts)), "SLURM_STEP_NUM_TASKS": str(total)}
    settings = {"gpus_per_node": DRAW.choice([0, 2, 4, 8])} if DRAW.random() < 0.7 else {}
    if not settings and DRAW.random() < 0.8:
      env["CUDA_VISIBLE_DEVICES"] = DRAW.choice(["0", "", "2,3", "0,1,2,3"])
    if DRAW.random() < 0.4:
      first = DRAW.randint(0, total)
      settings["jobs"] = {"worker": first, "chief": total - first}
    for key, of in (("rpc_layer", ["", None, "http"]), ("gpus_per_task", [1, 2]), ("auto_set_gpu", [False]), ("port_base", [1, 9000])):
      if DRAW.random() < 0.25:
        settings[key] = DRAW.choice(of)
    stated = {"env": env, **({"nvidia_smi": {"stdout": "no driver\n", "exit": 9}}), **({"args": settings} if settings else {})}
    cases.append({"name": f"step_{i}", "input": stated, "expected": run_slurm(stated)})
  return cases


def write(folder, name, cases):
  head = {"set": name + "_more", "source": f"TensorFlow {tf.__version__}", "count": len(cases)}
  with open(os.path.join(folder, name + "_more.json"), "w", encoding="utf-8") as file:
    file.write("{\n" + "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()))
    file.write(' "cases": [\n' + ",\n".join("  " + json.dumps(one, allow_nan=False) for one in cases) + "\n ]\n}\n")


def main(folder):
  flags.FLAGS(["resolvers_more"])
  for name, cases in (("tpu_wait_for_healthy", wait_cases), ("tpu_recoverable", recoverable_cases), ("tpu_master_job", master_job_cases), ("kubernetes", kubernetes_cases), ("slurm", slurm_cases)):
    write(folder, name, cases())


main(sys.argv[1])
