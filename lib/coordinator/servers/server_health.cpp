// SPDX-License-Identifier: Apache-2.0
#include "servers/server_health.hpp"

#include <utility>

namespace tfd::coordinator {

void ServerHealth::begin(std::size_t servers, std::optional<TransientLimits> limits, std::size_t workers) {
  away_since_.resize(servers);
  if (limits) transient_.emplace(*limits, static_cast<int>(workers));
}

Clock::time_point ServerHealth::away(std::size_t server, Clock::time_point now) {
  if (!away_since_[server]) away_since_[server] = now;
  return *away_since_[server];
}

bool ServerHealth::back(std::size_t server) { return std::exchange(away_since_[server], std::nullopt).has_value(); }

ServerHealth::Fence ServerHealth::judge(const Result<void>& fence, const std::string& server) {
  if (fence) return Fence::kAcknowledged;
  Error error = fence.error();
  if (error.code == Code::kPermissionDenied) return Fence::kRefused;
  if (error.task.empty()) error.task = server;
  const bool is_tried_again = transient_ ? transient_->pass(error) : error.code == Code::kUnavailable;
  return is_tried_again ? Fence::kRetry : Fence::kLost;
}

}  // namespace tfd::coordinator
