// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tfd/resolve/resolver.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

const GpuLister kNoGpus = []() -> Result<std::optional<int>> { return std::nullopt; };

Values step(std::string nodes, std::string tasks, int rank) {
  return {{"SLURM_JOB_ID", "7"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NODELIST", nodes},
          {"SLURM_STEP_TASKS_PER_NODE", tasks},
          {"SLURM_PROCID", std::to_string(rank)}};
}

Result<cluster::ClusterConfig> resolve_with(Values values, SlurmOptions options = {}, const GpuLister& gpus = kNoGpus) {
  if (!options.port_base && options.compat == Compat::kNone && !values.contains("SLURM_STEP_RESV_PORTS"))
    options.port_base = 1000;
  return resolve_slurm(Environment(std::move(values)), options, gpus);
}

std::string addresses(const Result<cluster::ClusterConfig>& config) {
  if (!config) return "error: " + config.error().message;
  std::string out;
  for (const auto& task : config->cluster.tasks()) out += (out.empty() ? "" : " ") + task.address;
  return out;
}

}  // namespace

TEST_CASE("slurm: ranks follow the nodelist, not the alphabet") {
  CHECK(addresses(resolve_with(step("n[9-10]", "1(x2)", 0))) == "n9:1000 n10:1000");
  const auto config = resolve_with(step("n[9-10]", "2,1", 2), {.jobs = {{"worker", 1}, {"chief", 1}, {"ps", 1}}});
  REQUIRE(config);
  CHECK(config->cluster.jobs() == std::vector<std::string>{"chief", "ps", "worker"});
  CHECK(config->task == cluster::TaskId{"worker", 0});
  CHECK(*config->master == "grpc://n10:1000");
  CHECK(*config->resolver == "slurm");
}

TEST_CASE("slurm: a host that is listed twice is one host") {
  CHECK(addresses(resolve_with(step("n1,n2,n1", "1(x3)", 0))) == "n1:1000 n2:1000 n1:1001");
}

TEST_CASE("slurm: ranks are dealt as SLURM_DISTRIBUTION says") {
  const auto by = [](std::string distribution, std::string plane = "", int rank = 0) {
    Values values = step("n[1-3]", "4,2,1", rank);
    values["SLURM_DISTRIBUTION"] = distribution;
    if (!plane.empty()) values["SLURM_DIST_PLANESIZE"] = plane;
    return addresses(resolve_with(values));
  };
  CHECK(by("block") == "n1:1000 n1:1001 n1:1002 n1:1003 n2:1000 n2:1001 n3:1000");
  CHECK(by("block:cyclic") == by("block"));
  CHECK(by("cyclic") == "n1:1000 n2:1000 n3:1000 n1:1001 n2:1001 n1:1002 n1:1003");
  CHECK(by("cyclic:block,NoPack") == by("cyclic"));
  CHECK(by("plane", "2") == "n1:1000 n1:1001 n2:1000 n2:1001 n3:1000 n1:1002 n1:1003");
  CHECK(by("plane=2") == by("plane", "2"));
  CHECK(by("plane") == "error: SLURM_DIST_PLANESIZE: '' is not a number of tasks from 1");
  CHECK(by("plane", "0").starts_with("error: "));
  CHECK(by("zigzag") == "error: SLURM_DISTRIBUTION: 'zigzag' is not block, cyclic, plane or arbitrary");
}

TEST_CASE("slurm: an arbitrary distribution comes from its list or file") {
  Values values = step("n[1-3]", "2,1(x2)", 3);
  values["SLURM_DISTRIBUTION"] = "arbitrary";
  CHECK(addresses(resolve_with(values)).find("neither SLURM_ARBITRARY_NODELIST nor SLURM_HOSTFILE") !=
        std::string::npos);
  values["SLURM_HOSTFILE"] = "/list";
  SlurmOptions options;
  options.load_hostfile = [](const std::string& path) -> Result<std::string> {
    CHECK(path == "/list");
    return std::string("# ranks\nn3\nn1*2\r\n\nn2\nn2\n");
  };
  CHECK(addresses(resolve_with(values, options)) == "n3:1000 n1:1000 n1:1001 n2:1000");
  values["SLURM_ARBITRARY_NODELIST"] = "n2,n1,n1";
  CHECK(addresses(resolve_with(values, options)) ==
        "error: SLURM_DISTRIBUTION is arbitrary, but of 4 ranks only 3 are listed");
  values["SLURM_ARBITRARY_NODELIST"] = "n2,n1,n9,n1";
  CHECK(addresses(resolve_with(values, options)) == "error: rank 2 is listed on n9, which is not in the nodelist");
}

