// SPDX-License-Identifier: Apache-2.0
//
// Heterogeneous jobs and what other jobs leave behind, with the variables that Slurm 22.05 was seen to set.
#include <doctest/doctest.h>

#include <map>

#include "tfd/resolve/resolver.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

const GpuLister kHetNoGpus = []() -> Result<std::optional<int>> { return std::nullopt; };

/// sbatch -w n[3-4] -n4 : -w n[1-2] -n4, in the batch script.
Values batch() {
  return {{"SLURM_JOB_ID", "5"},
          {"SLURM_PROCID", "0"},
          {"SLURM_HET_SIZE", "2"},
          {"SLURM_JOB_ID_HET_GROUP_0", "5"},
          {"SLURM_JOB_ID_HET_GROUP_1", "6"},
          {"SLURM_JOB_NODELIST", "n[3-4]"},
          {"SLURM_TASKS_PER_NODE", "3,1"},
          {"SLURM_JOB_NODELIST_HET_GROUP_0", "n[3-4]"},
          {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[1-2]"},
          {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "3,1"},
          {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "1,3"}};
}

/// srun --het-group=0,1 in there.
Values task(int rank) {
  Values values = batch();
  values["SLURM_STEP_ID"] = "0";
  values["SLURM_STEP_NODELIST"] = "n[1-4]";
  values["SLURM_STEP_TASKS_PER_NODE"] = "1,3,3,1";
  values["SLURM_JOB_NODELIST"] = "n[1-4]";
  values["SLURM_TASKS_PER_NODE"] = "1,3,3,1";
  values["SLURM_PROCID"] = std::to_string(rank);
  return values;
}

Result<cluster::ClusterConfig> resolve_het(const Values& values, std::string jobs = "") {
  SlurmOptions options;
  if (!values.contains("SLURM_STEP_RESV_PORTS")) options.port_base = 1000;
  if (!jobs.empty()) REQUIRE(parse_slurm_jobs(jobs, options));
  return resolve_slurm(Environment(values), options, kHetNoGpus);
}

std::string shown(const Result<cluster::ClusterConfig>& config) {
  if (!config) return config.error().message;
  std::string out;
  for (const auto& one : config->cluster.tasks())
    out += (out.empty() ? "" : " ") + (one.id.job == "worker" ? "" : one.id.job + "=") + one.address;
  return out;
}

}  // namespace

TEST_CASE("slurm: a batch script sees all components of a heterogeneous job") {
  const auto config = resolve_het(batch());
  CHECK(shown(config) == "n3:1000 n3:1001 n3:1002 n4:1000 n1:1000 n2:1000 n2:1001 n2:1002");
  CHECK_FALSE(config->task);
  CHECK(config->no_task_reason == "SLURM_PROCID is the batch step's; srun starts the tasks");
}

TEST_CASE("slurm: ranks go through the components in order, though the step's nodelist is sorted by name") {
  const auto config = resolve_het(task(4));
  CHECK(shown(config) == shown(resolve_het(batch())));
  CHECK(config->task == cluster::TaskId{"worker", 4});
  CHECK(*config->master == "grpc://n1:1000");
  Values values = task(4);
  values["SLURM_DISTRIBUTION"] = "cyclic";  // each component for itself
  CHECK(shown(resolve_het(values)) == "n3:1000 n4:1000 n3:1001 n3:1002 n1:1000 n2:1000 n2:1001 n2:1002");
}

TEST_CASE("slurm: that a component of one task a node is cyclic says nothing about the others") {
  Values values = task(4);
  values["SLURM_STEP_TASKS_PER_NODE"] = values["SLURM_TASKS_PER_NODE"] = "1,3,1,1";
  const std::string block = "n3:1000 n4:1000 n1:1000 n2:1000 n2:1001 n2:1002";
  for (const char* seen : {"block", "cyclic"}) {  // srun's threads race for the variable
    values["SLURM_DISTRIBUTION"] = seen;
    CHECK(shown(resolve_het(values)) == block);
  }
}

TEST_CASE("slurm: srun A : B sets only the older names of some variables") {
  Values values = task(4);
  values.erase("SLURM_JOB_ID_HET_GROUP_0");
  values.erase("SLURM_JOB_ID_HET_GROUP_1");
  for (const std::string n : {"0", "1"}) {
    values["SLURM_JOB_NODELIST_PACK_GROUP_" + n] = values["SLURM_JOB_NODELIST_HET_GROUP_" + n];
    values.erase("SLURM_JOB_NODELIST_HET_GROUP_" + n);
    values.erase("SLURM_TASKS_PER_NODE_HET_GROUP_" + n);
  }
  CHECK(shown(resolve_het(values)) == shown(resolve_het(task(4))));
}

