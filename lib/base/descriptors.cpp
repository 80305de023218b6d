// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace tfd {
namespace {

constexpr std::uint64_t kBesides = 64;  // standard streams, files, ZeroMQ's own

rlim_t soft_at_start = 0;  // 0: it wasn't changed

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) soft_at_start = before;
}

void restore_descriptor_limit() {
  rlimit limit{};
  if (soft_at_start == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = soft_at_start;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> check_descriptors(std::uint64_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || connections + kBesides <= limit.rlim_cur) return {};
  return fail(Code::kResourceExhausted,
              "{} tasks need as many connections, but this process may have only {} files open; raise the limit "
              "(ulimit -Hn, LimitNOFILE=)",
              connections, static_cast<std::uint64_t>(limit.rlim_cur));
}

std::size_t share_of_descriptors(std::size_t most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(most, limit.rlim_cur / 4);
}

}  // namespace tfd
