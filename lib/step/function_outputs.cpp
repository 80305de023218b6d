// SPDX-License-Identifier: Apache-2.0
//
// Binds a function's results: the call's value, metrics, updates of variables and of their rows.
#include <algorithm>
#include <cstring>
#include <set>

#include "tfd/step/function_call.hpp"
#include "tfd/tensor/native.hpp"

namespace tfd::step {
namespace {

using program::OutputKind;
using tensor::DType;
using tensor::Tensor;

std::vector<double> numbers_of(const Tensor& values) {
  std::vector<double> out(static_cast<std::size_t>(values.size()));
  tensor::with_native(values.dtype(), [&](auto type) {
    const auto* stored = reinterpret_cast<const tensor::StoredNumber<decltype(type)>*>(values.data());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(tensor::widen(stored[i]));
  });
  return out;
}

/// The metric, or part of one, that an output is.
Result<Metric> metric_of(const program::OutputBinding& output, const Tensor& value, double examples) {
  Metric out{
      .name = output.name, .reduce = output.reduce, .part = output.part, .weight = examples, .formula = output.formula};
  std::vector<double> numbers = numbers_of(value);
  if (output.formula != program::Formula::kPlain) {
    out.counts = std::move(numbers);
    return out;
  }
  if (numbers.size() != 1)
    return fail(Code::kInvalidArgument, "metric '{}': a metric is {}, not a scalar", output.name,
                tensor::format_spec(value.spec()));
  out.value = numbers.front();
  return out;
}

variable::UpdateKind update_kind(const program::OutputBinding& output) {
  const bool is_rows = output.rows != program::RowsPart::kAll;
  switch (output.kind) {
    case OutputKind::kGradient:
      return is_rows ? variable::UpdateKind::kGradientRows : variable::UpdateKind::kGradient;
    case OutputKind::kAssignAdd:
      return is_rows ? variable::UpdateKind::kAddRows : variable::UpdateKind::kAssignAdd;
    case OutputKind::kAssignSub:
      return is_rows ? variable::UpdateKind::kSubtractRows : variable::UpdateKind::kAssignSub;
    default:
      return is_rows ? variable::UpdateKind::kAssignRows : variable::UpdateKind::kAssign;
  }
}

/// Concatenates the rows of both.
Tensor concatenate(const Tensor& a, const Tensor& b) {
  tensor::Shape shape = a.shape();
  shape[0] += b.shape()[0];
  Tensor out = Tensor::uninitialized(a.dtype(), std::move(shape));
  std::byte* to = out.mutable_data();
  if (a.byte_size() > 0) std::memcpy(to, a.data(), a.byte_size());
  if (b.byte_size() > 0) std::memcpy(to + a.byte_size(), b.data(), b.byte_size());
  return out;
}

/// Merges gradients of rows of one table into one, so that its optimizer counts one update.
void add_rows(std::vector<variable::Update>& updates, variable::Update update) {
  for (variable::Update& other : updates) {
    if (other.variable != update.variable) continue;
    other.indices = concatenate(other.indices, update.indices);
    other.value = concatenate(other.value, update.value);
    return;
  }
  updates.push_back(std::move(update));
}

/// Makes an update of rows: values are results[i]; ids come from the lookup's source, or from another result.
Result<variable::Update> bind_rows(const program::FunctionDef& def, std::size_t i, const std::vector<Tensor>& results,
                                   const CallContext& context) {
  const program::OutputBinding& output = def.outputs[i];
  Tensor indices;
  if (output.ids) indices = TFD_TRY(bind_source(*output.ids, context, DType::kS64));
  for (std::size_t other = 0; !output.ids && other < results.size(); ++other)
    if (def.outputs[other].rows == program::RowsPart::kIndices && def.outputs[other].name == output.name)
      indices = results[other];
  const Tensor& values = results[i];
  tensor::Shape shape{indices.size()};
  shape.insert(shape.end(), values.shape().begin() + static_cast<std::ptrdiff_t>(indices.shape().size()),
               values.shape().end());
  return variable::Update{update_kind(output), output.name, values.reshaped(std::move(shape)), flat_indices(indices)};
}

}  // namespace

Tensor flat_indices(const Tensor& indices) {
  const std::int64_t count = indices.size();
  if (indices.dtype() == DType::kS64) return indices.reshaped({count});
  Tensor out = Tensor::uninitialized(DType::kS64, {count});
  std::copy_n(indices.as<std::int32_t>().begin(), count, out.mutable_as<std::int64_t>());
  return out;
}

Result<void> take_differences(const program::FunctionDef& function, const VariableValues& read,
                              std::vector<variable::Update>& updates) {
  std::set<std::string_view> differing;
  for (const program::OutputBinding& output : function.outputs)
    if (output.apply == program::Apply::kDifference) differing.insert(output.name);
  if (differing.empty()) return {};
  for (variable::Update& update : updates) {
    if (!differing.contains(original_name(update.variable))) continue;
    const auto before = read.find(update.variable);
    if (before == read.end()) return fail(Code::kInternal, "'{}' was not read", update.variable);
    if (before->second.spec() != update.value.spec())
      return fail(Code::kInvalidArgument, "the new value of '{}' is {}, but the variable is {}", update.variable,
                  format_spec(update.value.spec()), format_spec(before->second.spec()));
    update = variable::as_difference(std::move(update), before->second);
  }
  return {};
}

Result<std::vector<Metric>> bind_metrics(const program::FunctionDef& def, std::span<const Tensor> values,
                                         double examples) {
  std::vector<Metric> out;
  for (const program::OutputBinding& output : def.outputs) {
    if (output.kind != OutputKind::kMetric) continue;
    out.push_back(TFD_TRY(metric_of(output, values[out.size()], examples)));
  }
  return out;
}

Result<BoundOutputs> bind_outputs(const program::FunctionDef& def, std::vector<Tensor> results,
                                  const CallContext& context) {
  const double examples = context.elements->examples();
  BoundOutputs out;
  out.updates.reserve(def.outputs.size());
  for (std::size_t i = 0; i < def.outputs.size(); ++i) {
    const program::OutputBinding& output = def.outputs[i];
    if (output.rows == program::RowsPart::kIndices) continue;
    if (output.rows == program::RowsPart::kValues) {
      add_rows(out.updates, TFD_TRY(bind_rows(def, i, results, context), def.name));
      continue;
    }
    switch (output.kind) {
      case OutputKind::kResult: {
        const auto index = static_cast<std::size_t>(output.index);
        if (out.outcome.results.size() <= index) out.outcome.results.resize(index + 1);
        out.outcome.results[index] = std::move(results[i]);
        break;
      }
      case OutputKind::kMetric:
        out.outcome.metrics.push_back(TFD_TRY(metric_of(output, results[i], examples)));
        break;
      default:
        out.updates.push_back({update_kind(output), output.name, std::move(results[i])});
    }
  }
  return out;
}

}  // namespace tfd::step
