// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/function_call.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "gradients.hpp"
#include "tfd/variable/step_draw.hpp"

namespace tfd::step {
namespace {

using program::InputKind;
using tensor::DType;
using tensor::Tensor;

/// A number as a scalar of the dtype that the module's argument has.
Result<Tensor> scalar_of(double number, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Tensor::scalar(dtype, static_cast<float>(number));
    case DType::kF64:
      return Tensor::scalar(dtype, number);
    case DType::kF16:
      return Tensor::scalar(dtype, tensor::float_to_half(static_cast<float>(number)));
    case DType::kBF16:
      return Tensor::scalar(dtype, tensor::float_to_bfloat16(static_cast<float>(number)));
    case DType::kS32:
      return Tensor::scalar(dtype, static_cast<std::int32_t>(number));
    case DType::kS64:
      return Tensor::scalar(dtype, static_cast<std::int64_t>(number));
    case DType::kU32:
      return Tensor::scalar(dtype, static_cast<std::uint32_t>(number));
    case DType::kU64:
      return Tensor::scalar(dtype, static_cast<std::uint64_t>(number));
    default:
      return fail(Code::kInvalidArgument, "a {} argument can't be a step or a rate", tensor::dtype_name(dtype));
  }
}

/// The step as a scalar, exact; an error if the module's argument is too narrow for it.
Result<Tensor> step_scalar(std::int64_t step, DType dtype) {
  const bool fits = (dtype != DType::kS32 || std::in_range<std::int32_t>(step)) &&
                    (dtype != DType::kU32 || std::in_range<std::uint32_t>(step));
  if (!fits)
    return fail(Code::kInvalidArgument, "step {} doesn't fit into an argument of {}", step, tensor::dtype_name(dtype));
  if (dtype == DType::kS64) return Tensor::scalar(dtype, step);
  if (dtype == DType::kU64) return Tensor::scalar(dtype, static_cast<std::uint64_t>(step));
  return scalar_of(static_cast<double>(step), dtype);
}

const ArgumentValue* find_argument(const program::InputBinding& input, const FunctionCall& call) {
  if (input.kind == InputKind::kArg) {
    const auto index = static_cast<std::size_t>(input.index);
    return index < call.args.size() ? &call.args[index] : nullptr;
  }
  for (const auto& [name, value] : call.kwargs)
    if (name == input.name) return &value;
  return nullptr;
}

std::string describe(const program::InputBinding& input) {
  return input.kind == InputKind::kArg ? fmt::format("argument {}", input.index)
                                       : fmt::format("argument '{}'", input.name);
}

Tensor with_last_row_repeated(const Tensor& value, std::int64_t rows) {
  tensor::Shape shape = value.shape();
  const auto have = static_cast<std::size_t>(shape[0]), all = static_cast<std::size_t>(rows);
  const std::size_t row = value.byte_size() / have;
  shape[0] = rows;
  Tensor out = Tensor::uninitialized(value.dtype(), std::move(shape));
  std::byte* const to = out.mutable_data();
  std::memcpy(to, value.data(), have * row);
  for (std::size_t i = have; i < all; ++i) std::memcpy(to + i * row, value.data() + (have - 1) * row, row);
  return out;
}

/// Pads a field's rows; padding of a mask is 0.
Tensor padded_field(const data::FieldSpec& spec, const Tensor& value, std::int64_t rows) {
  if (!spec.is_mask) return with_last_row_repeated(value, rows);
  tensor::Shape shape = value.shape();
  shape[0] = rows;
  Tensor out = Tensor::zeros(value.dtype(), std::move(shape));
  std::memcpy(out.mutable_data(), value.data(), value.byte_size());
  return out;
}

/// Value of a variable: the replica's own copy, if it has one.
const Tensor& value_of(const std::string& variable, const CallContext& context) {
  if (context.copies == nullptr || !context.copies->has(variable)) return context.variables->at(variable);
  return context.variables->at(context.copies->copy_name(variable, context.replica_id));
}

Result<Tensor> bind_argument(const program::InputBinding& input, const CallContext& context) {
  const ArgumentValue* value = find_argument(input, *context.call);
  if (value == nullptr) return fail(Code::kInvalidArgument, "{} is missing", describe(input));
  if (const auto* iterator = std::get_if<IteratorRef>(value)) return context.elements->field(iterator->id, input.field);
  if (const auto* variable = std::get_if<VariableRef>(value)) return value_of(variable->name, context);
  if (input.field)
    return fail(Code::kInvalidArgument, "{} must be an iterator: its field '{}' is used", describe(input),
                *input.field);
  return std::get<Tensor>(*value);
}

Result<Tensor> bind_lookup(const program::InputBinding& input, std::size_t number, const CallContext& context) {
  if (context.rows != nullptr) return context.rows->at(number);
  const auto table = context.variables->find(input.lookup);
  if (table == context.variables->end())
    return fail(Code::kUnimplemented, "lookups ('{}') only work under a coordinator", input.lookup);
  const Tensor ids = TFD_TRY(bind_source(input, context, DType::kS64));
  tensor::Shape shape = ids.shape();
  shape.insert(shape.end(), table->second.shape().begin() + 1, table->second.shape().end());
  const auto rows = variable::gather_rows(table->second, flat_indices(ids));
  if (rows) return rows->reshaped(std::move(shape));
  return fail(Code::kInvalidArgument, "'{}': {}", input.lookup,
              rows.error().message);  // not kOutOfRange, which means the end of the data
}

/// Random numbers of an input: the same for the same step, wherever and however often it is run.
Result<Tensor> bind_random(const program::InputBinding& input, const program::Program& program,
                           const CallContext& context, const tensor::TensorSpec& spec) {
  const FunctionCall& call = *context.call;
  variable::StepDraw draw;
  draw.seed = input.rng.seed.value_or(program.seed);
  draw.function = call.function;
  draw.input = static_cast<std::uint32_t>(input.index);
  draw.number = call.closure.value_or(static_cast<std::uint64_t>(call.step + context.batch));
  draw.is_closure = call.closure.has_value();
  draw.replica = context.first_draw + static_cast<std::uint32_t>(context.replica_id);
  return variable::draw_for_step(spec, draw);
}

Result<Tensor> bind_input(const program::InputBinding& input, const program::Program& program,
                          const CallContext& context, const tensor::TensorSpec& spec) {
  if (input.kind == InputKind::kRng) return bind_random(input, program, context, spec);
  if (input.kind == InputKind::kLossScale)
    return scalar_of(TFD_TRY(loss_scale_of(input, *program.rules, *context.variables)), spec.dtype);
  return bind_source(input, context, spec.dtype);
}

/// Finds the module by the inputs that are neither variables nor random.
Result<std::optional<std::size_t>> find_module(const program::FunctionDef& def,
                                               const std::vector<tensor::TensorSpec>& specs) {
  return def.modules.find([&](std::size_t i) {
    const InputKind kind = def.inputs[i].kind;
    return kind == InputKind::kVariable || kind == InputKind::kRng ? nullptr : &specs[i];
  });
}

}  // namespace

