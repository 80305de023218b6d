// SPDX-License-Identifier: Apache-2.0
//
// Checks of a function's outputs: metrics, and updates of variables and of their rows.
#include <algorithm>
#include <set>

#include "check.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

using tensor::TensorSpec;
using Names = std::set<std::string>;  // names of variables that a function reads

/// Whether the parts are vectors, with an element for each threshold.
bool is_of_thresholds(Formula formula) { return formula == Formula::kRocAuc || formula == Formula::kPrAuc; }

Result<void> check_metric(const FunctionDef& def, std::size_t i, const Node& node) {
  const bool is_vector = is_of_thresholds(def.outputs[i].formula);
  for (const hlo::Module& module : def.modules) {
    const hlo::Parameter& result = module.signature.results[i];
    const tensor::Shape& shape = result.spec.shape;
    const bool fits = is_vector ? shape.size() == 1 && shape[0] >= 2 : shape.empty();
    if (fits && result.spec.dtype != tensor::DType::kBool) continue;
    return node.fail("{}, but result '{}' of {} is {}",
                     is_vector ? fmt::format("{} is computed of numbers for each of two thresholds or more",
                                             formula_name(def.outputs[i].formula))
                               : "a metric is a scalar number",
                     result.name, module.name, format_spec(result.spec));
  }
  return {};
}

/// The parts that a formula is computed of.
std::vector<Part> parts_of(Formula formula) {
  switch (formula) {
    case Formula::kPlain:
    case Formula::kRoot:
      return {Part::kNumerator, Part::kDenominator};
    case Formula::kPrecision:
      return {Part::kTruePositives, Part::kFalsePositives};
    case Formula::kRecall:
      return {Part::kTruePositives, Part::kFalseNegatives};
    case Formula::kRocAuc:
      return {Part::kTruePositives, Part::kFalsePositives, Part::kTrueNegatives, Part::kFalseNegatives};
    case Formula::kPrAuc:
      return {Part::kTruePositives, Part::kFalsePositives, Part::kFalseNegatives};
  }
  return {};
}

/// Checks a metric's outputs: one, or each part of its formula once, all of the same shape.
Result<void> check_parts(const FunctionDraft& draft, const std::string& name, const std::vector<std::size_t>& at) {
  const auto& outputs = draft.def.outputs;
  const Formula formula = outputs[at.front()].formula;
  const std::vector<Part> parts = parts_of(formula);
  std::set<Part> found;
  for (const std::size_t i : at) {
    const OutputBinding& one = outputs[i];
    if (one.part == Part::kWhole && at.size() == 1) return {};
    if (one.part == Part::kWhole || !found.insert(one.part).second)
      return draft.outputs[at.back()].fail("metric '{}' appears twice", name);
    if (one.formula != formula) return draft.outputs[i].fail("the parts of metric '{}' have different formulas", name);
    if (std::ranges::find(parts, one.part) == parts.end())
      return draft.outputs[i].fail("metric '{}' isn't computed of {}", name, part_name(one.part));
    for (const hlo::Module& module : draft.def.modules)
      if (module.signature.results[i].spec.shape != module.signature.results[at.front()].spec.shape)
        return draft.outputs[i].fail("the parts of metric '{}' have different numbers of thresholds", name);
  }
  const auto missing = std::ranges::find_if(parts, [&](Part part) { return !found.contains(part); });
  if (missing == parts.end()) return {};
  return draft.outputs[at.front()].fail("metric '{}' has no {}", name, part_name(*missing));
}

bool same_source(const InputBinding& a, const InputBinding& b) {
  return a.kind == b.kind && a.name == b.name && a.index == b.index && a.field == b.field;
}

/// "arg 0", "field 'x' of dataset 'points'".
std::string describe_source(const InputBinding& ids) {
  const std::string field = ids.field ? fmt::format("field '{}' of ", *ids.field) : "";
  if (ids.kind == InputKind::kArg) return fmt::format("{}arg {}", field, ids.index);
  return fmt::format("{}{} '{}'", field, ids.kind == InputKind::kKwarg ? "kwarg" : "dataset", ids.name);
}

