// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include <algorithm>
#include <cstring>

#include "floating.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::runtime {
namespace {

using tensor::DType;
using tensor::Tensor;

/// Of floating-point numbers; rounded once.
Tensor weighted(const std::vector<Tensor>& values, const std::vector<double>& weights, double total) {
  Tensor out = Tensor::uninitialized(values.front().dtype(), values.front().shape());
  as_numbers(out.dtype(), [&]<class T>(T, auto read, auto write) {
    T* to = out.mutable_as<T>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(out.size()); ++i) {
      double sum = 0;
      for (std::size_t replica = 0; replica < values.size(); ++replica)
        if (weights[replica] != 0)  // a mean of no examples is NaN, and counts for nothing
          sum += static_cast<double>(read(values[replica].as<T>()[i])) * weights[replica];
      to[i] = write(static_cast<decltype(read(T()))>(sum / total));
    }
  });
  return out;
}

/// As if all examples had been one batch. Equal weights: TensorFlow's mean, the sum divided.
Result<Tensor> mean_by_examples(const std::vector<Tensor>& values, const std::vector<double>& weights) {
  const bool equal = std::ranges::all_of(weights, [&](double weight) { return weight == weights.front(); });
  if (equal) return variable::aggregate_gradients(variable::Aggregation::kMean, values);
  double total = 0;
  for (const double weight : weights) total += weight;
  for (const Tensor& value : values)
    if (value.spec() != values.front().spec())
      return fail(Code::kInvalidArgument, "replicas differ: {} and {}", format_spec(values.front().spec()),
                  format_spec(value.spec()));
  if (tensor::is_floating(values.front().dtype())) return weighted(values, weights, total);
  return fail(Code::kInvalidArgument, "there is no mean of {} over replicas",
              tensor::dtype_name(values.front().dtype()));
}

bool updates_variable(const program::OutputBinding& output) {
  return output.kind != program::OutputKind::kResult && output.kind != program::OutputKind::kMetric &&
         output.rows != program::RowsPart::kIndices;
}

/// Which output the i-th update is of: the updates of a variable are in the order of its outputs. Null where several
/// outputs made one update (of rows).
const program::OutputBinding* output_of(const program::FunctionDef& function,
                                        const std::vector<variable::Update>& updates, std::size_t i) {
  const std::string& name = updates[i].variable;
  const auto earlier = std::count_if(updates.begin(), updates.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const variable::Update& update) { return update.variable == name; });
  std::ptrdiff_t seen = 0;
  for (const program::OutputBinding& output : function.outputs)
    if (updates_variable(output) && output.name == name && seen++ == earlier) return &output;
  return nullptr;
}

/// All rows, one replica's after the other's: the same row of several adds up where it is applied.
Result<variable::Update> concatenate_rows(const std::vector<variable::Update>& updates,
                                          const std::vector<double>& weights) {
  variable::Update out = updates.front();
  std::int64_t rows = 0;
  for (const variable::Update& update : updates) rows += update.indices.size();
  tensor::Shape shape = out.value.shape();
  shape[0] = rows;
  out.value = Tensor::uninitialized(out.value.dtype(), std::move(shape));
  out.indices = Tensor::uninitialized(DType::kS64, {rows});
  std::byte* to = out.value.mutable_data();
  std::int64_t* to_index = out.indices.mutable_as<std::int64_t>();
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const Tensor value = weights.empty() ? updates[i].value : weighted({updates[i].value}, {weights[i]}, 1);
    if (value.byte_size() > 0) std::memcpy(to, value.data(), value.byte_size());
    to += value.byte_size();
    to_index =
        std::copy(updates[i].indices.as<std::int64_t>().begin(), updates[i].indices.as<std::int64_t>().end(), to_index);
  }
  return out;
}

Result<variable::Update> reduce_rows(const program::OutputBinding& output, variable::Aggregation aggregation,
                                     const std::vector<variable::Update>& updates,
                                     const std::vector<double>& examples) {
  const variable::Update& first = updates.front();
  const bool is_gradient = first.kind == variable::UpdateKind::kGradientRows;
  const bool adds = is_gradient || first.kind != variable::UpdateKind::kAssignRows;
  const bool sums = is_gradient ? output.reduce == program::Reduce::kSum : aggregation == variable::Aggregation::kSum;
  if (!is_gradient && aggregation == variable::Aggregation::kOnlyFirstReplica) return first;
  if (adds && sums) return concatenate_rows(updates, {});
  if (!adds || (!is_gradient && aggregation != variable::Aggregation::kMean))
    return fail(Code::kInvalidArgument,
                "rows of '{}' are assigned by {} replicas, which needs the aggregation only_first_replica",
                first.variable, updates.size());
  if (!tensor::is_floating(first.value.dtype()))
    return fail(Code::kInvalidArgument, "there is no mean of {} over replicas",
                tensor::dtype_name(first.value.dtype()));
  std::vector<double> weights = is_gradient ? examples : std::vector<double>(updates.size(), 1);
  double total = 0;
  for (const double weight : weights) total += weight;
  for (double& weight : weights) weight = total > 0 ? weight / total : 1.0 / static_cast<double>(weights.size());
  return concatenate_rows(updates, weights);
}

}  // namespace

Result<std::vector<variable::Update>> reduce_updates(const program::Program& program,
                                                     const program::FunctionDef& function,
                                                     const std::vector<std::vector<variable::Update>>& updates,
                                                     const std::vector<double>& examples, const ReplicaCopies& copies) {
  if (updates.size() == 1 && copies.empty()) return updates.front();
  std::vector<variable::Update> out;
  for (std::size_t i = 0; i < updates.front().size(); ++i) {
    variable::Update update = updates.front()[i];
    if (copies.has(update.variable)) {
      for (std::size_t replica = 0; replica < updates.size(); ++replica) {
        out.push_back(updates[replica][i]);
        out.back().variable = copies.copy_name(update.variable, static_cast<int>(replica));
      }
      continue;
    }
    if (updates.size() == 1) {
      out.push_back(std::move(update));
      continue;
    }
    const program::OutputBinding* output = output_of(function, updates.front(), i);
    if (output == nullptr) return fail(Code::kInternal, "no output updates '{}'", update.variable);
    const auto aggregation = program.find_variable(update.variable)->aggregation;
    const bool is_gradient =
        update.kind == variable::UpdateKind::kGradient || update.kind == variable::UpdateKind::kGradientRows;
    if (!is_gradient && aggregation == variable::Aggregation::kNone)
      return fail(Code::kInvalidArgument,
                  "variable '{}' is updated by {} replicas, so it needs an aggregation: sum, mean or "
                  "only_first_replica",
                  update.variable, updates.size());
    if (variable::updates_rows(update.kind)) {
      std::vector<variable::Update> rows;
      for (const auto& replica : updates) rows.push_back(replica[i]);
      out.push_back(TFD_TRY(reduce_rows(*output, aggregation, rows, examples), "'" + update.variable + "'"));
      continue;
    }
    std::vector<Tensor> values;
    for (const auto& replica : updates) values.push_back(replica[i].value);
    if (!is_gradient) {
      update.value = TFD_TRY(variable::aggregate(aggregation, values), "'" + update.variable + "'");
    } else if (output->reduce == program::Reduce::kSum) {
      update.value =
          TFD_TRY(variable::aggregate_gradients(variable::Aggregation::kSum, values), "'" + update.variable + "'");
    } else {
      update.value = TFD_TRY(mean_by_examples(values, examples), "'" + update.variable + "'");
    }
    out.push_back(std::move(update));
  }
  return out;
}

}  // namespace tfd::runtime
