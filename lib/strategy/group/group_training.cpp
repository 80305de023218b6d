// SPDX-License-Identifier: Apache-2.0
#include "group_training.hpp"

#include <thread>

#include "group_member.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/train/train_loop.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kTellAtLeast = std::chrono::milliseconds(200);   // interval of progress, where steps are short
constexpr Duration kEndsTogether = std::chrono::milliseconds(300);  // until the last of all is told to end
constexpr Duration kLastAnswers = std::chrono::milliseconds(300);   // to others who have just lost the same member

/// The chief's driver: what its loop asks for becomes an act of all. Where members may be lost, an act that one of them
/// didn't live to see is done again with those that are left.
class ChiefDriver final : public train::StepDriver {
 public:
  ChiefDriver(const program::Program& program, const GroupTrainingOptions& options, GroupMember& member)
      : program_(program), options_(options), member_(member) {}

  train::TrainRole role() const override {
    const auto& members = options_.group.members;
    return {.task = members[static_cast<std::size_t>(options_.group.rank)].first,
            .evaluates = !options_.has_evaluator || program_.train->stop.has_value(),
            .keeps_best = !options_.has_evaluator,
            .ends_with_others = true,
            .has_gradient_norm = !options_.on_host};
  }
  Result<train::StartResult> begin(const train::TrainStart& from) override;
  void describe(JsonLine& start) const override;
  Result<train::AdvanceResult> advance(train::StepControl& control) override {
    counted_ = member_.trainer().step();
    auto made = survive([&] { return make_steps(control); });
    if (made) return made;
    is_ended_ = made.error().code == Code::kCancelled && !made.error().task.empty();  // by another one's interruption
    if (!is_alone()) return fail(member_.located(made.error()));
    give_up(made.error());
    return train::AdvanceResult{.step = member_.trainer().step()};
  }
  std::optional<train::StepTime> step_time() const override {
    return member_.trainer().is_open() ? member_.trainer().steps().step_time() : std::nullopt;
  }
  std::int64_t steps_made() const override { return member_.trainer().is_open() ? member_.trainer().step() : 0; }
  void wake() override { member_.interrupted(); }
  Result<train::EvaluationResult> evaluate(const variable::Checkpoint*) override {
    for (;;) {
      auto evaluated = survive([&]() -> Result<train::EvaluationResult> {
        TFD_TRY(act({.act = GroupAct::kEvaluate}));
        step::MetricAccumulator sum;
        sum.add(TFD_TRY(member_.evaluate()));
        return train::EvaluationResult{member_.trainer().step(), sum.values()};
      });
      if (!evaluated && member_.is_left_alone()) {
        give_up(evaluated.error());
        return fail(Code::kCancelled, "{}", evaluated.error().message);
      }
      if (evaluated || evaluated.error().code != Code::kCancelled || member_.is_interrupted()) return evaluated;
      TFD_TRY(survive([&] { return part(); }));  // another one was
      if (stops_all_) return evaluated;
    }
  }
  // Values are verified before they are saved, so that a checkpoint never has values that only one member holds, unless
  // it is the only one that is left.
  Result<variable::Checkpoint> export_state() override {
    if (!is_alone())
      if (auto verified = survive([&] { return verify(); }); !verified) {
        if (!member_.is_left_alone()) return fail(std::move(verified).error());
        give_up(verified.error());
      }
    auto checkpoint = TFD_TRY(member_.trainer().export_state());
    checkpoint.writer = member_.writer();
    return checkpoint;
  }
  std::optional<variable::CheckpointWriter> writer() const override { return member_.writer(); }
  Result<void> save_elsewhere(const variable::Checkpoint& checkpoint) override {
    if (is_alone()) return {};
    return survive([&]() -> Result<void> {
      if (!member_.are_saved_elsewhere()) return {};
      TFD_TRY(act({.act = GroupAct::kSave}));
      return member_.save_on_hosts(checkpoint.run);
    });
  }
  Result<void> import_state(const variable::Checkpoint& state) override {
    return survive([&]() -> Result<void> {
      TFD_TRY(act({.act = GroupAct::kLoad}));
      return member_.load(state.state);
    });
  }
  Result<void> use_averages() override {
    return survive([&]() -> Result<void> {
      TFD_TRY(act({.act = GroupAct::kUseAverages}));
      return member_.use_averages();
    });
  }
  // A member that is lost now has made all steps.
  Result<void> end() override {
    if (is_alone()) return {};
    const auto told = act({.act = GroupAct::kEnd, .is_interrupted = member_.is_interrupted()});
    if (!told && !member_.survives(told.error())) return fail(told.error());
    if (!member_.is_interrupted()) member_.say_done();
    member_.leave();
    return {};
  }
  Result<bool> hand_over() override {
    if (stops_all_ || is_alone()) return false;
    const auto parted = part(true);
    if (!parted && !member_.survives(parted.error())) return fail(parted.error());
    if (!stops_all_) member_.leave();
    return !stops_all_;
  }
  bool was_replaced() const override { return was_replaced_; }
  std::int64_t first_step() const { return first_step_; }
  void show(const std::string& standing) override { member_.show(standing); }
  void wait_for_disk(bool waits) override { member_.does(waits ? Doing::kSaving : Doing::kStep); }
  Result<void> tell_news(train::StepControl& control) override {
    for (const train::WorkerEvent& one : std::exchange(news_, {})) TFD_TRY(control.worker_changed(one));
    return {};
  }

