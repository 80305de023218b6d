// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinate/trainer.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <limits>

#include "tfd/base/json_line.hpp"
#include "tfd/base/units.hpp"
#include "tfd/strategy/kept_best.hpp"
#include "tfd/strategy/run_end.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::coordinate {
namespace {

constexpr std::size_t kWindow = 2;                           // per worker: one step runs, one waits
constexpr std::int64_t kScheduledAhead = 4;                  // per worker: enough that no worker waits for this thread
constexpr Duration kStateTimeout = std::chrono::minutes(5);  // for all variables to move

/// What the I/O thread and the signal thread tell the training thread.
class Mailbox {
 public:
  void worker_changed(const WorkerChange& change) {
    const std::scoped_lock lock(mutex_);
    changes_.push_back(change);
    ring();
  }
  void step_done(bool failed) {
    const std::scoped_lock lock(mutex_);
    ++done_;
    failed_ = failed_ || failed;
    ring();
  }
  void wake() {
    const std::scoped_lock lock(mutex_);
    ring();
  }
  /// Until something was told since the last wait.
  void wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto rung = [this] { return rung_; };
    if (deadline.is_never())
      rang_.wait(lock, rung);
    else
      rang_.wait_until(lock, deadline.when(), rung);
    rung_ = false;
  }
  std::vector<WorkerChange> take_changes() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(changes_, {});
  }
  std::int64_t done() const {
    const std::scoped_lock lock(mutex_);
    return done_;
  }
  bool failed() const {
    const std::scoped_lock lock(mutex_);
    return failed_;
  }

 private:
  void ring() {
    rung_ = true;
    rang_.notify_one();
  }
  mutable std::mutex mutex_;
  std::condition_variable rang_;
  bool rung_ = false;
  std::vector<WorkerChange> changes_;
  std::int64_t done_ = 0;
  bool failed_ = false;
};

class Trainer {
 public:
  Trainer(const program::Program& program, TrainOptions options)
      : program_(program), train_(*program.train), options_(std::move(options)) {
    if (!options_.interrupts) options_.interrupts = std::make_shared<Interrupts>();
    if (train_.stop) stop_by_.emplace(train_.stop->by, train_.stop->min_delta);
    if (train_.checkpoint && train_.checkpoint->keep_best) keep_by_.emplace(*train_.checkpoint);
  }
  Result<TrainSummary> run(const Connect& connect, CoordinatorOptions coordinator);

 private:
  Result<void> find_checkpoint();
  void share_epochs();
  bool nothing_left() const { return ended_.has_value() || (train_.steps && first_step_ >= *train_.steps); }
  std::string describe_end() const;
  Result<TrainSummary> run_connected();
  Result<std::string> run_steps();
  Result<void> schedule_until(std::int64_t boundary);
  Result<void> collect();
  Result<void> raise_step_error();
  Result<std::optional<std::string>> stop_early();
  Result<void> at_boundary();
  std::int64_t next_boundary() const;
  Deadline next_time() const;
  Result<void> finish(const std::string& reason);
  Result<void> mark_end(const std::string& reason);
  Result<void> use_averages(const std::string& reason);
  Result<void> evaluate();
  Result<void> judge();
  Result<void> restore_best();
  Result<void> save();
  Result<void> step_event();
  Result<void> deliver();
  Result<void> emit(JsonLine line);
  Error explain(Error error) const;
  std::string checkpoint_text() const;

  bool is_due(std::int64_t every) const { return every > 0 && collected_ % every == 0 && collected_ > 0; }
  std::int64_t outstanding() const { return scheduled_ - first_step_ - mailbox_.done(); }

  const program::Program& program_;
  program::TrainDef train_;
  std::optional<std::int64_t> stated_steps_;  // where replicas share epochs: it takes fewer
  TrainOptions options_;
  Mailbox mailbox_;
  std::optional<variable::Checkpoint> restored_;
  std::optional<strategy::RunEnd> ended_;  // an earlier run was over at this checkpoint
  std::unique_ptr<ClusterCoordinator> coordinator_;

