// SPDX-License-Identifier: Apache-2.0
#include "tfd/runtime/replica_runner.hpp"

#include <algorithm>
#include <iterator>

#include "ahead.hpp"
#include "gradients.hpp"
#include "replicas.hpp"
#include "worker_program.hpp"

namespace tfd::runtime {
namespace {

using Iterators = std::map<std::string, WorkerIterator>;

class Runner final : public ReplicaRunner {
 public:
  Runner(std::unique_ptr<WorkerProgram> program, const ReplicaOptions& options, ReplicaCopies copies)
      : program_(std::move(program)), options_(options), copies_(std::move(copies)), order_(options.order) {}

  Result<StepOutcome> step(const std::string& name, const VariableValues& variables, std::int64_t step,
                           int most_elements) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    const program::FunctionDef& def = *function->def;
    const ClosureCall call{.function = name, .step = step};
    TFD_TRY(open_iterators(def, call), name);
    const auto& train = program_->program().train;
    const auto how = train ? train->replicas : program::Replicas::kEach;
    auto shares = TFD_TRY(take(TFD_TRY(iterators_of(def, call)), how, most_elements), name);
    CallContext context{&call, nullptr, &variables, learning_rate_of(step)};
    context.num_replicas = options_.replicas;
    context.copies = &copies_;
    context.first_replica = static_cast<std::uint32_t>(options_.input.id * options_.replicas);
    TFD_TRY(look_up(def, context, shares), name);
    auto outputs = TFD_TRY(run_on_replicas(*function, context, shares));
    for (BoundOutputs& one : outputs.outputs) one.outcome.results.clear();  // of a step nobody looks at them
    auto bound = TFD_TRY(reduce_outputs(program_->program(), def, context, std::move(outputs)));
    TFD_TRY(check_row_numbers(program_->program(), bound.updates), name);
    TFD_TRY(settle_gradients(program_->program(), def, variables, step, bound));
    return StepOutcome{std::move(bound.updates), std::move(bound.outcome.metrics)};
  }

  void begin_data(const data::Order& order) override {
    iterators_.clear();
    order_ = order;
  }

  Result<RunOutcome> run(const std::string& name, const std::string& dataset,
                         const VariableValues& variables) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    const program::FunctionDef& def = *function->def;
    if (dataset.empty() && def.arg_count + def.kwargs.size() > 0)
      return fail(Code::kInvalidArgument, "'{}' takes arguments: it needs a dataset to take them from", name);
    ClosureCall call{.function = name, .step = runs_};
    const IteratorRef argument{own_iterator_id(dataset)};
    call.args.assign(static_cast<std::size_t>(def.arg_count), argument);
    for (const std::string& one : def.kwargs) call.kwargs.emplace_back(one, argument);
    TFD_TRY(open_iterators(def, call), name);
    const auto ids = TFD_TRY(iterators_of(def, call), name);
    auto shares = TFD_TRY(take(ids, program::Replicas::kSplit, 0), name);
    CallContext context{&call, nullptr, &variables, learning_rate_of(runs_)};
    context.num_replicas = options_.replicas;
    context.copies = &copies_;
    context.first_replica = static_cast<std::uint32_t>(options_.input.id * options_.replicas);
    TFD_TRY(look_up(def, context, shares), name);
    auto outputs = TFD_TRY(run_on_replicas(*function, context, shares));
    RunOutcome out;
    for (BoundOutputs& one : outputs.outputs) out.results.push_back(std::exchange(one.outcome.results, {}));
    auto bound = TFD_TRY(reduce_outputs(program_->program(), def, context, std::move(outputs)));
    TFD_TRY(check_row_numbers(program_->program(), bound.updates), name);
    TFD_TRY(settle_gradients(program_->program(), def, variables, runs_, bound));
    ++runs_;
    out.updates = std::move(bound.updates);
    out.takes_data = !ids.empty();
    return out;
  }