 private:
  /// Does it until it succeeds, or fails of something else than a lost member.
  template <class Act>
  auto survive(const Act& act) -> decltype(act()) {
    for (;;) {
      auto result = act();
      if (result || !member_.survives(result.error())) return result;
      TFD_TRY(regroup(result.error()));
    }
  }
  /// True once there are no other members to do anything with.
  bool is_alone() const { return is_ended_ || member_.is_left_alone(); }
  /// `why`, `leavers`: as GroupMember::regroup().
  Result<void> regroup(const Error& why, const std::vector<std::string>& leavers = {});
  /// Announces what all do next, other than a step.
  Result<Notices> act(Notice notice) {
    TFD_TRY(member_.announce(std::move(notice)));
    auto notices = TFD_TRY(member_.notices());
    heed(notices);
    return notices;
  }
  Result<void> verify() {
    const std::int64_t step = member_.trainer().step();
    if (options_.verify_every == 0 || verified_ == step) return {};
    TFD_TRY(act({.act = GroupAct::kVerify}));
    TFD_TRY(member_.verify());
    verified_ = step;
    return {};
  }
  bool is_verified_after(std::int64_t step) const {
    return options_.verify_every > 0 && step % options_.verify_every == 0;
  }
  /// All stop if a member was interrupted, where none may leave.
  void heed(const Notices& notices) {
    if (options_.group.min_members == 0 && notices.wants_stop()) stop_all();
  }
  /// Has interrupted members leave, `leaves`: this member with them; or all stop, if too few would be left.
  /// A signal to one task may be the first of signals to all: the first to leave mustn't hand over to the rest.
  Result<void> part(bool leaves = false) {
    if (!member_.may_leave()) {
      stop_all();
      return {};
    }
    std::this_thread::sleep_for(kEndsTogether);
    TFD_TRY(act({.act = GroupAct::kAsk}));
    return regroup_all(leaves);
  }
  /// The same with all members that know by now that they were interrupted; if none was, newcomers join the others.
  /// Nothing is done if this member was interrupted meanwhile: the caller hands over then, so that all end if all
  /// are to.
  Result<void> regroup_all(bool leaves = false) {
    if (!leaves && member_.is_interrupted()) return {};
    const Notices notices = TFD_TRY(act({.act = GroupAct::kRegroup, .wants_stop = leaves}));
    switch (member_.parting(notices)) {
      case Parting::kNone:
        stop_all();
        return {};
      case Parting::kLeaves:
        return {};
      case Parting::kGoesOn:
        return regroup({Code::kCancelled, "it was interrupted", {}}, member_.leavers(notices));
    }
    return {};
  }
  /// Too few are left: what they all have made is saved here.
  void give_up(const Error& why) {
    if (options_.device.train.say) options_.device.train.say(why.message);
    stop_all();
  }
  void stop_all() {
    stops_all_ = true;
    if (!member_.is_interrupted()) options_.device.train.interrupts->ask_stop();
  }
  Result<train::AdvanceResult> make_steps(train::StepControl& control);
  /// Gathers the metrics of the steps that aren't counted yet, and counts them.
  Result<void> tell(train::StepControl& control) {
    const std::int64_t step = member_.trainer().step();
    auto metrics = TFD_TRY(member_.gather_metrics());
    const std::int64_t count = step - counted_;
    counted_ = step;
    told_ = Deadline::after(kTellAtLeast);
    return control.count({.step = step, .count = count, .metrics = std::move(metrics)});
  }
  // Steps whose metrics aren't gathered yet are counted before anything else is done.
  Result<void> flush(train::StepControl& control) {
    if (counted_ == member_.trainer().step()) return {};
    TFD_TRY(act({.act = GroupAct::kTell}));
    return tell(control);
  }

