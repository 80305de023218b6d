#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the chief and its followers do alike: join, get the state, make a step. Private to the room. Thread rule: one
// thread.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_trainer.hpp"
#include "group_exchange.hpp"
#include "group_training.hpp"

namespace tfd::strategy {

class GroupMember {
 public:
  /// `program` and `options` are borrowed.
  GroupMember(const program::Program& program, const GroupTrainingOptions& options)
      : program_(program), options_(options), trainer_(program, options.device) {}

  /// Joins the group, and begins with the chief's state, which followers get. `from`: the chief's.
  Result<void> begin(const train::TrainStart& from);
  bool is_chief() const { return options_.group.rank == 0; }
  DeviceTrainer& trainer() { return trainer_; }
  const DeviceTrainer& trainer() const { return trainer_; }
  const step::ReplicaRange& replicas() const { return exchange_->range(); }
  const std::vector<std::string>& names() const { return names_; }
  /// Step that this member is at, for other threads.
  std::int64_t step_now() const { return step_now_; }

  /// Announces what the chief does next, and for a step what this member has for it: it takes the inputs first, and
  /// announces their error if it can't.
  Result<void> announce(Notice notice);
  /// Waits for what all announced. Errors of the members, the first one in all. The step that this member announced is
  /// computed meanwhile, since it is nearly always the one that all make.
  Result<Notices> notices();
  /// Makes the step that notices() agreed on. False: no member has data; nothing is made.
  Result<bool> make_step(const Notices& notices);
  /// Keeps inputs that were announced for the next step, since it isn't made now.
  void keep_inputs();

  /// Metrics of this member's replicas since the last time, and of all members; those of the chief come first.
  Result<std::vector<step::Metric>> gather_metrics();
  Result<std::vector<step::Metric>> evaluate();
  /// The chief's state for all; followers get it.
  Result<void> load(task::NamedState state);
  /// Compares the members' variables and slots, which are equal by construction. kInternal, the same in all, names what
  /// differs and whose it is: memory or a processor is at fault.
  Result<void> verify();
  Result<void> use_averages() { return trainer_.use_averages(); }

  /// Tells the others why this member ends.
  void fail_all(const Error& error);
  void leave() {
    if (group_) group_->leave();
  }
  /// Ends waits, if the training is to stop. For any thread.
  void interrupted();
  bool is_interrupted() const { return options_.device.train.interrupts->stopping(); }

 private:
  Result<void> join();
  /// Shares the training's replicas: as many as are stated, else as in the chief's checkpoint, else one a device.
  Result<void> share(const variable::Checkpoint* from);
  Result<std::vector<step::Metric>> gather(std::string_view what, const std::vector<step::Metric>& own);

  const program::Program& program_;
  const GroupTrainingOptions& options_;
  DeviceTrainer trainer_;  // before the exchange, which it borrows, is made; it uses none when it goes
  std::unique_ptr<task::Group> group_;
  std::unique_ptr<GroupExchange> exchange_;
  std::vector<std::string> names_;
  std::stop_source interruption_;
  std::int64_t round_ = 0;                                 // of announcements, and of what follows them
  std::optional<Result<DeviceSteps::Inputs>> inputs_;      // that were announced
  std::optional<Result<DeviceSteps::Computed>> computed_;  // of these inputs, with the current variables
  step::MetricAccumulator metrics_;                        // since the last gathering
  std::atomic<std::int64_t> step_now_ = 0;
};

}  // namespace tfd::strategy
