// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/ps_run.hpp"

#include "api/function_request.hpp"
#include "api/replicated_program.hpp"
#include "ps_session.hpp"
#include "tfd/strategy/evaluator.hpp"

namespace tfd::strategy {
namespace {

class PsRun {
 public:
  PsRun(const program::Program& stated, const PsProgram& program, const ParameterServerStrategy& strategy,
        const RunOptions& options, const RunRequest& request)
      : stated_(stated),
        program_(program),
        strategy_(strategy),
        options_(options),
        request_(request),
        function_(*program.program.find_function(request.function)),
        session_(program, strategy, options) {}

  Result<train::TrainSummary> run() {
    options_.train.interrupts->on_ask([this] { session_.interrupted(); });
    auto summary = run_all();
    options_.train.interrupts->on_ask({});
    return summary;
  }

 private:
  Result<train::TrainSummary> run_all() {
    TFD_TRY(begin());
    train::TrainSummary summary{.reason = "end_of_data"};
    for (;;) {
      if (options_.train.interrupts->stopping()) {
        summary.reason = "interrupted";
        break;
      }
      auto outcome = one();
      if (!outcome && outcome.error().code == Code::kOutOfRange) break;
      if (!outcome && outcome.error().code == Code::kCancelled && options_.train.interrupts->stopping()) continue;
      const Result<void> applied = outcome ? apply(outcome->updates) : fail(outcome.error());
      if (!applied && applied.error().code == Code::kPermissionDenied && !strategy_.is_chief()) {
        TFD_TRY(session_.attach());  // the chief was restarted and began anew: these variables are obsolete
        continue;
      }
      TFD_TRY(applied);
      TFD_TRY(write(std::move(*outcome)));
      ++summary.step;
      if (!takes_data(function_)) break;
    }
    TFD_TRY(finish(summary.reason == "interrupted"));
    return summary;
  }

  Result<void> begin() {
    if (strategy_.is_chief())
      TFD_TRY(session_.initialise(true, [this] { return find_weights(stated_, request_, options_.train); }));
    else
      TFD_TRY(session_.attach());
    const bool is_named = request_.untrained || !options_.train.checkpoint.empty();
    if (session_.adopted() && is_named)
      return fail(Code::kInvalidArgument,
                  "{}: the parameter servers hold the variables of an unfinished training: use --cluster none to "
                  "run the function separately",
                  request_.untrained ? "--untrained" : "--checkpoint");
    if (options_.on_begin) options_.on_begin();
    auto with = TFD_TRY(session_.replica_options());
    with.order.stream = 0;  // the data's first order, whatever was trained before
    replicas_ = TFD_TRY(ReplicatedProgram::make(program_.program, session_.host(), program_.copies, with));
    if (!takes_arguments(function_)) return {};
    const std::string where = "dataset '" + request_.dataset + "'";
    const auto dataset = TFD_TRY(replicas_->distribute(request_.dataset), where);
    elements_ = TFD_TRY(dataset.iterate(with.order), where);
    return {};
  }

  /// Runs the function once. kOutOfRange at the end of the data.
  Result<ProgramOutcome> one() {
    std::optional<DistributedElement> element;
    if (elements_) element = TFD_TRY(elements_->next(), "dataset '" + request_.dataset + "'");
    if (elements_ && !element) return fail(Code::kOutOfRange, "end of dataset '{}'", request_.dataset);
    if (!request_.predict)
      return replicas_->run(request_.function, element ? all_from(function_, *element) : ProgramArguments());
    rows_ = TFD_TRY(replicas_->run_on_rows(request_.function, element ? *element : DistributedElement()));
    return ProgramOutcome();
  }

  Result<void> apply(const std::vector<variable::Update>& updates) {
    session_.count_update();
    return updates.empty() ? Result<void>() : session_.host().update(updates);
  }

  Result<void> write(ProgramOutcome outcome) {
    if (request_.predict) return rows_.empty() ? Result<void>() : request_.predict(rows_);
    TFD_TRY(replicas_->add_returns(request_.function, outcome));
    const auto combine = [&](const DistributedValue& value) {
      const Combine& how = request_.combine;
      return how.reduce ? reduce(*how.reduce, value, how.axes, outcome.places.size()) : gather(value, *how.gather_axis);
    };
    return write_results(request_, outcome.results, combine, options_.train);
  }

  // Ends the run; if interrupted, the servers are shut down only if all others left, too: continuing ones need them.
  Result<void> finish(bool interrupted) {
    if (!strategy_.is_chief()) return session_.group().leave();
    if (interrupted) {
      if (options_.keep_servers) return {};
      const bool alone = TFD_TRY(session_.group().have_others_left(Deadline::after(options_.train.grace / 4)));
      return alone ? session_.dismiss_servers() : Result<void>();
    }
    TFD_TRY(session_.group().wait_for_others());
    return options_.keep_servers ? Result<void>() : session_.dismiss_servers();
  }

  const program::Program& stated_;  // the program without the strategy's own variables
  const PsProgram& program_;
  const ParameterServerStrategy& strategy_;
  const RunOptions& options_;
  const RunRequest& request_;
  const program::FunctionDef& function_;
  PsSession session_;
  std::unique_ptr<ReplicatedProgram> replicas_;
  std::optional<DistributedIterator> elements_;  // nullopt: it takes no arguments
  std::vector<tensor::Tensor> rows_;             // of a prediction
};

}  // namespace

Result<train::TrainSummary> run_on_parameter_servers(const program::Program& program,
                                                     const ParameterServerStrategy& strategy, RunOptions options,
                                                     const RunRequest& request) {
  TFD_TRY(check_request(program, request));
  if (strategy.is_local()) return fail(Code::kInvalidArgument, "there is no cluster with parameter servers");
  if (strategy.is_evaluator()) return sit_out(strategy.task_name(), options.train);
  if (strategy.is_parameter_server()) return fail(Code::kInvalidArgument, "{} is not a worker", strategy.task_name());
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<train::Interrupts>();
  const PsProgram made = TFD_TRY(make_ps_program(program, strategy));
  return PsRun(program, made, strategy, options, request).run();
}

}  // namespace tfd::strategy
