// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/cluster/formats.hpp"

using namespace tfd;
using namespace tfd::cluster;

namespace {
ClusterConfig config_of(std::string_view text) { return *cluster_config_from_json(text, "spec"); }
const char* const kSpec =
    R"({"cluster": {"worker": ["h1:1", "h1:2"], "ps": {"3": "[::1]:1"}}, "task": {"type": "worker", "index": 1},)"
    R"( "rpc_layer": "grpc", "master": "grpc://h1:2", "num_accelerators": {"GPU": 2}, "x": [1, {"y": "z"}]})";
}  // namespace

TEST_CASE("formats: tf-config is what TensorFlow reads and nothing else") {
  CHECK(*render(config_of(kSpec), Format::kTfConfig) ==
        R"({"cluster": {"worker": ["h1:1", "h1:2"], "ps": {"3": "[::1]:1"}}, )"
        R"("task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"})"
        "\n");
}

TEST_CASE("formats: those that need a task say why there is none") {
  ClusterConfig config = config_of(R"({"cluster": {"worker": ["h1:1"]}})");
  for (const Format format : {Format::kTfConfig, Format::kEnv, Format::kEnvFile})
    CHECK(render(config, format).error().message == "no task here: the spec names none; give --task JOB:INDEX");
  config.no_task_reason = "SLURM_PROCID is the batch step's";
  CHECK(render(config, Format::kEnv).error().message == "no task here: SLURM_PROCID is the batch step's");
  CHECK(render(config, Format::kJson));
  CHECK(render(config, Format::kHosts));
}

TEST_CASE("formats: env survives eval, env-file refuses what it can't express") {
  ClusterConfig config = config_of(kSpec);
  config.cluster.add_task("worker", 0, "h'$(reboot)`x`\"\n:1");
  config.visible_devices = "2,3";
  const std::string env = *render(config, Format::kEnv);
  CHECK(env.starts_with("export CUDA_VISIBLE_DEVICES='2,3'\nexport TF_CONFIG='{"));
  CHECK(env.find(R"(h'\''$(reboot)`x`\"\n:1)") != std::string::npos);
  CHECK(render(config, Format::kEnvFile)->starts_with("CUDA_VISIBLE_DEVICES=2,3\nTF_CONFIG={\"cluster\""));
  config.visible_devices = "2\nPATH=/evil";
  CHECK_FALSE(render(config, Format::kEnvFile));
}

TEST_CASE("formats: hosts once each, table with this task marked") {
  CHECK(*render(config_of(kSpec), Format::kHosts) == "h1\n::1\n");
  CHECK(*render(config_of(kSpec), Format::kTable) ==
        "TASK      ADDRESS\nworker:0  h1:1\nworker:1  h1:2  (this task)\nps:3      [::1]:1\n");
}

TEST_CASE("formats: the names read back") {
  for (const std::string& name : format_names()) CHECK(parse_format(name));
  CHECK(parse_format("jsn").error().message == "'jsn' is not a format, did you mean 'json'?");
}

TEST_CASE("get: one value bare") {
  const ClusterConfig config = config_of(kSpec);
  CHECK(*get_path(config, "master") == "grpc://h1:2");
  CHECK(*get_path(config, "task.index") == "1");
  CHECK(*get_path(config, "cluster.worker[1]") == "h1:2");
  CHECK(*get_path(config, "cluster.ps[3]") == "[::1]:1");
  CHECK(*get_path(config, "cluster.ps.3") == "[::1]:1");
  CHECK(*get_path(config, "cluster.worker") == R"(["h1:1", "h1:2"])");
  CHECK(*get_path(config, "num_accelerators.GPU") == "2");
  CHECK(*get_path(config, "x[1].y") == "z");
}

TEST_CASE("get: says how far it came") {
  const ClusterConfig config = config_of(kSpec);
  CHECK(get_path(config, "cluster.wroker").error().message ==
        "the spec has no 'cluster.wroker', did you mean 'worker'?");
  CHECK(get_path(config, "cluster.worker.0").error().message ==
        "the spec has no 'cluster.worker.0' (a list: write [0])");
  CHECK(get_path(config, "cluster.worker[2]").error().message == "the spec has no 'cluster.worker[2]'");
  CHECK(get_path(config, "task.index.x").error().code == Code::kNotFound);
  for (const char* bad : {"", ".", "a..b", "a[", "a[]", "a[x]", "a.", "a[1"}) {
    CAPTURE(bad);
    CHECK_FALSE(get_path(config, bad));
  }
  CHECK(get_path(config, "x[99999999999999999999999]").error().code == Code::kNotFound);
}
