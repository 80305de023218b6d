// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

// Below the ephemeral range, so that no client holds one by chance. Jobs share nodes: each (job, step) starts in a slot
// of its own. Consecutive job ids are 8 slots apart, so 256 tasks a node of one don't reach the next; 8 and the number
// of slots have no common divisor, so 711 consecutive jobs of up to 32 tasks a node never meet; steps move by 3.
constexpr int kFirstPort = 10000;
constexpr int kSlotPorts = 32;
constexpr int kSlots = 711;
constexpr int kJobStride = 8;
constexpr int kStepStride = 3;
constexpr int kDerivedPorts = kSlots * kSlotPorts;
constexpr int kUsualPort = 8888;  // where there is no job id: not started by Slurm

int derive_first(const Environment& env) {
  const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto value = parse_integer(env.get(name), 0, std::numeric_limits<std::uint32_t>::max());
    return value ? std::optional(*value) : std::nullopt;
  };
  auto job = number("SLURM_JOB_ID");
  if (!job) job = number("SLURM_JOBID");
  if (!job) return kUsualPort;
  std::int64_t step = number("SLURM_STEP_ID").value_or(0);
  if (step >= 0xfffffff0) step = 0;  // batch and interactive steps: as the first srun will see it
  return kFirstPort + kSlotPorts * static_cast<int>((*job * kJobStride + step * kStepStride) % kSlots);
}

/// "31001-31004", "31001,31005-31007".
Result<std::vector<int>> parse_reserved(std::string_view text) {
  const std::string list = text.starts_with('[') ? std::string(text) : fmt::format("[{}]", text);
  std::vector<int> ports;
  for (const std::string& port : TFD_TRY(expand_hostlist(list, Compat::kNone))) {
    const auto number = parse_integer(port, 1, 65535);
    if (!number) return fail(Code::kInvalidArgument, "port {} out of range", printable(port));
    ports.push_back(static_cast<int>(*number));
  }
  return ports;
}

/// Every component has reserved ports on its own hosts, usually one more than its fullest host has tasks, and the
/// variable lists them all. Where they aren't enough for that, all take the first ones.
std::vector<std::size_t> share_reserved(std::ptrdiff_t count, const std::vector<int>& most_per_host) {
  std::ptrdiff_t needed = 0, used = 0;
  for (const int most : most_per_host) {
    needed += most;
    used += most > 0 ? 1 : 0;
  }
  std::vector<std::size_t> offsets(most_per_host.size(), 0);
  if (count < needed) return offsets;
  const std::ptrdiff_t spare = (count - needed) / used;
  std::ptrdiff_t at = 0;
  for (std::size_t i = 0; i < most_per_host.size(); ++i) {
    offsets[i] = static_cast<std::size_t>(at);
    if (most_per_host[i] > 0) at += most_per_host[i] + spare;
  }
  return offsets;
}

}  // namespace

Result<SlurmPorts> SlurmPorts::choose(const Environment& env, const SlurmOptions& options,
                                      const std::vector<int>& most_per_host) {
  SlurmPorts ports;
  const int most = *std::max_element(most_per_host.begin(), most_per_host.end());
  if (options.port_base) {
    ports.first_ = *options.port_base;
    if (ports.first_ != 0 && ports.first_ + most - 1 > 65535)
      return fail(Code::kInvalidArgument, "port base {} and {} tasks on a host pass port 65535", ports.first_, most);
    return ports;
  }
  if (const std::string reserved = env.get("SLURM_STEP_RESV_PORTS"); !reserved.empty()) {
    ports.reserved_ = TFD_TRY(parse_reserved(reserved), "SLURM_STEP_RESV_PORTS");
    ports.offsets_ = share_reserved(std::ssize(ports.reserved_), most_per_host);
    if (std::ssize(ports.reserved_) >= most) return ports;
    return fail(
        Code::kFailedPrecondition,
        "SLURM_STEP_RESV_PORTS reserves {} ports, but a host has {} tasks: give srun --resv-ports={}, or --port-base",
        ports.reserved_.size(), most, most);
  }
  ports.first_ = derive_first(env);
  ports.wraps_ = true;
  return ports;
}

int SlurmPorts::port(int component, int local) const {
  if (!reserved_.empty())
    return reserved_[offsets_[static_cast<std::size_t>(component)] + static_cast<std::size_t>(local)];
  if (!wraps_) return first_ == 0 ? 0 : first_ + local;
  return first_ < kFirstPort ? first_ + local : kFirstPort + (first_ - kFirstPort + local) % kDerivedPorts;
}

}  // namespace tfd::resolve::detail