Result<Tensor> bind_source(const program::InputBinding& input, const CallContext& context, DType dtype) {
  switch (input.kind) {
    case InputKind::kVariable:
      return value_of(input.name, context);
    case InputKind::kDataset:
      return context.elements->field(own_iterator_id(input.name), input.field);
    case InputKind::kArg:
    case InputKind::kKwarg:
      return bind_argument(input, context);
    case InputKind::kStep:
      return step_scalar(context.call->step, dtype);
    case InputKind::kLearningRate:
      return scalar_of(context.learning_rate, dtype);
    case InputKind::kReplicaId:
      return scalar_of(context.replica_id, dtype);
    case InputKind::kNumReplicas:
      return scalar_of(context.num_replicas, dtype);
    case InputKind::kLossScale:
    case InputKind::kRng:
      break;  // see bind_input()
  }
  return fail(Code::kInternal, "unknown input kind");
}

namespace {

/// Number of rows that are data; padding that a mask marks isn't counted.
double examples_of(const data::ElementSpec& spec, const data::Element& element) {
  if (element.empty() || element[0].shape().empty()) return 1;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    if (!spec[i].is_mask) continue;
    const auto rows = element[i].as<float>();
    return std::accumulate(rows.begin(), rows.end(), 0.0);
  }
  return static_cast<double>(element[0].shape()[0]);
}

}  // namespace

void ElementTable::put(const std::string& iterator, const data::ElementSpec& spec, data::Element element) {
  if (elements_.empty()) examples_ = examples_of(spec, element);
  elements_.insert_or_assign(iterator, std::pair(spec, std::move(element)));
}

Result<std::int64_t> ElementTable::row_count() const {
  std::optional<std::int64_t> rows;
  for (const auto& [id, table] : elements_)
    for (const Tensor& field : table.second) {
      if (field.shape().empty())
        return fail(Code::kInvalidArgument, "an element with a scalar has no rows: batch the dataset");
      if (rows && *rows != field.shape()[0])
        return fail(Code::kInvalidArgument, "an element has fields of {} and {} rows", *rows, field.shape()[0]);
      rows = field.shape()[0];
    }
  return rows.value_or(0);
}

