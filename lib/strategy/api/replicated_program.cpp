// SPDX-License-Identifier: Apache-2.0
#include "replicated_program.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/function/resident.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

/// Number of replicas with rows, at least one; later ones have none.
std::size_t replicas_with_data(const DistributedElement& element) {
  const auto has_rows = [&](std::size_t replica) {
    return std::ranges::any_of(element.fields, [&](const DistributedValue& field) {
      const auto& shape = field.on(replica).shape();
      return shape.empty() || shape[0] > 0;
    });
  };
  std::size_t count = element.fields.empty() ? 1 : element.fields.front().components().size();
  while (count > 1 && !has_rows(count - 1)) --count;
  return count;
}

step::ReplicaElements elements_of(const DistributedElement& element, std::size_t replicas) {
  step::ReplicaElements out{element.spec, {}};
  for (std::size_t replica = 0; replica < replicas; ++replica) out.of.push_back(element.on(replica));
  return out;
}

/// Number of rows that are data according to a mask; padding is last. nullopt: no mask.
std::optional<std::int64_t> unpadded_rows(const DistributedElement& element) {
  for (std::size_t field = 0; field < element.spec.size(); ++field) {
    if (!element.spec[field].is_mask) continue;
    double rows = 0;
    for (const Tensor& mask : element.fields[field].components())
      for (const float row : mask.as<float>()) rows += row;
    return static_cast<std::int64_t>(rows);
  }
  return std::nullopt;
}

/// Wraps a value as an element with an unnamed field.
DistributedElement element_of(const DistributedValue& value) {
  const Tensor& first = value.components().front();
  return {{{"value", first.dtype(), first.shape()}}, {value}};
}

/// Collects arguments in the runner's form.
struct Binder {
  std::size_t replicas;  // that run
  step::ReplicaArguments bound = {};

