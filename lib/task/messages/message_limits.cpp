// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/messages.hpp"

#include <unistd.h>

#include <algorithm>

namespace tfd::task {

void allow_large_messages(transport::EndpointOptions& options) {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  const std::uint64_t half = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / 2;
  options.max_message_bytes = std::max(options.max_message_bytes, half);
  options.max_peer_bytes = std::max(options.max_peer_bytes, half);
}

}  // namespace tfd::task
