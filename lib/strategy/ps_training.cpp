// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/ps_training.hpp"

#include <algorithm>

#include "evaluator.hpp"
#include "ps_session.hpp"
#include "tfd/base/units.hpp"
#include "tfd/strategy/epochs.hpp"
#include "tfd/strategy/keeper.hpp"

namespace tfd::strategy {
namespace {

class PsTrainer {
 public:
  PsTrainer(const program::Program& stated, const PsProgram& program, const ParameterServerStrategy& strategy,
            const PsTrainingOptions& options)
      : stated_(stated),
        program_(program),
        train_(*program.program.train),
        strategy_(strategy),
        options_(options),
        session_(program, strategy, options),
        checkpoints_(train_, strategy.should_checkpoint(), options.train),
        judge_(train_, !has_evaluator(), options.train.log),
        report_(options_.train, strategy.task_name()),
        keeper_(checkpoints_, judge_, report_, [this] { return take_checkpoint(); }) {
    report_.warn_of_nonfinite(stated);
  }

  Result<TrainSummary> run();

 private:
  bool stopping() const { return options_.train.interrupts->stopping(); }
  bool has_evaluator() const { return strategy_.cluster_resolver().cluster.has_job("evaluator"); }
  /// Whether to stop early is the chief's to decide, beside an evaluator too.
  bool evaluates() const {
    return train_.evaluate && strategy_.is_chief() && (!has_evaluator() || train_.stop.has_value());
  }
  bool nothing_left() const { return checkpoints_.ended() || (train_.steps && first_step_ >= *train_.steps); }
  /// Whether a multiple of `every` was passed since that step: others step too, so it may be none of our own.
  bool passed(std::int64_t every, std::int64_t since) const { return every > 0 && step_ / every > since / every; }

  Result<TrainSummary> train();
  Result<std::shared_ptr<function::Engine>> make_engine();
  Result<void> begin();
  Result<void> begin_as_chief();
  Result<void> go_on_judging();
  Result<void> say_start(const runtime::ReplicaOptions& replicas) const;
  Result<std::string> run_steps();
  Result<std::optional<std::string>> reason_to_end();
  Result<runtime::VariableValues> read_variables(const std::string& function);
  Result<void> one_step(const runtime::VariableValues& variables);
  Result<void> cannot_step(const Error& error);
  Result<void> between_steps();
  bool is_checkpoint_asked();
  Result<void> finish(const std::string& reason);
  Result<void> finish_as_chief(const std::string& reason);
  Result<void> leave_interrupted();
  Result<void> wait_for_others();
  Result<void> use_averages(const std::string& reason);
  Result<void> evaluate();
  Result<void> import_best(const variable::Checkpoint& best);
  Result<variable::Checkpoint> take_checkpoint();
  Error explain(Error error) const;

  const program::Program& stated_;  // without the strategy's own variables
  const PsProgram& program_;
  const program::TrainDef& train_;
  const ParameterServerStrategy& strategy_;
  const PsTrainingOptions& options_;
  PsSession session_;
  Checkpoints checkpoints_;
  Judge judge_;
  Reporter report_;
  Keeper keeper_;
  std::unique_ptr<runtime::ReplicaRunner> runner_;

