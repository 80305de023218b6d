// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/tpu_plan.hpp"

#include <algorithm>
#include <compare>
#include <set>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::strategy {
namespace {

constexpr int kMostTasks = 1 << 20;

/// A core of the system, parsed from its name.
struct Core {
  std::string job;
  int task = 0;
  int index = 0;

  std::string name() const { return fmt::format("/job:{}/replica:0/task:{}/device:TPU:{}", job, task, index); }
  std::string host() const { return fmt::format("/job:{}/replica:0/task:{}/device:CPU:0", job, task); }
  friend auto operator<=>(const Core&, const Core&) = default;
};

/// Parses "/job:worker/replica:0/task:0/device:TPU:3", in which all but the device may be left out.
Result<Core> parse_core(const std::string& name) {
  Core core{"localhost", 0, 0};
  for (const std::string& part : split(name, '/')) {
    if (part.starts_with("job:")) core.job = part.substr(4);
    const bool is_task = part.starts_with("task:"), is_device = part.starts_with("device:TPU:");
    if (!is_task && !is_device) continue;
    const auto number = parse_integer(part.substr(part.rfind(':') + 1), 0, kMostTasks);
    if (!number) return fail(Code::kInvalidArgument, "'{}' is no name of a device", printable(name));
    (is_task ? core.task : core.index) = static_cast<int>(*number);
  }
  return core;
}

Result<std::vector<Core>> cores_of(const std::vector<std::string>& devices) {
  std::vector<Core> cores;
  for (const std::string& device : devices)
    if (device.find("device:TPU:") != std::string::npos) cores.push_back(TFD_TRY(parse_core(device)));
  if (cores.empty()) return fail(Code::kInvalidArgument, "the system has no TPU device");
  std::ranges::sort(cores);
  return cores;
}

}  // namespace

std::vector<std::string> TpuPlan::worker_devices() const {
  std::vector<std::string> out;
  for (const auto& replica : logical_devices) out.push_back(replica.front());
  return out;
}

Result<TpuPlan> plan_tpu(const std::vector<std::string>& devices, const std::optional<DeviceAssignment>& assignment) {
  const std::vector<Core> cores = TFD_TRY(cores_of(devices));
  std::set<std::string> hosts;
  for (const Core& core : cores) hosts.insert(core.host());
  const int cores_per_host = static_cast<int>(cores.size() / hosts.size());
  std::vector<std::vector<Core>> replicas;
  if (!assignment) {
    for (const Core& core : cores) replicas.push_back({core});
  } else {
    for (int replica = 0; replica < assignment->num_replicas(); ++replica) {
      replicas.emplace_back();
      for (int i = 0; i < assignment->num_cores_per_replica(); ++i) {
        const auto place = TFD_TRY(assignment->topology().find(assignment->coordinates(replica, i)));
        replicas.back().push_back({cores.front().job, place.task, place.ordinal});
      }
    }
  }
  if (replicas.empty()) return fail(Code::kInvalidArgument, "the device assignment has no replica");
  if (replicas.front().empty()) return fail(Code::kInvalidArgument, "the device assignment has replicas of no core");
  TpuPlan plan;
  for (const auto& replica : replicas) {
    auto& logical = plan.logical_devices.emplace_back();
    for (const Core& core : replica) {
      logical.push_back(core.name());
      plan.positions.push_back(core.task * cores_per_host + core.index);
    }
    const std::string host = replica.front().host();
    auto fed = std::ranges::find(plan.input_workers, host, &decltype(plan.input_workers)::value_type::first);
    if (fed == plan.input_workers.end()) fed = plan.input_workers.insert(fed, {host, {}});
    fed->second.push_back(logical.front());
  }
  plan.num_hosts = static_cast<int>(plan.input_workers.size());
  plan.num_replicas_per_host = cores_per_host;
  if (assignment)
    plan.num_replicas_per_host =
        std::min(plan.num_replicas_in_sync(), cores_per_host / assignment->num_cores_per_replica());
  return plan;
}

}  // namespace tfd::strategy
