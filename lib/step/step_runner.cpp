// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/step_runner.hpp"

#include <algorithm>
#include <iterator>

#include "gradients.hpp"
#include "tfd/function/resident.hpp"

namespace tfd::step {

StepRunner::StepRunner(CompiledProgram& program, ReplicaCopies copies, StepOptions options)
    : program_(program),
      copies_(std::move(copies)),
      options_(std::move(options)),
      losses_(program_.program()),
      threads_(options_.replicas.count, options_.is_alone),
      run_at_once_(options_.run_at_once ? options_.run_at_once
                                        : [this](std::size_t count, const std::function<void(std::size_t)>& work) {
                                            threads_.run(count, work);
                                          }) {}

double StepRunner::learning_rate_of(std::int64_t step) const {
  const auto& rules = program_.program().rules;
  return rules ? rules->learning_rate_of_step(step) : 0.0;
}

Result<WorkerIterator> StepRunner::open(const std::string& name, const data::Shard& part, const data::Order& order) {
  const auto dataset = TFD_TRY(program_.find_dataset(name, part, options_.replicas.count));
  auto iterator = TFD_TRY(dataset->iterate(order));
  return WorkerIterator{name, dataset->spec(), std::move(iterator)};
}

Result<std::vector<ReplicaShare>> StepRunner::take(const program::FunctionDef& function, const FunctionCall& call,
                                                   const FindIterator& find) const {
  const auto ids = TFD_TRY(iterators_of(function, call));
  return take_shares(ids, find, options_.replicas, call.replicas, call.most_elements);
}

// Looks up the rows of all shares at once. No request is needed if all tables are among the variables.
Result<void> StepRunner::look_up(const program::FunctionDef& function, CallContext& context,
                                 std::vector<ReplicaShare>& shares) const {
  const auto is_elsewhere = [&](const program::InputBinding& input) {
    return !input.lookup.empty() && !context.variables->contains(input.lookup);
  };
  if (shares.empty() || std::ranges::none_of(function.inputs, is_elsewhere)) return {};
  if (!options_.look_up) return fail(Code::kFailedPrecondition, "no tables to look rows up in");
  std::vector<RowLookup> lookups;  // share by share
  for (const ReplicaShare& share : shares) {
    context.elements = &share.elements;
    auto own = TFD_TRY(lookups_of(function, context));
    lookups.insert(lookups.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  auto rows = TFD_TRY(options_.look_up(lookups));
  const std::size_t each = rows.size() / shares.size();
  for (std::size_t i = 0; i < rows.size(); ++i) shares[i / each].rows.push_back(std::move(rows[i]));
  context.rows = &shares.front().rows;
  return {};
}

Result<const VariableValues*> StepRunner::outside_of_replicas(const VariableValues& variables,
                                                              VariableValues& own) const {
  if (copies_.empty()) return &variables;
  own = variables;
  TFD_TRY(copies_.aggregate(own));
  return &own;
}

Result<StepInputs> StepRunner::bind(const CompiledFunction& function, const FunctionCall& call,
                                    std::vector<ReplicaShare> shares) const {
  CallContext context{&call, nullptr, nullptr, learning_rate_of(call.step)};
  context.num_replicas = options_.replicas.all;
  context.first_draw = options_.first_draw;
  StepInputs out;
  for (ReplicaShare& share : shares) {
    fill_up(*function.def, call, share.elements);
    context.elements = &share.elements;
    context.device = share.replica;
    context.replica_id = options_.replicas.all > 1 ? options_.replicas.first + share.replica : 0;
    auto bound = TFD_TRY(bind_inputs(function, context, false));
    out.replicas.push_back({std::move(bound.values), bound.module, share.elements.examples(), share.replica});
  }
  return out;
}

CallContext StepRunner::context_of(const FunctionCall& call, const VariableValues& variables) const {
  CallContext context{&call, nullptr, &variables, learning_rate_of(call.step)};
  context.results_stay = options_.results_stay;
  if (call.replicas == program::Replicas::kOne) return context;
  context.num_replicas = options_.replicas.all;
  context.replica_id = options_.replicas.first;
  context.first_draw = options_.first_draw;
  context.copies = &copies_;
  return context;
}

Result<ReplicaOutputs> StepRunner::run_alone(const CompiledFunction& function, const FunctionCall& call,
                                             std::vector<ReplicaShare> shares, const VariableValues& variables) {
  const program::FunctionDef& def = *function.def;
  CallContext context = context_of(call, variables);
  for (ReplicaShare& share : shares) fill_up(def, call, share.elements);
  TFD_TRY(look_up(def, context, shares), def.name);
  return run_on_replicas(run_at_once_, function, context, shares);
}

Result<void> StepRunner::check_losses(const program::FunctionDef& def, const FunctionCall& call,
                                      const ReplicaOutputs& outputs, const std::vector<ReplicaShare>& shares) {
  const auto& train = program_.program().train;
  if (!train || def.name != train->function) return {};
  const bool is_own = outputs.outputs.size() == shares.size();  // not those of other processes, too
  for (std::size_t i = 0; i < outputs.outputs.size(); ++i) {
    const int replica = is_own ? options_.replicas.first + shares[i].replica : static_cast<int>(i);
    auto checked = losses_.check(outputs.outputs[i].outcome.metrics, call.step + 1, replica);
    has_diverged_ = !checked;
    if (!checked) return checked;
  }
  return {};
}

Result<StepResult> StepRunner::run(const CompiledFunction& function, const FunctionCall& call,
                                   std::vector<ReplicaShare> shares, const VariableValues& variables) {
  const program::Program& program = program_.program();
  const program::FunctionDef& def = *function.def;
  const bool is_replica = call.replicas != program::Replicas::kOne;
  VariableValues own;
  CallContext context = context_of(call, variables);
  if (!is_replica) context.variables = TFD_TRY(outside_of_replicas(variables, own), def.name);
  for (ReplicaShare& share : shares) fill_up(def, call, share.elements);
  TFD_TRY(look_up(def, context, shares), def.name);
  auto outputs = TFD_TRY(run_on_replicas(run_at_once_, function, context, shares));
  if (is_replica && options_.gather) outputs = TFD_TRY(options_.gather(std::move(outputs)), def.name);
  has_diverged_ = false;
  const bool skips = program.rules && program.rules->on_nonfinite() == variable::OnNonfinite::kSkip;
  if (is_replica && !skips) TFD_TRY(check_losses(def, call, outputs, shares));
  StepResult out;
  if (outputs.outputs.empty()) return out;
  for (BoundOutputs& one : outputs.outputs) out.results.push_back(std::exchange(one.outcome.results, {}));
  BoundOutputs bound;
  const bool clips_replicas = is_replica && program.clips_replicas;
  if (clips_replicas)
    for (BoundOutputs& one : outputs.outputs)
      TFD_TRY(variable::prepare_gradients(*program.rules, one.updates), def.name);
  if (is_replica) {
    bound = TFD_TRY(reduce_outputs(function, context, std::move(outputs)));
  } else {
    bound = std::move(outputs.outputs.front());
    TFD_TRY(take_differences(def, *context.variables, bound.updates), def.name);
    bound.updates = TFD_TRY(copies_.update_across(std::move(bound.updates)), def.name);
  }
  TFD_TRY(check_row_numbers(program, bound.updates), def.name);
  const bool updates_something = !bound.updates.empty();
  auto settled = settle_gradients(program, def, *context.variables, call.step, clips_replicas, bound);
  has_diverged_ = !settled && settled.error().code == Code::kInternal;
  TFD_TRY(std::move(settled));
  out.is_skipped = updates_something && bound.updates.empty();
  out.metrics = std::move(bound.outcome.metrics);
  out.updates = std::move(bound.updates);
  return out;
}

Result<std::vector<Metric>> StepRunner::evaluate(const std::string& name, const data::Shard& part,
                                                 std::optional<std::int64_t> steps, const data::Order& order,
                                                 const VariableValues& variables,
                                                 const std::function<bool()>& is_stopped) {
  const CompiledFunction* function = TFD_TRY(program_.find_function(name));
  const FunctionCall call{.function = name};
  const auto ids = TFD_TRY(iterators_of(*function->def, call), name);
  std::map<std::string, WorkerIterator> iterators;
  for (const std::string& id : ids)
    iterators.emplace(id, TFD_TRY(open(id.substr(own_iterator_id("").size()), part, order), name));
  const FindIterator find = [&](const std::string& id) -> Result<WorkerIterator*> { return &iterators.at(id); };
  VariableValues own = variables;
  TFD_TRY(copies_.aggregate(own), name);
  for (auto& [variable, value] : own) value = function::resident(std::move(value));  // the same for all batches
  CallContext context{&call, nullptr, &own, learning_rate_of(call.step)};
  MetricAccumulator metrics;
  const std::size_t most = ids.empty() ? 1 : static_cast<std::size_t>(options_.replicas.count);
  bool more = !ids.empty() || part.index == 0;
  for (std::int64_t batch = part.index; more;) {
    if (is_stopped && is_stopped()) return fail(Code::kCancelled, "interrupted");
    std::vector<ReplicaShare> shares;
    for (; more && shares.size() < most; batch += part.count) {
      ReplicaShare share{.elements = {}, .replica = static_cast<int>(shares.size()), .batch = batch};
      more = (!steps || batch < *steps) && TFD_TRY(take_elements(ids, find, share.elements), name) == nullptr;
      fill_up(*function->def, call, share.elements);
      if (more) shares.push_back(std::move(share));
    }
    if (shares.empty()) break;
    TFD_TRY(look_up(*function->def, context, shares), name);
    const auto outputs = TFD_TRY(run_on_replicas(run_at_once_, *function, context, shares));
    for (const BoundOutputs& one : outputs.outputs) metrics.add(one.outcome.metrics);
    more = more && !ids.empty();
  }
  return metrics.parts();
}

}  // namespace tfd::step