  std::optional<variable::Checkpoint> initial_;  // what --checkpoint names, where the chief begins with it
  int replicas_ = 1;
  std::vector<std::string> devices_;  // where there is an engine
  std::int64_t first_step_ = 0;
  std::int64_t step_ = 0;  // the global one, as last read
  bool data_ended_ = false;
  bool stopped_ = false;  // by the chief, before the last step
  std::optional<std::int64_t> restored_step_;
  std::int64_t evaluated_step_ = 0;
  Clock::time_point started_ = Clock::now();
};

/// What somebody must know who reads only this line.
Error PsTrainer::explain(Error error) const {
  if (error.code == Code::kUnavailable && !error.task.empty() && !strategy_.should_checkpoint()) {
    error.message += fmt::format(
        "; once it serves again, the same command joins {}, which continues from its newest "
        "checkpoint",
        strategy_.chief_name());
  } else if (error.code == Code::kUnavailable && !error.task.empty()) {
    error.message +=
        fmt::format("; {}{}", checkpoints_.path().empty() ? "" : "once it serves again, ", checkpoints_.describe());
  } else if (error.code == Code::kOutOfRange && train_.steps) {
    error.message = fmt::format("the data of {} ended at step {} of {} ({}): repeat the dataset, or lower train.steps",
                                strategy_.task_name(), step_, *train_.steps, error.message);
    if (checkpoints_.are_saved() && checkpoints_.step() == step_)
      error.message += fmt::format("; what was trained is in {}", checkpoints_.path());
  }
  return error;
}

Result<TrainSummary> PsTrainer::run() {
  options_.train.interrupts->on_ask([this] { session_.interrupted(); });
  auto summary = train();
  options_.train.interrupts->on_ask({});
  if (!summary) {
    const Error error = explain(std::move(summary).error());
    TFD_TRY(report_.end({.reason = "error", .step = step_, .error = &error}, true));
    return fail(error);
  }
  summary->first_step = first_step_;
  summary->step = step_;
  summary->steps = train_.steps;
  summary->elapsed = Clock::now() - started_;
  summary->checkpoint = checkpoints_.path();
  return summary;
}

Result<TrainSummary> PsTrainer::train() {
  TFD_TRY(begin());
  TrainSummary summary;
  summary.reason = TFD_TRY(run_steps());
  TFD_TRY(finish(summary.reason));
  summary.metrics = report_.metrics();
  TFD_TRY(report_.end({.reason = summary.reason, .step = step_, .restored_step = restored_step_}, true));
  return summary;
}

Result<void> PsTrainer::begin_as_chief() {
  const auto restored = TFD_TRY(checkpoints_.find(stated_));
  if (!checkpoints_.ended()) TFD_TRY(checkpoints_.probe());
  if (!restored) initial_ = TFD_TRY(checkpoints_.find_initial(stated_));
  const bool resumes = !train_.checkpoint || train_.checkpoint->resume;
  TFD_TRY(session_.initialise(
      resumes && !options_.train.start_over,
      [&]() -> Result<std::optional<variable::Checkpoint>> { return restored ? restored : initial_; }));
  if (!checkpoints_.ended()) TFD_TRY(checkpoints_.begin());
  if (restored || session_.adopted()) judge_.go_on(checkpoints_.run());
  if (checkpoints_.ended()) TFD_TRY(session_.stop_all());  // so that the others, who wait for the variables, end too
  if (!session_.adopted()) {
    checkpoints_.say_beginning(restored, initial_);
    return {};
  }
  report_.say("the parameter servers hold a training that isn't done: joining it as it stands");
  if (initial_)
    report_.say(fmt::format("--checkpoint {} is ignored: the training continues", options_.train.checkpoint));
  initial_.reset();
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
  replicas_ = replicas.replicas;
  runner_ = TFD_TRY(runtime::ReplicaRunner::make(program_.program, replicas));
  first_step_ = step_ = evaluated_step_ = TFD_TRY(session_.read_global_step());
  TFD_TRY(go_on_judging());
  TFD_TRY(say_start(replicas));
  report_.begin(step_);
  started_ = Clock::now();
  return {};
}

// What an earlier run has seen counts; it may have ended between a checkpoint and the evaluation that was due then.
Result<void> PsTrainer::go_on_judging() {
  if (!evaluates() || !train_.stop || nothing_left()) return {};
  if (session_.adopted() || (train_.checkpoint && train_.checkpoint->resume)) judge_.resume(first_step_);
  if (!judge_.seen_step()) judge_.begin_anew();
  evaluated_step_ = judge_.seen_step().value_or(0);
  return judge_.is_over() ? session_.stop_all() : Result<void>();
}

Result<void> PsTrainer::say_start(const runtime::ReplicaOptions& replicas) const {
  JsonLine start = report_.event("start");
  start.add("program", program_.program.path).add("step", step_);
  if (train_.steps) start.add("steps", *train_.steps);
  start.add("workers", replicas.input.pipelines).add("worker", replicas.input.id).add("replicas", replicas.replicas);
  if (!devices_.empty()) start.add_raw("devices", fmt::format("[\"{}\"]", fmt::join(devices_, "\", \"")));
  if (session_.adopted() || !strategy_.is_chief())
    start.add_raw("joined", "true");
  else if (!checkpoints_.path().empty())
    start.add("resumed_from", checkpoints_.path());
  else if (initial_)
    start.add("started_from", initial_->path);
  return report_.emit(std::move(start));
}

Result<runtime::VariableValues> PsTrainer::read_variables(const std::string& function) {
  auto names = program_.copies.stored_names(program_.program.find_function(function)->variables_read());
  names.emplace_back(kGlobalStep);
  auto values = TFD_TRY(session_.host().read(names));
  runtime::VariableValues out;
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(names[i], std::move(values[i]));
  step_ = out.at(std::string(kGlobalStep)).as<std::int64_t>()[0];
  stopped_ = session_.stopped();
  return out;
}

// Why it ends.
Result<std::string> PsTrainer::run_steps() {
  for (;;) {
    const auto variables = TFD_TRY(read_variables(train_.function));
    TFD_TRY(between_steps());
    if (auto reason = TFD_TRY(reason_to_end())) return *reason;
    if (const auto stepped = one_step(variables); !stepped) TFD_TRY(cannot_step(stepped.error()));
  }
}

Result<std::optional<std::string>> PsTrainer::reason_to_end() {
  if (data_ended_) return "end_of_data";
  if (train_.steps && step_ >= *train_.steps) return first_step_ >= *train_.steps ? "nothing_left" : "done";
  if (stopped_) return checkpoints_.ended() ? "nothing_left" : "stopped";
  if (stopping()) return "interrupted";
  if (train_.max_time && Clock::now() >= started_ + *train_.max_time) return "max_time";
  return std::nullopt;
}

Result<void> PsTrainer::one_step(const runtime::VariableValues& variables) {
  const std::int64_t elements = train_.replicas == program::Replicas::kSplit ? 0 : options_.train.epoch_elements;
  const int most = elements == 0 ? 0 : elements_of_step(step_, elements, replicas_);
  auto outcome = TFD_TRY(runner_->step(train_.function, variables, step_, most));
  session_.add_counters(outcome.updates);
  TFD_TRY(session_.host().update(outcome.updates));
  report_.count(outcome.metrics, step_ + 1);
  return {};
}

/// What is no error after all is none.
Result<void> PsTrainer::cannot_step(const Error& error) {
  if (error.code == Code::kOutOfRange && !train_.steps) {
    data_ended_ = true;
    return {};
  }
  if (error.code == Code::kOutOfRange) {  // nothing that was trained is lost, and nobody waits for this one
    TFD_TRY(strategy_.is_chief() ? keeper_.save_last(step_) : session_.leave());
    return fail(error);
  }
  if (error.code != Code::kPermissionDenied || strategy_.is_chief()) return fail(error);
  // The chief came back and began anew: what this step was computed from is no more.
  if (options_.train.say) options_.train.say(fmt::format("{} has started over", strategy_.chief_name()));
  TFD_TRY(session_.attach());
  runner_->begin_data(session_.data_order());
  return {};
}

bool PsTrainer::is_checkpoint_asked() {
  if (!options_.train.interrupts->take_checkpoint()) return false;
  if (!train_.checkpoint)
    options_.train.log.warning("asked for a checkpoint, but the program has no train.checkpoint");
  else if (!checkpoints_.are_saved())  // as srun asks all tasks of a step
    options_.train.log.info("asked for a checkpoint: only {} saves them", strategy_.chief_name());
  return checkpoints_.are_saved();
}

// The chief's checkpoints and evaluations, while the others go on.
Result<void> PsTrainer::between_steps() {
  if (step_ < report_.reported_step()) report_.rewind(step_);  // the chief has begun anew
  if (passed(train_.log_every, report_.reported_step())) TFD_TRY(report_.step(step_, true));
  report_.progress(step_, train_.steps);
  bool wanted = is_checkpoint_asked();
  if (train_.steps && step_ >= *train_.steps) return {};  // finish() does it
  if (checkpoints_.are_saved())
    wanted = wanted || checkpoints_.next_time().expired() ||
             passed(train_.checkpoint->every_steps, std::max(checkpoints_.step(), first_step_));
  if (wanted) TFD_TRY(keeper_.save());
  if (evaluates() && passed(train_.evaluate->every_steps, evaluated_step_) && !stopping()) TFD_TRY(evaluate());
  return {};
}

Result<void> PsTrainer::finish(const std::string& reason) {
  if (!report_.all_reported()) TFD_TRY(report_.step(step_, true));
  if (reason == "interrupted") return leave_interrupted();
  return strategy_.is_chief() ? finish_as_chief(reason) : session_.leave();
}

Result<void> PsTrainer::finish_as_chief(const std::string& reason) {
  TFD_TRY(keeper_.save_last(step_));
  if (!strategy_.is_local()) {
    TFD_TRY(wait_for_others());
    TFD_TRY(keeper_.save_last(step_));
  }
  TFD_TRY(use_averages(reason));
  if (evaluates() && evaluated_step_ != step_) TFD_TRY(evaluate());
  restored_step_ = TFD_TRY(keeper_.restore_best(step_, [this](const auto& best) { return import_best(best); }));
  if (reason != "nothing_left") checkpoints_.mark_end(reason, step_);
  return options_.keep_servers ? Result<void>() : session_.dismiss_servers();
}

// Where all were interrupted (srun passes a signal to every task) nobody needs the parameter servers any more; where
// others go on, they do.
Result<void> PsTrainer::leave_interrupted() {
  TFD_TRY(keeper_.save_last(step_));
  if (!strategy_.is_chief()) return session_.leave();
  if (strategy_.is_local() || options_.keep_servers) return {};
  if (!TFD_TRY(session_.have_others_left(Deadline::after(options_.train.grace / 4)))) return {};
  step_ = TFD_TRY(session_.read_global_step());
  TFD_TRY(keeper_.save_last(step_));
  return session_.dismiss_servers();
}

// As tfd-coordinate does at its end, once nobody changes the variables any more.
Result<void> PsTrainer::use_averages(const std::string& reason) {
  const auto& rules = program_.program.rules;
  if (reason == "max_time" || judge_.best_step() || !rules || !rules->has_averages()) return {};
  TFD_TRY(session_.host().use_averages());
  if (step_ == first_step_) return {};
  checkpoints_.invalidate();  // those were of other values
  evaluated_step_ = -1;
  return keeper_.save_last(step_);
}

/// The counters stay: what was done isn't undone.
Result<void> PsTrainer::import_best(const variable::Checkpoint& best) {
  const auto now = TFD_TRY(session_.host().export_state());
  return session_.host().import_state(with_global_step_of(now, best.state));
}

Result<void> PsTrainer::wait_for_others() {
  TFD_TRY(session_.wait_for_others());
  step_ = TFD_TRY(session_.read_global_step());
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
  runtime::MetricAccumulator sum;
  const auto parts = runner_->evaluate(function, variables, train_.evaluate->steps, [this] { return stopping(); });
  if (!parts && parts.error().code == Code::kCancelled) return {};
  if (!parts) return fail(parts.error());
  sum.add(*parts);
  evaluated_step_ = evaluated.step;
  TFD_TRY(report_.evaluated(evaluated.step, sum.values(), begun));
  if (nothing_left()) return {};
  TFD_TRY(keeper_.judge(evaluated.step, [&]() -> Result<variable::Checkpoint> { return evaluated; }));
  if (!judge_.is_over() || stopped_) return {};
  stopped_ = true;
  return session_.stop_all();
}

Result<variable::Checkpoint> PsTrainer::take_checkpoint() {
  variable::Checkpoint checkpoint{.step = 0, .state = {}, .path = {}, .run = checkpoints_.run()};
  checkpoint.state = checkpoint_state(TFD_TRY(session_.host().export_state()));
  checkpoint.step = TFD_TRY(global_step_of(checkpoint.state));
  step_ = std::max(step_, checkpoint.step);
  return checkpoint;
}

}  // namespace

Result<TrainSummary> train_on_parameter_servers(const program::Program& program, ParameterServerStrategy strategy,
                                                PsTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  if (strategy.is_parameter_server())
    return fail(Code::kInvalidArgument, "{} is a parameter server: it runs a server, not the program",
                strategy.task_name());
  for (const program::VariableDef& variable : program.variables)
    if (variable.per_worker)
      return fail(Code::kInvalidArgument,
                  "{}: variable '{}' is per worker, which this strategy does not support, as each of its workers is "
                  "its own client: use tfd-coordinate",
                  program.path, variable.name);
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<Interrupts>();
  if (strategy.is_evaluator()) return follow_as_evaluator(program, strategy, options);
  const PsProgram made = TFD_TRY(make_ps_program(program, strategy));
  return PsTrainer(program, made, strategy, options).run();
}

}  // namespace tfd::strategy
