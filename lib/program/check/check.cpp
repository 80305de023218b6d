// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check.hpp"

namespace tfd::program {
namespace {

using tensor::TensorSpec;

std::vector<std::string> dataset_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& [name, plan] : program.datasets) names.push_back(name);
  return names;
}

Result<void> check_lookup(FunctionDraft& draft, std::size_t i, const Program& program) {
  InputBinding& binding = draft.def.inputs[i];
  const Node& node = draft.inputs[i];
  const VariableDef* table = TFD_TRY(need_table(binding.lookup, program, TFD_TRY(node.member("lookup"))));
  const Node ids = TFD_TRY(node.member("ids"));
  const data::FieldSpec* field = nullptr;
  if (binding.kind == InputKind::kDataset) {
    field = TFD_TRY(resolve_field(binding, program, ids));
    if (!is_index(field->dtype))
      return ids.fail("field '{}' is {}: row numbers must be s32 or s64", field->name, format_field(*field));
  }
  for (const hlo::Module& module : draft.def.modules) {
    const hlo::Parameter& argument = module.signature.arguments[i];
    const auto shape = indices_shape(argument.spec, table->spec);
    if (!shape)
      return node.fail("rows of '{}' are {}, but argument '{}' of {} is {}", table->name, format_rows(*table),
                       argument.name, module.name, format_spec(argument.spec));
    if (field != nullptr && !fits_but_for_batch(*field, {field->dtype, *shape}))
      return ids.fail("field '{}' is {}, but argument '{}' of {} is {}: rows for {}", field->name, format_field(*field),
                      argument.name, module.name, format_spec(argument.spec),
                      tensor::format_spec({field->dtype, *shape}));
  }
  return {};
}

Result<void> check_dataset_input(FunctionDraft& draft, std::size_t i, const Program& program) {
  InputBinding& binding = draft.def.inputs[i];
  const Node& node = draft.inputs[i];
  const data::FieldSpec* field = TFD_TRY(resolve_field(binding, program, node));
  for (const hlo::Module& module : draft.def.modules) {
    const hlo::Parameter& argument = module.signature.arguments[i];
    if (!fits_but_for_batch(*field, argument.spec))
      return node.fail("field '{}' of dataset '{}' is {}, but argument '{}' of {} is {}", field->name, binding.name,
                       format_field(*field), argument.name, module.name, format_spec(argument.spec));
  }
  return {};
}

/// Checks a random input. Unstated dtype and shape are those of the module called, and may differ between modules.
Result<void> check_rng(const FunctionDef& def, std::size_t i, const Node& node) {
  const hlo::Module& first = def.modules.front();
  const hlo::Parameter& argument = first.signature.arguments[i];
  if (argument.spec.dtype == tensor::DType::kBool)
    return node.fail("random numbers are integers or floating-point numbers, but argument '{}' of {} is {}",
                     argument.name, first.name, format_spec(argument.spec));
  const RngDef& rng = def.inputs[i].rng;
  if (!rng.dtype && !rng.shape) return {};
  const TensorSpec stated{rng.dtype.value_or(argument.spec.dtype), rng.shape.value_or(argument.spec.shape)};
  return need_spec(def, true, i, stated, "the random input", node);
}

/// Binds the input to a variable if the loss scale is dynamic.
Result<void> check_loss_scale(InputBinding& binding, const Program& program, const Node& node) {
  if (!program.rules || !program.rules->loss_scale())
    return node.fail("needs an optimizer with \"on_nonfinite\": \"skip\" or a 'loss_scale'");
  if (program.rules->loss_scale()->growth_steps > 0) binding.name = kLossScaleVariable;
  return {};
}

Result<void> check_plain_input(const FunctionDef& def, std::size_t i, const Program& program, const Node& node) {
  const bool is_rate = def.inputs[i].kind == InputKind::kLearningRate;
  const bool is_number = is_rate || def.inputs[i].kind == InputKind::kLossScale;
  if (is_rate && !program.rules) return node.fail("the program has no optimizer");
  for (const hlo::Module& module : def.modules) {
    const hlo::Parameter& argument = module.signature.arguments[i];
    const auto dtype = argument.spec.dtype;
    const bool fits = is_number ? dtype == tensor::DType::kF32 || dtype == tensor::DType::kF64
                                : tensor::is_integer(dtype) && tensor::dtype_size(dtype) >= 4;
    if (!fits || !argument.spec.shape.empty())
      return node.fail("needs a scalar {}, but argument '{}' of {} is {}",
                       is_number ? "f32 or f64" : "s32, s64, u32 or u64", argument.name, module.name,
                       format_spec(argument.spec));
  }
  return {};
}

Result<void> check_input(FunctionDraft& draft, std::size_t i, const Program& program) {
  InputBinding& binding = draft.def.inputs[i];
  const Node& node = draft.inputs[i];
  if (!binding.lookup.empty()) return check_lookup(draft, i, program);
  switch (binding.kind) {
    case InputKind::kVariable: {
      const VariableDef* variable = TFD_TRY(need_variable(binding.name, program, node));
      return need_spec(draft.def, true, i, variable->spec, fmt::format("variable '{}'", binding.name), node);
    }
    case InputKind::kDataset:
      return check_dataset_input(draft, i, program);
    case InputKind::kArg:
    case InputKind::kKwarg:
      return {};  // only known at the call
    case InputKind::kRng:
      return check_rng(draft.def, i, node);
    case InputKind::kLossScale:
      TFD_TRY(check_loss_scale(binding, program, node));
      return check_plain_input(draft.def, i, program, node);
    default:
      return check_plain_input(draft.def, i, program, node);
  }
}

}  // namespace