  std::deque<RemoteValue> steps_;  // scheduled and not collected, in order
  std::int64_t first_step_ = 0;
  std::int64_t scheduled_ = 0;  // steps, those before the checkpoint included
  std::int64_t collected_ = 0;  // steps whose outcome was counted, in order
  bool data_ended_ = false;
  bool drain_ = false;  // schedule nothing more until a checkpoint was written
  runtime::MetricAccumulator interval_;
  Metrics last_interval_;
  Metrics last_evaluation_;
  std::optional<strategy::Best> stop_by_;      // where the program has train.stop
  std::optional<strategy::KeptBest> keep_by_;  // where it has train.checkpoint.keep_best
  bool stopped_ = false;
  std::optional<variable::Checkpoint> best_;  // where it is to be restored: the state of the best evaluation
  Metrics best_evaluation_;
  std::optional<std::int64_t> restored_step_;
  std::int64_t reported_step_ = 0;
  std::int64_t evaluated_step_ = -1;
  std::int64_t saved_step_ = -1;
  std::string saved_path_;
  Clock::time_point started_{};
  Clock::time_point reported_at_{};
  Clock::time_point saved_at_{};
};

std::string Trainer::checkpoint_text() const {
  if (saved_path_.empty()) return "there is no checkpoint to continue from";
  return fmt::format("the same command continues from {} (step {})", saved_path_, saved_step_);
}

/// What somebody must know who reads only this line.
Error Trainer::explain(Error error) const {
  if (error.code == Code::kUnavailable && !error.task.empty()) {
    error.message += "; " + checkpoint_text();
  } else if (error.code == Code::kOutOfRange && train_.steps) {
    error.message = fmt::format("the data ended after {} of {} steps ({}): repeat the dataset, or lower train.steps",
                                collected_, *train_.steps, error.message);
  }
  return error;
}

Result<void> Trainer::emit(JsonLine line) {
  if (!options_.write_event) return {};
  return options_.write_event(std::move(line).text());
}

Result<void> Trainer::find_checkpoint() {
  if (!train_.checkpoint || !train_.checkpoint->resume) return {};
  std::vector<std::string> skipped;
  restored_ = TFD_TRY(variable::load_latest_checkpoint(train_.checkpoint->directory, &skipped));
  for (const std::string& one : skipped) options_.log.warning("passed over a checkpoint: {}", one);
  if (!restored_) return {};
  first_step_ = scheduled_ = collected_ = reported_step_ = saved_step_ = restored_->step;
  saved_path_ = restored_->path;
  ended_ = strategy::find_run_end(train_.checkpoint->directory);
  if (ended_ && (ended_->step != first_step_ || !strategy::is_over(*ended_, train_))) ended_.reset();
  stopped_ = ended_ && ended_->reason == "stopped";
  data_ended_ = ended_ && ended_->reason == "end_of_data";
  return {};
}

std::string Trainer::describe_end() const {
  if (stopped_)
    return fmt::format("had stopped at step {}, after {} evaluation{} without a better {}", first_step_,
                       train_.stop->patience, train_.stop->patience == 1 ? "" : "s", train_.stop->by.metric);
  if (data_ended_) return fmt::format("already at step {}, where the data ended", first_step_);
  return fmt::format("already at step {} of {}", first_step_, train_.steps.value_or(first_step_));
}

// A step takes as many elements as there are replicas.
void Trainer::share_epochs() {
  const int replicas = coordinator_->num_replicas_in_sync();
  if (!options_.steps_of_epochs || !train_.steps || train_.replicas != program::Replicas::kEach || replicas == 1)
    return;
  stated_steps_ = train_.steps;
  train_.steps = std::max<std::int64_t>(*train_.steps / replicas, 1);
}

Result<TrainSummary> Trainer::run(const Connect& connect, CoordinatorOptions coordinator) {
  TFD_TRY(find_checkpoint());
  if (nothing_left() && options_.say) options_.say(describe_end());
  // Where nothing is left to train, the tasks are still needed for the metrics that the end states.
  const bool needs_tasks = !nothing_left() || train_.evaluate.has_value();
  if (needs_tasks) {
    coordinator.window = std::min(coordinator.window, kWindow);
    coordinator.keep_going = false;
    coordinator.on_worker = [this](const WorkerChange& change) { mailbox_.worker_changed(change); };
    coordinator_ = TFD_TRY(connect(std::move(coordinator)));
    options_.interrupts->on_ask([this] { mailbox_.wake(); });
    share_epochs();
  }
  started_ = reported_at_ = saved_at_ = Clock::now();
  auto result = needs_tasks ? run_connected() : Result<TrainSummary>(TrainSummary{.reason = "nothing_left"});
  options_.interrupts->on_ask({});
  if (!needs_tasks)
    TFD_TRY(emit(
        JsonLine("event", "end").add("reason", "nothing_left").add("step", first_step_).add("metrics", Metrics{})));
  coordinator_.reset();  // says goodbye to the tasks
  if (!result) return result;
  result->first_step = first_step_;
  result->step = collected_;
  result->steps = train_.steps;
  result->elapsed = Clock::now() - started_;
  result->checkpoint = saved_path_;
  return result;
}

