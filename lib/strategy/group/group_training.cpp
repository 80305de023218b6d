// SPDX-License-Identifier: Apache-2.0
#include "group_training.hpp"

#include "group_member.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/train/train_loop.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kTellAtLeast = std::chrono::milliseconds(200);  // interval of progress, where steps are short

/// The chief's driver: what its loop asks for becomes an act of all.
class ChiefDriver final : public train::StepDriver {
 public:
  ChiefDriver(const program::Program& program, const GroupTrainingOptions& options)
      : program_(program), options_(options), member_(program, options) {}

  train::TrainRole role() const override {
    return {.task = options_.group.members.front().first, .ends_with_others = true};
  }
  Result<train::StartResult> begin(const train::TrainStart& from) override {
    TFD_TRY(member_.begin(from));
    train::StartResult begun{.step = member_.trainer().step()};
    const std::int64_t elements = options_.device.train.epoch_elements;
    if (elements != 0 && program_.train->replicas == program::Replicas::kEach)  // a step takes one for each replica
      begun.steps = train::steps_over(elements, member_.replicas().all);
    return begun;
  }
  void describe(JsonLine& start) const override;
  Result<train::AdvanceResult> advance(train::StepControl& control) override;
  void wake() override { member_.interrupted(); }
  Result<train::EvaluationResult> evaluate(const variable::Checkpoint*) override {
    TFD_TRY(act({.act = GroupAct::kEvaluate}));
    step::MetricAccumulator sum;
    sum.add(TFD_TRY(member_.evaluate()));
    return train::EvaluationResult{member_.trainer().step(), sum.values()};
  }
  // What is saved is verified before, so that a checkpoint never has what one member alone holds to be right.
  Result<variable::Checkpoint> export_state() override {
    TFD_TRY(verify());
    return member_.trainer().export_state();
  }
  Result<void> import_state(const variable::Checkpoint& state) override {
    TFD_TRY(act({.act = GroupAct::kLoad}));
    return member_.load(state.state);
  }
  Result<void> use_averages() override {
    TFD_TRY(act({.act = GroupAct::kUseAverages}));
    return member_.use_averages();
  }
  Result<void> end() override {
    TFD_TRY(act({.act = GroupAct::kEnd, .is_interrupted = member_.is_interrupted()}));
    member_.leave();
    return {};
  }
  GroupMember& member() { return member_; }

 private:
  /// Announces what all do next, other than a step.
  Result<void> act(Notice notice) {
    TFD_TRY(member_.announce(std::move(notice)));
    if (TFD_TRY(member_.notices()).wants_stop()) ask_stop();
    return {};
  }
  Result<void> verify() {
    const std::int64_t step = member_.trainer().step();
    if (options_.verify_every == 0 || verified_ == step) return {};
    verified_ = step;
    TFD_TRY(act({.act = GroupAct::kVerify}));
    return member_.verify();
  }
  bool is_verified_after(std::int64_t step) const {
    return options_.verify_every > 0 && step % options_.verify_every == 0;
  }
  void ask_stop() {
    if (!member_.is_interrupted()) options_.device.train.interrupts->ask_stop();
  }
  Result<void> tell(train::StepControl& control) {
    if (counted_ == member_.trainer().step()) return {};
    const std::int64_t step = member_.trainer().step();
    const std::int64_t count = step - counted_;
    counted_ = step;
    told_ = Deadline::after(kTellAtLeast);
    return control.count({.step = step, .count = count, .metrics = TFD_TRY(member_.gather_metrics())});
  }

  const program::Program& program_;
  const GroupTrainingOptions& options_;
  GroupMember member_;
  std::int64_t counted_ = 0;    // steps
  std::int64_t verified_ = -1;  // the step after which the members' variables were compared last
  Deadline told_ = Deadline::after(kTellAtLeast);
};

void ChiefDriver::describe(JsonLine& start) const {
  start.add("workers", static_cast<std::int64_t>(member_.names().size())).add("worker", 0);
  start.add("replicas", member_.replicas().all);
  start.add_raw("devices",
                fmt::format("[\"{}\"]", fmt::join(function::names_of_devices(member_.trainer().engine()), "\", \"")));
}

