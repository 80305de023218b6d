// SPDX-License-Identifier: Apache-2.0
#include "run/devices.hpp"

#include <algorithm>

#include "plugin_options.hpp"
#include "run/tpu_devices.hpp"
#include "tfd/launch/processors.hpp"

namespace tfd::run {

Result<Devices> find_devices(const Asked& a, int processes, const cli::Io& io) {
  keep_plugins_quiet();  // the plug-in may be asked for its devices
  // XLA counts the processors itself, but doesn't look at their quota.
  if (!io.env.has("PJRT_NPROC") && !io.env.has("NPROC")) use_xla_threads(launch::usable_processors());
  if (a.has_topology()) {
    auto asked = a.tpu;
    asked.plans = a.explain;
    asked.hosts = std::max(processes, 1);
    if (asked.plans && !asked.topology.empty()) keep_plugins_from_looking();
    auto found = TFD_TRY(run::choose_tpu_devices(asked, io.env));
    return Devices{std::move(found.choice), std::move(found.plan)};
  }
  const int replicas = processes > 0 ? 1 : std::max(a.replicas, 1);
  auto choice = a.devices.empty() ? function::first_devices(replicas) : TFD_TRY(choose_devices(io.env, a.devices));
  if (a.kind != nullptr && a.kind->has_one_replica && choice.positions.size() > 1)
    return fail(Code::kUsage, "{} {}: --strategy {} has one replica", a.devices.empty() ? "--replicas" : "--devices",
                a.devices.empty() ? std::to_string(a.replicas) : a.devices, a.strategy);
  return Devices{std::move(choice)};
}

int workers_of(const cluster::ClusterSpec& cluster) {
  int workers = 0;
  for (const char* const job : {"chief", "worker"}) workers += cluster.num_tasks(job).value_or(0);
  return workers;
}

int replicas_of(const Asked& a, const function::DeviceChoice& devices,
                const std::optional<cluster::ClusterConfig>& group) {
  if (!group || group->cluster.empty()) return devices.replicas();
  if (a.replicas > 0) return a.replicas;
  return std::max(workers_of(group->cluster), 1) * devices.replicas();
}

}  // namespace tfd::run
