// SPDX-License-Identifier: Apache-2.0
#include "group_devices.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace tfd::strategy {

using Json = nlohmann::ordered_json;

MemberDevices devices_of(const function::Engine& engine) {
  MemberDevices out{.platform = engine.plugin().platform};
  std::set<int> processes;
  for (const function::DeviceInfo& one : engine.system_devices()) processes.insert(one.process_index);
  out.hosts = std::max(static_cast<int>(processes.size()), 1);
  for (const function::DeviceInfo& one : engine.devices()) out.ids.push_back(one.id);
  return out;
}

std::string format_devices(const MemberDevices& devices) {
  return Json{{"platform", devices.platform}, {"hosts", devices.hosts}, {"ids", devices.ids}}.dump();
}

Result<MemberDevices> parse_devices(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto malformed = [] { return fail(Code::kProtocolMismatch, "malformed devices"); };
  if (!json.is_object() || !json.contains("platform") || !json.contains("hosts") || !json.contains("ids"))
    return malformed();
  if (!json["platform"].is_string() || !json["hosts"].is_number_integer() || !json["ids"].is_array())
    return malformed();
  MemberDevices out{json["platform"].get<std::string>(), json["hosts"].get<int>(), {}};
  for (const Json& id : json["ids"]) {
    if (!id.is_number_integer()) return malformed();
    out.ids.push_back(id.get<int>());
  }
  return out;
}

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
