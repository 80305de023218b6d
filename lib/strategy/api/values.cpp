// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/values.hpp"

#include <algorithm>
#include <cstring>

#include "replica_group.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/variable/reduction.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {
namespace {

using program::Reduce;
using tensor::Tensor;
using variable::Aggregation;

Result<Tensor> mean_of(std::span<const Tensor> components) {
  if (tensor::is_floating(components[0].dtype())) return variable::aggregate(Aggregation::kMean, components);
  return variable::quotient(TFD_TRY(variable::aggregate(Aggregation::kSum, components)),
                            static_cast<std::int64_t>(components.size()));
}

/// Number of elements along these axes of the tensor.
std::int64_t count_along(const Tensor& value, const std::vector<std::size_t>& axes) {
  std::int64_t count = 1;
  for (const std::size_t axis : axes) count *= value.shape()[axis];
  return count;
}

Result<Tensor> reduce_over(Reduce how, std::span<const Tensor> components, std::span<const std::int64_t> axes) {
  std::vector<Tensor> sums;
  std::int64_t count = 0;
  for (const Tensor& one : components) {
    count += count_along(one, TFD_TRY(variable::positions_of(axes, one.shape())));
    sums.push_back(TFD_TRY(variable::sum_over(one, axes)));
  }
  Tensor total = TFD_TRY(variable::aggregate(Aggregation::kSum, sums));
  return how == Reduce::kSum ? total : variable::quotient(total, count);
}

/// Checks that `value` can be concatenated to `first` along that axis.
Result<void> check_fits(const tensor::TensorSpec& first, const tensor::TensorSpec& value, std::size_t axis,
                        std::size_t replica) {
  std::string what;
  if (value.dtype != first.dtype || value.shape.size() != first.shape.size()) what = "dtype or rank";
  for (std::size_t i = 0; what.empty() && i < first.shape.size(); ++i)
    if (i != axis && value.shape[i] != first.shape[i]) what = fmt::format("dimension {}", i);
  if (what.empty()) return {};
  return fail(Code::kInvalidArgument,
              "replica 0 has {}, replica {} has {}: {} must be the same to gather along axis {}", format_spec(first),
              replica, format_spec(value), what, axis);
}

Result<Tensor> concatenate(std::span<const Tensor> values, std::int64_t axis) {
  tensor::TensorSpec spec = values.front().spec();
  if (axis < 0 || axis >= static_cast<std::int64_t>(spec.shape.size()))
    return fail(Code::kInvalidArgument, "cannot gather along axis {}: the replicas returned {}, not of rank {} or more",
                axis, format_spec(spec), std::max<std::int64_t>(axis, 0) + 1);
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < at; ++i) outer *= spec.shape[i];
  std::int64_t all = 0;
  for (std::size_t replica = 0; replica < values.size(); ++replica) {
    TFD_TRY(check_fits(values.front().spec(), values[replica].spec(), at, replica));
    all += values[replica].shape()[at];
  }
  spec.shape[at] = all;
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  std::byte* to = out.mutable_data();
  for (std::int64_t block = 0; block < outer; ++block)
    for (const Tensor& value : values) {
      const std::size_t bytes = value.byte_size() / static_cast<std::size_t>(outer);
      if (bytes > 0) std::memcpy(to, value.data() + static_cast<std::size_t>(block) * bytes, bytes);
      to += bytes;
    }
  return out;
}

bool is_same_object(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.spec() == b.spec();
}

}  // namespace

std::string show_value(const Tensor& value) {
  std::string text = format_spec(value.spec());
  if (value.size() > 8) return text;
  text += ' ';
  tensor::append_json(value, text);
  return text;
}

std::vector<DistributedValue> regroup(const std::vector<std::vector<Tensor>>& results, std::size_t num_replicas) {
  std::vector<DistributedValue> out;
  for (std::size_t i = 0; !results.empty() && i < results.front().size(); ++i) {
    std::vector<Tensor> components;
    for (const auto& of_replica : results) components.push_back(of_replica[i]);
    const bool is_one = components.size() == num_replicas && std::ranges::all_of(components, [&](const Tensor& one) {
                          return is_same_object(one, components.front());
                        });
    out.push_back(is_one ? DistributedValue(components.front()) : DistributedValue::per_replica(std::move(components)));
  }
  return out;
}

Result<Reduce> parse_reduce(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  if (lower == "sum") return Reduce::kSum;
  if (lower == "mean") return Reduce::kMean;
  return fail(Code::kInvalidArgument, "no reduction '{}' (available: mean, sum)", printable(name));
}

Result<Tensor> reduce(Reduce how, const DistributedValue& value, const std::optional<std::vector<std::int64_t>>& axes,
                      std::size_t num_replicas) {
  if (axes) {  // each replica reduces over the axes first, even a plain value
    const std::vector<Tensor> components =
        value.is_plain() ? std::vector<Tensor>(num_replicas, value.components()[0]) : value.components();
    return reduce_over(how, components, *axes);
  }
  if (value.is_plain() || value.is_mirrored()) {
    const bool is_one = value.is_plain() && num_replicas == 1;
    if (how == Reduce::kMean || is_one) return value.components()[0];
    return fail(Code::kInvalidArgument, "{} is the same on all {}: there is no sum of it",
                value.is_plain() ? show_value(value.components()[0]) : "a variable", counted(num_replicas, "replica"));
  }
  return how == Reduce::kMean ? mean_of(value.components())
                              : variable::aggregate(Aggregation::kSum, value.components());
}

Result<Tensor> gather(const DistributedValue& value, std::int64_t axis) {
  if (!value.is_plain() && !value.is_mirrored()) return concatenate(value.components(), axis);
  return value.components()[0];
}

std::vector<Tensor> local_results(const DistributedValue& value) { return value.components(); }

std::vector<std::vector<Tensor>> local_results(const std::vector<DistributedValue>& values) {
  std::size_t replicas = 1;
  for (const DistributedValue& value : values) replicas = std::max(replicas, value.components().size());
  std::vector<std::vector<Tensor>> out(replicas);
  for (std::size_t replica = 0; replica < replicas; ++replica)
    for (const DistributedValue& value : values) out[replica].push_back(value.on(replica));
  return out;
}

}  // namespace tfd::strategy