  Result<std::vector<Metric>> evaluate(const std::string& name, const VariableValues& read,
                                       std::optional<std::int64_t> steps, const std::function<bool()>& stop) override {
    VariableValues variables = read;
    TFD_TRY(copies_.aggregate(variables), name);
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    const ClosureCall call{.function = name};
    const auto ids = TFD_TRY(iterators_of(*function->def, call), name);
    Iterators iterators;
    for (const std::string& id : ids) iterators.emplace(id, TFD_TRY(open(id, {}, {}), name));
    MetricAccumulator metrics;
    for (std::int64_t step = 0; !steps || step < *steps; ++step) {
      if (stop && stop()) return fail(Code::kCancelled, "interrupted");
      std::vector<ReplicaShare> shares(1);
      shares[0].batch = step;
      const auto taken = take_elements(ids, finder(iterators), shares[0].elements);
      if (!taken && taken.error().code == Code::kOutOfRange) break;
      if (!taken) return fail(Error(taken.error()).within(name));
      CallContext context{&call, &shares[0].elements, &variables, learning_rate_of(0)};
      TFD_TRY(look_up(*function->def, context, shares), name);
      metrics.add(TFD_TRY(run_on_replicas(*function, context, shares)).outputs[0].outcome.metrics);
      if (ids.empty()) break;
    }
    return metrics.parts();
  }

 private:
  double learning_rate_of(std::int64_t step) const {
    return program_->program().rules ? program_->program().rules->learning_rate_of_step(step) : 0.0;
  }
  /// For each replica an element of every dataset, or its share of the rows of one.
  Result<std::vector<ReplicaShare>> take(const std::vector<std::string>& ids, program::Replicas how,
                                         int most_elements) {
    const auto each_or_split = how == program::Replicas::kSplit ? how : program::Replicas::kEach;
    return take_shares(ids, finder(iterators_), options_.replicas, each_or_split, most_elements);
  }
  static FindIterator finder(Iterators& iterators) {
    return [&iterators](const std::string& id) -> Result<WorkerIterator*> { return &iterators.at(id); };
  }

  /// The rows of all replicas at once; those of tables that are among the variables are taken from there.
  Result<void> look_up(const program::FunctionDef& def, CallContext& context, std::vector<ReplicaShare>& shares) {
    const auto is_elsewhere = [&](const program::InputBinding& input) {
      return !input.lookup.empty() && !context.variables->contains(input.lookup);
    };
    if (std::ranges::none_of(def.inputs, is_elsewhere)) return {};
    if (!options_.look_up) return fail(Code::kFailedPrecondition, "no tables to look rows up in");
    std::vector<RowLookup> lookups;  // of all shares, one after the other
    for (const ReplicaShare& share : shares) {
      context.elements = &share.elements;
      auto own = TFD_TRY(lookups_of(def, context));
      lookups.insert(lookups.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    }
    auto rows = TFD_TRY(options_.look_up(lookups));
    const std::size_t each = rows.size() / shares.size();
    for (std::size_t i = 0; i < rows.size(); ++i) shares[i / each].rows.push_back(std::move(rows[i]));
    context.rows = &shares.front().rows;
    return {};
  }

  Result<WorkerIterator> open(const std::string& id, const InputPart& part, const data::Order& order) {
    const std::string name = id.substr(own_iterator_id("").size());
    const data::Shard shard{part.pipelines, part.id};
    const auto dataset = TFD_TRY(program_->find_dataset(name, shard));
    auto iterator = TFD_TRY(dataset->iterate(order));
    return WorkerIterator{name, dataset->spec(), std::move(iterator)};
  }

  Result<void> open_iterators(const program::FunctionDef& def, const ClosureCall& call) {
    const auto ids = TFD_TRY(iterators_of(def, call));
    for (const std::string& id : ids) {
      if (iterators_.contains(id)) continue;
      auto opened = TFD_TRY(open(id, options_.input, order_));
      // The next step's elements are made during this one. Source: experimental_distribute_dataset's prefetch.
      opened.iterator =
          std::make_unique<AheadIterator>(std::move(opened.iterator), static_cast<std::size_t>(options_.replicas));
      iterators_.emplace(id, std::move(opened));
    }
    return {};
  }

  std::unique_ptr<WorkerProgram> program_;
  const ReplicaOptions options_;
  const ReplicaCopies copies_;
  data::Order order_;  // of the data of steps
  std::int64_t runs_ = 0;
  Iterators iterators_;  // their maps call the program's functions
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
  auto made = TFD_TRY(WorkerProgram::make(program, directory, engine, options.command_environment));
  return std::make_unique<Runner>(std::move(made), options, std::move(copies));
}

}  // namespace tfd::runtime