Result<const VariableDef*> need_variable(const std::string& name, const Program& program, const Node& node) {
  const VariableDef* variable = program.find_variable(name);
  if (variable == nullptr)
    return node.fail_text(Code::kInvalidArgument, unknown_text("variable", name, names_of(program.variables)));
  return variable;
}

/// Requires argument or result `i` of every module to have this spec.
Result<void> need_spec(const FunctionDef& def, bool argument, std::size_t i, const TensorSpec& spec,
                       std::string_view what, const Node& node) {
  for (const hlo::Module& module : def.modules) {
    const auto& parameters = argument ? module.signature.arguments : module.signature.results;
    const hlo::Parameter& parameter = parameters[i];
    if (parameter.spec == spec) continue;
    return node.fail("{} is {}, but {} '{}' of {} is {}", what, format_spec(spec), argument ? "argument" : "result",
                     parameter.name, module.name, format_spec(parameter.spec));
  }
  return {};
}

/// Returns the dataset field of a binding; fills it in if there is only one.
Result<const data::FieldSpec*> resolve_field(InputBinding& binding, const Program& program, const Node& node) {
  const auto found = program.dataset_specs.find(binding.name);
  if (found == program.dataset_specs.end())
    return node.fail_text(Code::kInvalidArgument, unknown_text("dataset", binding.name, dataset_names(program)));
  const data::ElementSpec& fields = found->second;
  if (!binding.field && fields.size() == 1) binding.field = fields.front().name;
  if (!binding.field)
    return node.fail("dataset '{}' has several fields: set 'field' ({})", binding.name,
                     fmt::join(names_of(fields), ", "));
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == *binding.field; });
  if (field == fields.end())
    return node.fail_text(Code::kInvalidArgument, unknown_text(fmt::format("dataset '{}': field", binding.name),
                                                               *binding.field, names_of(fields)));
  return &*field;
}

bool is_index(tensor::DType dtype) { return dtype == tensor::DType::kS32 || dtype == tensor::DType::kS64; }

Result<const VariableDef*> need_table(const std::string& name, const Program& program, const Node& node) {
  const VariableDef* table = TFD_TRY(need_variable(name, program, node));
  if (table->spec.shape.empty()) return node.fail("variable '{}' is a scalar: it has no rows", name);
  if (table->per_worker) return node.fail("variable '{}' is per worker: it can only be used as a whole", name);
  return table;
}

std::string format_rows(const VariableDef& table) {
  std::string text = fmt::format("{}[…", tensor::dtype_name(table.spec.dtype));
  for (std::size_t i = 1; i < table.spec.shape.size(); ++i) text += fmt::format(", {}", table.spec.shape[i]);
  return text + "]";
}

std::optional<tensor::Shape> indices_shape(const TensorSpec& rows, const TensorSpec& table) {
  if (table.shape.empty() || rows.dtype != table.dtype) return std::nullopt;
  const auto row = static_cast<std::ptrdiff_t>(table.shape.size()) - 1;
  const auto rank = static_cast<std::ptrdiff_t>(rows.shape.size());
  if (rank < row || !std::equal(table.shape.begin() + 1, table.shape.end(), rows.shape.end() - row))
    return std::nullopt;
  return tensor::Shape(rows.shape.begin(), rows.shape.end() - row);
}

std::string format_field(const data::FieldSpec& field) {
  std::string text = fmt::format("{}[", tensor::dtype_name(field.dtype));
  for (std::size_t i = 0; i < field.shape.size(); ++i)
    text += (i > 0 ? ", " : "") + (field.shape[i] < 0 ? std::string("?") : std::to_string(field.shape[i]));
  return text + "]";
}

bool fits_but_for_batch(const data::FieldSpec& field, const TensorSpec& spec) {
  if (field.dtype != spec.dtype || field.shape.size() != spec.shape.size()) return false;
  for (std::size_t i = 1; i < field.shape.size(); ++i)
    if (field.shape[i] != spec.shape[i]) return false;
  return true;
}

Result<void> check_function(FunctionDraft& draft, const Program& program, const Facts& facts) {
  for (std::size_t i = 0; i < draft.inputs.size(); ++i) TFD_TRY(check_input(draft, i, program));
  TFD_TRY(check_outputs(draft, program));
  std::set<std::string> returned;
  for (std::size_t i = 0; i < draft.def.returns.size(); ++i) {
    const std::string& name = draft.def.returns[i];
    const Node node = TFD_TRY(draft.node.member("returns")).elements()[i];
    TFD_TRY(need_variable(name, program, node));
    if (!returned.insert(name).second) return node.fail("variable '{}' appears twice", name);
  }
  return check_batch_sizes(draft, program, facts);
}

}  // namespace tfd::program
