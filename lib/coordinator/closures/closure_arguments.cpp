// SPDX-License-Identifier: Apache-2.0
#include "closure_arguments.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/variable/sharding.hpp"

namespace tfd::coordinator {
namespace {

using nlohmann::json;

bool is_reference(const json& value, const char* key) { return value.is_object() && value.contains(key); }

/// Requires {"per_worker": NAME} without other keys.
Result<void> check_alone(const json& value, std::string_view key) {
  for (const auto& [name, other] : value.items())
    if (name != key) return fail(Code::kInvalidArgument, "unknown key '{}' beside '{}'", printable(name), key);
  return {};
}

}  // namespace

Result<const ArgumentReader::Shape*> ArgumentReader::find_shape(const std::string& function) {
  const auto known = shapes_.find(function);
  if (known != shapes_.end()) return &known->second;
  const program::FunctionDef* definition = program_.find_function(function);
  if (definition == nullptr) {
    std::vector<std::string> names;
    for (const auto& one : program_.functions) names.push_back(one.name);
    return fail(Code::kInvalidArgument, "no function '{}'{}", printable(function), did_you_mean(function, names));
  }
  Shape shape;
  shape.args.resize(static_cast<std::size_t>(definition->arg_count));
  for (const std::string& name : definition->kwargs) shape.kwargs.emplace(name, Slot{});
  for (std::size_t i = 0; i < definition->inputs.size(); ++i) {
    const program::InputBinding& input = definition->inputs[i];
    Slot* slot = nullptr;
    if (input.kind == program::InputKind::kArg) slot = &shape.args[static_cast<std::size_t>(input.index)];
    if (input.kind == program::InputKind::kKwarg) slot = &shape.kwargs[input.name];
    if (slot == nullptr) continue;
    if (input.field) slot->field = *input.field;
    for (const hlo::Module& module : definition->modules) {
      tensor::TensorSpec spec = module.signature.arguments[i].spec;
      if (!input.lookup.empty())  // numbers of rows
        spec = {tensor::DType::kS64, *program::indices_shape(spec, program_.find_variable(input.lookup)->spec)};
      if (std::ranges::find(slot->specs, spec) == slot->specs.end()) slot->specs.push_back(spec);
    }
    slot->has_any_rows = definition->modules.any_size() != nullptr && slot->specs.size() > 1;
  }
  shape.results = results_of(*definition);
  return &shapes_.emplace(function, std::move(shape)).first->second;
}

Result<Argument> ArgumentReader::read_argument(const Slot* slot, const json& value) const {
  if (is_reference(value, "per_worker")) {
    TFD_TRY(check_alone(value, "per_worker"));
    const json& name = *value.begin();
    if (!name.is_string()) return fail(Code::kInvalidArgument, "'per_worker' must name a dataset or a variable");
    const auto dataset = datasets_.find(name.get_ref<const std::string&>());
    const program::VariableDef* variable = program_.find_variable(name.get_ref<const std::string&>());
    if (dataset == datasets_.end() && variable != nullptr && variable->per_worker)
      return PerWorkerVariable{variable->name};
    if (dataset == datasets_.end())
      return fail(Code::kInvalidArgument, "no per-worker dataset '{}' yet: create it with create_per_worker_dataset",
                  printable(name.get_ref<const std::string&>()));
    return dataset->second;
  }
  if (is_reference(value, "remote"))
    return fail(Code::kInvalidArgument, "a remote value can't be an argument: fetch it first");
  if (slot == nullptr || slot->specs.empty()) return TFD_TRY(tensor::tensor_from_json(value, directory_));
  if (!slot->field.empty())
    return fail(Code::kInvalidArgument, "must be {{\"per_worker\": DATASET}}: the function takes its field '{}'",
                slot->field);
  if (slot->has_any_rows && value.is_object()) return TFD_TRY(tensor::tensor_from_json(value, directory_));
  tensor::TensorSpec spec = slot->specs.front();
  if (slot->has_any_rows && value.is_array()) spec.shape[0] = static_cast<std::int64_t>(value.size());
  auto first = tensor::tensor_from_json(value, spec, directory_);
  if (first) return *std::move(first);
  for (std::size_t i = 1; i < slot->specs.size(); ++i)  // modules for other batch sizes
    if (auto other = tensor::tensor_from_json(value, slot->specs[i], directory_)) return *std::move(other);
  return fail(std::move(first).error());
}

Result<Call> ArgumentReader::read(const std::string& function, const json* args, const json* kwargs) {
  const Shape* shape = TFD_TRY(find_shape(function));
  Call call{.function = function};
  if (args != nullptr) {
    call.args.reserve(args->size());
    for (const json& value : *args) {
      const std::size_t i = call.args.size();
      auto argument = read_argument(i < shape->args.size() ? &shape->args[i] : nullptr, value);
      if (!argument) return fail(std::move(argument).error().within(fmt::format("{}: argument {}", function, i)));
      call.args.push_back(std::move(*argument));
    }
  }
  if (kwargs != nullptr) {
    for (const auto& [name, value] : kwargs->items()) {
      const auto slot = shape->kwargs.find(name);
      auto argument = read_argument(slot != shape->kwargs.end() ? &slot->second : nullptr, value);
      if (!argument)
        return fail(std::move(argument).error().within(fmt::format("{}: argument '{}'", function, printable(name))));
      call.kwargs.emplace_back(name, std::move(*argument));
    }
  }
  return call;
}

Result<ArgumentReader::Results> ArgumentReader::find_results(const std::string& function) {
  return TFD_TRY(find_shape(function))->results;
}

ArgumentReader::Results ArgumentReader::results_of(const program::FunctionDef& function) const {
  Results results;
  const auto bytes_of = [](const tensor::TensorSpec& spec) {
    return tensor::checked_byte_size(spec.dtype, spec.shape).value_or(0);
  };
  for (const hlo::Module& module : function.modules) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < function.outputs.size(); ++i)
      if (function.outputs[i].kind == program::OutputKind::kResult) bytes += bytes_of(module.signature.results[i].spec);
    results.bytes = std::max(results.bytes, bytes);
  }
  const auto own = std::ranges::count(function.outputs, program::OutputKind::kResult, &program::OutputBinding::kind);
  results.count = static_cast<std::size_t>(own) + function.returns.size();
  for (const std::string& name : function.returns) results.bytes += bytes_of(program_.find_variable(name)->spec);
  return results;
}

