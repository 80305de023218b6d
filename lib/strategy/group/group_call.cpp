// SPDX-License-Identifier: Apache-2.0
#include "group_call.hpp"

#include <numeric>

#include "group_messages.hpp"

namespace tfd::strategy {

GroupCall::GroupCall(const program::Program& program, const std::string& function, const GroupTrainingOptions& options)
    : program_(program), function_(function), options_(options), train_(options.device.train) {}

Result<train::TrainSummary> GroupCall::run(const std::function<Result<train::TrainSummary>()>& body) {
  train_.interrupts->on_ask([this] { look(); });
  look();
  auto summary = body();
  train_.interrupts->on_ask({});
  if (summary) return summary;
  const std::string& own = options_.group.members[static_cast<std::size_t>(options_.group.rank)].first;
  if (group_) group_->cancel(named(summary.error(), own));
  if (summary.error().code != Code::kCancelled) return summary;
  if ((!is_stopping() || !group_) && train_.say) train_.say(summary.error().message);
  return train::TrainSummary{.reason = "interrupted"};
}

void GroupCall::look() {
  if (!is_stopping()) return;
  interruption_.request_stop();
  stop_data_->request();
}

Result<void> GroupCall::join() {
  group::GroupOptions with = options_.group;
  with.min_members = with.max_members = 0;
  with.interruption = interruption_.get_token();
  with.devices = options_.device.replicas;
  with.describe = [this](task::TaskStatus& status) {
    status.program = program_.path;
    status.doing = fmt::format("{}, element {}", function_, element_.load());
  };
  group_ = TFD_TRY(group::Group::form(std::move(with), Deadline::after(options_.join)));
  const std::vector<int>& devices = group_->devices();
  const int replicas = options_.replicas > 0 ? options_.replicas : std::accumulate(devices.begin(), devices.end(), 0);
  const int members = group_->communicator().size();
  TFD_TRY(check_replicas(replicas, members, false, {}));
  exchange_ = std::make_unique<GroupExchange>(group_->communicator(), share_replicas(replicas, members),
                                              options_.step_timeout, options_.bucket_bytes);
  return {};
}

Result<void> GroupCall::end() {
  TFD_TRY(group_->communicator().barrier("end", next_round(), Deadline::after(options_.step_timeout)));
  group_->leave();
  return {};
}

}  // namespace tfd::strategy