Result<TrainSummary> Trainer::run_connected() {
  const auto body = [this]() -> Result<TrainSummary> {
    if (restored_) {
      TFD_TRY(coordinator_->import_state(restored_->state, Deadline::after(kStateTimeout)), saved_path_);
      restored_.reset();
    }
    JsonLine start("event", "start");
    start.add("program", program_.path).add("step", first_step_);
    if (train_.steps) start.add("steps", *train_.steps);
    start.add("workers", coordinator_->workers_up()).add("replicas", coordinator_->num_replicas_in_sync());
    if (!saved_path_.empty()) start.add("resumed_from", saved_path_);
    TFD_TRY(emit(std::move(start)));
    if (train_.checkpoint && !nothing_left()) strategy::remove_run_end(train_.checkpoint->directory);
    started_ = reported_at_ = saved_at_ = Clock::now();
    const std::string reason = TFD_TRY(run_steps());
    TFD_TRY(finish(reason));
    TrainSummary summary{.reason = nothing_left() ? "nothing_left" : reason};
    summary.metrics = last_interval_;
    return summary;
  };
  auto summary = body();
  TFD_TRY(deliver());
  if (!summary) {
    Error error = explain(std::move(summary).error());
    TFD_TRY(emit(JsonLine("event", "end")
                     .add("reason", "error")
                     .add("step", collected_)
                     .add("metrics", last_interval_)
                     .add("error", error)));
    return fail(std::move(error));
  }
  for (const auto& [name, value] : last_evaluation_) {
    const auto known = std::ranges::find(summary->metrics, name, &Metrics::value_type::first);
    if (known == summary->metrics.end())
      summary->metrics.emplace_back(name, value);
    else
      known->second = value;
  }
  JsonLine end("event", "end");
  end.add("reason", summary->reason).add("step", collected_).add("metrics", summary->metrics);
  if (restored_step_) end.add("restored_step", *restored_step_);
  end.add("seconds", std::chrono::duration<double>(Clock::now() - started_).count());
  TFD_TRY(emit(std::move(end)));
  return summary;
}

/// Where nothing may be in flight: evaluations, checkpoints and the end are of a defined step.
std::int64_t Trainer::next_boundary() const {
  if (drain_) return scheduled_;
  std::int64_t boundary = train_.steps.value_or(std::numeric_limits<std::int64_t>::max());
  const auto next = [this](std::int64_t every) { return (collected_ / every + 1) * every; };
  if (train_.checkpoint && train_.checkpoint->every_steps > 0)
    boundary = std::min(boundary, next(train_.checkpoint->every_steps));
  if (train_.evaluate && train_.evaluate->every_steps > 0)
    boundary = std::min(boundary, next(train_.evaluate->every_steps));
  return boundary;
}

Deadline Trainer::next_time() const {
  Deadline deadline = Deadline::never();
  if (train_.max_time) deadline = deadline.earlier_of(Deadline::at(started_ + *train_.max_time));
  if (train_.checkpoint && train_.checkpoint->every_time && !drain_)
    deadline = deadline.earlier_of(Deadline::at(saved_at_ + *train_.checkpoint->every_time));
  return deadline;
}

// Why it ends.
Result<std::string> Trainer::run_steps() {
  for (;;) {
    TFD_TRY(deliver());
    TFD_TRY(collect());
    if (data_ended_) return "end_of_data";
    if (train_.steps && collected_ >= *train_.steps) return "done";
    if (stopped_) return "stopped";
    if (auto reason = TFD_TRY(stop_early())) return *reason;
    if (options_.interrupts->take_checkpoint()) {
      if (train_.checkpoint)
        drain_ = true;
      else
        options_.log.warning("asked for a checkpoint, but the program has no train.checkpoint");
    }
    if (train_.checkpoint && train_.checkpoint->every_time &&
        Clock::now() >= saved_at_ + *train_.checkpoint->every_time)
      drain_ = true;
    if (drain_ && collected_ == scheduled_) {
      TFD_TRY(save());
      drain_ = false;
      continue;
    }
    TFD_TRY(schedule_until(next_boundary()));
    mailbox_.wait(next_time());
  }
}