Result<train::AdvanceResult> ChiefDriver::advance(train::StepControl& control) {
  counted_ = member_.trainer().step();
  const auto result = [&] { return train::AdvanceResult{.step = member_.trainer().step()}; };
  // Steps whose metrics aren't gathered yet are counted before anything else is done.
  const auto flush = [&]() -> Result<void> {
    if (counted_ == member_.trainer().step()) return {};
    TFD_TRY(act({.act = GroupAct::kTell}));
    return tell(control);
  };
  while (member_.trainer().step() < control.until() && control.ask() == train::LoopRequest::kContinue) {
    const std::int64_t next = member_.trainer().step() + 1;
    const bool tells = next >= control.until() || next >= control.next_log() || told_.expired();
    TFD_TRY(member_.announce({.act = GroupAct::kStep, .tells = tells}));
    const Notices notices = TFD_TRY(member_.notices());
    if (notices.wants_stop()) ask_stop();
    if (notices.is_cancelled()) {
      member_.keep_inputs();
      break;
    }
    if (!TFD_TRY(member_.make_step(notices))) {
      TFD_TRY(flush());
      auto ended = result();
      ended.end_of_data = Error{Code::kOutOfRange, "end of the data"};
      return ended;
    }
    if (tells) TFD_TRY(tell(control));
    if (is_verified_after(next)) TFD_TRY(verify());
  }
  TFD_TRY(flush());
  return result();
}

/// A member that isn't the chief: does what the chief announces, until its end.
Result<train::TrainSummary> follow(const program::Program& program, GroupMember& member) {
  train::TrainSummary summary;
  summary.first_step = member.trainer().step();
  summary.steps = program.train->steps;
  const auto begun = Clock::now();
  for (;;) {
    TFD_TRY(member.announce({}));
    const Notices notices = TFD_TRY(member.notices());
    const Notice& chief = notices.chief();
    if (chief.act == GroupAct::kStep && !notices.is_cancelled()) {
      const bool is_made = TFD_TRY(member.make_step(notices));
      if (is_made && chief.tells) TFD_TRY(member.gather_metrics());
      continue;
    }
    member.keep_inputs();
    switch (chief.act) {
      case GroupAct::kStep:
        break;
      case GroupAct::kTell:
        TFD_TRY(member.gather_metrics());
        break;
      case GroupAct::kEvaluate:
        if (const auto evaluated = member.evaluate(); !evaluated && evaluated.error().code != Code::kCancelled)
          return fail(evaluated.error());
        break;
      case GroupAct::kUseAverages:
        TFD_TRY(member.use_averages());
        break;
      case GroupAct::kLoad:
        TFD_TRY(member.load({}));
        break;
      case GroupAct::kVerify:
        TFD_TRY(member.verify());
        break;
      case GroupAct::kEnd:
        member.leave();
        summary.reason = chief.is_interrupted ? "interrupted" : "done";
        summary.step = member.trainer().step();
        summary.elapsed = Clock::now() - begun;
        return summary;
    }
  }
}

}  // namespace

Result<train::TrainSummary> train_in_group(const program::Program& program, GroupTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  auto& train = options.device.train;
  if (!train.interrupts) train.interrupts = std::make_shared<train::Interrupts>();
  if (options.group.rank == 0) {
    ChiefDriver driver(program, options);
    auto summary = train::run_train_loop(program, driver, train);
    if (!summary) driver.member().fail_all(summary.error());
    return summary;
  }
  GroupMember member(program, options);
  train.interrupts->on_ask([&] { member.interrupted(); });
  member.interrupted();
  auto summary = [&]() -> Result<train::TrainSummary> {
    TFD_TRY(member.begin({}));
    return follow(program, member);
  }();
  train.interrupts->on_ask({});
  if (!summary) member.fail_all(summary.error());
  return summary;
}

}  // namespace tfd::strategy