ElementTable ElementTable::rows(std::int64_t first, std::int64_t count, std::int64_t padded) const {
  ElementTable out = *this;
  out.examples_ = static_cast<double>(count);
  for (auto& [id, table] : out.elements_) {
    for (Tensor& field : table.second) field = field.slice_rows(first, count);
    if (padded > count) out.pad(id, padded);
  }
  return out;
}

std::optional<ElementTable::Masked> ElementTable::masked(const std::string& iterator) const {
  const auto found = elements_.find(iterator);
  if (found == elements_.end()) return std::nullopt;
  const auto& [spec, element] = found->second;
  const auto mask = std::ranges::find_if(spec, &data::FieldSpec::is_mask);
  if (mask == spec.end()) return std::nullopt;
  return Masked{mask->name, element[static_cast<std::size_t>(mask - spec.begin())].shape()[0]};
}

void ElementTable::pad(const std::string& iterator, std::int64_t padded) {
  auto& [spec, element] = elements_.at(iterator);
  for (std::size_t i = 0; i < element.size(); ++i) element[i] = padded_field(spec[i], element[i], padded);
}

Result<Tensor> ElementTable::field(const std::string& iterator, const std::optional<std::string>& name) const {
  const auto found = elements_.find(iterator);
  if (found == elements_.end()) return fail(Code::kInternal, "no element of iterator '{}'", iterator);
  const auto& [spec, element] = found->second;
  if (!name) {
    if (element.size() != 1)
      return fail(Code::kInvalidArgument, "an element of '{}' has {} fields: set 'field' to one of them", iterator,
                  element.size());
    return element[0];
  }
  const auto field = std::ranges::find(spec, *name, &data::FieldSpec::name);
  if (field == spec.end())
    return fail(Code::kInvalidArgument, "the elements of '{}' have no field '{}'", iterator, *name);
  return element[static_cast<std::size_t>(field - spec.begin())];
}

std::string own_iterator_id(const std::string& dataset) { return "dataset:" + dataset; }

Result<std::vector<std::string>> iterators_of(const program::FunctionDef& function, const FunctionCall& call) {
  std::vector<std::string> ids;
  const auto add = [&](const std::string& id) {
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  };
  for (const program::InputBinding& input : function.inputs) {
    if (input.kind == InputKind::kDataset) add(own_iterator_id(input.name));
    if (input.kind != InputKind::kArg && input.kind != InputKind::kKwarg) continue;
    const ArgumentValue* value = find_argument(input, call);
    if (value == nullptr) return fail(Code::kInvalidArgument, "{} is missing", describe(input));
    if (const auto* iterator = std::get_if<IteratorRef>(value)) add(iterator->id);
  }
  return ids;
}

namespace {

/// Id of the iterator of which an input takes a field; empty if there is none.
std::string iterator_of(const program::InputBinding& input, const FunctionCall& call) {
  if (input.kind == InputKind::kDataset) return own_iterator_id(input.name);
  if (input.kind != InputKind::kArg && input.kind != InputKind::kKwarg) return {};
  const ArgumentValue* value = find_argument(input, call);
  const auto* iterator = value == nullptr ? nullptr : std::get_if<IteratorRef>(value);
  return iterator == nullptr ? std::string() : iterator->id;
}

/// Inputs that are fields of one element with a mask, which is one of them.
struct MaskedInputs {
  std::vector<std::size_t> inputs;
  ElementTable::Masked rows;
  bool takes_mask = false;
};

std::map<std::string, MaskedInputs> masked_inputs(const program::FunctionDef& def, const FunctionCall& call,
                                                  const ElementTable& elements) {
  std::map<std::string, MaskedInputs> out;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    const std::string id = iterator_of(def.inputs[i], call);
    const auto masked = elements.masked(id);
    if (!masked) continue;
    MaskedInputs& all = out[id];
    all.rows = *masked;
    all.inputs.push_back(i);
    all.takes_mask = all.takes_mask || (def.inputs[i].field == masked->mask && def.inputs[i].lookup.empty());
  }
  return out;
}

}  // namespace