Result<void> Trainer::schedule_until(std::int64_t boundary) {
  const std::int64_t most = kScheduledAhead * std::max(coordinator_->workers_up(), 1);
  while (scheduled_ < boundary && outstanding() < most) {
    Call call{.function = train_.function, .step = scheduled_, .replicas = train_.replicas};
    call.on_done = [this](const RemoteValue& value) { mailbox_.step_done(value.state() != ClosureState::kReady); };
    auto value = coordinator_->schedule(std::move(call));
    if (!value) {
      if (mailbox_.failed()) return {};  // it has raised: collect() will see whose error it is
      return fail(std::move(value).error());
    }
    ++scheduled_;
    steps_.push_back(std::move(*value));
  }
  return {};
}

// Steps finish in any order; they are counted in theirs, so that an interval's metrics are of exactly its steps.
Result<void> Trainer::collect() {
  while (!steps_.empty() && steps_.front().state() == ClosureState::kReady) {
    interval_.add(steps_.front().outcome().metrics);
    steps_.pop_front();
    ++collected_;
    if (collected_ % train_.log_every == 0) TFD_TRY(step_event());
    if (options_.on_progress) options_.on_progress({collected_, train_.steps, last_interval_});
    if (steps_.empty()) TFD_TRY(at_boundary());
  }
  if (mailbox_.failed()) return raise_step_error();
  return {};
}

// The first error ends the training. What ran is counted: the data may simply have ended.
Result<void> Trainer::raise_step_error() {
  auto joined = coordinator_->join(Deadline::never());
  std::optional<Error> error;
  if (!joined) error = std::move(joined).error();
  for (const RemoteValue& step : steps_) {
    if (step.state() == ClosureState::kReady) {
      interval_.add(step.outcome().metrics);
      ++collected_;
    } else if (!error && step.state() == ClosureState::kError) {
      error = step.error();
    }
  }
  steps_.clear();
  scheduled_ = collected_;
  if (!error) return fail(Code::kInternal, "a step failed without an error");
  if (error->code != Code::kOutOfRange || train_.steps) return fail(std::move(*error));
  data_ended_ = true;
  return {};
}

Result<std::optional<std::string>> Trainer::stop_early() {
  const bool interrupted = options_.interrupts->stopping();
  const bool out_of_time = train_.max_time && Clock::now() >= started_ + *train_.max_time;
  if (!interrupted && !out_of_time) return std::nullopt;
  // Half of the grace for the steps in flight, the rest for the checkpoint.
  const Deadline deadline = interrupted ? Deadline::after(options_.grace / 2) : Deadline::never();
  auto joined = coordinator_->join(deadline);
  if (!joined && joined.error().code == Code::kDeadlineExceeded && interrupted) {
    Error late = std::move(joined).error();
    return fail(Code::kDeadlineExceeded, "interrupted, and the steps in flight did not end within {}: {}; {}",
                format_duration(options_.grace / 2), late.message, checkpoint_text());
  }
  if (!joined) return fail(std::move(joined).error());
  TFD_TRY(collect());
  return interrupted ? "interrupted" : "max_time";
}

// Everything scheduled has been collected. Checkpoints before evaluations: they are worth more.
Result<void> Trainer::at_boundary() {
  if (train_.steps && collected_ >= *train_.steps) return {};  // finish() does it
  if (train_.checkpoint && is_due(train_.checkpoint->every_steps)) TFD_TRY(save());
  if (train_.evaluate && is_due(train_.evaluate->every_steps) && !options_.interrupts->stopping()) TFD_TRY(evaluate());
  return {};
}

Result<void> Trainer::finish(const std::string& reason) {
  if (reported_step_ != collected_) TFD_TRY(step_event());
  TFD_TRY(use_averages(reason));
  if (train_.checkpoint && saved_step_ != collected_) {
    TFD_TRY(save());
    if (saved_step_ != collected_)
      return fail(Code::kResourceExhausted, "the last checkpoint could not be written; {}", checkpoint_text());
  }
  if (train_.evaluate && evaluated_step_ != collected_ && reason != "interrupted") TFD_TRY(evaluate());
  if (reason == "interrupted") return {};
  TFD_TRY(restore_best());
  return mark_end(reason);
}

// The last thing that is written: who sees it sees the last checkpoint too.
Result<void> Trainer::mark_end(const std::string& reason) {
  if (!train_.checkpoint || nothing_left()) return {};
  auto end = strategy::make_run_end(train_, reason, collected_);
  if (stated_steps_ && reason == "done") end.rule = strategy::rule_of_epochs(*stated_steps_);
  if (auto written = strategy::save_run_end(train_.checkpoint->directory, end); !written)
    options_.log.error("cannot write that the training is over: {}", written.error().message);
  return {};
}