/// The row ids must also be an input, or a lookup's, of the same shape.
Result<void> check_output_ids(FunctionDraft& draft, std::size_t i, const TensorSpec& table, const Program& program) {
  FunctionDef& def = draft.def;
  InputBinding& ids = *def.outputs[i].ids;
  const Node node = TFD_TRY(draft.outputs[i].member("ids"));
  if (ids.kind == InputKind::kDataset) TFD_TRY(resolve_field(ids, program, node));
  const auto takes = [&](std::size_t input) {
    const InputBinding& one = def.inputs[input];
    if (!same_source(one, ids)) return false;
    return std::all_of(def.modules.begin(), def.modules.end(), [&](const hlo::Module& module) {
      const TensorSpec& argument = module.signature.arguments[input].spec;
      const auto wanted = indices_shape(module.signature.results[i].spec, table);
      if (one.lookup.empty()) return is_index(argument.dtype) && wanted == argument.shape;
      return wanted == indices_shape(argument, program.find_variable(one.lookup)->spec);
    });
  };
  bool is_input = false;
  for (std::size_t input = 0; input < def.inputs.size(); ++input) {
    if (takes(input)) return {};
    is_input = is_input || same_source(def.inputs[input], ids);
  }
  if (!is_input)
    return node.fail("{} is not an input; bind it as one, or as the ids of a lookup", describe_source(ids));
  const hlo::Module& module = def.modules.front();
  const hlo::Parameter& result = module.signature.results[i];
  const auto wanted = indices_shape(result.spec, table);
  return node.fail(
      "{} does not give the row numbers of result '{}' of {}, which is {}: they must be s32 or s64 of shape {}",
      describe_source(ids), result.name, module.name, format_spec(result.spec),
      tensor::format_shape(wanted.value_or(tensor::Shape{})));
}

Result<void> check_row_values(FunctionDraft& draft, std::size_t i, const VariableDef& table, const Program& program) {
  const OutputBinding& binding = draft.def.outputs[i];
  for (const hlo::Module& module : draft.def.modules) {
    const hlo::Parameter& result = module.signature.results[i];
    if (indices_shape(result.spec, table.spec)) continue;
    return draft.outputs[i].fail("rows of '{}' are {}, but result '{}' of {} is {}", table.name, format_rows(table),
                                 result.name, module.name, format_spec(result.spec));
  }
  if (binding.ids) return check_output_ids(draft, i, table.spec, program);
  const auto& outputs = draft.def.outputs;
  for (std::size_t other = 0; other < outputs.size(); ++other) {
    if (outputs[other].rows != RowsPart::kIndices || outputs[other].kind != binding.kind ||
        outputs[other].name != binding.name)
      continue;
    for (const hlo::Module& module : draft.def.modules) {
      const TensorSpec& indices = module.signature.results[other].spec;
      if (is_index(indices.dtype) && indices.shape == indices_shape(module.signature.results[i].spec, table.spec))
        continue;
      return draft.outputs[other].fail("row numbers must be s32 or s64, one for each row of result '{}', not {}",
                                       module.signature.results[i].name, format_spec(indices));
    }
  }
  return {};
}

/// "difference" requires the function to read the whole variable.
Result<void> check_apply(const OutputBinding& binding, const VariableDef& variable, const Names& read,
                         const Node& output) {
  if (binding.apply != Apply::kDifference) return {};
  const Node node = TFD_TRY(output.member("apply"));
  if (variable.spec.dtype == tensor::DType::kBool)
    return node.fail("variable '{}' is bool: there is no difference to add", variable.name);
  if (binding.rows != RowsPart::kAll)
    return node.fail("rows of '{}' have no difference to apply: return the change itself, as \"assign_add\"",
                     variable.name);
  if (read.contains(variable.name)) return {};
  return node.fail("a difference is taken from the value that was read, but variable '{}' is not an input",
                   variable.name);
}

/// Records assignments by which workers would overwrite each other's, for lost_updates_of().
void note_overwritten(FunctionDraft& draft, const Program& program, Names read) {
  FunctionDef& def = draft.def;
  for (const InputBinding& input : def.inputs)
    if (!input.lookup.empty()) read.insert(input.lookup);
  for (std::size_t i = 0; i < draft.outputs.size(); ++i) {
    const OutputBinding& binding = def.outputs[i];
    if (binding.kind != OutputKind::kAssign || binding.apply != Apply::kUnstated) continue;
    if (binding.rows == RowsPart::kIndices || !read.contains(binding.name)) continue;
    if (program.find_variable(binding.name)->per_worker) continue;  // no other worker sees it
    if (def.overwritten.empty()) def.overwritten_at = draft.outputs[i].path();
    def.overwritten.push_back(binding.name);
  }
}

