// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr std::size_t kUnbound = std::numeric_limits<std::size_t>::max();

/// {"arg": 0, "field": "image"} is the element's field of that name; {"arg": i} its i-th field.
Result<std::size_t> find_field(const FunctionDef& function, std::size_t i, const data::ElementSpec& input) {
  const InputBinding& binding = function.inputs[i];
  if (binding.kind != InputKind::kArg || !binding.lookup.empty())
    return fail(Code::kInvalidArgument,
                "function '{}': a map's inputs are fields of the element: {{\"arg\": 0, \"field\": …}}", function.name);
  if (!binding.field) {
    const auto index = static_cast<std::size_t>(binding.index);
    if (index < input.size()) return index;
    return fail(Code::kInvalidArgument, "function '{}': arg {}, but the element has {} field(s)", function.name, index,
                input.size());
  }
  const auto names = names_of(input);
  const auto found = std::find(names.begin(), names.end(), *binding.field);
  if (found == names.end() || binding.index != 0)
    return fail(Code::kInvalidArgument, "function '{}': {}", function.name,
                unknown_text("field", *binding.field, names));
  return static_cast<std::size_t>(found - names.begin());
}

/// The module for elements of this size; the first if fields fit separately but not together.
Result<const hlo::Module*> find_called(const FunctionDef& function, const data::ElementSpec& input,
                                       const MapPlan& plan) {
  std::vector<tensor::TensorSpec> specs;
  for (const std::size_t at : plan.inputs) specs.push_back({input[at].dtype, input[at].shape});
  const auto found = TFD_TRY(function.modules.find([&](std::size_t i) { return &specs[i]; }),
                             fmt::format("function '{}'", function.name));
  return found ? &function.modules.called(*found) : &function.modules.front();
}

}  // namespace

Result<MapPlan> plan_map(const FunctionDef& function, const data::ElementSpec& input,
                         const std::vector<std::string>& fields) {
  MapPlan plan;
  bool varies = false;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const std::size_t at = TFD_TRY(find_field(function, i, input));
    const data::FieldSpec& field = input[at];
    const bool fits = std::any_of(function.modules.begin(), function.modules.end(), [&](const hlo::Module& module) {
      tensor::TensorSpec spec = module.signature.arguments[i].spec;
      if (!fits_but_for_batch(field, spec)) return false;
      if (!field.shape.empty() && field.shape[0] >= 0) spec.shape[0] = field.shape[0];
      return function.modules.may_take(i, spec);
    });
    if (!fits)
      return fail(Code::kInvalidArgument, "function '{}': field '{}' is {}, but argument '{}' is {}", function.name,
                  field.name, format_field(field), function.modules.front().signature.arguments[i].name,
                  format_spec(function.modules.front().signature.arguments[i].spec));
    varies = varies || (!field.shape.empty() && field.shape[0] < 0);
    plan.inputs.push_back(at);
  }
  if (fields.size() != function.outputs.size())
    return fail(Code::kInvalidArgument, "function '{}' has {} result(s), but the map names {} field(s)", function.name,
                function.outputs.size(), fields.size());
  plan.outputs.assign(fields.size(), kUnbound);
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    const OutputBinding& binding = function.outputs[i];
    if (binding.kind != OutputKind::kResult)
      return fail(Code::kInvalidArgument, "function '{}': a map's outputs are results, and outputs[{}] is not",
                  function.name, i);
    const auto index = static_cast<std::size_t>(binding.index);
    if (index >= fields.size() || plan.outputs[index] != kUnbound)
      return fail(Code::kInvalidArgument, "function '{}': its results must be 0 to {}, each once", function.name,
                  fields.size() - 1);
    plan.outputs[index] = i;
  }
  if (!function.returns.empty())
    return fail(Code::kInvalidArgument, "function '{}': a map returns no variables", function.name);
  const hlo::Module* const called = varies ? &function.modules.front() : TFD_TRY(find_called(function, input, plan));
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const tensor::TensorSpec& result = called->signature.results[plan.outputs[f]].spec;
    data::FieldSpec field{fields[f], result.dtype, result.shape};
    for (const hlo::Module& module : function.modules)
      if (varies && !field.shape.empty() && module.signature.results[plan.outputs[f]].spec.shape[0] != result.shape[0])
        field.shape[0] = -1;
    plan.spec.push_back(std::move(field));
  }
  return plan;
}

}  // namespace tfd::program