// As Keras' fit() does at its end. What a signal or max_time ended is to go on later as if it had not been ended, and
// the best evaluation was one of the values themselves.
Result<void> Trainer::use_averages(const std::string& reason) {
  const bool is_over = reason != "interrupted" && reason != "max_time";
  if (!is_over || best_ || !program_.rules || !program_.rules->has_averages()) return {};
  TFD_TRY(coordinator_->use_averages(Deadline::after(kStateTimeout)));
  if (collected_ != first_step_) saved_step_ = evaluated_step_ = -1;  // those were of other values
  return {};
}

// What follows an evaluation; nothing is in flight, so the state is what was evaluated.
Result<void> Trainer::judge() {
  if (keep_by_ && keep_by_->observe(last_evaluation_)) {
    auto state = TFD_TRY(coordinator_->export_state(Deadline::after(kStateTimeout)));
    const variable::Checkpoint checkpoint{collected_, std::move(state), {}};
    const auto path = keep_by_->save(checkpoint);
    if (path)
      TFD_TRY(emit(JsonLine("event", "checkpoint").add("step", collected_).add("path", *path).add_raw("best", "true")));
    else
      options_.log.error("cannot write the best checkpoint, of step {}: {}", collected_, path.error().message);
  }
  if (!stop_by_) return {};
  if (stop_by_->observe(last_evaluation_)) {
    if (!train_.stop->restore_best) return {};
    best_ = variable::Checkpoint{collected_, TFD_TRY(coordinator_->export_state(Deadline::after(kStateTimeout))), {}};
    best_evaluation_ = last_evaluation_;
  }
  stopped_ = stop_by_->since() >= train_.stop->patience;
  return {};
}

Result<void> Trainer::restore_best() {
  if (!best_ || best_->step == collected_) return {};
  TFD_TRY(coordinator_->import_state(best_->state, Deadline::after(kStateTimeout)), "the best state");
  restored_step_ = best_->step;
  last_evaluation_ = best_evaluation_;
  return train_.checkpoint ? save() : Result<void>();
}

Result<void> Trainer::evaluate() {
  const auto begun = Clock::now();
  last_evaluation_ =
      TFD_TRY(coordinator_->evaluate(train_.evaluate->function, train_.evaluate->steps, Deadline::never()));
  evaluated_step_ = collected_;
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  TFD_TRY(
      emit(JsonLine("event", "eval").add("step", collected_).add("metrics", last_evaluation_).add("seconds", seconds)));
  return judge();
}

// A full disk doesn't end a training that could still succeed: the older checkpoints are as they were.
Result<void> Trainer::save() {
  saved_at_ = Clock::now();
  variable::Checkpoint checkpoint;
  checkpoint.step = collected_;
  checkpoint.state = TFD_TRY(coordinator_->export_state(Deadline::after(kStateTimeout)));
  auto path = variable::save_checkpoint(train_.checkpoint->directory, checkpoint, train_.checkpoint->keep);
  if (!path) {
    options_.log.error("cannot write a checkpoint of step {}: {}", collected_, path.error().message);
    return {};
  }
  saved_step_ = collected_;
  saved_path_ = std::move(*path);
  return emit(JsonLine("event", "checkpoint").add("step", saved_step_).add("path", saved_path_));
}

Result<void> Trainer::step_event() {
  const auto now = Clock::now();
  last_interval_ = interval_.values();
  interval_.clear();
  const double seconds = std::chrono::duration<double>(now - reported_at_).count();
  const Metrics rates{{"steps_per_second", static_cast<double>(collected_ - reported_step_) / std::max(seconds, 1e-9)}};
  reported_at_ = now;
  reported_step_ = collected_;
  return emit(JsonLine("event", "step").add("step", collected_).add("metrics", last_interval_).add("rates", rates));
}

Result<void> Trainer::deliver() {
  for (const WorkerChange& change : mailbox_.take_changes()) {
    JsonLine line("event", "worker");
    line.add("task", change.task).add("state", change.lost ? "lost" : "back").add("step", collected_);
    if (change.lost) line.add("reason", change.reason);
    if (options_.say)
      options_.say(change.lost ? fmt::format("{} lost ({}), its steps go to others", change.task, change.reason)
                               : fmt::format("{} is back", change.task));
    TFD_TRY(emit(std::move(line)));
  }
  return {};
}

}  // namespace

Result<TrainSummary> train(const program::Program& program, const Connect& connect, CoordinatorOptions coordinator,
                           TrainOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  return Trainer(program, std::move(options)).run(connect, std::move(coordinator));
}

}  // namespace tfd::coordinate
