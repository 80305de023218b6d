// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinator/trainer.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <stop_token>

#include "data_positions.hpp"
#include "scheduled_steps.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/notifier.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/base/units.hpp"
#include "tfd/coordinator/failures.hpp"

namespace tfd::coordinator {
namespace {

constexpr std::size_t kWindow = 4;                                   // closures per worker at most: short ones
constexpr Duration kInterruptLook = std::chrono::milliseconds(100);  // poll interval for an interruption
constexpr Duration kStateTimeout = std::chrono::minutes(5);          // to transfer all variables
constexpr std::uint64_t kMuch = std::uint64_t{64} << 20;             // bytes of variables that servers write themselves

/// Makes steps through a coordinator, which alone changes the variables.
class CoordinatorDriver final : public train::StepDriver {
 public:
  CoordinatorDriver(const program::Program& program, const Connect& connect, CoordinatorOptions coordinator,
                    const TrainOptions& options, const OnServerLost& on_lost)
      : program_(program),
        train_(*program.train),
        connect_(connect),
        with_(std::move(coordinator)),
        options_(options),
        on_lost_(on_lost),
        steps_(train_, notifier_) {}

  train::TrainRole role() const override { return {.asks_servers = true}; }
  Result<train::StartResult> begin(const train::TrainStart& from) override;
  void describe(JsonLine& start) const override;
  Result<train::AdvanceResult> advance(train::StepControl& control) override;
  void wake() override;
  std::optional<train::ServerLoss> begins_again(Error& error) override;
  Result<void> tell_news(train::StepControl& control) override;
  Result<train::EvaluationResult> evaluate(const variable::Checkpoint*) override;
  Result<variable::Checkpoint> export_state() override;
  Result<std::optional<SnapshotElsewhere>> begin_writing(const std::string& run) override;
  void wait_for_disk(bool waits) override {
    if (waits) coordinator_->hurry_writing();
  }
  Result<void> import_state(const variable::Checkpoint& state) override;
  Result<void> use_averages() override;
  void show(const std::string& standing) override { coordinator_->show_training(standing); }
  Result<void> end() override {
    forget();
    return {};
  }

  bool has_begun() const { return has_begun_; }
  /// The loss that has ended this driver's part of the training.
  const std::optional<train::ServerLoss>& loss() const { return loss_; }

 private:
  void forget() {
    if (!coordinator_->lost()) (void)coordinator_->forget_run();  // an unreachable run can't be adopted
  }
  Result<void> finish_adopted(const AdoptedRun& run);
  variable::Checkpoint about_checkpoint() const;
  bool may_servers_write() const;
  void say_who_writes(const Error& why);
  Result<train::AdvanceResult> settle_steps(train::StepControl& control, bool interrupted);
  Result<train::AdvanceResult> count_rest(train::StepControl& control, const Result<void>& joined);
  Result<void> count(train::StepControl& control, std::int64_t step, const RemoteValue& value) const {
    return control.count({.step = step, .metrics = value.outcome().metrics});
  }

