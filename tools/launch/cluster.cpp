// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <cstdint>

#include "tfd/base/text.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/hostlist.hpp"
#include "tfd/resolve/resolver.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/resolve/stated_world.hpp"

namespace tfd::tool_launch {

namespace {

/// Where other launchers were started together with this one, its tasks would be a cluster of their own: an error where
/// names the tasks, else a warning.
Result<void> check_alone(const ClusterChoice& choice, cli::Io& io) {
  if (!choice.cluster.empty() || !choice.hostfile.empty() || resolve::names_cluster(io.env)) return {};
  const auto world = resolve::find_stated_world(io.env);
  if (!world) return {};
  Error alone = resolve::alone_in(*world, "");
  const bool is_file = process::is_data_source(io.in_fd) && !process::has_reader(io.in_fd);
  if (!choice.workers && choice.jobs.empty() && !is_file) return fail(std::move(alone));
  if (!is_file) io.log.warning("{}", alone.message);
  return {};
}

}  // namespace

Result<cluster::ClusterConfig> find_cluster(const ClusterChoice& choice, cli::Io& io) {
  const bool is_own = choice.cluster == "none";  // with -n and --jobs it states what they say, too
  const bool has_cluster = (!choice.cluster.empty() && !is_own) || !choice.hostfile.empty();
  const int ways = (choice.workers ? 1 : 0) + (choice.jobs.empty() ? 0 : 1) + (has_cluster ? 1 : 0);
  if (ways > 1) return fail(Code::kUsage, "-n, --jobs and --cluster exclude each other: each names the tasks");
  TFD_TRY(check_alone(choice, io));
  if (choice.workers) return resolve::resolve_local({{"worker", static_cast<int>(*choice.workers)}}, std::nullopt);
  for (const std::string& warning : resolve::nearly_known_jobs(choice.jobs)) io.log.warning("{}", warning);
  if (!choice.jobs.empty())
    return resolve::resolve_local(TFD_TRY(cli::as_usage(resolve::parse_job_counts(choice.jobs), "--jobs")),
                                  std::nullopt);
  if (is_own) return resolve::resolve_local({{"worker", choice.fallback}}, std::nullopt);
  resolve::InputReader input(io.in_fd);
  const resolve::SpecSource source{.cluster = choice.cluster,
                                   .hostfile = choice.hostfile,
                                   .task = std::nullopt,
                                   .options = {"--cluster", "--hostfile"}};
  auto config = resolve::find_spec(source, input, io.env, Deadline::after(choice.join), io.log.for_room("resolve"));
  // kUsage is "no cluster spec" here, and then the default of -n holds.
  if (config || has_cluster || config.error().code != Code::kUsage) return config;
  return resolve::resolve_local({{"worker", choice.fallback}}, std::nullopt);
}

Result<SlurmMeeting> slurm_meeting(const Environment& env) {
  const auto number = [&env](const char* name) -> Result<std::int64_t> {
    if (!env.has(name))
      return fail(Code::kFailedPrecondition, "-n with --cluster slurm: {} isn't set: run it by srun, one for each node",
                  name);
    return TFD_TRY(parse_integer(env.get(name), 0, INT32_MAX), name);
  };
  // JAX's ports, above those that the system gives; its own for this job is half a turn away.
  constexpr std::int64_t kFirstPort = 61440, kPorts = 4096;
  const std::int64_t job = TFD_TRY(number("SLURM_JOB_ID")), step = TFD_TRY(number("SLURM_STEP_ID"));
  const std::int64_t launchers = TFD_TRY(number("SLURM_STEP_NUM_TASKS"));
  const auto hosts =
      TFD_TRY(resolve::expand_hostlist(env.get("SLURM_STEP_NODELIST"), Compat::kNone), "SLURM_STEP_NODELIST");
  if (hosts.empty()) return fail(Code::kFailedPrecondition, "SLURM_STEP_NODELIST isn't set: run it by srun");
  return SlurmMeeting{fmt::format("{}:{}", hosts.front(), kFirstPort + (job + 64 * step + kPorts / 2) % kPorts),
                      launchers};
}

}  // namespace tfd::tool_launch
