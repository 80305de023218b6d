// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"

namespace tfd::launch {
namespace {

constexpr std::size_t kSmall = 64 * 1024;

/// The path of our control group, v2: the line "0::/a/b".
std::string control_group() {
  const auto text = load_file("/proc/self/cgroup", kSmall);
  if (!text) return "";
  for (const std::string& line : split(*text, '\n'))
    if (line.starts_with("0::")) return line.substr(3);
  return "";
}

/// CPUs of a cpu.max "QUOTA PERIOD", rounded up; `most` if it is "max" or absent.
int quota_of(const std::string& directory, int most) {
  const auto text = load_file(directory + "/cpu.max", kSmall);
  if (!text) return most;
  const char* const end = text->data() + text->size();
  std::int64_t quota = 0, period = 0;
  const auto first = std::from_chars(text->data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end) return most;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || period <= 0 || quota <= 0) return most;
  return static_cast<int>(std::clamp<std::int64_t>((quota + period - 1) / period, 1, most));
}

}  // namespace

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  // Every group up to the root may have a quota of its own.
  for (std::string group = control_group(); group.starts_with('/'); group.resize(group.rfind('/')))
    count = quota_of("/sys/fs/cgroup" + group, count);
  return std::max(count, 1);
}

Environment shared_environment(Environment env, int workers) {
  env.unset("NOTIFY_SOCKET");
  if (env.has("PJRT_NPROC")) return env;
  const int processors = usable_processors();
  env.set("PJRT_NPROC", std::to_string(std::max(1, processors / std::max(workers, 1))));
  env.set("TFD_PROCESSORS", std::to_string(processors));
  return env;
}

}  // namespace tfd::launch
