// SPDX-License-Identifier: Apache-2.0
#include "replicated_program.hpp"

#include <algorithm>
#include <numeric>

#include "replica_group.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/resident.hpp"
#include "tfd/variable/rows.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

using Places = std::vector<std::size_t>;

/// The first ones.
Places places_below(std::size_t count) {
  Places out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// Replicas with rows. If one worker has all rows, these are the first ones, at least one; of several any, or none.
Places replicas_with_data(const DistributedElement& element, bool of_workers) {
  const auto has_rows = [&](std::size_t replica) {
    return std::ranges::any_of(element.fields, [&](const DistributedValue& field) {
      const auto& shape = field.on(replica).shape();
      return shape.empty() || shape[0] > 0;
    });
  };
  Places out = places_below(element.fields.empty() ? 1 : element.fields.front().components().size());
  if (of_workers)
    std::erase_if(out, [&](std::size_t replica) { return !has_rows(replica); });
  else
    while (out.size() > 1 && !has_rows(out.size() - 1)) out.pop_back();
  return out;
}

step::ReplicaElements elements_of(const DistributedElement& element, const Places& places) {
  step::ReplicaElements out{element.spec, {}, places};
  for (const std::size_t replica : places) out.of.push_back(element.on(replica));
  return out;
}

/// The values of its mask, which says which rows are data; null: it has none.
const DistributedValue* find_mask(const DistributedElement& element) {
  const auto found = std::ranges::find_if(element.spec, [](const data::FieldSpec& field) { return field.is_mask; });
  return found == element.spec.end() ? nullptr
                                     : &element.fields[static_cast<std::size_t>(found - element.spec.begin())];
}

std::vector<std::int64_t> rows_of_data(const std::vector<Tensor>& mask) {
  std::vector<std::int64_t> rows;
  std::int64_t row = 0;
  for (const Tensor& piece : mask)
    for (const float is_data : piece.as<float>()) {
      if (is_data != 0) rows.push_back(row);
      ++row;
    }
  return rows;
}

Result<Tensor> without_padding(const Tensor& result, const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const bool is_last = rows.empty() || rows.back() == count - 1;  // the padding
  return is_last ? result.slice_rows(0, std::min(count, result.shape()[0])) : variable::gather_rows(result, rows);
}

/// Wraps a value as an element with an unnamed field.
DistributedElement element_of(const DistributedValue& value) {
  const Tensor& first = value.components().front();
  return {{{"value", first.dtype(), first.shape()}}, {value}};
}

/// The outcome of a process that has no rows: results without a component.
ProgramOutcome no_outcome(const program::FunctionDef& function) {
  ProgramOutcome out;
  for (const program::OutputBinding& output : function.outputs)
    if (output.kind == program::OutputKind::kResult) out.results.push_back(DistributedValue::per_replica({}));
  return out;
}

/// Collects arguments in the runner's form.
struct Binder {
  Places places;  // of the replicas that run
  step::ReplicaArguments bound = {};

  step::ArgumentValue operator()(const ProgramArgument& argument) {
    if (const auto* value = std::get_if<DistributedValue>(&argument); value != nullptr && value->is_plain())
      return value->components().front();
    const auto* value = std::get_if<DistributedValue>(&argument);
    const DistributedElement element = value != nullptr ? element_of(*value) : std::get<DistributedElement>(argument);
    step::IteratorRef id{std::to_string(bound.elements.size())};
    bound.elements.emplace(id.id, elements_of(element, places));
    return id;
  }
};

}  // namespace

ProgramArguments all_from(const program::FunctionDef& function, const DistributedElement& element) {
  ProgramArguments out{std::vector<ProgramArgument>(static_cast<std::size_t>(function.arg_count), element), {}};
  for (const std::string& name : function.kwargs) out.kwargs.emplace_back(name, element);
  return out;
}

ReplicatedProgram::ReplicatedProgram(const program::Program& program, VariableHost& host,
                                     const step::ReplicaCopies& copies, const step::ReplicaOptions& options,
                                     Compat compat, int workers, std::shared_ptr<ReplicaGroup> group)
    : program_(program),
      host_(host),
      copies_(copies),
      replicas_(options.replicas),
      compat_(compat),
      workers_(workers),
      order_(options.order),
      group_(std::move(group)) {}

Result<std::unique_ptr<ReplicatedProgram>> ReplicatedProgram::make(const program::Program& program, VariableHost& host,
                                                                   const step::ReplicaCopies& copies,
                                                                   const step::ReplicaOptions& options, Compat compat,
                                                                   int workers) {
  std::unique_ptr<ReplicatedProgram> out(new ReplicatedProgram(program, host, copies, options, compat, workers));
  out->runner_ = TFD_TRY(step::ReplicaRunner::make(program, options));
  return out;
}

