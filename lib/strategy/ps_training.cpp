// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/ps_training.hpp"

#include <algorithm>

#include "evaluator.hpp"
#include "judge.hpp"
#include "ps_session.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/units.hpp"
#include "tfd/strategy/run_end.hpp"

namespace tfd::strategy {
namespace {

class PsTrainer {
 public:
  PsTrainer(const PsProgram& program, const ParameterServerStrategy& strategy, const PsTrainingOptions& options)
      : program_(program),
        train_(*program.program.train),
        strategy_(strategy),
        options_(options),
        session_(program, strategy, options, bell_),
        judge_(train_, !has_evaluator()) {}

  Result<TrainSummary> run();

 private:
  bool stopping() const { return options_.train.interrupts->stopping(); }
  bool has_evaluator() const { return strategy_.cluster_resolver().cluster.has_job("evaluator"); }
  /// Whether to stop early is the chief's to decide, beside an evaluator too.
  bool evaluates() const {
    return train_.evaluate && strategy_.is_chief() && (!has_evaluator() || train_.stop.has_value());
  }
  bool saves() const { return train_.checkpoint && strategy_.should_checkpoint(); }
  /// Whether a multiple of `every` was passed since that step: others step too, so it may be none of our own.
  bool passed(std::int64_t every, std::int64_t since) const { return every > 0 && step_ / every > since / every; }

  Result<TrainSummary> train();
  Result<std::shared_ptr<function::Engine>> make_engine();
  Result<void> begin();
  Result<void> begin_as_chief();
  Result<std::string> run_steps();
  Result<std::optional<std::string>> reason_to_end();
  Result<runtime::VariableValues> read_variables(const std::string& function);
  Result<void> one_step(const runtime::VariableValues& variables);
  Result<void> between_steps();
  Result<void> finish(const std::string& reason);
  Result<void> finish_as_chief(const std::string& reason);
  Result<void> leave_interrupted();
  Result<void> wait_for_others();
  Result<void> use_averages(const std::string& reason);
  Result<void> evaluate();
  Result<void> judge(const variable::Checkpoint& evaluated);
  Result<void> restore_best();
  void mark_end(const std::string& reason);
  Result<variable::Checkpoint> take_checkpoint();
  Result<void> save();
  Result<void> save_last();
  Result<void> step_event();
  JsonLine event(std::string_view name) const;
  Result<void> emit(JsonLine line);
  Error explain(Error error) const;

  const PsProgram& program_;
  const program::TrainDef& train_;
  const ParameterServerStrategy& strategy_;
  const PsTrainingOptions& options_;
  Bell bell_;
  PsSession session_;
  Judge judge_;
  std::unique_ptr<runtime::ReplicaRunner> runner_;