void fill_up(const program::FunctionDef& function, const FunctionCall& call, ElementTable& elements) {
  if (function.kind != program::FunctionKind::kModule || function.modules.any_size() != nullptr) return;
  for (const auto& [id, masked] : masked_inputs(function, call, elements)) {
    if (!masked.takes_mask || masked.rows.rows == 0) continue;
    std::optional<std::int64_t> fewest;
    for (const hlo::Module& module : function.modules) {
      const auto rows_of = [&](std::size_t i) { return module.signature.arguments[i].spec.shape; };
      const tensor::Shape rows = rows_of(masked.inputs.front());
      const bool takes_all = !rows.empty() && std::ranges::all_of(masked.inputs, [&](std::size_t i) {
        return !rows_of(i).empty() && rows_of(i)[0] == rows[0];
      });
      if (takes_all && rows[0] >= masked.rows.rows) fewest = std::min(fewest.value_or(rows[0]), rows[0]);
    }
    if (fewest && *fewest > masked.rows.rows) elements.pad(id, *fewest);
  }
}

Result<std::vector<RowLookup>> lookups_of(const program::FunctionDef& function, const CallContext& context) {
  std::vector<RowLookup> lookups;
  for (const program::InputBinding& input : function.inputs) {
    if (input.lookup.empty()) continue;
    Tensor ids = TFD_TRY(bind_source(input, context, DType::kS64));
    if (ids.dtype() != DType::kS32 && ids.dtype() != DType::kS64)
      return fail(Code::kInvalidArgument, "row numbers of '{}' must be s32 or s64, not {}", input.lookup,
                  tensor::dtype_name(ids.dtype()));
    lookups.push_back({input.lookup, std::move(ids)});
  }
  return lookups;
}

Result<BoundInputs> bind_inputs(const CompiledFunction& function, const CallContext& context, bool with_variables) {
  const program::FunctionDef& def = *function.def;
  BoundInputs out{std::vector<Tensor>(def.inputs.size()), std::vector<tensor::TensorSpec>(def.inputs.size())};
  std::size_t lookups = 0;
  const auto bind = [&](std::size_t i, const tensor::TensorSpec& wanted) -> Result<void> {
    const program::InputBinding& input = def.inputs[i];
    out.values[i] = TFD_TRY(input.lookup.empty() ? bind_input(input, *function.program, context, wanted)
                                                 : bind_lookup(input, lookups++, context),
                            def.name);
    out.specs[i] = out.values[i].spec();
    return {};
  };
  const auto is_random = [&](std::size_t i) { return def.inputs[i].kind == InputKind::kRng; };
  const auto& first = def.modules.front().signature.arguments;
  for (std::size_t i = 0; with_variables && i < def.inputs.size(); ++i)
    if (def.inputs[i].kind == InputKind::kVariable) TFD_TRY(bind(i, first[i].spec));
  for (const std::size_t i : function.other_inputs) {
    const bool is_left_out = !with_variables && def.inputs[i].kind == InputKind::kLossScale;
    if (is_left_out) out.specs[i] = first[i].spec;
    if (!is_random(i) && !is_left_out) TFD_TRY(bind(i, first[i].spec));
  }
  const auto found = TFD_TRY(find_module(def, out.specs), def.name);
  out.module = found.value_or(0);
  const auto& arguments = (found ? def.modules.called(*found) : def.modules.front()).signature.arguments;
  // Random inputs come last, since their shape may depend on the batch size.
  for (const std::size_t i : function.other_inputs)
    if (is_random(i)) TFD_TRY(bind(i, arguments[i].spec));
  if (def.kind != program::FunctionKind::kModule) return out;
  const auto fits = [&](std::size_t i) { return arguments[i].spec == out.specs[i]; };
  if (!with_variables) {  // checked with the program
    if (found && std::ranges::all_of(function.other_inputs, fits)) return out;
    for (std::size_t i = 0; i < def.inputs.size(); ++i)
      if (def.inputs[i].kind == InputKind::kVariable) out.specs[i] = first[i].spec;
  }
  // choose_module() also reports what doesn't fit if there is only one module.
  out.module = TFD_TRY(program::choose_module(def, out.specs));
  return out;
}

Result<BoundOutputs> run_function(const CompiledFunction& function, const CallContext& context) {
  const program::FunctionDef& def = *function.def;
  const BoundInputs inputs = TFD_TRY(bind_inputs(function, context, true));
  function::Function* const module = TFD_TRY(function.on_device(inputs.module, context.device), def.name);
  auto results =
      TFD_TRY(context.results_stay ? module->call_there(inputs.values) : module->call(inputs.values), def.name);
  return bind_outputs(def, std::move(results), context);
}

}  // namespace tfd::step
