// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/resolve/detect.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

FileLoader no_files() {
  return [](const std::string&) -> Result<std::string> { return fail(Code::kNotFound, "no file"); };
}
std::string found(Values values, const FileLoader& load = no_files()) {
  const auto seen = detect(Environment(std::move(values)), load);
  return seen.back().found ? seen.back().kind + ": " + seen.back().why : "nothing";
}

}  // namespace

TEST_CASE("auto: looks in order and stops at the first that is there") {
  CHECK(found({{"TF_CONFIG", R"({"cluster": {"worker": ["h:1"]}})"}, {"SLURM_JOB_NODELIST", "n1"}}) ==
        "tf-config: TF_CONFIG is set");
  for (const char* nothing : {"", " ", "{}", R"({"cluster": {}})", R"({"cluster": {"worker": []}})",
                              R"({"environment": "cloud"})", R"({"task": {"type": "worker", "index": 0}})"})
    CHECK(found({{"TF_CONFIG", nothing}, {"SLURM_JOB_NODELIST", "n1"}}) == "slurm: SLURM_JOB_NODELIST is set");
  CHECK(found({{"TF_CONFIG", "{"}, {"SLURM_JOB_NODELIST", "n1"}}) == "tf-config: TF_CONFIG is set");
  CHECK(found({{"OMPI_COMM_WORLD_RANK", "0"}, {"SLURM_STEP_NODELIST", "n1"}, {"SLURM_PROCID", "0"}}) ==
        "mpi: OMPI_COMM_WORLD_RANK is set");
  CHECK(found({{"SLURM_NODELIST", "n1"}, {"TPU_NAME", "t"}}) == "slurm: SLURM_NODELIST is set");
  CHECK(found({{"TPU_WORKER_HOSTNAMES", "a,b"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}) ==
        "tpu: TPU_WORKER_HOSTNAMES is set");
  CHECK(found({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, [](const std::string&) { return "default"; }) ==
        "kubernetes: KUBERNETES_SERVICE_HOST is set");
  CHECK(found({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}) == "nothing");
  CHECK(found({}) == "nothing");
  const auto seen = detect(Environment(Values{{"SLURM_JOB_NODELIST", "n1"}}), no_files());
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].why == "TF_CONFIG is not set");
  CHECK(seen[1].kind == "mpi");
}

TEST_CASE("auto: ranks that Slurm itself started with PMI are Slurm's") {
  const Values slurm{{"SLURM_STEP_NODELIST", "n[1-2]"}, {"SLURM_PROCID", "1"}};
  Values by_srun = slurm;
  by_srun["PMIX_RANK"] = "1";
  CHECK(found(by_srun).starts_with("slurm"));
  by_srun["PMI_RANK"] = "1";
  CHECK(found(by_srun).starts_with("slurm"));
  by_srun["PMIX_RANK"] = "5";  // mpirun's, and PROCID is its daemon's
  CHECK(found(by_srun) == "mpi: PMIX_RANK is set");
  by_srun["PMIX_RANK"] = "1";
  by_srun["MPI_LOCALRANKID"] = "1";  // Hydra
  CHECK(found(by_srun) == "mpi: PMI_RANK is set");
}

TEST_CASE("detect: the processes that mpirun or srun has started together") {
  const auto launched = [](Values values) {
    const auto tasks = find_launched_tasks(Environment(std::move(values)));
    return tasks ? fmt::format("{} {}", tasks->kind, tasks->count) : "none";
  };
  CHECK(launched({}) == "none");
  CHECK(launched({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) == "mpi 2");
  CHECK(launched({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}}) == "mpi 3");
  CHECK(launched({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}) == "none");
  CHECK(launched({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}) == "none");
  CHECK(launched({{"PMIX_RANK", "0"}}) == "none");  // doesn't say of how many
  Values task{{"SLURM_STEP_ID", "0"},
              {"SLURM_STEP_NODELIST", "n[1-2]"},
              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
              {"SLURM_PROCID", "3"}};
  CHECK(launched(task) == "slurm 4");
  Values by_pmi = task;
  by_pmi["PMI_RANK"] = "3";
  by_pmi["PMI_SIZE"] = "4";
  CHECK(launched(by_pmi) == "slurm 4");
  // A batch script has a rank, but belongs to no step.
  CHECK(launched({{"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}, {"SLURM_PROCID", "0"}}) ==
        "none");
}

TEST_CASE("auto: nothing found names everything looked for") {
  ResolverEnvironment around;
  around.load_file = no_files();
  const auto nothing = resolve_kind("auto", around, Deadline::never());
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().code == Code::kFailedPrecondition);
  for (const char* name :
       {"TF_CONFIG", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_STEP_NODELIST", "TPU_NAME", "KUBERNETES_SERVICE_HOST"})
    CHECK_MESSAGE(nothing.error().message.find(name) != std::string::npos, name);
}

TEST_CASE("auto: says at info what it saw, and asks what it chose") {
  ResolverEnvironment around;
  around.load_file = no_files();
  around.env.set("PMI_RANK", "0");
  around.env.set("PMI_SIZE", "1");
  around.env.set("MPI_LOCALRANKID", "0");
  around.env.set("MPI_LOCALNRANKS", "1");
  std::string said;
  around.log = Log("resolve", [&](LogLevel level, std::string_view, std::string_view text) {
    if (level == LogLevel::kInfo) said += std::string(text) + '\n';
  });
  const auto config = resolve_kind("auto", around, Deadline::never());
  REQUIRE(config);
  CHECK(config->resolver == "mpi");
  CHECK(said == "auto: tf-config: TF_CONFIG is not set\nauto: mpi: PMI_RANK is set\n");
}

TEST_CASE("auto: kinds that need options are no kinds of --cluster") {
  for (const char* kind : {"env", "tf-config", "slurm", "kubernetes", "tpu", "mpi", "auto"}) CHECK(is_kind(kind));
  for (const char* kind : {"simple", "local", "gce", "union", "hostlist", ""}) CHECK_FALSE(is_kind(kind));
}