  std::vector<std::string> devices_;  // where there is an engine
  std::int64_t first_step_ = 0;
  std::int64_t step_ = 0;     // the global one, as last read
  std::int64_t updates_ = 0;  // this worker's
  bool data_ended_ = false;
  bool stopped_ = false;   // by the chief, before the last step
  bool was_over_ = false;  // an earlier run had come to its end at the checkpoint that this one begins with
  std::optional<std::int64_t> restored_step_;
  runtime::MetricAccumulator interval_;
  Metrics last_interval_;
  Metrics last_evaluation_;
  std::int64_t reported_step_ = 0;
  std::int64_t reported_updates_ = 0;
  std::int64_t evaluated_step_ = 0;
  std::int64_t saved_step_ = -1;
  std::string saved_path_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point reported_at_ = started_;
  Clock::time_point saved_at_ = started_;
};

JsonLine PsTrainer::event(std::string_view name) const {
  JsonLine line("event", name);
  line.add("task", strategy_.task_name());
  return line;
}

Result<void> PsTrainer::emit(JsonLine line) {
  return options_.train.write_event ? options_.train.write_event(std::move(line).text()) : Result<void>();
}

/// What somebody must know who reads only this line.
Error PsTrainer::explain(Error error) const {
  if (error.code == Code::kUnavailable && !error.task.empty() && strategy_.should_checkpoint()) {
    error.message += saved_path_.empty() ? "; there is no checkpoint to continue from"
                                         : fmt::format(
                                               "; once it serves again, the same command continues from {} "
                                               "(step {})",
                                               saved_path_, saved_step_);
  } else if (error.code == Code::kUnavailable && !error.task.empty()) {
    error.message += fmt::format(
        "; once it serves again, the same command joins {}, which continues from its newest "
        "checkpoint",
        strategy_.chief_name());
  } else if (error.code == Code::kOutOfRange && train_.steps) {
    error.message = fmt::format("the data of {} ended at step {} of {} ({}): repeat the dataset, or lower train.steps",
                                strategy_.task_name(), step_, *train_.steps, error.message);
  }
  return error;
}

Result<TrainSummary> PsTrainer::run() {
  options_.train.interrupts->on_ask([this] { bell_.ring(); });
  auto summary = train();
  options_.train.interrupts->on_ask({});
  if (!summary) {
    Error error = explain(std::move(summary).error());
    TFD_TRY(emit(event("end")
                     .add("reason", "error")
                     .add("step", step_)
                     .add("updates", updates_)
                     .add("metrics", last_interval_)
                     .add("error", error)));
    return fail(std::move(error));
  }
  summary->first_step = first_step_;
  summary->step = step_;
  summary->steps = train_.steps;
  summary->elapsed = Clock::now() - started_;
  summary->checkpoint = saved_path_;
  return summary;
}

Result<TrainSummary> PsTrainer::train() {
  TFD_TRY(begin());
  TrainSummary summary;
  summary.reason = TFD_TRY(run_steps());
  TFD_TRY(finish(summary.reason));
  summary.metrics = last_interval_;
  for (const auto& [name, value] : last_evaluation_) {
    const auto known = std::ranges::find(summary.metrics, name, &Metrics::value_type::first);
    if (known == summary.metrics.end())
      summary.metrics.emplace_back(name, value);
    else
      known->second = value;
  }
  JsonLine end = event("end");
  end.add("reason", summary.reason).add("step", step_).add("updates", updates_).add("metrics", summary.metrics);
  if (restored_step_) end.add("restored_step", *restored_step_);
  end.add("seconds", std::chrono::duration<double>(Clock::now() - started_).count());
  TFD_TRY(emit(std::move(end)));
  return summary;
}

Result<void> PsTrainer::begin_as_chief() {
  std::optional<variable::Checkpoint> restored;
  if (train_.checkpoint && train_.checkpoint->resume) {
    std::vector<std::string> skipped;
    restored = TFD_TRY(variable::load_latest_checkpoint(train_.checkpoint->directory, &skipped));
    for (const std::string& one : skipped) options_.train.log.warning("passed over a checkpoint: {}", one);
  }
  if (restored) {
    saved_path_ = restored->path;
    saved_step_ = restored->step;
  }
  const auto ended = restored ? find_run_end(train_.checkpoint->directory) : std::nullopt;
  was_over_ = ended && ended->step == restored->step && is_over(*ended, train_);
  if (train_.checkpoint && !was_over_) remove_run_end(train_.checkpoint->directory);
  TFD_TRY(session_.initialise(restored));
  if (was_over_) TFD_TRY(session_.stop_all());  // so that the others, who wait for the variables, end too
  if (session_.adopted() && options_.train.say)
    options_.train.say("the parameter servers hold a training that isn't done: joining it as it stands");
  return {};
}

/// Each replica runs on a device of its own.
Result<std::shared_ptr<function::Engine>> PsTrainer::make_engine() {
  auto engine = TFD_TRY(options_.make_engine());
  for (int i = 0; i < engine->device_count(); ++i)
    devices_.push_back(fmt::format("{}:{}", engine->plugin().platform, i));
  return engine;
}

Result<void> PsTrainer::begin() {
  if (strategy_.is_chief())
    TFD_TRY(begin_as_chief());
  else
    TFD_TRY(session_.attach());
  if (options_.on_begin) options_.on_begin();
  auto replicas = TFD_TRY(session_.replica_options());
  if (options_.make_engine) replicas.make_engine = [this] { return make_engine(); };
  runner_ = TFD_TRY(runtime::ReplicaRunner::make(program_.program, replicas));
  first_step_ = step_ = reported_step_ = evaluated_step_ = TFD_TRY(session_.read_global_step());
  JsonLine start = event("start");
  start.add("program", program_.program.path).add("step", step_);
  if (train_.steps) start.add("steps", *train_.steps);
  start.add("workers", replicas.input.pipelines).add("worker", replicas.input.id).add("replicas", replicas.replicas);
  if (!devices_.empty()) start.add_raw("devices", fmt::format("[\"{}\"]", fmt::join(devices_, "\", \"")));
  if (session_.adopted() || !strategy_.is_chief())
    start.add_raw("joined", "true");
  else if (!saved_path_.empty())
    start.add("resumed_from", saved_path_);
  TFD_TRY(emit(std::move(start)));
  started_ = reported_at_ = saved_at_ = Clock::now();
  return {};
}

Result<runtime::VariableValues> PsTrainer::read_variables(const std::string& function) {
  auto names = program_.program.find_function(function)->variables_read();
  names.emplace_back(kGlobalStep);
  names.emplace_back(kStopped);
  auto values = TFD_TRY(session_.host().read(names));
  runtime::VariableValues out;
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(names[i], std::move(values[i]));
  step_ = out.at(std::string(kGlobalStep)).as<std::int64_t>()[0];
  stopped_ = out.at(std::string(kStopped)).as<std::int64_t>()[0] != 0;
  return out;
}

// Why it ends.
Result<std::string> PsTrainer::run_steps() {
  for (;;) {
    const auto variables = TFD_TRY(read_variables(train_.function));
    TFD_TRY(between_steps());
    if (auto reason = TFD_TRY(reason_to_end())) return *reason;
    const auto stepped = one_step(variables);
    if (stepped) continue;
    if (stepped.error().code == Code::kOutOfRange && !train_.steps) {
      data_ended_ = true;
    } else if (stepped.error().code == Code::kPermissionDenied && !strategy_.is_chief()) {
      // The chief came back and began anew: what this step was computed from is no more.
      if (options_.train.say) options_.train.say(fmt::format("{} has begun anew", strategy_.chief_name()));
      TFD_TRY(session_.attach());
      reported_step_ = TFD_TRY(session_.read_global_step());
    } else {
      return fail(stepped.error());
    }
  }
}

Result<std::optional<std::string>> PsTrainer::reason_to_end() {
  if (data_ended_) return "end_of_data";
  if (train_.steps && step_ >= *train_.steps) return first_step_ >= *train_.steps ? "nothing_left" : "done";
  if (stopped_) return was_over_ ? "nothing_left" : "stopped";
  if (stopping()) return "interrupted";
  if (train_.max_time && Clock::now() >= started_ + *train_.max_time) return "max_time";
  return std::nullopt;
}

Result<void> PsTrainer::one_step(const runtime::VariableValues& variables) {
  auto outcome = TFD_TRY(runner_->step(train_.function, variables, step_));
  session_.add_counters(outcome.updates);
  TFD_TRY(session_.host().update(outcome.updates));
  interval_.add(outcome.metrics);
  ++updates_;
  return {};
}

// The chief's checkpoints and evaluations, while the others go on.
Result<void> PsTrainer::between_steps() {
  if (passed(train_.log_every, reported_step_)) TFD_TRY(step_event());
  if (options_.train.on_progress) options_.train.on_progress({step_, train_.steps, last_interval_});
  bool wanted = false;
  if (options_.train.interrupts->take_checkpoint()) {
    wanted = saves();
    if (!train_.checkpoint)
      options_.train.log.warning("asked for a checkpoint, but the program has no train.checkpoint");
    else if (!saves())  // as srun asks all tasks of a step
      options_.train.log.info("asked for a checkpoint: {} is the one that saves them", strategy_.chief_name());
  }
  if (train_.steps && step_ >= *train_.steps) return {};  // finish() does it
  if (saves())
    wanted = wanted || passed(train_.checkpoint->every_steps, std::max(saved_step_, first_step_)) ||
             (train_.checkpoint->every_time && Clock::now() >= saved_at_ + *train_.checkpoint->every_time);
  if (wanted) TFD_TRY(save());
  if (evaluates() && passed(train_.evaluate->every_steps, evaluated_step_) && !stopping()) TFD_TRY(evaluate());
  return {};
}

Result<void> PsTrainer::finish(const std::string& reason) {
  if (reported_updates_ != updates_) TFD_TRY(step_event());
  if (reason == "interrupted") return leave_interrupted();
  return strategy_.is_chief() ? finish_as_chief(reason) : session_.leave();
}

Result<void> PsTrainer::finish_as_chief(const std::string& reason) {
  TFD_TRY(save_last());
  if (!strategy_.is_local()) {
    TFD_TRY(wait_for_others());
    TFD_TRY(save_last());
  }
  TFD_TRY(use_averages(reason));
  if (evaluates() && evaluated_step_ != step_) TFD_TRY(evaluate());
  TFD_TRY(restore_best());
  mark_end(reason);
  return options_.keep_servers ? Result<void>() : session_.dismiss_servers();
}

// Where all were interrupted (srun passes a signal to every task) nobody needs the parameter servers any more; where
// others go on, they do.
Result<void> PsTrainer::leave_interrupted() {
  TFD_TRY(save_last());
  if (!strategy_.is_chief()) return session_.leave();
  if (strategy_.is_local() || options_.keep_servers) return {};
  if (!TFD_TRY(session_.have_others_left(Deadline::after(options_.train.grace / 4)))) return {};
  step_ = TFD_TRY(session_.read_global_step());
  TFD_TRY(save_last());
  return session_.dismiss_servers();
}

Result<void> PsTrainer::save_last() {
  if (!saves() || saved_step_ == step_) return {};
  TFD_TRY(save());
  if (saved_step_ >= step_) return {};
  return fail(Code::kResourceExhausted, "the last checkpoint could not be written");
}

// As tfd-coordinate does at its end, once nobody changes the variables any more.
Result<void> PsTrainer::use_averages(const std::string& reason) {
  const auto& rules = program_.program.rules;
  if (reason == "max_time" || judge_.best() || !rules || !rules->has_averages()) return {};
  TFD_TRY(session_.host().use_averages());
  if (step_ == first_step_) return {};
  saved_step_ = evaluated_step_ = -1;  // those were of other values
  return save_last();
}

// The last thing that is written: who sees it sees the last checkpoint too.
void PsTrainer::mark_end(const std::string& reason) {
  if (!saves() || reason == "nothing_left") return;
  const auto written = save_run_end(train_.checkpoint->directory, make_run_end(train_, reason, step_));
  if (!written) options_.train.log.error("cannot write that the training is over: {}", written.error().message);
}

Result<void> PsTrainer::restore_best() {
  if (!judge_.best() || judge_.best()->step == step_) return {};
  const auto now = TFD_TRY(session_.host().export_state());
  TFD_TRY(session_.host().import_state(with_counters_of(now, judge_.best()->state)), "the best state");
  restored_step_ = judge_.best()->step;
  last_evaluation_ = judge_.best_metrics();
  return saves() ? save() : Result<void>();
}

Result<void> PsTrainer::wait_for_others() {
  const auto missing = TFD_TRY(session_.wait_for_others());
  step_ = TFD_TRY(session_.read_global_step());
  if (!missing.empty())
    options_.train.log.warning("{} did nothing for {}: ending without", fmt::join(missing, ", "),
                               format_duration(options_.linger));
  return {};
}

// Of the variables as they are by now: others go on meanwhile.
Result<void> PsTrainer::evaluate() {
  const auto begun = Clock::now();
  const std::string& function = train_.evaluate->function;
  variable::Checkpoint evaluated;
  runtime::VariableValues variables;
  if (judge_.needs_state()) {
    evaluated = TFD_TRY(take_checkpoint());
    variables = values_for(*program_.program.find_function(function), evaluated.state);
  } else {
    variables = TFD_TRY(read_variables(function));
    evaluated.step = step_;
  }
  runtime::MetricAccumulator metrics;
  auto parts = runner_->evaluate(function, variables, train_.evaluate->steps, [this] { return stopping(); });
  if (!parts && parts.error().code == Code::kCancelled) return {};
  if (!parts) return fail(std::move(parts).error());
  metrics.add(*parts);
  last_evaluation_ = metrics.values();
  evaluated_step_ = evaluated.step;
  TFD_TRY(emit(event("eval")
                   .add("step", evaluated_step_)
                   .add("metrics", last_evaluation_)
                   .add("seconds", std::chrono::duration<double>(Clock::now() - begun).count())));
  return judge(evaluated);
}

Result<void> PsTrainer::judge(const variable::Checkpoint& evaluated) {
  if (judge_.observe(last_evaluation_, evaluated)) {
    const auto path = judge_.keep(evaluated);
    if (path)
      TFD_TRY(emit(event("checkpoint").add("step", evaluated.step).add("path", *path).add_raw("best", "true")));
    else
      options_.train.log.error("cannot write the best checkpoint, of step {}: {}", evaluated.step,
                               path.error().message);
  }
  if (!judge_.is_over() || stopped_) return {};
  stopped_ = true;
  return session_.stop_all();
}

Result<variable::Checkpoint> PsTrainer::take_checkpoint() {
  variable::Checkpoint checkpoint;
  checkpoint.state = checkpoint_state(TFD_TRY(session_.host().export_state()));
  checkpoint.step = TFD_TRY(global_step_of(checkpoint.state));
  return checkpoint;
}

// A full disk doesn't end a training that could still succeed: the older checkpoints are as they were.
Result<void> PsTrainer::save() {
  saved_at_ = Clock::now();
  const auto checkpoint = TFD_TRY(take_checkpoint());
  auto path = variable::save_checkpoint(train_.checkpoint->directory, checkpoint, train_.checkpoint->keep);
  if (!path) {
    options_.train.log.error("cannot write a checkpoint of step {}: {}", checkpoint.step, path.error().message);
    return {};
  }
  saved_step_ = checkpoint.step;
  step_ = std::max(step_, saved_step_);
  saved_path_ = std::move(*path);
  return emit(event("checkpoint").add("step", saved_step_).add("path", saved_path_));
}

Result<void> PsTrainer::step_event() {
  const auto now = Clock::now();
  if (!interval_.empty()) last_interval_ = interval_.values();
  interval_.clear();
  const double seconds = std::max(std::chrono::duration<double>(now - reported_at_).count(), 1e-9);
  const Metrics rates{{"steps_per_second", static_cast<double>(step_ - reported_step_) / seconds},
                      {"updates_per_second", static_cast<double>(updates_ - reported_updates_) / seconds}};
  reported_at_ = now;
  reported_step_ = step_;
  reported_updates_ = updates_;
  return emit(
      event("step").add("step", step_).add("updates", updates_).add("metrics", last_interval_).add("rates", rates));
}

}  // namespace

Result<TrainSummary> train_on_parameter_servers(const program::Program& program, ParameterServerStrategy strategy,
                                                PsTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  if (strategy.is_parameter_server())
    return fail(Code::kInvalidArgument, "{} is a parameter server, which runs a server, not the program",
                strategy.task_name());
  for (const program::VariableDef& variable : program.variables)
    if (variable.per_worker)
      return fail(Code::kInvalidArgument,
                  "{}: variable '{}' is each worker's own, and workers of this strategy are clients by themselves: "
                  "tfd-coordinate has such variables",
                  program.path, variable.name);
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<Interrupts>();
  if (strategy.is_evaluator()) return follow_as_evaluator(program, strategy, options);
  const PsProgram made = TFD_TRY(make_ps_program(program, strategy));
  return PsTrainer(made, strategy, options).run();
}

}  // namespace tfd::strategy