  step::ArgumentValue operator()(const ProgramArgument& argument) {
    if (const auto* value = std::get_if<DistributedValue>(&argument); value != nullptr && value->is_plain())
      return value->components().front();
    const auto* value = std::get_if<DistributedValue>(&argument);
    const DistributedElement element = value != nullptr ? element_of(*value) : std::get<DistributedElement>(argument);
    step::IteratorRef id{std::to_string(bound.elements.size())};
    bound.elements.emplace(id.id, elements_of(element, replicas));
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
                                     Compat compat, std::unique_ptr<step::ReplicaRunner> runner)
    : program_(program),
      host_(host),
      copies_(copies),
      replicas_(options.replicas),
      compat_(compat),
      order_(options.order),
      runner_(std::move(runner)) {}

Result<std::unique_ptr<ReplicatedProgram>> ReplicatedProgram::make(const program::Program& program, VariableHost& host,
                                                                   const step::ReplicaCopies& copies,
                                                                   const step::ReplicaOptions& options, Compat compat) {
  auto runner = TFD_TRY(step::ReplicaRunner::make(program, options));
  return std::unique_ptr<ReplicatedProgram>(
      new ReplicatedProgram(program, host, copies, options, compat, std::move(runner)));
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
    return DistributedDataset::of_batches(TFD_TRY(runner_->find_dataset(dataset)), replicas_);
  const auto make = [&](const data::Plan& one) { return runner_->make_dataset(dataset, one); };
  return DistributedDataset::of_plan(plan->second, make, {.replicas = replicas_, .compat = compat_});
}

Result<step::VariableValues> ReplicatedProgram::read(const std::vector<std::string>& variables) {
  const auto names = copies_.stored_names(variables);
  auto values = TFD_TRY(host_.read(names));
  step::VariableValues out;
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(names[i], function::resident(std::move(values[i])));
  return out;
}

/// Takes the next element of each dataset that the function reads itself, distributed like arguments.
Result<void> ReplicatedProgram::take_own_data(const program::FunctionDef& function, step::ReplicaArguments& bound) {
  for (const program::InputBinding& input : function.inputs) {
    if (input.kind != program::InputKind::kDataset || bound.datasets.contains(input.name)) continue;
    const std::string where = "dataset '" + input.name + "'";
    auto found = own_data_.find(input.name);
    if (found == own_data_.end()) {
      auto iterator = TFD_TRY(TFD_TRY(distribute(input.name), where).iterate(order_), where);
      found = own_data_.emplace(input.name, std::move(iterator)).first;
    }
    const auto element = TFD_TRY(found->second.next(), where);
    if (!element) return fail(Code::kOutOfRange, "end of {}", where);
    bound.datasets.emplace(input.name, elements_of(*element, replicas_with_data(*element)));
  }
  return {};
}

Result<step::ReplicaArguments> ReplicatedProgram::bind(const program::FunctionDef& function,
                                                       const ProgramArguments& arguments) {
  if (arguments.args.size() > static_cast<std::size_t>(function.arg_count))
    return fail(Code::kInvalidArgument, "{} arguments for a function that takes {}", arguments.args.size(),
                function.arg_count);
  Binder bind{static_cast<std::size_t>(replicas_)};
  const auto look = [&](const ProgramArgument& argument) {
    if (const auto* element = std::get_if<DistributedElement>(&argument))
      bind.replicas = std::min(bind.replicas, replicas_with_data(*element));
  };
  for (const ProgramArgument& argument : arguments.args) look(argument);
  for (const auto& [name, argument] : arguments.kwargs) look(argument);
  for (const ProgramArgument& argument : arguments.args) bind.bound.args.push_back(bind(argument));
  for (const auto& [name, argument] : arguments.kwargs) bind.bound.kwargs.emplace_back(name, bind(argument));
  TFD_TRY(take_own_data(function, bind.bound));
  return std::move(bind.bound);
}

Result<ProgramOutcome> ReplicatedProgram::run(const std::string& name, const ProgramArguments& arguments) {
  const program::FunctionDef* function = TFD_TRY(find_function(name));
  const auto bound = TFD_TRY(bind(*function, arguments), name);
  auto outcome = TFD_TRY(runner_->run(name, bound, TFD_TRY(read(function->variables_read()), name)));
  const std::size_t replicas = outcome.results.size();
  return ProgramOutcome{regroup(outcome.results, static_cast<std::size_t>(replicas_)), replicas,
                        std::move(outcome.updates)};
}

Result<std::vector<Tensor>> ReplicatedProgram::run_on_rows(const std::string& name, const DistributedElement& element) {
  const program::FunctionDef* function = TFD_TRY(find_function(name));
  const auto bound = TFD_TRY(bind(*function, all_from(*function, element)), name);
  auto outcome = TFD_TRY(runner_->run(name, bound, TFD_TRY(read(function->variables_read()), name), true));
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < outcome.results.front().size(); ++i) {
    std::vector<Tensor> pieces;  // in the order of the replicas, which is that of the rows
    for (auto& piece : outcome.results) pieces.push_back(std::move(piece[i]));
    out.push_back(TFD_TRY(gather(DistributedValue::per_replica(std::move(pieces)), 0), "function '" + name + "'"));
    if (out[i].shape()[0] != out[0].shape()[0])
      return fail(Code::kInvalidArgument, "function '{}': results 0 and {} have {} and {} rows, not one per example",
                  name, i, out[0].shape()[0], out[i].shape()[0]);
  }
  if (const auto rows = unpadded_rows(element))
    for (Tensor& result : out) result = result.slice_rows(0, std::min(*rows, result.shape()[0]));
  return out;
}

Result<void> ReplicatedProgram::add_returns(const std::string& name, ProgramOutcome& outcome) {
  const program::FunctionDef* function = TFD_TRY(find_function(name));
  const auto values = TFD_TRY(read(function->returns), name);
  for (const std::string& variable : function->returns) {
    if (!copies_.has(variable)) {
      outcome.results.push_back(DistributedValue::mirrored({outcome.replicas, values.at(variable)}));
      continue;
    }
    std::vector<Tensor> copies;
    for (const std::string& copy : copies_.names_of(variable)) copies.push_back(values.at(copy));
    outcome.results.emplace_back(TFD_TRY(copies_.read_across(variable, std::move(copies)), name));
  }
  return {};
}

}  // namespace tfd::strategy
