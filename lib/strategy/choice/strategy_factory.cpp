// SPDX-License-Identifier: Apache-2.0
//
// Strategy::make(): its replicas are of this process, or of several.
#include <set>

#include "group/process_replicas.hpp"
#include "tfd/strategy/strategy.hpp"

namespace tfd::strategy {
namespace {

Result<void> check_devices(const StrategyOptions& options) {
  const auto& positions = options.devices.positions;
  const std::string_view name = options.kind->name;
  if (options.kind->variables == VariablePlace::kServers)
    return fail(Code::kInvalidArgument, "{} is no strategy of this process's devices", name);
  if (options.devices.replicas() < 1) return fail(Code::kInvalidArgument, "{}: no device to run a replica on", name);
  if (options.kind->has_one_replica && options.devices.replicas() > 1)
    return fail(Code::kInvalidArgument, "{} has one replica, not {}", name, options.devices.replicas());
  if (std::set<int>(positions.begin(), positions.end()).size() != positions.size())
    return fail(Code::kInvalidArgument, "{}: a device is there twice: {}", name, fmt::join(positions, ", "));
  if (options.kind->has_topology != options.tpu.has_value())
    return fail(Code::kInvalidArgument, "{}: {} plan of a TPU system", name, options.tpu ? "needs no" : "needs the");
  if (options.tpu && options.tpu->positions != positions)
    return fail(Code::kInvalidArgument, "{}: the plan is about the devices {}, not {}", name,
                fmt::join(options.tpu->positions, ", "), fmt::join(positions, ", "));
  return {};
}

Result<std::unique_ptr<ReplicaGroup>> make_group(const StrategyOptions& options) {
  const int replicas = options.devices.replicas();
  if (options.kind != &kMultiWorkerMirroredKind) return make_local_replicas(replicas);
  const auto* const cluster = options.cluster_resolver ? &*options.cluster_resolver : nullptr;
  return make_process_replicas(cluster, replicas, options.compat, options.communication);
}

}  // namespace

Result<std::unique_ptr<Strategy>> Strategy::make(StrategyOptions options) {
  TFD_TRY(check_devices(options));
  auto group = TFD_TRY(make_group(options), options.kind->name);
  return std::unique_ptr<Strategy>(new Strategy(std::move(options), std::move(group)));
}

}  // namespace tfd::strategy