Result<void> check_update(FunctionDraft& draft, std::size_t i, const Program& program, const Names& read,
                          const Node& node) {
  const FunctionDef& def = draft.def;
  const OutputBinding& binding = def.outputs[i];
  const VariableDef* variable = TFD_TRY(need_variable(binding.name, program, node));
  const bool gradient = binding.kind == OutputKind::kGradient;
  if (gradient && !program.rules) return node.fail("a gradient needs an optimizer, but the program has none");
  if (gradient && !variable->trainable) return node.fail("variable '{}' is not trainable", binding.name);
  const auto dtype = variable->spec.dtype;
  if (dtype == tensor::DType::kBool && binding.kind != OutputKind::kAssign)
    return node.fail("variable '{}' is bool: it can only be assigned", binding.name);
  if (binding.rows != RowsPart::kAll) TFD_TRY(need_table(binding.name, program, node));
  TFD_TRY(check_apply(binding, *variable, read, node));
  if (binding.rows == RowsPart::kIndices) return {};  // with its values
  if (binding.rows == RowsPart::kValues) return check_row_values(draft, i, *variable, program);
  return need_spec(def, false, i, variable->spec, fmt::format("variable '{}'", binding.name), node);
}

/// Checks all updates of one variable: a single one; or values and ids of rows; or several gradients of rows, which are
/// summed.
Result<void> check_updates_of(const FunctionDraft& draft, const std::vector<std::size_t>& at) {
  const auto& outputs = draft.def.outputs;
  const OutputBinding& first = outputs[at.front()];
  const auto is_complete = [&](std::size_t i) { return outputs[i].rows == RowsPart::kAll || outputs[i].ids; };
  if (at.size() == 1 && is_complete(at[0])) return {};
  if (at.size() == 1)
    return draft.outputs[at[0]].fail("has no {} of the rows", first.rows == RowsPart::kValues ? "indices" : "values");
  const bool is_pair = at.size() == 2 && !is_complete(at[0]) && !is_complete(at[1]) &&
                       first.rows != outputs[at[1]].rows && first.kind == outputs[at[1]].kind;
  const bool add_up = std::all_of(at.begin(), at.end(), [&](std::size_t i) {
    return outputs[i].kind == OutputKind::kGradient && outputs[i].ids.has_value();
  });
  if (is_pair || add_up) return {};
  return draft.outputs[at[1]].fail("variable '{}' is updated twice", first.name);
}

/// Checks over all outputs together: duplicates, a gap, half a ratio.
Result<void> check_outputs_together(const FunctionDraft& draft) {
  std::map<int, std::size_t> results;
  std::map<std::string, std::vector<std::size_t>> updates;
  std::map<std::string, std::vector<std::size_t>> metrics;
  const auto& outputs = draft.def.outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputBinding& binding = outputs[i];
    if (binding.kind == OutputKind::kMetric) {
      metrics[binding.name].push_back(i);
    } else if (binding.kind == OutputKind::kResult) {
      if (!results.emplace(binding.index, i).second)
        return draft.outputs[i].fail("result {} appears twice", binding.index);
    } else {
      updates[binding.name].push_back(i);
    }
  }
  for (const auto& [name, at] : updates) TFD_TRY(check_updates_of(draft, at));
  int next = 0;
  for (const auto& [index, at] : results)
    if (index != next++) return draft.outputs[at].fail("result {} is bound, but result {} is not", index, next - 1);
  for (const auto& [name, at] : metrics) TFD_TRY(check_parts(draft, name, at));
  return {};
}

}  // namespace

Result<void> check_outputs(FunctionDraft& draft, const Program& program) {
  Names read;
  for (std::string& name : draft.def.variables_read()) read.insert(std::move(name));
  for (std::size_t i = 0; i < draft.outputs.size(); ++i) {
    const OutputKind kind = draft.def.outputs[i].kind;
    if (kind == OutputKind::kMetric) TFD_TRY(check_metric(draft.def, i, draft.outputs[i]));
    if (kind != OutputKind::kMetric && kind != OutputKind::kResult)
      TFD_TRY(check_update(draft, i, program, read, draft.outputs[i]));
  }
  note_overwritten(draft, program, std::move(read));
  return check_outputs_together(draft);
}

std::optional<std::string> lost_updates_of(const Program& program, const FunctionDef& function, bool is_certain) {
  if (function.overwritten.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& name : function.overwritten) names.push_back(fmt::format("'{}'", name));
  return fmt::format(
      "{}: {}: {} {} read and assigned by every worker: {}updates of other workers are lost; set \"apply\" to "
      "\"difference\" (add what changed) or \"last\" (overwrite)",
      program.path, function.overwritten_at, join_words(names), names.size() == 1 ? "is" : "are",
      is_certain ? "" : "with more than one worker, ");
}

}  // namespace tfd::program
