// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/detect.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "mpi/mpi_env.hpp"
#include "slurm/slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/kubernetes.hpp"
#include "tfd/resolve/mpi.hpp"
#include "tfd/resolve/tpu.hpp"

namespace tfd::resolve {
namespace {

constexpr std::array<std::string_view, 7> kKinds{"env", "tf-config", "mpi", "slurm", "tpu", "kubernetes", "auto"};
constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

class Once : public Resolver {
 public:
  explicit Once(std::function<Result<cluster::ClusterConfig>()> answer) : answer_(std::move(answer)) {}
  Result<cluster::ClusterConfig> resolve(Deadline) override { return answer_(); }

 private:
  std::function<Result<cluster::ClusterConfig>()> answer_;
};

/// "X is set", or the variables that are missing.
Sighting by_variables(std::string kind, const Environment& env, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (env.has(name)) return {std::move(kind), true, fmt::format("{} is set", name)};
  const std::vector<std::string> words(names.begin(), names.end());
  return {std::move(kind), false,
          words.size() == 1 ? fmt::format("{} is not set", words.front())
                            : fmt::format("none of {} is set", join_words(words))};
}

Sighting look_for_mpi(const Environment& env) {
  if (const auto variable = find_mpi_rank_variable(env)) return {"mpi", true, fmt::format("{} is set", *variable)};
  for (const std::string_view name : {"PMI_RANK", "PMIX_RANK"})
    if (env.has(name)) return {"mpi", false, fmt::format("{} is set by Slurm itself, as SLURM_PROCID is", name)};
  return by_variables("mpi", env, {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"});
}

Sighting look_for_pod(const Environment& env, const FileLoader& load_file) {
  Sighting seen = by_variables("kubernetes", env, {"KUBERNETES_SERVICE_HOST"});
  if (!seen.found || !load_file || load_file(kServiceAccount)) return seen;
  return {"kubernetes", false,
          fmt::format("KUBERNETES_SERVICE_HOST is set, but there is no service account (no {})", kServiceAccount)};
}

Sighting look_for_tf_config(const Environment& env) {
  Sighting seen = by_variables("tf-config", env, {"TF_CONFIG"});
  if (!seen.found || names_cluster(env)) return seen;
  return {"tf-config", false, "TF_CONFIG names no cluster"};
}

/// The variable that says how many tasks a Slurm step has.
std::string slurm_size_variable(const Environment& env, std::int64_t tasks) {
  for (const char* const name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
    if (env.get(name) == std::to_string(tasks)) return name;
  return env.has("SLURM_STEP_TASKS_PER_NODE") ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
}

/// An error in --jobs is an error of the command line.
template <class T>
Result<T> of_usage(Result<T> result) {
  return std::move(result).map_error([](Error error) {
    error.code = Code::kUsage;
    return std::move(error).within("--jobs");
  });
}

}  // namespace

Result<std::string> choose_kind(const ResolverEnvironment& around) {
  std::string all;
  for (const Sighting& seen : detect(around.env, around.load_file)) {
    around.log.info("auto: {}: {}", seen.kind, seen.why);
    if (seen.found) return seen.kind;
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", seen.kind, seen.why);
  }
  return fail(Code::kFailedPrecondition, "auto: no cluster found: {}", all);
}

std::unique_ptr<Resolver> make_once(std::function<Result<cluster::ClusterConfig>()> answer) {
  return std::make_unique<Once>(std::move(answer));
}

std::vector<Sighting> detect(const Environment& env, const FileLoader& load_file) {
  std::vector<Sighting> seen;
  const auto look = [&](Sighting sighting) {
    seen.push_back(std::move(sighting));
    return seen.back().found;
  };
  (void)(look(look_for_tf_config(env)) || look(look_for_mpi(env)) ||
         look(by_variables("slurm", env, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})) ||
         look(by_variables("tpu", env,
                           {"TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES", "TPU_WORKER_ID", "TPU_NAME", "TPU_CONFIG",
                            "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"})) ||
         look(look_for_pod(env, load_file)));
  return seen;
}

std::optional<LaunchedTasks> find_launched_tasks(const Environment& env) {
  LaunchedTasks out;
  if (find_mpi_rank_variable(env)) {
    const auto rank = detail::read_mpi_rank(env);
    if (!rank) return std::nullopt;
    out = {"mpi", rank->size.value_or(0), rank->size_variable, env.get(rank->size_variable)};
  } else {
    const auto job = detail::read_slurm_job(env, {});
    if (!job || !job->rank) return std::nullopt;
    const std::string variable = slurm_size_variable(env, job->total);
    out = {"slurm", static_cast<int>(job->total), variable, env.get(variable)};
  }
  return out.count > 1 ? std::optional(out) : std::nullopt;
}

bool is_kind(std::string_view name) { return std::find(kKinds.begin(), kKinds.end(), name) != kKinds.end(); }

Result<std::unique_ptr<Resolver>> make_kind_resolver(std::string_view kind, const ResolverEnvironment& around,
                                                     const KindOptions& options, Deadline deadline) {
  const auto& task = options.task;
  std::string chosen(kind);
  if (kind == "auto") chosen = TFD_TRY(choose_kind(around));
  if (!options.jobs.empty() && chosen != "slurm" && chosen != "mpi")
    return fail(Code::kUsage, "--jobs: '{}' has its own jobs; --jobs is for slurm and mpi", chosen);
  if (!options.hostfile.empty() && chosen != "mpi")
    return fail(Code::kUsage, "--hostfile: '{}' has its own hosts; --hostfile is for mpi", chosen);
  if (chosen == "env" || chosen == "tf-config")
    return make_once([&around] { return resolve_tf_config(around.env, {}); });
  if (chosen == "mpi") {
    MpiOptions mpi;
    if (!options.hostfile.empty()) mpi.hostfile = options.hostfile;
    if (!options.jobs.empty()) mpi.jobs = TFD_TRY(of_usage(parse_job_counts(options.jobs)));
    return make_once([&around, mpi] { return resolve_mpi(around, mpi); });
  }
  if (chosen == "slurm") {
    SlurmOptions slurm;
    slurm.load_hostfile = around.load_file;
    if (!options.jobs.empty()) TFD_TRY(of_usage(parse_slurm_jobs(options.jobs, slurm)));
    return make_once([&around, slurm] { return resolve_slurm(around.env, slurm, around.gpus); });
  }
  if (chosen == "tpu") return TFD_TRY(make_tpu_resolver({.task = task}, around, deadline));
  if (chosen == "kubernetes") {
    KubernetesOptions kubernetes;
    kubernetes.task = task;
    return make_kubernetes_resolver(std::move(kubernetes), around);
  }
  return fail(Code::kUsage, "'{}' is not a kind of cluster that can be found without options", printable(chosen));
}

Result<cluster::ClusterConfig> resolve_kind(std::string_view kind, const ResolverEnvironment& around,
                                            Deadline deadline) {
  const auto resolver = TFD_TRY(make_kind_resolver(kind, around, KindOptions{}, deadline));
  return resolver->resolve(deadline);
}

}  // namespace tfd::resolve
