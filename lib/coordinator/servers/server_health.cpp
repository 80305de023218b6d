// SPDX-License-Identifier: Apache-2.0
#include "servers/server_health.hpp"

#include <utility>

namespace tfd::coordinator {

void ServerHealth::begin(std::size_t servers, std::optional<TransientLimits> limits, std::size_t workers) {
  away_.resize(servers);
  if (limits) transient_.emplace(*limits, static_cast<int>(workers));
}

Clock::time_point ServerHealth::away(std::size_t server, bool has_connection, Clock::time_point now) {
  Away& away = away_[server];
  if (away.since == Clock::time_point{}) away.since = now;
  away.has_connection = has_connection;
  return away.since;
}

ServerHealth::Return ServerHealth::back(std::size_t server) {
  const Away before = std::exchange(away_[server], {});
  if (before.since == Clock::time_point{}) return Return::kWasThere;
  return before.has_connection ? Return::kAnswers : Return::kReconnected;
}

ServerHealth::Fence ServerHealth::judge(const Result<void>& fence, const std::string& server) {
  if (fence) return Fence::kAcknowledged;
  Error error = fence.error();
  if (error.code == Code::kPermissionDenied) return Fence::kRefused;
  if (error.task.empty()) error.task = server;
  const bool is_tried_again = transient_ ? transient_->pass(error) : error.code == Code::kUnavailable;
  return is_tried_again ? Fence::kRetry : Fence::kLost;
}

}  // namespace tfd::coordinator
