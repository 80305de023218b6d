// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinate/trainer.hpp"

#include <algorithm>

#include "boundaries.hpp"
#include "mailbox.hpp"
#include "steps.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/units.hpp"
#include "tfd/strategy/keeper.hpp"

namespace tfd::coordinate {
namespace {

constexpr std::size_t kWindow = 2;                           // per worker: one step runs, one waits
constexpr Duration kStateTimeout = std::chrono::minutes(5);  // for all variables to move

class Trainer {
 public:
  Trainer(const program::Program& program, TrainOptions options)
      : program_(program),
        train_(*program.train),
        options_(std::move(options)),
        checkpoints_(train_, true, options_),
        judge_(train_, true, options_.log),
        report_(options_),
        keeper_(checkpoints_, judge_, report_, [this] { return take_checkpoint(); }),
        boundaries_(train_),
        steps_(train_, mailbox_) {
    if (!options_.interrupts) options_.interrupts = std::make_shared<Interrupts>();
    report_.warn_of_nonfinite(program);
  }
  Result<TrainSummary> run(const Connect& connect, CoordinatorOptions coordinator);

 private:
  Result<void> find_checkpoint();
  Result<void> connect_tasks(const Connect& connect, CoordinatorOptions coordinator);
  void share_epochs();
  bool nothing_left() const { return checkpoints_.ended() || (train_.steps && first_step_ >= *train_.steps); }
  std::string describe_end() const;
  Result<TrainSummary> run_connected();
  Result<void> begin();
  Result<std::string> run_steps();
  void look_at_requests();
  Result<void> collect();
  Result<void> count(const runtime::ClosureOutcome& outcome);
  Result<void> raise_step_error();
  Result<std::optional<std::string>> stop_early();
  Result<void> at_boundary();
  Deadline next_time() const;
  Result<void> finish(const std::string& reason);
  Result<void> use_averages(const std::string& reason);
  Result<void> evaluate();
  Result<variable::Checkpoint> take_checkpoint();
  Result<void> deliver();
  Error explain(Error error) const;

  bool is_stopping() const { return options_.interrupts->stopping(); }

  const program::Program& program_;
  program::TrainDef train_;
  std::optional<std::int64_t> stated_steps_;  // where replicas share epochs: it takes fewer
  TrainOptions options_;
  Mailbox mailbox_;
  strategy::Checkpoints checkpoints_;
  strategy::Judge judge_;
  strategy::Reporter report_;
  strategy::Keeper keeper_;
  Boundaries boundaries_;
  std::unique_ptr<ClusterCoordinator> coordinator_;
  Steps steps_;