TEST_CASE("slurm: what the task knows of its own place must fit") {
  Values values = step("n[1-2]", "2(x2)", 1);
  values["SLURMD_NODENAME"] = "n1";
  values["SLURM_LOCALID"] = "1";
  CHECK(resolve_with(values));
  values["SLURM_DISTRIBUTION"] = "cyclic";
  CHECK(resolve_with(values).error().message ==
        "rank 1 should be on n2 by the distribution 'cyclic', but SLURMD_NODENAME is n1");
  values["SLURMD_NODENAME"] = "n2";
  CHECK(resolve_with(values).error().message ==
        "rank 1 should be task 0 of n2 by the distribution 'cyclic', but SLURM_LOCALID is 1");
}

TEST_CASE("slurm: outside a step there is no task, and the reason is kept") {
  Values job{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "2,1"}};
  auto config = resolve_with(job);
  CHECK(addresses(config) == "n1:1000 n1:1001 n2:1000");
  CHECK_FALSE(config->task);
  CHECK_FALSE(config->master);
  CHECK(config->no_task_reason == "SLURM_PROCID is not set; srun starts the tasks");
  job["SLURM_PROCID"] = "0";
  CHECK(resolve_with(job)->no_task_reason == "SLURM_PROCID is the batch step's; srun starts the tasks");
  job["SLURM_STEP_ID"] = "4294967290";
  job["SLURM_STEP_NODELIST"] = "n1";
  config = resolve_with(job);
  CHECK(config->no_task_reason == "SLURM_PROCID is the interactive step's; srun starts the tasks");
  CHECK(config->cluster.size() == 3);
}

TEST_CASE("slurm: counts that don't add up are errors with both numbers") {
  CHECK(resolve_with(step("n[1-3]", "1(x2)", 0)).error().message ==
        "SLURM_STEP_NODELIST names 3 hosts, but SLURM_STEP_TASKS_PER_NODE counts tasks on 2");
  const auto config = resolve_with(step("n[1-3]", "1(x3)", 0), {.jobs = {{"worker", 2}}});
  CHECK(config.error().message == "the jobs have 2 tasks together, but Slurm started 3");
  CHECK(config.error().code == Code::kFailedPrecondition);
  CHECK(resolve_with(step("n1", "2", 2)).error().message == "SLURM_PROCID is 2, but there are 2 tasks");
  CHECK(resolve_with(step("n1", "0", 0)).error().message == "no task on any of 1 hosts");
  CHECK(resolve_with({}).error().message ==
        "neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST is set: not in a Slurm job?");
  CHECK_FALSE(resolve_with(step("n[1-1000000]", "1000000(x1000000)", 0)));
}

TEST_CASE("slurm: reserved ports are used, one a task of the host") {
  Values values = step("n[1-2]", "2,1", 0);
  values["SLURM_STEP_RESV_PORTS"] = "31001,31005-31006";
  CHECK(addresses(resolve_with(values)) == "n1:31001 n1:31005 n2:31001");
  CHECK(addresses(resolve_with(values, {.port_base = 500})) == "n1:500 n1:501 n2:500");
  values["SLURM_STEP_RESV_PORTS"] = "31001";
  CHECK(addresses(resolve_with(values)).find("reserves 1 ports, but a host has 2 tasks") != std::string::npos);
  values["SLURM_STEP_RESV_PORTS"] = "31001-70000";
  CHECK(addresses(resolve_with(values)).find("SLURM_STEP_RESV_PORTS: port 65536 out of range") != std::string::npos);
}

TEST_CASE("slurm: derived ports of jobs that may share a node never meet") {
  const auto first_port = [](int job, int step_id, int tasks) {
    Values values = step("n1", std::to_string(tasks), 0);
    values["SLURM_JOB_ID"] = std::to_string(job);
    values["SLURM_STEP_ID"] = std::to_string(step_id);
    const auto config = resolve_slurm(Environment(values), {}, kNoGpus);
    REQUIRE(config);
    return cluster::parse_address(*config->cluster.task_address("worker", 0))->port;
  };
  std::set<int> ports;
  for (int job = 123456; job < 123456 + 711; ++job) {
    const int first = first_port(job, 0, 4);
    CHECK(first >= 10000);
    CHECK(first + 31 < 32768);
    ports.insert(first / 32 * 32 == first - first % 32 ? first : -1);
  }
  CHECK(ports.size() == 711);
  std::set<int> steps;
  for (int id = 0; id < 100; ++id) steps.insert(first_port(5, id, 4));
  CHECK(steps.size() == 100);
  std::set<int> used;  // 88 consecutive jobs of 256 tasks a node
  for (int job = 0; job < 88; ++job)
    for (int k = 0; k < 256; ++k) CHECK(used.insert(first_port(job, 0, 1) + k).second);
}

