// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/function_run.hpp"

#include "function_request.hpp"
#include "tfd/base/text.hpp"
#include "tfd/strategy/loaded_program.hpp"

namespace tfd::strategy {
namespace {

class FunctionRun {
 public:
  FunctionRun(const program::FunctionDef& function, Strategy& strategy, LoadedProgram& loaded,
              const RunRequest& request, const train::TrainOptions& options)
      : function_(function), strategy_(strategy), loaded_(loaded), request_(request), options_(options) {}

  Result<train::TrainSummary> run() {
    if (!options_.interrupts) return run_all();
    const auto look = [this] {
      if (is_stopping()) loaded_.stop_data();
    };
    options_.interrupts->on_ask(look);
    look();
    auto summary = run_all();
    options_.interrupts->on_ask({});
    return summary;
  }

 private:
  bool is_stopping() const { return options_.interrupts && options_.interrupts->stopping(); }

  Result<train::TrainSummary> run_all() {
    train::TrainSummary summary{.reason = "end_of_data"};
    auto elements = TFD_TRY(open());
    do {
      if (is_stopping()) {
        summary.reason = "interrupted";
        break;
      }
      const auto done = next(elements ? &*elements : nullptr);
      if (!done && done.error().code == Code::kCancelled && is_stopping()) continue;
      if (!TFD_TRY(done)) break;
      ++summary.step;
    } while (takes_data(function_));
    return summary;
  }

  /// Advances to the next element; false at the end of the data.
  Result<bool> next(DistributedIterator* elements) {
    std::optional<DistributedElement> element;
    if (elements != nullptr) {
      element = TFD_TRY(elements->next(), where());
      if (!element) return false;
    }
    const auto done = one(element ? &*element : nullptr);
    if (!done && done.error().code == Code::kOutOfRange) return false;  // the end of a dataset that it reads itself
    TFD_TRY(done);
    return true;
  }

  std::string where() const { return request_.batches ? "--dataset -" : "dataset '" + request_.dataset + "'"; }

  /// Opens the dataset of its arguments; nullopt if it takes none.
  Result<std::optional<DistributedIterator>> open() {
    if (!takes_arguments(function_)) return std::nullopt;
    const auto dataset = request_.batches ? TFD_TRY(strategy_.experimental_distribute_dataset(request_.batches))
                                          : TFD_TRY(loaded_.distribute(request_.dataset), where());
    return std::optional(TFD_TRY(dataset.iterate(), where()));
  }

  Result<void> one(const DistributedElement* element) {
    if (request_.predict) {
      const auto rows = TFD_TRY(loaded_.run_on_rows(request_.function, element ? *element : DistributedElement()));
      return rows.empty() ? Result<void>() : request_.predict(rows);
    }
    std::vector<Argument> args;
    std::vector<std::pair<std::string, Argument>> kwargs;
    if (element != nullptr) {  // passed to all arguments
      args.assign(static_cast<std::size_t>(function_.arg_count), *element);
      for (const std::string& name : function_.kwargs) kwargs.emplace_back(name, *element);
    }
    const auto results = TFD_TRY(loaded_.run(request_.function, args, kwargs));
    const auto combine = [this](const DistributedValue& value) {
      const Combine& how = request_.combine;
      return how.reduce ? strategy_.reduce(*how.reduce, value, how.axes) : strategy_.gather(value, *how.gather_axis);
    };
    return write_results(request_, results, combine, options_);
  }

  const program::FunctionDef& function_;
  Strategy& strategy_;
  LoadedProgram& loaded_;
  const RunRequest& request_;
  const train::TrainOptions& options_;
};

/// Logs the devices; functions without a module need no plug-in, so none is asked.
Result<void> log_devices(const program::Program& program, Strategy& strategy, const Log& log) {
  if (!program.has_kind(program::FunctionKind::kModule)) return {};
  const auto workers = TFD_TRY(strategy.worker_devices()), variables = TFD_TRY(strategy.parameter_devices());
  log.info("{}: {} on {}, variables on {}", strategy.kind().name, counted(workers.size(), "replica"),
           fmt::join(workers, ", "), fmt::join(variables, ", "));
  return {};
}

}  // namespace

Result<train::TrainSummary> run_function(const program::Program& program, Strategy& strategy, const RunRequest& request,
                                         const train::TrainOptions& options, const std::function<void()>& on_begin) {
  TFD_TRY(check_request(program, request));
  const Scope scope = TFD_TRY(strategy.scope());
  const auto weights = TFD_TRY(find_weights(program, request, options));
  const auto loaded = TFD_TRY(strategy.load(program));
  TFD_TRY(log_devices(program, strategy, options.log));
  if (weights) TFD_TRY(loaded->import_state(weights->state), weights->path);
  if (on_begin) on_begin();
  return FunctionRun(*program.find_function(request.function), strategy, *loaded, request, options).run();
}

}  // namespace tfd::strategy
