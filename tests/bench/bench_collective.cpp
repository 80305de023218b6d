// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce of f32 among processes of this host, by shared memory and over TCP, plain and encrypted. CPU time is
// that of one process per all-reduce: comparable on a busy machine too, where latencies aren't.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tfd/base/units.hpp"
#include "tfd/collective/communicator.hpp"

namespace {

using namespace tfd;
using collective::EngineKind;

double seconds_of_cpu() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

Result<void> measure(collective::Communicator& communicator, const std::string& way, std::int64_t bytes) {
  std::vector<float> values(static_cast<std::size_t>(bytes) / 4);
  auto* const data = reinterpret_cast<std::byte*>(values.data());
  const tensor::SumPart part{.leaves = {communicator.rank(), 1}, .data = data};
  collective::SumLayout layout{communicator.size(), {}, {}};
  for (int i = 0; i < communicator.size(); ++i) layout.shares.push_back({i, 1});
  const std::int64_t count = std::clamp<std::int64_t>((64 << 20) / bytes, 3, 2000);
  std::vector<double> times;
  double before = 0;
  for (std::int64_t i = -3; i < count; ++i) {
    if (i == 0) before = seconds_of_cpu();
    const auto began = Clock::now();
    TFD_TRY(communicator.all_reduce({"w", i, {tensor::DType::kF32, {bytes / 4}}}, layout, {&part, 1}, data,
                                    Deadline::after(std::chrono::seconds(60))));
    if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
  }
  const double cpu = (seconds_of_cpu() - before) / static_cast<double>(count) * 1e6;
  std::ranges::sort(times);
  if (communicator.rank() == 0)
    fmt::print("{:<14} {} processes {:>8}  median {:>10.1f} us  least {:>10.1f} us  cpu {:>10.1f} us\n", way,
               communicator.size(), format_bytes({static_cast<std::uint64_t>(bytes)}), times[times.size() / 2],
               times.front(), cpu);
  std::fflush(stdout);
  return {};
}

int run(collective::Members members, collective::Listener* listener, EngineKind engine, const std::string& way) {
  const auto communicator = connect(std::move(members), listener, engine, Deadline::after(std::chrono::seconds(60)));
  if (!communicator) {
    fmt::print(stderr, "{}\n", communicator.error().message);
    return 1;
  }
  for (const std::int64_t bytes : {4LL << 10, 64LL << 10, 1LL << 20, 16LL << 20, 128LL << 20})
    if (const auto done = measure(**communicator, way, bytes); !done) {
      fmt::print(stderr, "{}\n", done.error().message);
      return 1;
    }
  return 0;
}

/// A process for each member.
bool run_group(int size, EngineKind engine, bool is_encrypted, const std::string& way) {
  collective::Members members{.generation = 1, .rank = 0, .all = {}, .secret = {}, .is_encrypted = is_encrypted};
  std::vector<std::unique_ptr<collective::Listener>> listeners;
  for (int i = 0; i < size; ++i) {
    listeners.push_back(collective::Listener::bind("127.0.0.1").value());
    members.all.push_back({fmt::format("worker:{}", i), "this", listeners.back()->address()});
  }
  std::vector<pid_t> children;
  for (int i = 0; i < size; ++i) {
    members.rank = i;
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(run(members, listeners[static_cast<std::size_t>(i)].get(), engine, way));
  }
  bool is_good = true;
  for (const pid_t child : children) {
    int status = 0;
    is_good = ::waitpid(child, &status, 0) == child && status == 0 && is_good;
  }
  return is_good;
}

}  // namespace

int main() {
  bool is_good = true;
  for (const int size : {2, 4}) {
    is_good = run_group(size, EngineKind::kShm, false, "shared memory") && is_good;
    is_good = run_group(size, EngineKind::kTcp, false, "tcp") && is_good;
    is_good = run_group(size, EngineKind::kTcp, true, "tcp, encrypted") && is_good;
  }
  return is_good ? 0 : 1;
}