  const program::Program& program_;
  const GroupTrainingOptions& options_;
  GroupMember& member_;
  std::vector<train::WorkerEvent> news_;  // members that left, and came
  std::int64_t first_step_ = 0;           // of this driver
  bool was_replaced_ = false;             // the group went on without this member, which is one of the others now
  bool stops_all_ = false;                // after more interruptions than the group can bear
  bool is_ended_ = false;                 // another member's interruption has ended all at once
  std::int64_t counted_ = 0;              // steps
  std::int64_t verified_ = -1;            // the step after which the members' variables were compared last
  Deadline told_ = Deadline::after(kTellAtLeast);
};

Result<train::StartResult> ChiefDriver::begin(const train::TrainStart& from) {
  const bool goes_on = member_.trainer().is_open();  // this member follows the chief that was lost
  if (!goes_on) TFD_TRY(member_.begin(from));
  train::StartResult begun{.step = member_.trainer().step(), .replicas = member_.replicas().all};
  begun.adopted = goes_on || begun.step != from.step;
  first_step_ = begun.step;
  const std::int64_t elements = options_.device.train.epoch_elements;
  if (elements != 0 && program_.train->replicas == program::Replicas::kEach)  // a step takes one for each replica
    begun.steps = train::steps_over(elements, member_.replicas().all);
  return begun;
}

Result<void> ChiefDriver::regroup(const Error& why, const std::vector<std::string>& leavers) {
  const MemberChanges changes = TFD_TRY(member_.regroup(why, leavers));
  for (const auto& [name, loss] : changes.gone)
    news_.push_back({.task = name, .lost = true, .reason = loss.empty() ? why.message : loss, .is_said = true});
  for (const std::string& name : changes.come) news_.push_back({.task = name, .is_said = true});
  if (member_.is_chief()) return {};
  was_replaced_ = true;
  return fail(Code::kAborted, "the group went on without this process: {} decides now, and this one follows",
              member_.names().front());
}

void ChiefDriver::describe(JsonLine& start) const {
  start.add("workers", static_cast<std::int64_t>(member_.names().size())).add("worker", 0);
  start.add("replicas", member_.replicas().all);
  start.add_raw("devices",
                fmt::format("[\"{}\"]", fmt::join(function::names_of_devices(member_.trainer().engine()), "\", \"")));
}

Result<train::AdvanceResult> ChiefDriver::make_steps(train::StepControl& control) {
  const auto result = [&] { return train::AdvanceResult{.step = member_.trainer().step()}; };
  while (member_.trainer().step() < control.until() && control.ask() == train::LoopRequest::kContinue) {
    if (!news_.empty()) TFD_TRY(flush(control));
    TFD_TRY(tell_news(control));
    if (member_.has_newcomers()) {
      TFD_TRY(flush(control));
      TFD_TRY(regroup_all());
      continue;
    }
    const std::int64_t next = member_.trainer().step() + 1;
    const bool tells = next >= control.until() || next >= control.next_log() || told_.expired();
    TFD_TRY(member_.announce({.act = GroupAct::kStep, .tells = tells}));
    const Notices notices = TFD_TRY(member_.notices());
    heed(notices);
    const bool parts = options_.group.min_members > 0 && notices.wants_stop();
    if (notices.is_cancelled()) {
      member_.keep_inputs();
      if (!parts) break;
      TFD_TRY(flush(control));
      TFD_TRY(part());
      continue;
    }
    if (!TFD_TRY(member_.make_step(notices))) {
      if (!notices.have_ended() || member_.begin_epoch()) continue;  // elements without rows; or another epoch
      TFD_TRY(flush(control));
      auto ended = result();
      ended.end_of_data = Error{Code::kOutOfRange, "end of the data"};
      return ended;
    }
    if (tells) TFD_TRY(tell(control));
    if (is_verified_after(next)) TFD_TRY(verify());
    if (!parts) continue;
    TFD_TRY(flush(control));
    TFD_TRY(part());
  }
  TFD_TRY(flush(control));
  return result();
}

/// Outcome of a follower's turn.
enum class Followed : std::uint8_t { kAct, kEnd };

Followed leave(GroupMember& member, train::TrainSummary& summary) {
  member.leave();
  summary.reason = "left";
  return Followed::kEnd;
}

