// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/ps_run.hpp"

#include <nlohmann/json.hpp>

#include "ps_session.hpp"
#include "reparse.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::strategy {
namespace {

/// Of one result its value, of several a list of them.
std::string results_json(const std::vector<tensor::Tensor>& results) {
  std::string out;
  for (const tensor::Tensor& one : results) {
    if (!out.empty()) out += ", ";
    tensor::append_json(one, out);
  }
  return results.size() == 1 ? out : "[" + out + "]";
}

class PsRun {
 public:
  PsRun(const PsProgram& program, const ParameterServerStrategy& strategy, const PsTrainingOptions& options,
        const RunRequest& request)
      : program_(program),
        strategy_(strategy),
        options_(options),
        request_(request),
        session_(program, strategy, options, bell_) {}

  Result<TrainSummary> run() {
    options_.train.interrupts->on_ask([this] { bell_.ring(); });
    auto summary = run_all();
    options_.train.interrupts->on_ask({});
    return summary;
  }

 private:
  Result<TrainSummary> run_all() {
    TFD_TRY(begin());
    TrainSummary summary{.reason = "end_of_data"};
    for (;;) {
      if (options_.train.interrupts->stopping()) {
        summary.reason = "interrupted";
        break;
      }
      auto outcome = one();
      if (!outcome && outcome.error().code == Code::kOutOfRange) break;
      const Result<void> applied = outcome ? apply(std::move(outcome->updates)) : fail(outcome.error());
      if (!applied && applied.error().code == Code::kPermissionDenied && !strategy_.is_chief()) {
        TFD_TRY(session_.attach());  // the chief came back and began anew: what this was computed from is no more
        continue;
      }
      TFD_TRY(applied);
      TFD_TRY(write(outcome->results));
      ++summary.step;
      if (!outcome->takes_data) break;
    }
    TFD_TRY(finish(summary.reason == "interrupted"));
    return summary;
  }

  Result<void> begin() {
    if (strategy_.is_chief())
      TFD_TRY(session_.initialise(TFD_TRY(newest_checkpoint())));
    else
      TFD_TRY(session_.attach());
    if (options_.on_begin) options_.on_begin();
    runner_ = TFD_TRY(runtime::ReplicaRunner::make(program_.program, TFD_TRY(session_.replica_options())));
    return {};
  }

  Result<std::optional<variable::Checkpoint>> newest_checkpoint() const {
    const auto& train = program_.program.train;
    if (!train || !train->checkpoint || !train->checkpoint->resume) return std::nullopt;
    return variable::load_latest_checkpoint(train->checkpoint->directory, nullptr);
  }

  Result<runtime::RunOutcome> one() {
    const auto names = program_.program.find_function(request_.function)->variables_read();
    auto values = TFD_TRY(session_.host().read(names));
    runtime::VariableValues variables;
    for (std::size_t i = 0; i < names.size(); ++i) variables.emplace(names[i], std::move(values[i]));
    return runner_->run(request_.function, request_.dataset, variables);
  }

  Result<void> apply(std::vector<variable::Update> updates) {
    if (strategy_.is_local() && updates.empty()) return {};
    session_.add_own_update(updates);  // the chief sees by it that this worker is at work
    return session_.host().update(updates);
  }

  /// One line: what each replica returned, or the one value of all.
  Result<void> write(const std::vector<std::vector<tensor::Tensor>>& results) {
    const Combine& combine = request_.combine;
    std::string line;
    if (combine.reduce || combine.gather_axis) {
      line = results_json(TFD_TRY(combined(results), "function '" + request_.function + "'")) + "\n";
    } else {
      JsonLine replicas;
      for (std::size_t replica = 0; replica < results.size(); ++replica)
        replicas.add_raw(std::to_string(replica), results_json(results[replica]));
      line = std::move(replicas).text();
    }
    return options_.train.write_event ? options_.train.write_event(line) : Result<void>();
  }

  Result<std::vector<tensor::Tensor>> combined(const std::vector<std::vector<tensor::Tensor>>& results) const {
    std::vector<tensor::Tensor> out;
    for (std::size_t result = 0; !results.empty() && result < results.front().size(); ++result) {
      std::vector<tensor::Tensor> values;
      for (const auto& replica : results) values.push_back(replica[result]);
      const Combine& combine = request_.combine;
      out.push_back(combine.reduce ? TFD_TRY(reduce_values(*combine.reduce, values))
                                   : TFD_TRY(gather_values(*combine.gather_axis, values)));
    }
    return out;
  }

  // Of an interrupted one only where all others left too: those who go on need the parameter servers.
  Result<void> finish(bool interrupted) {
    if (strategy_.is_local()) return {};
    if (!strategy_.is_chief()) return session_.leave();
    if (interrupted) {
      if (options_.keep_servers) return {};
      const bool alone = TFD_TRY(session_.have_others_left(Deadline::after(options_.train.grace / 4)));
      return alone ? session_.dismiss_servers() : Result<void>();
    }
    TFD_TRY(session_.wait_for_others());
    return options_.keep_servers ? Result<void>() : session_.dismiss_servers();
  }

  const PsProgram& program_;
  const ParameterServerStrategy& strategy_;
  const PsTrainingOptions& options_;
  const RunRequest& request_;
  Bell bell_;
  PsSession session_;
  std::unique_ptr<runtime::ReplicaRunner> runner_;
};

}  // namespace

Result<program::Program> with_dataset(const program::Program& program, const std::string& name,
                                      const std::string& pipeline) {
  auto document = nlohmann::ordered_json::parse(program.document);
  auto parsed = nlohmann::ordered_json::parse(pipeline, nullptr, false);
  if (parsed.is_discarded()) return fail(Code::kInvalidArgument, "'{}' is no JSON", printable(pipeline));
  document["datasets"][name] = std::move(parsed);
  return reparse(program, document.dump());
}

Result<TrainSummary> run_on_parameter_servers(const program::Program& program, const ParameterServerStrategy& strategy,
                                              PsTrainingOptions options, const RunRequest& request) {
  std::vector<std::string> names;
  for (const auto& function : program.functions) names.push_back(function.name);
  if (program.find_function(request.function) == nullptr)
    return fail(Code::kInvalidArgument, "no function '{}'{}", printable(request.function),
                did_you_mean(request.function, names));
  if (!request.dataset.empty() && !program.datasets.contains(request.dataset))
    return fail(Code::kInvalidArgument, "no dataset '{}'", printable(request.dataset));
  if (strategy.is_parameter_server() || strategy.is_evaluator())
    return fail(Code::kInvalidArgument, "{} is no worker", strategy.task_name());
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<Interrupts>();
  const PsProgram made = TFD_TRY(make_ps_program(program, strategy));
  return PsRun(made, strategy, options, request).run();
}

}  // namespace tfd::strategy