Result<std::unique_ptr<ReplicatedProgram>> ReplicatedProgram::make(const program::Program& program, VariableHost& host,
                                                                   const step::ReplicaCopies& copies,
                                                                   step::ReplicaOptions options, Compat compat,
                                                                   std::shared_ptr<ReplicaGroup> group) {
  options.shared_replicas = group->range();
  options.has_own_data = true;
  std::unique_ptr<ReplicatedProgram> out(
      new ReplicatedProgram(program, host, copies, options, compat, 1, std::move(group)));
  options.gather_outputs = [on = out.get()](step::ReplicaOutputs own) { return on->gather_outputs(std::move(own)); };
  out->runner_ = TFD_TRY(step::ReplicaRunner::make(program, options));
  return out;
}

/// Fetches the outputs of the other processes' replicas that a run needs: their updates, or the results by rows.
Result<step::ReplicaOutputs> ReplicatedProgram::gather_outputs(step::ReplicaOutputs own) {
  if (gathering_.empty()) return own;
  own_results_.clear();
  if (!gathers_results_)
    for (step::BoundOutputs& one : own.outputs) own_results_.push_back(std::exchange(one.outcome.results, {}));
  return group_->gather_outputs(gathering_, own);
}

Result<const program::FunctionDef*> ReplicatedProgram::find_function(const std::string& name) const {
  if (const auto* function = program_.find_function(name)) return function;
  std::vector<std::string> names;
  for (const program::FunctionDef& function : program_.functions) names.push_back(function.name);
  return fail(Code::kNotFound, "no function '{}'{}", printable(name), did_you_mean(name, names));
}

Result<DistributedDataset> ReplicatedProgram::distribute(const std::string& dataset) {
  const auto plan = program_.datasets.find(dataset);
  if (compat_ == Compat::kNone || plan == program_.datasets.end())
    return DistributedDataset::of_batches(TFD_TRY(runner_->find_dataset(dataset)), replicas_, group_);
  const auto make = [&](const data::Plan& one) { return runner_->make_dataset(dataset, one); };
  if (group_) return DistributedDataset::of_plan(plan->second, make, compat_, group_);
  return DistributedDataset::of_plan(
      plan->second, make,
      {.workers = workers_, .replicas = replicas_, .compat = compat_, .between_graph = workers_ > 1});
}

Result<step::VariableValues> ReplicatedProgram::read(const std::vector<std::string>& variables) {
  const auto names = copies_.stored_names(variables);
  auto values = TFD_TRY(host_.read(names));
  step::VariableValues out;
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(names[i], function::resident(std::move(values[i])));
  return out;
}

/// Takes the next element of each dataset that the function reads itself, distributed like arguments.
Result<void> ReplicatedProgram::take_own_data(const program::FunctionDef& function, Bound& bound) {
  for (const program::InputBinding& input : function.inputs) {
    if (input.kind != program::InputKind::kDataset || bound.arguments.datasets.contains(input.name)) continue;
    const std::string where = "dataset '" + input.name + "'";
    auto found = own_data_.find(input.name);
    if (found == own_data_.end()) {
      auto iterator = TFD_TRY(TFD_TRY(distribute(input.name), where).iterate(order_), where);
      found = own_data_.emplace(input.name, std::move(iterator)).first;
    }
    const auto element = TFD_TRY(found->second.next(), where);
    if (!element) return fail(Code::kOutOfRange, "end of {}", where);
    Places places = replicas_with_data(*element, is_of_workers());
    bound.arguments.datasets.emplace(input.name, elements_of(*element, places));
    if (places.size() < bound.places.size()) bound.places = std::move(places);
  }
  return {};
}

Result<ReplicatedProgram::Bound> ReplicatedProgram::bind(const program::FunctionDef& function,
                                                         const ProgramArguments& arguments) {
  if (arguments.args.size() > static_cast<std::size_t>(function.arg_count))
    return fail(Code::kInvalidArgument, "{} arguments for a function that takes {}", arguments.args.size(),
                function.arg_count);
  Binder bind{places_below(static_cast<std::size_t>(replicas_))};
  const auto look = [&](const ProgramArgument& argument) {
    const auto* element = std::get_if<DistributedElement>(&argument);
    if (element == nullptr) return;
    Places places = replicas_with_data(*element, is_of_workers());
    if (places.size() < bind.places.size()) bind.places = std::move(places);
  };
  for (const ProgramArgument& argument : arguments.args) look(argument);
  for (const auto& [name, argument] : arguments.kwargs) look(argument);
  for (const ProgramArgument& argument : arguments.args) bind.bound.args.push_back(bind(argument));
  for (const auto& [name, argument] : arguments.kwargs) bind.bound.kwargs.emplace_back(name, bind(argument));
  Bound out{std::move(bind.bound), std::move(bind.places)};
  TFD_TRY(take_own_data(function, out));
  return out;
}