/// Does what the chief announces next.
Result<Followed> follow_once(GroupMember& member, train::TrainSummary& summary) {
  TFD_TRY(member.announce({}));
  const Notices notices = TFD_TRY(member.notices());
  const Notice& chief = notices.chief();
  const bool makes_step = chief.act == GroupAct::kStep && !notices.is_cancelled();
  if (!makes_step) member.keep_inputs();
  switch (chief.act) {
    case GroupAct::kStep: {
      const bool is_made = makes_step && TFD_TRY(member.make_step(notices));
      if (makes_step && !is_made && notices.have_ended()) member.begin_epoch();
      if (is_made && chief.tells) TFD_TRY(member.gather_metrics());
      break;
    }
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
    case GroupAct::kSave:
      TFD_TRY(member.save_on_hosts({}));
      break;
    case GroupAct::kAsk:
      break;
    case GroupAct::kRegroup:
      switch (member.parting(notices)) {
        case Parting::kNone:
          break;
        case Parting::kLeaves:
          return leave(member, summary);
        case Parting::kGoesOn:
          TFD_TRY(member.regroup({}, member.leavers(notices)));
      }
      break;
    case GroupAct::kEnd:
      if (!chief.is_interrupted) member.say_done();
      member.leave();
      summary.reason = chief.is_interrupted ? "interrupted" : "done";
      return Followed::kEnd;
  }
  return Followed::kAct;
}

/// The error that ended a follower's training, with what the chief says of its own.
Error with_continuation(Error error, const program::Program& program, const train::TrainOptions& train) {
  if (error.code != Code::kUnavailable || error.task.empty()) return error;
  const std::string next = train::continuation_of(*program.train, train);
  if (!next.empty()) error.message += "; " + next;
  return error;
}

/// A member that isn't the chief: does what the chief announces, until its end. nullopt: the chief was lost, and this
/// member is to take its place, or nobody else is left, and it is to save what it has. `first_step`: of this process;
/// set here unless it was the chief before.
Result<std::optional<train::TrainSummary>> follow(const program::Program& program, const train::TrainOptions& train,
                                                  GroupMember& member, std::optional<std::int64_t>& first_step) {
  if (!first_step) {
    if (!TFD_TRY(member.begin({}))) return std::nullopt;
    first_step = member.trainer().step();
  }
  train::TrainSummary summary{.first_step = *first_step, .is_told = true};
  summary.steps = program.train->steps;
  const auto begun = Clock::now();
  while (!member.is_chief()) {
    auto followed = follow_once(member, summary);
    if (!followed && member.survives(followed.error())) {
      auto changes = member.regroup(followed.error());
      if (changes) continue;
      followed = fail(std::move(changes).error());
    }
    if (!followed && member.is_left_alone()) {
      if (train.say) train.say(followed.error().message);
      train.interrupts->ask_stop();
      return std::nullopt;
    }
    if (!followed) return fail(with_continuation(member.located(followed.error()), program, train));
    if (*followed == Followed::kEnd) {
      summary.step = member.trainer().step();
      summary.elapsed = Clock::now() - begun;
      return summary;
    }
  }
  return std::nullopt;
}

/// Trains as the chief, or as a follower until the chief is gone; a former chief that wasn't heard for a
/// while follows then.
Result<train::TrainSummary> train_as_member(const program::Program& program, GroupTrainingOptions& options,
                                            GroupMember& member) {
  auto& train = options.device.train;
  train.interrupts->on_ask([&] { member.interrupted(); });  // joining, too
  member.interrupted();
  if (const auto joined = member.join(); !joined) {
    if (joined.error().code != Code::kCancelled) return fail(joined.error());
    return fail(Code::kCancelled, "{}; the same command joins again", joined.error().message);
  }
  std::optional<std::int64_t> first_step;  // of this process, as the chief or not
  const auto begun = Clock::now();
  for (;;) {
    train.interrupts->on_ask([&] { member.interrupted(); });  // after the chief's loop, which has its own
    member.interrupted();
    if (!member.is_chief()) {
      if (auto summary = TFD_TRY(follow(program, train, member, first_step))) return *std::move(summary);
      train.takes_over = true;
    }
    ChiefDriver driver(program, options, member);
    auto summary = train::run_train_loop(program, driver, train);
    if (driver.was_replaced()) {
      first_step = first_step.value_or(driver.first_step());
      continue;
    }
    if (summary && first_step) {
      summary->first_step = *first_step;
      summary->elapsed = Clock::now() - begun;
    }
    return summary;
  }
}

}  // namespace

Result<train::TrainSummary> train_in_group(const program::Program& program, GroupTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  auto& train = options.device.train;
  if (!train.interrupts) train.interrupts = std::make_shared<train::Interrupts>();
  GroupMember member(program, options);
  auto summary = train_as_member(program, options, member);
  train.interrupts->on_ask({});
  if (options.compiling) options.compiling->on_begin({});
  if (!summary) member.fail_all(summary.error());
  if (!summary && summary.error().code == Code::kUnavailable) std::this_thread::sleep_for(kLastAnswers);
  return summary;
}

}  // namespace tfd::strategy
