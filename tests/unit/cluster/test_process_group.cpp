// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/cluster/formats.hpp"

using namespace tfd;
using namespace tfd::cluster;

namespace {

ClusterConfig config_of(std::string_view cluster, TaskId task) {
  ClusterConfig config;
  config.cluster = *cluster_spec_from_json(cluster, "spec");
  config.task = std::move(task);
  return config;
}
const char* const kMixed =
    R"({"worker": ["h1:1", "h1:2", "h2:1"], "ps": ["h3:1"], "chief": ["[::1]:9"], "evaluator": ["h1:7"]})";

}  // namespace

TEST_CASE("formats: pytorch ranks the chief first and leaves ps and evaluator out") {
  const Environment values = *child_environment(config_of(kMixed, {"worker", 1}), Format::kPytorch);
  CHECK(values.get("MASTER_ADDR") == "::1");
  CHECK(values.get("MASTER_PORT") == "9");
  CHECK(values.get("RANK") == "2");
  CHECK(values.get("WORLD_SIZE") == "4");
  CHECK(values.get("LOCAL_RANK") == "1");
  CHECK(values.get("LOCAL_WORLD_SIZE") == "2");
  CHECK(values.get("GROUP_RANK") == "1");
  CHECK(values.get("GROUP_WORLD_SIZE") == "3");
  CHECK(values.has("TF_CONFIG"));
  CHECK(render(config_of(kMixed, {"ps", 0}), Format::kPytorch).error().message ==
        "ps:0 does not take part in a pytorch run: only TensorFlow has ps and evaluator tasks");
}

TEST_CASE("formats: pytorch leaves all of a host's GPUs to LOCAL_RANK, jax numbers those of the task anew") {
  ClusterConfig config = config_of(R"({"worker": ["h1:1", "h1:2"]})", {"worker", 1});
  config.visible_devices = "2,3";
  CHECK_FALSE(child_environment(config, Format::kPytorch)->has("CUDA_VISIBLE_DEVICES"));
  CHECK(*render(config, Format::kJax) ==
        "export CUDA_VISIBLE_DEVICES='2,3'\nexport JAX_COORDINATOR_ADDRESS='h1:1'\nexport JAX_LOCAL_DEVICE_IDS='0,1'\n"
        "export JAX_NUM_PROCESSES='2'\nexport JAX_PROCESS_ID='1'\n");
}

TEST_CASE("formats: torchrun is started by the first task of a host, with a process for each task or GPU") {
  CHECK(*render(config_of(kMixed, {"worker", 0}), Format::kTorchrun) ==
        "export PET_MASTER_ADDR='::1'\nexport PET_MASTER_PORT='9'\nexport PET_NNODES='3'\n"
        "export PET_NODE_RANK='1'\nexport PET_NPROC_PER_NODE='2'\n");
  CHECK(render(config_of(kMixed, {"worker", 1}), Format::kTorchrun).error().message ==
        "torchrun is started once per host, here by worker:0; worker:1 is its process 1 there");
  ClusterConfig alone = config_of(kMixed, {"worker", 2});
  alone.num_accelerators["GPU"] = 8;
  CHECK(child_environment(alone, Format::kTorchrun)->get("PET_NPROC_PER_NODE") == "8");
}

TEST_CASE("formats: a meeting point needs a port, a member a rank") {
  CHECK(render(config_of(R"({"worker": ["h1:0"]})", {"worker", 0}), Format::kJax).error().message ==
        "jax meets at worker:0, whose port is not known yet: use a resolver that knows the ports, or simple --job");
  CHECK(render(config_of(R"({"worker": ["h1:1"]})", {"worker", 4}), Format::kJax).error().message ==
        "worker:4 is not in the cluster, so it has no rank");
  ClusterConfig nobody = config_of(R"({"worker": ["h1:1"]})", {"worker", 0});
  nobody.task.reset();
  for (const Format format : {Format::kPytorch, Format::kTorchrun, Format::kJax, Format::kTaskProlog})
    CHECK(render(nobody, format).error().message == "no task here: the spec names none; give --task JOB:INDEX");
}

TEST_CASE("formats: mpi is a hostfile, task-prolog has no quotes and no line breaks") {
  CHECK(*render(config_of(R"({"ps": ["b:1"], "worker": ["a:1", "b:2", "a:2"]})", {"ps", 0}), Format::kMpi) ==
        "b slots=2\na slots=2\n");
  ClusterConfig config = config_of(R"({"worker": ["h1:1"]})", {"worker", 0});
  CHECK(*render(config, Format::kTaskProlog) ==
        R"(export TF_CONFIG={"cluster": {"worker": ["h1:1"]}, "task": {"type": "worker", "index": 0}})"
        "\n");
  config.visible_devices = "0\n1";
  CHECK(render(config, Format::kTaskProlog).error().message ==
        "CUDA_VISIBLE_DEVICES holds a line break, which task-prolog can't express: use --format env");
}

TEST_CASE("formats: a variable that no process can hold is refused") {
  ClusterConfig config = config_of(R"({"worker": ["h1:1"]})", {"worker", 0});
  for (int i = 1; i < 5000; ++i) config.cluster.add_task("worker", i, fmt::format("node{:04}.example.org:8888", i));
  for (const Format format : {Format::kEnv, Format::kEnvFile, Format::kTaskProlog})
    CHECK(render(config, format).error().message ==
          "TF_CONFIG would be 145044 bytes long, and an environment variable can't be longer than 131061");
  CHECK_FALSE(child_environment(config, Format::kPytorch));
  CHECK(render(config, Format::kTfConfig));
  CHECK(render(config, Format::kPytorch));
}

TEST_CASE("formats: only variables go to a command") {
  for (const std::string& name : format_names()) {
    const bool expected = name == "env" || name == "pytorch" || name == "torchrun" || name == "jax";
    CHECK_MESSAGE(is_environment(*parse_format(name)) == expected, name);
  }
}