Result<const program::VariableDef*> ArgumentReader::find_variable(const std::string& name) const {
  const program::VariableDef* definition = program_.find_variable(name);
  if (definition != nullptr) return definition;
  std::vector<std::string> names;
  for (const auto& one : program_.variables) names.push_back(one.name);
  return fail(Code::kNotFound, "no variable '{}'{}", printable(name), did_you_mean(name, names));
}

Result<tensor::Tensor> ArgumentReader::read_value(const std::string& variable, const json& value) const {
  const program::VariableDef* definition = TFD_TRY(find_variable(variable));
  return TFD_TRY(tensor::tensor_from_json(value, definition->spec, directory_), variable);
}

Result<tensor::Tensor> ArgumentReader::read_value_of_rows(const std::string& variable, std::int64_t rows,
                                                          const json& value) const {
  tensor::TensorSpec spec = TFD_TRY(find_variable(variable))->spec;
  spec.shape.at(0) = rows;  // read_rows() has checked that it is a table
  return TFD_TRY(tensor::tensor_from_json(value, spec, directory_), variable);
}

Result<tensor::Tensor> ArgumentReader::read_rows(std::string_view op, const std::string& variable,
                                                 const json& rows) const {
  const std::string where = fmt::format("{}: 'rows'", op);
  const program::VariableDef* definition = TFD_TRY(find_variable(variable));
  const tensor::Shape& table = definition->spec.shape;
  if (table.empty()) return fail(Code::kInvalidArgument, "'{}' is a scalar: it has no rows", variable);
  if (rows.is_array()) {
    const tensor::TensorSpec spec{tensor::DType::kS64, {static_cast<std::int64_t>(rows.size())}};
    return TFD_TRY(tensor::tensor_from_json(rows, spec, directory_), where);
  }
  if (!rows.is_string())
    return fail(Code::kInvalidArgument, "{} must be a list of numbers or a slice such as \"10:20\"", where);
  const auto slice = TFD_TRY(variable::parse_row_slice(rows.get_ref<const std::string&>()), where);
  const auto numbers = TFD_TRY(variable::rows_of(slice, table[0]), where);
  auto out = tensor::Tensor::uninitialized(tensor::DType::kS64, {static_cast<std::int64_t>(numbers.size())});
  std::ranges::copy(numbers, out.mutable_as<std::int64_t>());
  return out;
}

}  // namespace tfd::coordinator
