// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/replicated.hpp"

#include <algorithm>
#include <array>

#include "elements.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr std::array<std::string_view, 4> kSynchronizations{"auto", "none", "on_write", "on_read"};
constexpr std::array<std::string_view, 4> kAggregations{"none", "sum", "mean", "only_first_replica"};

template <class E>
Result<E> parse_name(std::string_view what, std::string_view name, const std::array<std::string_view, 4>& names) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const auto found = std::find(names.begin(), names.end(), lower);
  if (found != names.end()) return static_cast<E>(found - names.begin());
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string hint = did_you_mean(lower, known);
  return fail(Code::kInvalidArgument, "no {} '{}'{}", what, printable(name),
              hint.empty() ? fmt::format(" (available: {})", join_words(known)) : hint);
}

std::string shown(const Tensor& value) {
  std::string text;
  if (value.size() == 1)
    tensor::append_json(value, text);
  else
    text = format_spec(value.spec());
  return text;
}

}  // namespace

std::string_view name_of(Synchronization synchronization) {
  return kSynchronizations[static_cast<std::size_t>(synchronization)];
}
std::string_view name_of(Aggregation aggregation) { return kAggregations[static_cast<std::size_t>(aggregation)]; }

Result<Synchronization> parse_synchronization(std::string_view name) {
  return parse_name<Synchronization>("synchronization", name, kSynchronizations);
}
Result<Aggregation> parse_aggregation(std::string_view name) {
  return parse_name<Aggregation>("aggregation", name, kAggregations);
}

Result<ReplicationKind> resolve_kind(DType dtype, Synchronization synchronization, Aggregation aggregation,
                                     std::optional<bool> trainable) {
  if (synchronization == Synchronization::kNone)
    return fail(Code::kInvalidArgument,
                "synchronization 'none' leaves the copies of replicas unsynchronized: use 'auto'");
  if (aggregation == Aggregation::kMean && !is_floating(dtype))
    return fail(Code::kInvalidArgument,
                "aggregation 'mean' needs a floating-point dtype, not {}: use 'sum' or 'only_first_replica'",
                dtype_name(dtype));
  const bool on_read = synchronization == Synchronization::kOnRead;
  return ReplicationKind{on_read ? Synchronization::kOnRead : Synchronization::kOnWrite, aggregation,
                         trainable.value_or(!on_read)};
}

Aggregation default_aggregation(DType dtype) {
  return is_floating(dtype) ? Aggregation::kMean : Aggregation::kOnlyFirstReplica;
}

Result<Tensor> aggregate(Aggregation aggregation, std::span<const Tensor> values) {
  if (values.empty()) return fail(Code::kInvalidArgument, "there are no values to aggregate");
  if (aggregation == Aggregation::kOnlyFirstReplica) return values[0];
  if (aggregation == Aggregation::kNone)
    return fail(Code::kInvalidArgument, "aggregation 'none' can't combine the values of {} replicas", values.size());
  const DType dtype = values[0].dtype();
  if (dtype == DType::kBool || (aggregation == Aggregation::kMean && !is_floating(dtype)))
    return fail(Code::kInvalidArgument, "there is no {} of {}", name_of(aggregation), dtype_name(dtype));
  Tensor total = values[0];
  for (std::size_t replica = 1; replica < values.size(); ++replica) {
    const Tensor& value = values[replica];
    if (value.spec() != values[0].spec())
      return fail(Code::kInvalidArgument, "the replicas' values differ: replica 0 has {}, replica {} has {}",
                  format_spec(values[0].spec()), replica, format_spec(value.spec()));
    add_to(total, value, false);
  }
  return aggregation == Aggregation::kMean ? divided(total, static_cast<std::int64_t>(values.size())) : total;
}

Result<Tensor> share_of(const ReplicationKind& kind, WriteOp op, const Tensor& value, int replicas) {
  if (kind.synchronization != Synchronization::kOnRead || kind.aggregation != Aggregation::kSum) return value;
  if (op != WriteOp::kAssign)
    return fail(Code::kInvalidArgument,
                "a variable that is synchronized on read and aggregated by 'sum' can only be assigned outside of "
                "replicas");
  if (value.dtype() == DType::kBool) return fail(Code::kInvalidArgument, "there is no sum of bool");
  return divided(value, replicas);
}

Result<void> ReplicatedVariable::check(WriteOp op, const Tensor& value) const {
  if (!value.has_value() || value.spec() != copies_[0].spec())
    return fail(Code::kInvalidArgument, "the new value is {}, but the variable is {}", format_spec(value.spec()),
                format_spec(copies_[0].spec()));
  if (op != WriteOp::kAssign && value.dtype() == DType::kBool)
    return fail(Code::kInvalidArgument, "nothing can be added to a bool variable");
  return {};
}

void ReplicatedVariable::apply(WriteOp op, std::size_t replica, const Tensor& value) {
  if (op == WriteOp::kAssign)
    copies_[replica] = value;
  else
    add_to(copies_[replica], value, op == WriteOp::kSubtract);
}

void ReplicatedVariable::apply_to_all(WriteOp op, const Tensor& value) {
  const bool are_one = std::ranges::all_of(copies_, [&](const Tensor& copy) {
    return copy.storage() == copies_[0].storage() && copy.offset() == copies_[0].offset();
  });
  if (!are_one) {
    for (std::size_t i = 0; i < copies_.size(); ++i) apply(op, i, value);
    return;
  }
  std::fill(copies_.begin() + 1, copies_.end(), Tensor());  // equal copies are changed once
  apply(op, 0, value);
  std::fill(copies_.begin() + 1, copies_.end(), copies_[0]);
}

Result<Tensor> ReplicatedVariable::read_across() const {
  if (kind_.synchronization == Synchronization::kOnWrite) return copies_[0];
  return aggregate(kind_.aggregation, copies_);
}

Result<void> ReplicatedVariable::write(WriteOp op, std::span<const Tensor> values) {
  if (values.size() != copies_.size())
    return fail(Code::kInvalidArgument, "{} values for {} replicas", values.size(), copies_.size());
  for (const Tensor& value : values) TFD_TRY(check(op, value));
  if (kind_.synchronization == Synchronization::kOnRead || kind_.aggregation == Aggregation::kNone) {
    for (std::size_t i = 0; i < values.size(); ++i) apply(op, i, values[i]);
    return {};
  }
  apply_to_all(op, TFD_TRY(aggregate(kind_.aggregation, values)));
  return {};
}

Result<void> ReplicatedVariable::write_same(WriteOp op, const Tensor& value) {
  TFD_TRY(check(op, value));
  if (kind_.synchronization == Synchronization::kOnWrite && kind_.aggregation == Aggregation::kSum &&
      copies_.size() > 1)
    return fail(Code::kInvalidArgument, "{} is the same on every replica: it can't be reduced by 'sum'", shown(value));
  apply_to_all(op, value);
  return {};
}

Result<void> ReplicatedVariable::write_across(WriteOp op, const Tensor& value) {
  TFD_TRY(check(op, value));
  apply_to_all(op, TFD_TRY(share_of(kind_, op, value, static_cast<int>(copies_.size()))));
  return {};
}

}  // namespace tfd::variable