Result<ProgramOutcome> ReplicatedProgram::run(const std::string& name, const ProgramArguments& arguments) {
  const program::FunctionDef* function = TFD_TRY(find_function(name));
  const auto bound = TFD_TRY(bind(*function, arguments), name);
  const bool updates = function->has_updates();
  if (bound.places.empty() && !(group_ && updates)) return no_outcome(*function);
  gathering_ = group_ && updates ? fmt::format("run '{}'", name) : "";
  gathers_results_ = false;
  auto outcome = TFD_TRY(runner_->run(name, bound.arguments, TFD_TRY(read(function->variables_read()), name)));
  if (!gathering_.empty()) outcome.results = std::exchange(own_results_, {});
  if (bound.places.empty()) {
    ProgramOutcome out = no_outcome(*function);
    out.updates = std::move(outcome.updates);
    return out;
  }
  return ProgramOutcome{regroup(outcome.results, static_cast<std::size_t>(replicas_)), bound.places,
                        std::move(outcome.updates)};
}

Result<std::vector<Tensor>> ReplicatedProgram::run_on_rows(const std::string& name, const DistributedElement& element) {
  const program::FunctionDef* function = TFD_TRY(find_function(name));
  const auto bound = TFD_TRY(bind(*function, all_from(*function, element)), name);
  if (bound.places.empty() && !group_) return std::vector<Tensor>();
  gathering_ = group_ ? fmt::format("rows of '{}'", name) : "";
  gathers_results_ = true;
  auto outcome = TFD_TRY(runner_->run(name, bound.arguments, TFD_TRY(read(function->variables_read()), name), true));
  std::vector<Tensor> out;
  for (std::size_t i = 0; !outcome.results.empty() && i < outcome.results.front().size(); ++i) {
    std::vector<Tensor> pieces;  // in the order of the replicas, which is that of the rows
    for (auto& piece : outcome.results) pieces.push_back(std::move(piece[i]));
    out.push_back(TFD_TRY(gather(DistributedValue::per_replica(std::move(pieces)), 0), "function '" + name + "'"));
    if (out[i].shape()[0] != out[0].shape()[0])
      return fail(Code::kInvalidArgument, "function '{}': results 0 and {} have {} and {} rows, not one per example",
                  name, i, out[0].shape()[0], out[i].shape()[0]);
  }
  const DistributedValue* const mask = find_mask(element);
  if (mask == nullptr) return out;
  std::vector<Tensor> of_all = mask->components();
  if (group_) of_all = {TFD_TRY(group_->gather(*mask, 0, fmt::format("mask of '{}'", name)))};
  const auto rows = rows_of_data(of_all);
  for (Tensor& result : out) result = TFD_TRY(without_padding(result, rows), "function '" + name + "'");
  return out;
}

Result<void> ReplicatedProgram::add_returns(const std::string& name, ProgramOutcome& outcome) {
  const program::FunctionDef* function = TFD_TRY(find_function(name));
  const auto values = TFD_TRY(read(function->returns), name);
  for (const std::string& variable : function->returns) {
    if (!copies_.has(variable)) {
      outcome.results.push_back(
          DistributedValue::mirrored({std::max<std::size_t>(outcome.places.size(), 1), values.at(variable)}));
      continue;
    }
    std::vector<Tensor> copies;
    for (const std::string& copy : copies_.names_of(variable)) copies.push_back(values.at(copy));
    if (group_) {
      const step::ReplicaRange& own = group_->range();
      copies = {copies.begin() + own.first, copies.begin() + own.first + own.count};
      const program::VariableDef& def = *program_.find_variable(variable);
      const variable::ReplicatedVariable now({def.synchronization, def.aggregation, def.trainable}, std::move(copies));
      outcome.results.emplace_back(TFD_TRY(group_->read_across(fmt::format("variable '{}'", variable), now), name));
      continue;
    }
    outcome.results.emplace_back(TFD_TRY(copies_.read_across(variable, std::move(copies)), name));
  }
  return {};
}

}  // namespace tfd::strategy
