#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A group without a training (--function, --predict, --evaluate): it forms, every member gets the chief's
// weights, and nobody leaves before the chief has written the results. Private to the room. Thread rule: one thread,
// which blocks.
#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "group_exchange.hpp"
#include "group_training.hpp"

namespace tfd::strategy {

class GroupCall {
 public:
  /// `function`: that the members' status names. All are borrowed.
  GroupCall(const program::Program& program, const std::string& function, const GroupTrainingOptions& options);

  /// Calls `body`, which joins first and ends last; what fails it ends the group's other members, too. An interruption,
  /// of any member, isn't an error: the summary says "interrupted".
  Result<train::TrainSummary> run(const std::function<Result<train::TrainSummary>()>& body);
  /// Forms the group; a lost member ends it, whatever GroupOptions::min_members is. Errors of Group::form();
  /// kInvalidArgument: members without a replica.
  Result<void> join();
  /// Waits until all are here, and leaves.
  Result<void> end();

  bool is_stopping() const { return train_.interrupts->stopping(); }
  /// True if this member was interrupted, or another one is lost. Cheap enough to be asked between batches.
  bool has_to_stop() const { return is_stopping() || group_->find_lost(); }
  /// Shared with the datasets: an interruption ends their waits.
  const std::shared_ptr<const command::CommandStop>& stop_data() const { return stop_data_; }
  collective::Communicator& communicator() { return group_->communicator(); }
  GroupExchange& exchange() { return *exchange_; }
  int rank() const { return group_->communicator().rank(); }
  bool is_chief() const { return rank() == 0; }
  /// Numbers what is exchanged, alike in all members.
  std::int64_t next_round() { return round_++; }
  /// The element that it is at, for the status.
  void at(std::int64_t element) { element_ = element; }

 private:
  void look();

  const program::Program& program_;
  const std::string& function_;
  const GroupTrainingOptions& options_;
  const train::TrainOptions& train_;
  const std::shared_ptr<const command::CommandStop> stop_data_ = std::make_shared<const command::CommandStop>();
  std::stop_source interruption_;
  std::atomic<std::int64_t> element_ = 0;
  std::int64_t round_ = 0;
  std::unique_ptr<group::Group> group_;
  std::unique_ptr<GroupExchange> exchange_;  // uses the group
};

}  // namespace tfd::strategy