  const program::Program& program_;
  const program::TrainDef& train_;
  const Connect& connect_;
  CoordinatorOptions with_;
  const TrainOptions& options_;
  const OnServerLost& on_lost_;
  bool has_begun_ = false;
  bool servers_cannot_write_ = false;  // checkpoints, to their directory
  std::optional<train::ServerLoss> loss_;
  std::stop_source stop_connecting_;
  Notifier notifier_;
  Mutex mutex_;
  std::vector<train::WorkerEvent> changes_ TFD_GUARDED_BY(mutex_);  // not yet reported by the training's thread
  Steps steps_;
  std::atomic<ClusterCoordinator*> connected_ = nullptr;  // the next one, for wake()
  std::unique_ptr<ClusterCoordinator> coordinator_;       // last: its threads use all of the above
};

Result<train::StartResult> CoordinatorDriver::begin(const train::TrainStart& from) {
  with_.window = std::min(with_.window, kWindow);
  with_.keep_going = false;
  if (from.step > 0 && from.state != nullptr)
    with_.data = parse_data_positions(program_, from.state->data_position, from.step);
  if (!from.run.empty()) with_.adopt = Adoption{from.run, from.step};
  with_.data_seed = from.data_seed();
  if (options_.began) with_.stop = stop_connecting_.get_token();
  with_.on_worker = [this](const train::WorkerEvent& change) {
    const MutexLock lock(mutex_);
    changes_.push_back(change);
    notifier_.notify();
  };
  coordinator_ = TFD_TRY(connect_(std::move(with_)));
  connected_ = coordinator_.get();
  if (options_.interrupts->stopping()) coordinator_->stop_evaluating();
  const auto& adopted = coordinator_->adopted();
  if (!adopted && from.state != nullptr) TFD_TRY(import_state(*from.state), from.state->path);
  steps_.begin(*coordinator_,
               adopted ? adopted->step - static_cast<std::int64_t>(adopted->unfinished.size()) : from.step);
  train::StartResult begun{.adopted = adopted.has_value()};
  const int replicas = coordinator_->num_replicas_in_sync();
  if (options_.epoch_elements != 0 && train_.replicas == program::Replicas::kEach && replicas > 1) {
    steps_.share(options_.epoch_elements, replicas);  // a step takes one element per replica
    begun.steps = train::steps_over(options_.epoch_elements, replicas);
  }
  if (adopted)
    TFD_TRY(finish_adopted(*adopted), "finishing the steps that an earlier coordinator began");
  else if (program_.find_function(train_.function)->has_updates())
    TFD_TRY(coordinator_->record_run(from.step));
  begun.step = steps_.counted();
  begun.replicas = replicas;
  begun.of_each_worker = true;
  has_begun_ = true;
  return begun;
}

// Finishes steps that only some parameter servers have applied: until then the state isn't that of any step.
Result<void> CoordinatorDriver::finish_adopted(const AdoptedRun& run) {
  TFD_TRY(steps_.finish(run.unfinished));
  Deadline limit = Deadline::never();
  while (!steps_.idle()) {
    if (options_.interrupts->stopping() && limit.is_never()) limit = Deadline::after(options_.grace / 2);
    const auto joined = coordinator_->join(Deadline::after(kInterruptLook).earlier_of(limit));
    while (steps_.take_next()) continue;
    if (joined) continue;
    if (joined.error().code != Code::kDeadlineExceeded || limit.expired()) return fail(joined.error());
  }
  return {};
}

void CoordinatorDriver::describe(JsonLine& start) const {
  start.add("workers", coordinator_->workers_up())
      .add("expected_workers", coordinator_->workers_expected())
      .add("replicas", coordinator_->num_replicas_in_sync());
}

// Steps are counted in order, so that an interval's metrics are exactly those of its steps.
Result<train::AdvanceResult> CoordinatorDriver::advance(train::StepControl& control) {
  using train::LoopRequest;
  for (;;) {
    TFD_TRY(tell_news(control));
    while (const auto step = steps_.take_next()) TFD_TRY(count(control, steps_.counted(), *step));
    if (steps_.failed()) {
      forget();  // the next coordinator begins with a consistent state
      auto rest = TFD_TRY(count_rest(control, coordinator_->join(Deadline::never())));
      return rest.end_of_data ? Result<train::AdvanceResult>(std::move(rest))
                              : fail(Code::kInternal, "a step failed without an error");
    }
    if (steps_.counted() >= control.until()) return train::AdvanceResult{.step = steps_.counted()};
    const LoopRequest ask = control.ask();
    if (ask == LoopRequest::kStop || ask == LoopRequest::kInterrupt)
      return settle_steps(control, ask == LoopRequest::kInterrupt);
    if (ask == LoopRequest::kPause && steps_.idle()) return train::AdvanceResult{.step = steps_.counted()};
    TFD_TRY(steps_.schedule_until(ask == LoopRequest::kPause ? steps_.scheduled() : control.until()));
    steps_.wait(control.next_look());
  }
}

// Cancels steps that no worker has, so that this ends even without workers; half of the grace is for running ones, the
// rest for the checkpoint.
Result<train::AdvanceResult> CoordinatorDriver::settle_steps(train::StepControl& control, bool interrupted) {
  const auto settled = steps_.settle(interrupted ? Deadline::after(options_.grace / 2) : Deadline::never());
  if (!settled && settled.error().code == Code::kDeadlineExceeded && interrupted)
    return fail(Code::kDeadlineExceeded, "interrupted, and the steps in flight did not end within {}: {}",
                format_duration(options_.grace / 2), settled.error().message);
  return count_rest(control, settled);
}

// Called with no step in flight. Succeeded steps are counted, whatever failed: the data may simply have ended. Not if
// the variables are lost, and those steps with them.
Result<train::AdvanceResult> CoordinatorDriver::count_rest(train::StepControl& control, const Result<void>& joined) {
  if (const auto lost = coordinator_->lost()) return fail(*lost);
  std::int64_t step = steps_.counted();
  const auto rest = steps_.take_rest();
  for (const RemoteValue& value : rest.done) TFD_TRY(count(control, ++step, value));
  train::AdvanceResult advanced{.step = steps_.counted()};
  if (joined && !rest.error) return advanced;
  const Error& error = joined ? *rest.error : joined.error();
  if (error.code != Code::kOutOfRange) return fail(error);
  advanced.end_of_data = error;
  return advanced;
}

void CoordinatorDriver::wake() {
  notifier_.notify();
  if (!options_.interrupts->stopping()) return;
  stop_connecting_.request_stop();
  ClusterCoordinator* const coordinator = connected_;
  if (coordinator != nullptr) coordinator->stop_evaluating();
}

// A state that is not finite is not to be continued from: the next coordinator begins with the newest checkpoint.
std::optional<train::ServerLoss> CoordinatorDriver::begins_again(Error& error) {
  if (error.code == Code::kInternal && has_begun_) forget();
  const bool is_lost = classify(error) == Failure::kServer && !options_.interrupts->stopping();
  if (is_lost && on_lost_) loss_ = on_lost_(error);
  return loss_;
}

Result<void> CoordinatorDriver::tell_news(train::StepControl& control) {
  std::vector<train::WorkerEvent> changes;
  {
    const MutexLock lock(mutex_);
    changes = std::exchange(changes_, {});
  }
  for (const train::WorkerEvent& change : changes) TFD_TRY(control.worker_changed(change));
  return {};
}

Result<train::EvaluationResult> CoordinatorDriver::evaluate(const variable::Checkpoint*) {
  const train::Trace::Span span(options_.trace.get(), "evaluate", 0, steps_.counted());
  auto metrics = TFD_TRY(coordinator_->evaluate(train_.evaluate->function, train_.evaluate->steps, Deadline::never()));
  return train::EvaluationResult{steps_.counted(), std::move(metrics)};
}

variable::Checkpoint CoordinatorDriver::about_checkpoint() const {
  variable::Checkpoint checkpoint;
  checkpoint.step = steps_.counted();
  checkpoint.data_position = format_data_progress(program_, coordinator_->data_progress());
  return checkpoint;
}

/// True if the parameter servers are to write checkpoints: as the program says, or since there is much to write.
bool CoordinatorDriver::may_servers_write() const {
  if (train_.checkpoint->by != program::CheckpointsBy::kAuto)
    return train_.checkpoint->by == program::CheckpointsBy::kServers;
  std::uint64_t bytes = 0;
  for (const program::VariableDef& one : program_.variables)
    if (!one.per_worker)
      bytes += static_cast<std::uint64_t>(tensor::element_count(one.spec.shape)) * tensor::dtype_size(one.spec.dtype);
  return bytes > kMuch;
}

Result<std::optional<train::StepDriver::SnapshotElsewhere>> CoordinatorDriver::begin_writing(const std::string& run) {
  if (servers_cannot_write_ || !may_servers_write()) return std::nullopt;
  const train::Trace::Span span(options_.trace.get(), "save", 0, steps_.counted());
  auto write = coordinator_->begin_writing(train_.checkpoint->directory, run, Deadline::after(kStateTimeout));
  if (write) {
    SnapshotElsewhere out{about_checkpoint(), std::move(*write)};
    out.about.run = run;
    return out;
  }
  switch (write.error().code) {
    case Code::kFailedPrecondition:
    case Code::kUnimplemented:
      say_who_writes(write.error());
      return std::nullopt;
    case Code::kResourceExhausted:  // tried by this process, which reports it, and again by the servers next time
    case Code::kPermissionDenied:
    case Code::kNotFound:
    case Code::kSystem:
      return std::nullopt;
    default:
      return fail(std::move(write).error());
  }
}

/// Says once that the parameter servers don't write checkpoints, and why.
void CoordinatorDriver::say_who_writes(const Error& why) {
  servers_cannot_write_ = true;
  const auto text = fmt::format("the coordinator writes the checkpoints itself: {}", why.message);
  if (train_.checkpoint->by == program::CheckpointsBy::kServers)
    options_.log.warning("{}", text);
  else
    options_.log.info("{}", text);
}

Result<variable::Checkpoint> CoordinatorDriver::export_state() {
  const train::Trace::Span span(options_.trace.get(), "save", 0, steps_.counted());
  variable::Checkpoint checkpoint = about_checkpoint();
  checkpoint.state = TFD_TRY(coordinator_->export_state(Deadline::after(kStateTimeout)));
  return checkpoint;
}

Result<void> CoordinatorDriver::use_averages() {
  TFD_TRY(coordinator_->forget_run());
  return coordinator_->use_averages(Deadline::after(kStateTimeout));
}

Result<void> CoordinatorDriver::import_state(const variable::Checkpoint& state) {
  TFD_TRY(coordinator_->forget_run());
  return coordinator_->import_state(state.state, Deadline::after(kStateTimeout));
}

}  // namespace

void trace_workers(CoordinatorOptions& options, std::shared_ptr<train::Trace> trace) {
  if (trace == nullptr) return;
  options.on_ran = [trace = std::move(trace),
                    last = std::map<std::string, Clock::time_point>()](const WorkerRun& run) mutable {
    auto& before = last[run.task];  // one runs while others wait at the worker
    trace->add(run.function, trace->lane_of(run.task), static_cast<std::int64_t>(run.closure),
               std::max(run.sent, before), run.answered);
    before = run.answered;
  };
}

Result<TrainSummary> train(const program::Program& program, const Connect& connect, CoordinatorOptions coordinator,
                           TrainOptions options, const OnServerLost& on_lost) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  if (!options.interrupts) options.interrupts = std::make_shared<Interrupts>();
  for (std::optional<std::int64_t> first_step;;) {
    CoordinatorDriver driver(program, connect, coordinator, options, on_lost);
    auto summary = train::run_train_loop(program, driver, options);
    if (!summary) return summary;
    summary->first_step = first_step.value_or(summary->first_step);
    if (!driver.loss()) return summary;
    // The next attempt does the same as another process would.
    if (driver.has_begun()) first_step = summary->first_step;
    options.takes_over = options.takes_over || driver.has_begun();
    if (!options.began) options.began = Clock::now() - std::chrono::duration_cast<Clock::duration>(summary->elapsed);
    coordinator.connect_timeout = driver.loss()->join;
    coordinator.take_over = false;  // workers that have come meanwhile stay
  }
}

}  // namespace tfd::coordinator
