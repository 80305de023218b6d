// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

// Below the ephemeral range, so that no client holds one by chance. Jobs share nodes: each (job, step) starts in a slot
// of its own. Neighbouring job ids are 8 slots apart, so 256 tasks a node of one don't reach the next; 8 and the number
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

}  // namespace

Result<SlurmPorts> SlurmPorts::choose(const Environment& env, const SlurmOptions& options, int most_per_host) {
  SlurmPorts ports;
  if (options.port_base) {
    ports.first_ = *options.port_base;
    if (ports.first_ != 0 && ports.first_ + most_per_host - 1 > 65535)
      return fail(Code::kInvalidArgument, "port base {} and {} tasks on a host pass port 65535", ports.first_,
                  most_per_host);
    return ports;
  }
  if (const std::string reserved = env.get("SLURM_STEP_RESV_PORTS"); !reserved.empty()) {
    ports.reserved_ = TFD_TRY(parse_reserved(reserved), "SLURM_STEP_RESV_PORTS");
    if (std::ssize(ports.reserved_) >= most_per_host) return ports;
    return fail(
        Code::kFailedPrecondition,
        "SLURM_STEP_RESV_PORTS reserves {} ports, but a host has {} tasks: give srun --resv-ports={}, or --port-base",
        ports.reserved_.size(), most_per_host, most_per_host);
  }
  ports.first_ = derive_first(env);
  ports.wraps_ = true;
  return ports;
}

int SlurmPorts::port(int local) const {
  if (!reserved_.empty()) return reserved_[static_cast<std::size_t>(local)];
  if (!wraps_) return first_ == 0 ? 0 : first_ + local;
  return first_ < kFirstPort ? first_ + local : kFirstPort + (first_ - kFirstPort + local) % kDerivedPorts;
}

}  // namespace tfd::resolve::detail