  std::optional<variable::Checkpoint> restored_;
  std::optional<variable::Checkpoint> initial_;  // what --checkpoint names, where there is nothing to go on from
  std::int64_t first_step_ = 0;
  bool data_ended_ = false;
  bool drain_ = false;  // schedule nothing more until a checkpoint was written
  bool stopped_ = false;
  std::optional<std::int64_t> restored_step_;
  std::int64_t evaluated_step_ = -1;
  Clock::time_point started_{};
};

/// What somebody must know who reads only this line.
Error Trainer::explain(Error error) const {
  if (error.code == Code::kUnavailable && !error.task.empty()) {
    error.message += "; " + checkpoints_.describe();
  } else if (error.code == Code::kOutOfRange && train_.steps) {
    error.message = fmt::format("the data ended after {} of {} steps ({}): repeat the dataset, or lower train.steps",
                                steps_.counted(), *train_.steps, error.message);
    if (checkpoints_.step() == steps_.counted())
      error.message += fmt::format("; what was trained is in {}", checkpoints_.path());
  }
  return error;
}

Result<void> Trainer::find_checkpoint() {
  restored_ = TFD_TRY(checkpoints_.find(program_));
  if (!restored_) {
    initial_ = TFD_TRY(checkpoints_.find_initial(program_));
    return {};
  }
  first_step_ = restored_->step;
  judge_.go_on(checkpoints_.run());
  const auto& ended = checkpoints_.ended();
  judge_.resume(first_step_);
  stopped_ = (ended && ended->reason == "stopped") || (!ended && judge_.is_over());
  data_ended_ = ended && ended->reason == "end_of_data";
  return {};
}

std::string Trainer::describe_end() const {
  if (stopped_)
    return fmt::format("already stopped at step {}, after {} without a better {}", first_step_,
                       counted(static_cast<std::uint64_t>(train_.stop->patience), "evaluation"),
                       train_.stop->by.metric);
  if (data_ended_) return fmt::format("already at step {}, where the data ended", first_step_);
  return fmt::format("already at step {} of {}", first_step_, train_.steps.value_or(first_step_));
}

// A step takes as many elements as there are replicas.
void Trainer::share_epochs() {
  const int replicas = coordinator_->num_replicas_in_sync();
  if (options_.epoch_elements == 0 || train_.replicas != program::Replicas::kEach || replicas == 1) return;
  stated_steps_ = train_.steps;
  train_.steps = strategy::steps_over(options_.epoch_elements, replicas);
  steps_.share(options_.epoch_elements, replicas);
}

Result<void> Trainer::connect_tasks(const Connect& connect, CoordinatorOptions coordinator) {
  if (!nothing_left()) TFD_TRY(checkpoints_.probe());
  coordinator.window = std::min(coordinator.window, kWindow);
  coordinator.keep_going = false;
  coordinator.first_step = first_step_;
  coordinator.on_worker = [this](const WorkerChange& change) { mailbox_.worker_changed(change); };
  coordinator_ = TFD_TRY(connect(std::move(coordinator)));
  options_.interrupts->on_ask([this] {
    mailbox_.wake();
    if (is_stopping()) coordinator_->stop_evaluating();
  });
  if (is_stopping()) coordinator_->stop_evaluating();
  share_epochs();
  return {};
}

Result<TrainSummary> Trainer::run(const Connect& connect, CoordinatorOptions coordinator) {
  TFD_TRY(find_checkpoint());
  if (nothing_left() && options_.say) options_.say(describe_end());
  // Where nothing is left to train, the tasks are still needed for the metrics that the end states.
  const bool needs_tasks = !nothing_left() || train_.evaluate.has_value();
  if (!needs_tasks) {
    TFD_TRY(report_.emit(
        report_.event("end").add("reason", "nothing_left").add("step", first_step_).add("metrics", Metrics{})));
    TrainSummary summary{.reason = "nothing_left", .first_step = first_step_, .step = first_step_};
    summary.steps = train_.steps;
    summary.checkpoint = checkpoints_.path();
    return summary;
  }
  TFD_TRY(connect_tasks(connect, std::move(coordinator)));
  steps_.begin(*coordinator_, first_step_);
  report_.begin(first_step_);
  auto result = run_connected();
  options_.interrupts->on_ask({});
  coordinator_.reset();  // says goodbye to the tasks
  if (!result) return result;
  result->first_step = first_step_;
  result->step = steps_.counted();
  result->steps = train_.steps;
  result->elapsed = report_.elapsed();
  result->checkpoint = checkpoints_.path();
  return result;
}

Result<TrainSummary> Trainer::run_connected() {
  const auto body = [this]() -> Result<TrainSummary> {
    TFD_TRY(begin());
    const std::string reason = TFD_TRY(run_steps());
    TFD_TRY(finish(reason));
    return TrainSummary{.reason = nothing_left() ? "nothing_left" : reason};
  };
  auto summary = body();
  TFD_TRY(deliver());
  if (!summary) {
    const Error error = explain(std::move(summary).error());
    TFD_TRY(report_.end({.reason = "error", .step = steps_.counted(), .error = &error}, false));
    return fail(error);
  }
  summary->metrics = report_.metrics();
  TFD_TRY(report_.end({.reason = summary->reason, .step = steps_.counted(), .restored_step = restored_step_}, false));
  return summary;
}

Result<void> Trainer::begin() {
  const auto& from = restored_ ? restored_ : initial_;
  if (from) TFD_TRY(coordinator_->import_state(from->state, Deadline::after(kStateTimeout)), from->path);
  checkpoints_.say_beginning(restored_, initial_);
  JsonLine start("event", "start");
  start.add("program", program_.path).add("step", first_step_);
  if (train_.steps) start.add("steps", *train_.steps);
  start.add("workers", coordinator_->workers_up()).add("replicas", coordinator_->num_replicas_in_sync());
  if (!checkpoints_.path().empty()) start.add("resumed_from", checkpoints_.path());
  if (initial_) start.add("started_from", initial_->path);
  restored_.reset();
  initial_.reset();
  if (!nothing_left()) TFD_TRY(checkpoints_.begin());
  TFD_TRY(report_.emit(std::move(start)));
  if (!nothing_left() && !judge_.seen_step()) judge_.begin_anew();
  report_.begin(first_step_);
  started_ = Clock::now();
  // An earlier run may have ended between a checkpoint and the evaluation at its step.
  const bool was_missed = train_.stop && !nothing_left() && !stopped_ && boundaries_.evaluates_at(first_step_) &&
                          judge_.seen_step() != first_step_;
  return was_missed && !is_stopping() ? evaluate() : Result<void>();
}

Deadline Trainer::next_time() const {
  Deadline deadline = Deadline::never();
  if (train_.max_time) deadline = deadline.earlier_of(Deadline::at(started_ + *train_.max_time));
  return drain_ ? deadline : deadline.earlier_of(checkpoints_.next_time());
}

// Why it ends.
Result<std::string> Trainer::run_steps() {
  for (;;) {
    TFD_TRY(deliver());
    TFD_TRY(collect());
    if (data_ended_) return "end_of_data";
    if (train_.steps && steps_.counted() >= *train_.steps) return "done";
    if (stopped_) return "stopped";
    if (auto reason = TFD_TRY(stop_early())) return *reason;
    look_at_requests();
    if (drain_ && steps_.counted() == steps_.scheduled()) {
      TFD_TRY(keeper_.save());
      drain_ = false;
      continue;
    }
    TFD_TRY(steps_.schedule_until(drain_ ? steps_.scheduled() : boundaries_.after(steps_.counted())));
    mailbox_.wait(next_time());
  }
}

/// Whether a checkpoint is wanted, by somebody or by the clock.
void Trainer::look_at_requests() {
  if (options_.interrupts->take_checkpoint()) {
    if (train_.checkpoint)
      drain_ = true;
    else
      options_.log.warning("asked for a checkpoint, but the program has no train.checkpoint");
  }
  if (checkpoints_.next_time().expired()) drain_ = true;
}

// Steps are counted in their order, so that an interval's metrics are of exactly its steps.
Result<void> Trainer::collect() {
  while (const auto step = steps_.take_next()) {
    TFD_TRY(count(step->outcome()));
    if (steps_.idle()) TFD_TRY(at_boundary());
  }
  if (mailbox_.failed()) return raise_step_error();
  return {};
}

Result<void> Trainer::count(const runtime::ClosureOutcome& outcome) {
  const std::int64_t step = first_step_ + report_.own_steps() + 1;
  report_.count(outcome.metrics, step);
  if (step % train_.log_every == 0) TFD_TRY(report_.step(step, false));
  report_.progress(step, train_.steps);
  return {};
}

// The first error ends the training. What ran is counted, and saved: the data may simply have ended.
Result<void> Trainer::raise_step_error() {
  const auto joined = coordinator_->join(Deadline::never());
  const auto rest = steps_.take_rest();
  for (const RemoteValue& step : rest.done) TFD_TRY(count(step.outcome()));
  if (joined && !rest.error) return fail(Code::kInternal, "a step failed without an error");
  const Error& error = joined ? *rest.error : joined.error();
  if (error.code != Code::kOutOfRange) return fail(error);
  data_ended_ = true;
  if (!train_.steps) return {};
  TFD_TRY(keeper_.save_last(steps_.counted()));
  return fail(error);
}

// What no worker has is taken back, so that it ends while there are none; half of the grace for what they have, the
// rest for the checkpoint.
Result<std::optional<std::string>> Trainer::stop_early() {
  const bool interrupted = is_stopping();
  const bool out_of_time = train_.max_time && Clock::now() >= started_ + *train_.max_time;
  if (!interrupted && !out_of_time) return std::nullopt;
  const auto settled = steps_.settle(interrupted ? Deadline::after(options_.grace / 2) : Deadline::never());
  if (!settled && settled.error().code == Code::kDeadlineExceeded && interrupted)
    return fail(Code::kDeadlineExceeded, "interrupted, and the steps in flight did not end within {}: {}; {}",
                format_duration(options_.grace / 2), settled.error().message, checkpoints_.describe());
  const auto rest = steps_.take_rest();
  for (const RemoteValue& step : rest.done) TFD_TRY(count(step.outcome()));
  if (!settled) return fail(settled.error());
  if (rest.error) return fail(*rest.error);
  return interrupted ? "interrupted" : "max_time";
}

// Everything scheduled has been collected. Checkpoints before evaluations: they are worth more.
Result<void> Trainer::at_boundary() {
  if (train_.steps && steps_.counted() >= *train_.steps) return {};  // finish() does it
  if (boundaries_.saves_at(steps_.counted())) TFD_TRY(keeper_.save());
  if (boundaries_.evaluates_at(steps_.counted()) && !is_stopping()) TFD_TRY(evaluate());
  return {};
}

Result<void> Trainer::finish(const std::string& reason) {
  if (report_.reported_step() != steps_.counted()) TFD_TRY(report_.step(steps_.counted(), false));
  TFD_TRY(use_averages(reason));
  TFD_TRY(keeper_.save_last(steps_.counted()));
  if (reason == "interrupted") return {};
  if (train_.evaluate && evaluated_step_ != steps_.counted()) TFD_TRY(evaluate());
  if (nothing_left()) return {};
  restored_step_ = TFD_TRY(keeper_.restore_best(steps_.counted(), [this](const variable::Checkpoint& best) {
    return coordinator_->import_state(best.state, Deadline::after(kStateTimeout));
  }));
  checkpoints_.mark_end(reason, steps_.counted(), stated_steps_);
  return {};
}

// As Keras' fit() does at its end. What a signal or max_time ended is to go on later as if it had not been ended, and
// the best evaluation was one of the values themselves.
Result<void> Trainer::use_averages(const std::string& reason) {
  const bool is_over = reason != "interrupted" && reason != "max_time";
  if (!is_over || judge_.best_step() || !program_.rules || !program_.rules->has_averages()) return {};
  TFD_TRY(coordinator_->use_averages(Deadline::after(kStateTimeout)));
  if (steps_.counted() == first_step_) return {};
  checkpoints_.invalidate();  // those were of other values
  evaluated_step_ = -1;
  return {};
}

// Nothing is in flight, so the state is what was evaluated.
Result<void> Trainer::evaluate() {
  const auto begun = Clock::now();
  const auto metrics = coordinator_->evaluate(train_.evaluate->function, train_.evaluate->steps, Deadline::never());
  if (!metrics && metrics.error().code == Code::kCancelled && is_stopping()) return {};
  if (!metrics) return fail(metrics.error());
  evaluated_step_ = steps_.counted();
  TFD_TRY(report_.evaluated(evaluated_step_, *metrics, begun));
  if (nothing_left()) return {};
  TFD_TRY(keeper_.judge(evaluated_step_));
  stopped_ = judge_.is_over();
  return {};
}

Result<variable::Checkpoint> Trainer::take_checkpoint() {
  variable::Checkpoint checkpoint{.step = steps_.counted(), .state = {}, .path = {}, .run = checkpoints_.run()};
  checkpoint.state = TFD_TRY(coordinator_->export_state(Deadline::after(kStateTimeout)));
  return checkpoint;
}

Result<void> Trainer::deliver() {
  for (const WorkerChange& change : mailbox_.take_changes())
    TFD_TRY(report_.worker({change.task, change.lost, change.reason}, steps_.counted()));
  return {};
}

}  // namespace

Result<TrainSummary> train(const program::Program& program, const Connect& connect, CoordinatorOptions coordinator,
                           TrainOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  return Trainer(program, std::move(options)).run(connect, std::move(coordinator));
}

}  // namespace tfd::coordinate
