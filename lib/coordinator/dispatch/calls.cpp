// SPDX-License-Identifier: Apache-2.0
//
// Checks that a call fits the program's function that it names, and makes a closure of it.
#include <algorithm>

#include "dispatch/closure.hpp"
#include "tfd/base/text.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {
namespace {

std::vector<std::string> names_of(const std::vector<program::FunctionDef>& functions) {
  std::vector<std::string> names;
  for (const auto& function : functions) names.push_back(function.name);
  return names;
}

/// Checks one argument against the module arguments bound to it. `where` is "argument 0" or "argument 'x'".
Result<void> check_argument(const program::Program& program, const program::FunctionDef& function,
                            const std::string& where, const Argument& argument,
                            const std::function<bool(const program::InputBinding&)>& is_bound) {
  const auto* value = std::get_if<tensor::Tensor>(&argument);
  std::optional<tensor::TensorSpec> spec;
  if (value != nullptr) spec = value->spec();
  if (const auto* variable = std::get_if<PerWorkerVariable>(&argument)) {
    const program::VariableDef* definition = program.find_variable(variable->name);
    if (definition == nullptr || !definition->per_worker)
      return fail(Code::kInvalidArgument, "{}: {}: no per-worker variable '{}'", function.name, where, variable->name);
    spec = definition->spec;
  }
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    if (!is_bound(function.inputs[i])) continue;
    if (!spec) continue;  // an iterator: the worker checks its fields
    if (function.inputs[i].field)
      return fail(Code::kInvalidArgument, "{}: {} must be an iterator: its field '{}' is used", function.name, where,
                  *function.inputs[i].field);
    const tensor::TensorSpec& parameter = function.modules.front().signature.arguments[i].spec;
    tensor::TensorSpec taken = *spec, wanted = parameter;
    bool may_fit = true;
    if (!function.inputs[i].lookup.empty()) {  // the argument is row ids, the module takes the rows
      const tensor::TensorSpec& table = program.find_variable(function.inputs[i].lookup)->spec;
      may_fit = spec->dtype == tensor::DType::kS32 || spec->dtype == tensor::DType::kS64;
      wanted = {may_fit ? spec->dtype : tensor::DType::kS64, *program::indices_shape(parameter, table)};
      taken.dtype = table.dtype;
      taken.shape.insert(taken.shape.end(), table.shape.begin() + 1, table.shape.end());
    }
    if (may_fit && function.modules.may_take(i, taken)) continue;
    return fail(Code::kInvalidArgument, "{}: {} is {}, but the function takes {}", function.name, where,
                tensor::format_spec(*spec), tensor::format_spec(wanted));
  }
  return {};
}

Result<const program::FunctionDef*> find_called(const program::Program& program, const std::string& name) {
  const program::FunctionDef* function = program.find_function(name);
  if (function != nullptr) return function;
  return fail(Code::kInvalidArgument, "no function '{}'{}", printable(name),
              did_you_mean(name, names_of(program.functions)));
}

/// Bytes of its message's arguments.
std::uint64_t argument_bytes(const Closure& closure) {
  std::uint64_t bytes = closure.command ? closure.command->text.size() : 0;
  const auto add = [&bytes](const step::ArgumentValue& value) {
    if (const auto* tensor = std::get_if<tensor::Tensor>(&value)) bytes += tensor->byte_size();
  };
  for (const auto& value : closure.call.args) add(value);
  for (const auto& [name, value] : closure.call.kwargs) add(value);
  return bytes;
}

}  // namespace

Result<void> check_evaluation(const program::Program& program, const std::string& function,
                              std::optional<std::int64_t> steps) {
  return program::check_evaluation(program, *TFD_TRY(find_called(program, function)), steps);
}

Result<void> check_call(const program::Program& program, const Call& call) {
  const program::FunctionDef* function = TFD_TRY(find_called(program, call.function));
  if (call.args.size() != static_cast<std::size_t>(function->arg_count))
    return fail(Code::kInvalidArgument, "{}: takes {}, got {}", function->name,
                counted(static_cast<std::uint64_t>(function->arg_count), "argument"), call.args.size());
  for (std::size_t i = 0; i < call.args.size(); ++i)
    TFD_TRY(check_argument(
        program, *function, fmt::format("argument {}", i), call.args[i], [&](const program::InputBinding& input) {
          return input.kind == program::InputKind::kArg && static_cast<std::size_t>(input.index) == i;
        }));
  for (std::size_t i = 0; i < call.kwargs.size(); ++i) {
    const auto& name = call.kwargs[i].first;
    if (std::ranges::find(function->kwargs, name) == function->kwargs.end())
      return fail(Code::kInvalidArgument, "{}: no argument '{}'{}", function->name, name,
                  did_you_mean(name, function->kwargs));
    for (std::size_t j = 0; j < i; ++j)
      if (call.kwargs[j].first == name)
        return fail(Code::kInvalidArgument, "{}: argument '{}' is given twice", function->name, name);
    TFD_TRY(check_argument(program, *function, fmt::format("argument '{}'", name), call.kwargs[i].second,
                           [&](const program::InputBinding& input) {
                             return input.kind == program::InputKind::kKwarg && input.name == name;
                           }));
  }
  for (const std::string& name : function->kwargs)
    if (std::ranges::find(call.kwargs, name, &std::pair<std::string, Argument>::first) == call.kwargs.end())
      return fail(Code::kInvalidArgument, "{}: argument '{}' is missing", function->name, name);
  return {};
}

ClosurePtr make_closure(const program::Program& program, std::uint64_t epoch, Call call) {
  auto closure = std::make_shared<Closure>();  // shared with the table and its sender
  closure->call.epoch = epoch;
  closure->call.step = call.step.value_or(0);
  closure->call.replicas = call.replicas;
  closure->call.most_elements = call.most_elements;
  closure->on_done = std::move(call.on_done);
  const auto to_value = [&closure](Argument& argument) -> step::ArgumentValue {
    if (auto* dataset = std::get_if<PerWorkerDataset>(&argument)) {
      if (dataset->hold) closure->datasets.push_back(std::move(dataset->hold));
      return step::IteratorRef{std::move(dataset->id)};
    }
    if (const auto* variable = std::get_if<PerWorkerVariable>(&argument)) return step::VariableRef{variable->name};
    return std::get<tensor::Tensor>(std::move(argument));
  };
  for (Argument& argument : call.args) closure->call.args.push_back(to_value(argument));
  for (auto& [name, argument] : call.kwargs) closure->call.kwargs.emplace_back(std::move(name), to_value(argument));
  closure->updates = !call.command && program.find_function(call.function)->has_updates();
  closure->command = std::move(call.command);
  closure->on_moved = std::move(call.on_moved);
  closure->sequenced = call.sequence.has_value();
  closure->call.sequence = call.sequence.value_or(0);
  closure->label = std::move(call.label);
  closure->bytes = argument_bytes(*closure);
  closure->call.function = std::move(call.function);
  return closure;
}

}  // namespace tfd::coordinator