TEST_CASE("slurm: derived ports of very many tasks stay below the ephemeral range") {
  Values values = step("n1", "2000", 0);
  values["SLURM_JOB_ID"] = "88";
  std::set<int> ports;
  const auto config = resolve_slurm(Environment(values), {}, kNoGpus);
  REQUIRE(config);
  for (const auto& task : config->cluster.tasks()) {
    const int port = cluster::parse_address(task.address)->port;
    CHECK(port >= 10000);
    CHECK(port < 32768);
    CHECK(ports.insert(port).second);
  }
}

TEST_CASE("slurm: GPUs are shared among the tasks of a node") {
  const auto with = [](std::string visible, SlurmOptions options = {}) {
    Values values = step("n[1-2]", "2(x2)", 1);
    values["CUDA_VISIBLE_DEVICES"] = visible;
    return resolve_with(values, options);
  };
  CHECK(with("4,5,6,7")->visible_devices == std::optional<std::string>("6,7"));
  CHECK(with("4,5,6,7")->num_accelerators.at("GPU") == 2);
  CHECK(with("GPU-a,GPU-b")->visible_devices == std::optional<std::string>("GPU-b"));
  CHECK(with("").value().num_accelerators.empty());
  CHECK(with("NoDevFiles").value().num_accelerators.empty());
  CHECK(with("-1").value().visible_devices == std::nullopt);
  CHECK(with("3").value().num_accelerators.empty());  // two tasks, one GPU: nobody's
  CHECK(with("4,5", {.auto_set_gpu = false})->visible_devices == std::nullopt);
  CHECK(with("4,5", {.gpus_per_task = 2}).error().message ==
        "requested more GPUs than a node has: 2 tasks with 2 each need 4, but there are only 2");
  CHECK(with("4,5", {.gpus_per_node = 8}).error().message ==
        "CUDA_VISIBLE_DEVICES lists 2 GPUs, but this task's are number 4 to 7");
  CHECK(with("4,5", {.gpus_per_task = 0})->num_accelerators.empty());
}

TEST_CASE("slurm: where the fullest host has too few GPUs, a task alone on its host still has its own") {
  Values values = step("n[1-2]", "3,1", 3);
  values["CUDA_VISIBLE_DEVICES"] = "0,1";
  CHECK(resolve_with(values)->visible_devices == std::optional<std::string>("0,1"));
  values["SLURM_PROCID"] = "1";
  CHECK(resolve_with(values)->num_accelerators.empty());
  values["CUDA_VISIBLE_DEVICES"] = "0,1,2,3,4,5";
  values["SLURM_PROCID"] = "3";
  CHECK(resolve_with(values)->visible_devices == std::optional<std::string>("0,1"));
}

TEST_CASE("slurm: GPUs that Slurm bound to a task are its own") {
  Values values = step("n1", "2", 1);
  values["CUDA_VISIBLE_DEVICES"] = "3";
  values["SLURMD_TRES_BIND"] = "gpu:per_task:1";
  const auto config = resolve_with(values);
  CHECK(config->num_accelerators.at("GPU") == 1);
  CHECK(config->visible_devices == std::nullopt);
}

TEST_CASE("slurm: nvidia-smi is asked last, and only for a task") {
  int asked = 0;
  const GpuLister four = [&]() -> Result<std::optional<int>> {
    ++asked;
    return 4;
  };
  CHECK(resolve_with(step("n1", "2", 1), {}, four)->visible_devices == std::optional<std::string>("2,3"));
  Values values = step("n1", "2", 1);
  values["SLURM_GPUS_ON_NODE"] = "2";
  CHECK(resolve_with(values, {}, four)->visible_devices == std::optional<std::string>("1"));
  resolve_with({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_TASKS_PER_NODE", "2"}}, {}, four).value();
  CHECK(asked == 1);
  CHECK(*count_gpus("GPU 0: x\nGPU 1: y\nNo GPU 2\n", 0) == 2);
  CHECK(count_gpus("driver not\nloaded", 9).error().message ==
        "could not get the number of GPUs: nvidia-smi exited with 9: driver not loaded");
}

TEST_CASE("slurm: TensorFlow's own reading sorts by name and counts the last") {
  SlurmOptions options{.gpus_per_node = 2, .compat = Compat::kTensorflow};
  Values values = step("n[9-10]", "1(x2)", 0);
  values["SLURM_STEP_NUM_TASKS"] = "2";
  CHECK(addresses(resolve_with(values, options)) == "n10:8888 n9:8888");
  values = step("n1,n2,n1", "2,1,1", 0);
  values["SLURM_STEP_NUM_TASKS"] = "2";
  CHECK(addresses(resolve_with(values, options)) == "n1:8888 n2:8888");
  values["SLURM_STEP_NUM_TASKS"] = "4";
  CHECK(resolve_with(values, options).error().message == "requested 4 tasks but only 2 were assigned");
  values.erase("SLURM_PROCID");
  CHECK(resolve_with(values, options).error().message == "SLURM_PROCID is not set: not inside a Slurm step?");
}
