// SPDX-License-Identifier: Apache-2.0
#include "group_devices.hpp"

#include <algorithm>
#include <set>

#include "value_bytes.hpp"

namespace tfd::strategy {

MemberDevices devices_of(const function::Engine& engine) {
  MemberDevices out{.platform = engine.plugin().platform};
  std::set<int> processes;
  for (const function::DeviceInfo& one : engine.system_devices()) processes.insert(one.process_index);
  out.hosts = std::max(static_cast<int>(processes.size()), 1);
  for (const function::DeviceInfo& one : engine.devices()) out.ids.push_back(one.id);
  return out;
}

template <class Io>
void fields(Io& io, MemberDevices& devices) {
  io(devices.platform, devices.hosts, devices.ids);
}

std::string format_devices(const MemberDevices& devices) { return format_value(devices); }

Result<MemberDevices> parse_devices(std::string_view text) { return parse_value<MemberDevices>(text, "devices"); }

std::vector<std::vector<int>> join_devices(const std::vector<MemberDevices>& members, int logical_devices,
                                           std::string& why) {
  const auto hosts = static_cast<int>(members.size());
  const std::string& platform = members.front().platform;
  const auto each = static_cast<std::size_t>(logical_devices);
  const auto is_cpu = [](const MemberDevices& one) { return one.platform == "cpu" && one.hosts == 1; };
  why.clear();
  if (std::ranges::all_of(members, is_cpu)) return {};
  std::vector<std::vector<int>> out;
  std::set<int> seen;
  for (const MemberDevices& one : members) {
    if (one.platform != platform)
      why = fmt::format("some are of {}, others of {}", platform, one.platform);
    else if (one.hosts != hosts)
      why = fmt::format("the plug-in for {} sees those of {} of the {} processes", platform, one.hosts, hosts);
    for (std::size_t i = 0; i + each <= one.ids.size(); i += each)
      out.emplace_back(one.ids.begin() + static_cast<std::ptrdiff_t>(i),
                       one.ids.begin() + static_cast<std::ptrdiff_t>(i + each));
    for (const int id : one.ids)
      if (!seen.insert(id).second && why.empty()) why = fmt::format("two processes have device {}", id);
  }
  if (!why.empty()) out.clear();
  return out;
}

std::optional<std::string> why_not_over_hosts(const program::Program& program, StepMode step, int replicas,
                                              const std::string& platform) {
  if (step == StepMode::kThreads) return "--step threads";
  if (auto why_not = why_not_fused(program, replicas)) return why_not;
  if (!is_fused(step, program, replicas, platform)) return "on several CPUs a sum on the host is faster";
  const auto is_on_read = [](const program::VariableDef& one) {
    return one.synchronization == variable::Synchronization::kOnRead;
  };
  const auto found = std::ranges::find_if(program.variables, is_on_read);
  if (found == program.variables.end()) return std::nullopt;
  return fmt::format("'{}' is synchronized on read: each process has the copies of all replicas", found->name);
}

}  // namespace tfd::strategy
