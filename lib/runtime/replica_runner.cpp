// SPDX-License-Identifier: Apache-2.0
#include "tfd/runtime/replica_runner.hpp"

#include "step_runner.hpp"

namespace tfd::runtime {
namespace {

class Runner final : public ReplicaRunner {
 public:
  Runner(std::unique_ptr<WorkerProgram> program, const ReplicaOptions& options, ReplicaCopies copies)
      : program_(std::move(program)),
        part_{options.input.pipelines, options.input.id},
        order_(options.order),
        steps_(*program_, std::move(copies),
               {options.replicas, static_cast<std::uint32_t>(options.input.id * options.replicas), options.look_up,
                options.input.pipelines == 1}) {}

  Result<StepOutcome> step(const std::string& name, const VariableValues& variables, std::int64_t step,
                           int most_elements) override {
    const ClosureCall call = call_of_step(name, step, most_elements);
    auto done = TFD_TRY(run_call(call, variables));  // nobody looks at the results of a step
    return StepOutcome{std::move(done.updates), std::move(done.metrics)};
  }

  Result<StepInputs> take_inputs(const std::string& name, std::int64_t step, int most_elements) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    const ClosureCall call = call_of_step(name, step, most_elements);
    const auto find = [this](const std::string& id) { return find_iterator(id); };
    return steps_.bind(*function, call, TFD_TRY(steps_.take(*function->def, call, find), name));
  }

  Result<std::vector<Metric>> metrics_of(const std::string& name, std::span<const tensor::Tensor> values,
                                         double examples) const override {
    return bind_metrics(*TFD_TRY(program_->find_function(name))->def, values, examples);
  }

  void begin_data(const data::Order& order) override {
    iterators_.clear();
    order_ = order;
  }

  Result<RunOutcome> run(const std::string& name, const std::string& dataset,
                         const VariableValues& variables) override {
    const program::FunctionDef& def = *TFD_TRY(program_->find_function(name))->def;
    if (dataset.empty() && def.arg_count + def.kwargs.size() > 0)
      return fail(Code::kInvalidArgument, "'{}' takes arguments: it needs a dataset to take them from", name);
    ClosureCall call{.function = name, .step = runs_};
    call.replicas = program::Replicas::kSplit;
    const IteratorRef argument{own_iterator_id(dataset)};
    call.args.assign(static_cast<std::size_t>(def.arg_count), argument);
    for (const std::string& one : def.kwargs) call.kwargs.emplace_back(one, argument);
    const bool takes_data = !TFD_TRY(iterators_of(def, call), name).empty();
    auto done = TFD_TRY(run_call(call, variables));
    ++runs_;
    return RunOutcome{std::move(done.results), std::move(done.updates), takes_data};
  }

  Result<std::vector<Metric>> evaluate(const std::string& name, const VariableValues& variables,
                                       std::optional<std::int64_t> steps, const std::function<bool()>& stop) override {
    return steps_.evaluate(name, {}, steps, {}, variables, stop);
  }

 private:
  ClosureCall call_of_step(const std::string& function, std::int64_t step, int most_elements) const {
    const auto& train = program_->program().train;
    ClosureCall call{.function = function, .step = step};
    call.replicas = train ? train->replicas : program::Replicas::kEach;
    call.most_elements = most_elements;
    return call;
  }

  Result<StepResult> run_call(const ClosureCall& call, const VariableValues& variables) {
    const CompiledFunction* function = TFD_TRY(program_->find_function(call.function));
    const auto find = [this](const std::string& id) { return find_iterator(id); };
    auto shares = TFD_TRY(steps_.take(*function->def, call, find), call.function);
    return steps_.run(*function, call, std::move(shares), variables);
  }

  Result<WorkerIterator*> find_iterator(const std::string& id) {
    auto found = iterators_.find(id);
    if (found == iterators_.end())
      found = iterators_.emplace(id, TFD_TRY(steps_.open(id.substr(own_iterator_id("").size()), part_, order_))).first;
    return &found->second;
  }

  std::unique_ptr<WorkerProgram> program_;
  const data::Shard part_;
  data::Order order_;  // of the data of steps
  std::int64_t runs_ = 0;
  StepRunner steps_;
  std::map<std::string, WorkerIterator> iterators_;  // their maps call the program's functions
};

}  // namespace

Result<std::unique_ptr<ReplicaRunner>> ReplicaRunner::make(const program::Program& program,
                                                           const ReplicaOptions& options) {
  auto copies = TFD_TRY(ReplicaCopies::make(program, options.replicas));
  std::shared_ptr<function::Engine> engine;  // with the functions it compiles
  if (program.has_kind(program::FunctionKind::kModule)) {
    if (!options.make_engine) return fail(Code::kFailedPrecondition, "no engine for functions");
    engine = TFD_TRY(options.make_engine());
  }
  const std::string directory = options.data_root.empty() ? program.directory : options.data_root;
  auto made =
      TFD_TRY(WorkerProgram::make(program, directory, engine, options.command_environment, {}, options.left_out));
  return std::make_unique<Runner>(std::move(made), options, std::move(copies));
}

}  // namespace tfd::runtime