TEST_CASE("slurm: a step of one component is a cluster of its own") {
  Values values = task(0);
  values["SLURM_STEP_NODELIST"] = values["SLURM_JOB_NODELIST"] = "n[1-2]";
  values["SLURM_STEP_TASKS_PER_NODE"] = values["SLURM_TASKS_PER_NODE"] = "1,3";
  CHECK(shown(resolve_het(values)) == "n1:1000 n2:1000 n2:1001 n2:1002");
  CHECK(shown(resolve_het(values, "worker=het:1")) == "n1:1000 n2:1000 n2:1001 n2:1002");
  CHECK(shown(resolve_het(values, "ps=het:0,worker=het:1")) ==
        "job 'ps' is component 0, but no task runs there (srun --het-group says where)");
}

TEST_CASE("slurm: components become jobs, whatever their names; jobs with counts share the other ones") {
  for (const Values& values : {batch(), task(0)}) {
    CHECK(shown(resolve_het(values, "ps=het:1,worker=het:0")) ==
          "ps=n1:1000 ps=n2:1000 ps=n2:1001 ps=n2:1002 n3:1000 n3:1001 n3:1002 n4:1000");
    CHECK(shown(resolve_het(values, "ps=het:1,worker=3,chief=1")) ==
          "chief=n3:1000 ps=n1:1000 ps=n2:1000 ps=n2:1001 ps=n2:1002 n3:1001 n3:1002 n4:1000");
    CHECK(shown(resolve_het(values, "worker=het:1+0")) == shown(resolve_het(values)));
    CHECK(shown(resolve_het(values, "ps=het:1")) ==
          "the jobs with counts have 0 tasks together, but the components that no job names have 4");
    CHECK(shown(resolve_het(values, "ps=het:2")) == "job 'ps' is component 2, but there are 2: 0 to 1");
  }
  CHECK(resolve_het(task(4), "ps=het:1,worker=het:0")->task == cluster::TaskId{"ps", 0});
  CHECK(resolve_het(task(3), "ps=het:1,worker=het:0")->task == cluster::TaskId{"worker", 3});
  CHECK(shown(resolve_het({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_TASKS_PER_NODE", "2"}}, "ps=het:0")) ==
        "job 'ps' is component 0, but this is not a heterogeneous job");
  SlurmOptions options{.gpus_per_node = 1, .compat = Compat::kTensorflow};
  REQUIRE(parse_slurm_jobs("ps=het:0", options));
  CHECK(resolve_slurm(Environment(task(0)), options, kHetNoGpus).error().message ==
        "job 'ps': TensorFlow's resolver does not support components, only counts");
}

TEST_CASE("slurm: each component has its part of the ports that are reserved for all") {
  Values values = task(0);
  values["SLURM_STEP_RESV_PORTS"] = "31001-31008";  // 3 + 1 and 3 + 1
  CHECK(shown(resolve_het(values)) == "n3:31001 n3:31002 n3:31003 n4:31001 n1:31005 n2:31005 n2:31006 n2:31007");
  values["SLURM_STEP_RESV_PORTS"] = "31001-31003";
  CHECK(shown(resolve_het(values)) == "n3:31001 n3:31002 n3:31003 n4:31001 n1:31001 n2:31001 n2:31002 n2:31003");
}

TEST_CASE("slurm: a component of which something is missing is named") {
  Values values = batch();
  values.erase("SLURM_JOB_NODELIST_HET_GROUP_1");
  CHECK(shown(resolve_het(values)) ==
        "a heterogeneous job of 2 components, but SLURM_JOB_NODELIST_HET_GROUP_1 is not set");
  values = batch();
  values["SLURM_TASKS_PER_NODE_HET_GROUP_1"] = "1";
  CHECK(shown(resolve_het(values)) ==
        "SLURM_JOB_NODELIST_HET_GROUP_1 names 2 hosts, but SLURM_TASKS_PER_NODE_HET_GROUP_1 counts tasks on 1");
  values.erase("SLURM_TASKS_PER_NODE_HET_GROUP_1");
  CHECK(shown(resolve_het(values)) == "SLURM_TASKS_PER_NODE_HET_GROUP_1 is not set: give --tasks-per-node");
  values = task(0);
  values["SLURM_JOB_NODELIST_HET_GROUP_1"] = "n1";
  CHECK(shown(resolve_het(values)) == "n2 is in the nodelist, but in no component of the heterogeneous job");
}

TEST_CASE("slurm: components that are distributed differently are noticed by their tasks") {
  Values values = task(0);
  values["SLURM_DISTRIBUTION"] = "block";
  values["SLURMD_NODENAME"] = "n3";
  values["SLURM_LOCALID"] = "0";
  values["SLURM_GTIDS"] = "0,2,3";
  CHECK(shown(resolve_het(values)) ==
        "ranks 0,1,2 should be on n3 by the distribution 'block', but SLURM_GTIDS is 0,2,3: give all components the "
        "same srun -m");
  values["SLURM_GTIDS"] = "0,1,2";
  CHECK(resolve_het(values));
}

TEST_CASE("slurm: what another job left in the environment doesn't count") {
  // A batch script that a task of a heterogeneous job submitted.
  Values values = task(0);
  values["SLURM_JOB_ID"] = "9";
  values["SLURM_JOB_NODELIST"] = "n7";
  values["SLURM_TASKS_PER_NODE"] = "2";
  const auto config = resolve_het(values);
  CHECK(shown(config) == "n7:1000 n7:1001");
  CHECK_FALSE(config->task);
  CHECK(config->no_task_reason == "SLURM_PROCID is the batch step's; srun starts the tasks");
  // The same on the step's own hosts, with other counts.
  values["SLURM_JOB_NODELIST"] = "n1";
  CHECK(shown(resolve_het(values)) == "n1:1000 n1:1001");
  // srun --preserve-env keeps the job's counts beside the step's.
  values = {{"SLURM_JOB_ID", "9"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_JOB_NODELIST", "n[1-2]"},
            {"SLURM_STEP_NODELIST", "n1"},
            {"SLURM_TASKS_PER_NODE", "4(x2)"},
            {"SLURM_STEP_TASKS_PER_NODE", "2"},
            {"SLURM_PROCID", "1"},
            {"SLURM_UMASK", "0022"}};
  CHECK(resolve_het(values)->task == cluster::TaskId{"worker", 1});
}

TEST_CASE("slurm: AMD's and Intel's variables choose GPUs where NVIDIA's isn't set") {
  Values values{{"SLURM_STEP_ID", "0"},
                {"SLURM_PROCID", "1"},
                {"SLURM_STEP_NODELIST", "n1"},
                {"SLURM_STEP_TASKS_PER_NODE", "2"},
                {"ROCR_VISIBLE_DEVICES", "4,5"}};
  auto config = resolve_het(values);
  CHECK(config->visible_devices == std::optional<std::string>("5"));
  CHECK(config->visible_devices_variable == "ROCR_VISIBLE_DEVICES");
  values["CUDA_VISIBLE_DEVICES"] = "6,7";
  config = resolve_het(values);
  CHECK(config->visible_devices == std::optional<std::string>("7"));
  CHECK(config->visible_devices_variable == "CUDA_VISIBLE_DEVICES");
}

TEST_CASE("slurm: a task that is alone on its node counts no more GPUs than it asked for") {
  Values values{{"SLURM_STEP_ID", "0"},
                {"SLURM_PROCID", "0"},
                {"SLURM_STEP_NODELIST", "n1"},
                {"SLURM_STEP_TASKS_PER_NODE", "1"},
                {"CUDA_VISIBLE_DEVICES", "0,1,2,3"},
                {"SLURMD_TRES_BIND", "gpu:per_task:2"}};
  auto config = resolve_het(values);
  CHECK(config->num_accelerators.at("GPU") == 2);
  CHECK(config->visible_devices == std::optional<std::string>("0,1"));
  values["SLURMD_TRES_BIND"] = "gpu:single:1";
  CHECK(resolve_het(values)->num_accelerators.at("GPU") == 4);
}

TEST_CASE("slurm: outside of its tasks a job's GPUs are what was asked for, not this host's") {
  const auto gpus = [](const std::string& name, const std::string& value) {
    const auto config =
        resolve_het({{"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}, {name, value}});
    REQUIRE(config);
    const auto found = config->num_accelerators.find("GPU");
    return found == config->num_accelerators.end() ? 0 : found->second;
  };
  CHECK(gpus("SLURM_GPUS_PER_TASK", "3") == 3);
  CHECK(gpus("SLURM_GPUS_PER_NODE", "4") == 2);
  CHECK(gpus("SLURM_GPUS_PER_NODE", "gpu:a100:2,gpu:v100:4") == 3);
  CHECK(gpus("SLURM_GPUS_ON_NODE", "6") == 3);
  CHECK(gpus("SLURM_JOB_GPUS", "0,1,2,3") == 2);
  CHECK(gpus("SLURM_GPUS", "8") == 2);
  CHECK(gpus("SLURM_GPUS_PER_NODE", "many") == 0);
  CHECK(gpus("CUDA_VISIBLE_DEVICES", "0,1") == 0);  // a login host's
}
