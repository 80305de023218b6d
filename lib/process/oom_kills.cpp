// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/oom_kills.hpp"

#include <csignal>
#include <filesystem>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::process {
namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup", kCount = "oom_kill ";
constexpr std::size_t kMostBytes = 64 * 1024;

std::string find_oom_file() {
  const auto cgroups = load_file("/proc/self/cgroup", kMostBytes);
  if (!cgroups) return {};
  std::string path = oom_file_of(*cgroups);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path;
  // A container may see its own group as the root, and be told the path that the host has for it.
  return path.ends_with("memory.events") ? fmt::format("{}/memory.events", kMount)
                                         : fmt::format("{}/memory/memory.oom_control", kMount);
}

}  // namespace

std::string oom_file_of(std::string_view cgroups) {
  std::string unified;
  for (const std::string& line : split(cgroups, '\n')) {  // ID:CONTROLLERS:PATH
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    for (const std::string& controller : split(controllers, ','))
      if (controller == "memory")
        return fmt::format("{}/memory{}/memory.oom_control", kMount, group == "/" ? "" : group);
    if (controllers.empty()) unified = fmt::format("{}{}/memory.events", kMount, group == "/" ? "" : group);
  }
  return unified;
}

OomKills::OomKills() : OomKills(find_oom_file()) {}
OomKills::OomKills(std::string path) : path_(std::move(path)), explained_(count()) {}

std::uint64_t OomKills::count() const {
  const auto text = path_.empty() ? Result<std::string>("") : load_file(path_, kMostBytes);
  if (!text) return explained_;
  for (const std::string& line : split(*text, '\n'))
    if (line.starts_with(kCount))
      return static_cast<std::uint64_t>(parse_integer(line.substr(kCount.size()), 0, INT64_MAX).value_or(0));
  return explained_;
}

ExitStatus OomKills::explain(ExitStatus status) {
  status.is_oom = status.signal == SIGKILL && count() > explained_;
  if (status.is_oom) ++explained_;
  return status;
}

}  // namespace tfd::process
