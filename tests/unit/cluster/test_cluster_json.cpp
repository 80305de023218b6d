// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/cluster/cluster_config.hpp"

using namespace tfd;
using namespace tfd::cluster;

namespace {
std::string why_not_a_spec(std::string_view text) {
  const auto config = cluster_config_from_json(text, "spec");
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kInvalidArgument);
  return config.error().message;
}
}  // namespace

TEST_CASE("config json: reads all it knows and passes on the rest as it was written") {
  const std::string text =
      R"({"cluster": {"chief": ["h0:8888"], "worker": ["h1:1", "h2:1"], "ps": {"3": "h3:1"}}, )"
      R"("task": {"type": "worker", "index": 1, "trial": "7"}, "rpc_layer": "grpc", "environment": "", )"
      R"("master": "grpc://h2:1", "num_accelerators": {"GPU": 2}, "resolver": "slurm", )"
      R"("zebra": 1.50, "apple": [123456789012345678901234567890, null, true, {"é": "\n\u0001"}]})";
  const auto config = cluster_config_from_json(text, "spec");
  REQUIRE(config);
  CHECK(config->task == TaskId{"worker", 1});
  CHECK(config->num_accelerators.at("GPU") == 2);
  CHECK(*config->cluster.task_address("ps", 3) == "h3:1");
  CHECK(cluster_config_to_json(*config) == text + "\n");
  CHECK(cluster_config_from_json(cluster_config_to_json(*config, true), "pretty")->extra == config->extra);
}

TEST_CASE("config json: an index is what Python's int() takes") {
  for (const char* index : {"1", "\"1\"", "1.0", "1.9", "true", "\" 1 \"", "\"+1\"", "1e0"}) {
    CAPTURE(index);
    const auto config =
        cluster_config_from_json(fmt::format(R"({{"task": {{"type": "w", "index": {}}}}})", index), "spec");
    REQUIRE(config);
    CHECK(config->task->index == 1);
  }
  for (const char* index :
       {"\"one\"", "\"1.0\"", "\"\"", "null", "[]", "1e300", "99999999999", "\"1__0\"", "\"_1\"", "-1"}) {
    CAPTURE(index);
    CHECK(why_not_a_spec(fmt::format(R"({{"task": {{"type": "w", "index": {}}}}})", index))
              .starts_with("spec: task.index: "));
  }
}

TEST_CASE("config json: errors name the place") {
  CHECK(why_not_a_spec("{\"cluster\":") ==
        "spec: not JSON: line 1, column 12: unexpected end of input; expected '[', '{', or a literal");
  CHECK(why_not_a_spec("").starts_with("spec: not JSON: line 1, column 1"));
  CHECK(why_not_a_spec("{} {}").starts_with("spec: not JSON"));
  CHECK(why_not_a_spec(R"({"a": 1e400})") == "spec: not JSON: byte 11: number overflow parsing '1e400'");
  CHECK(why_not_a_spec("[]") == "spec: must be a JSON object, not a list");
  CHECK(why_not_a_spec(R"({"cluster": null})") ==
        "spec: cluster: must be an object from job names to lists of addresses, not null");
  CHECK(why_not_a_spec(R"({"cluster": {"worker": "w0:1"}})") ==
        "spec: cluster.worker: the tasks for job 'worker' must be a list or an object from integers to strings, not a "
        "string");
  CHECK(why_not_a_spec(R"({"cluster": {"worker": ["a:1", 5]}})") ==
        "spec: cluster.worker[1]: task address 5 must be a string, not a number");
  CHECK(why_not_a_spec(R"({"cluster": {"worker": {"x": "a:1"}}})") ==
        "spec: cluster.worker: the index 'x' is not an integer");
  CHECK(why_not_a_spec(R"({"task": {"type": "worker"}})").starts_with("spec: task.index: missing"));
  CHECK(why_not_a_spec(R"({"task": {"index": 0}})").starts_with("spec: task.type: missing"));
  CHECK(why_not_a_spec(R"({"task": {"type": 5, "index": 0}})") == "spec: task.type: must be a string, not a number");
  CHECK(why_not_a_spec(R"({"rpc_layer": 1})") == "spec: rpc_layer: must be a string, not a number");
  CHECK(why_not_a_spec(R"({"num_accelerators": {"GPU": -1}})") ==
        "spec: num_accelerators.GPU: must be an integer >= 0");
  CHECK(why_not_a_spec("{\"a\x1b[2J\": tru}").find('\x1b') == std::string::npos);
}

TEST_CASE("config json: deep nesting and repeated keys do no harm") {
  const std::string deep = "{\"a\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  CHECK(why_not_a_spec(deep) == "spec: not JSON: nested deeper than 100");
  std::string many = "[0";
  for (int i = 0; i < 4'000'000; ++i) many += ",0";
  CHECK(why_not_a_spec(many + "]") == "spec: not JSON: more than 4000000 values");
  const auto config = cluster_config_from_json(
      R"({"cluster": {"a": ["x:1"], "b": ["y:1"], "a": ["z:1"]}, "k": 1, "l": 2, "k": 3})", "spec");
  REQUIRE(config);
  CHECK(config->cluster.jobs() == std::vector<std::string>{"a", "b"});
  CHECK(*config->cluster.task_address("a", 0) == "z:1");
  CHECK(config->extra == R"({"k": 3, "l": 2})");
}

TEST_CASE("config json: what isn't UTF-8 or printable stays JSON") {
  ClusterConfig config;
  config.cluster.add_task("w\"\\\x01", 0, "h\xff\xc0\x80:1\x7f\xed\xa0\x80");
  const std::string text = cluster_config_to_json(config);
  CHECK(cluster_config_from_json(text, "spec"));
  CHECK(text.find('\x01') == std::string::npos);
}

TEST_CASE("spec json: jobs alone, an empty one as {}") {
  const auto spec = cluster_spec_from_json(R"({"worker": {"1": "b:1", "0": "a:1"}, "ps": []})", "spec");
  REQUIRE(spec);
  CHECK(cluster_spec_to_json(*spec) == R"({"worker": ["a:1", "b:1"], "ps": {}})");
}
