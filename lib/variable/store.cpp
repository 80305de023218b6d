// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/store.hpp"

#include <algorithm>
#include <unordered_map>

#include "slots.hpp"
#include "tfd/base/text.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr std::string_view kSlotMark = "/.optimizer/";
constexpr std::string_view kUpdates = "updates";
constexpr std::string_view kIterations = ".iterations";

// Unsigned twins wrap round where signed ones would be undefined.
template <class T>
void add_elements(Tensor& value, const Tensor& change, bool subtract) {
  Rewrite<T> to(value);
  const T* by = change.as<T>().data();
  const std::int64_t count = value.size();
  if (subtract) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to.out[i] = static_cast<T>(to.in[i] - by[i]);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to.out[i] = static_cast<T>(to.in[i] + by[i]);
  }
  to.commit();
}

template <float (*Widen)(std::uint16_t), std::uint16_t (*Narrow)(float)>
void add_halves(Tensor& value, const Tensor& change, bool subtract) {
  Rewrite<std::uint16_t> to(value);
  const std::uint16_t* by = change.as<std::uint16_t>().data();
  for (std::int64_t i = 0, count = value.size(); i < count; ++i)
    to.out[i] = Narrow(subtract ? Widen(to.in[i]) - Widen(by[i]) : Widen(to.in[i]) + Widen(by[i]));
  to.commit();
}

void add_to(Tensor& value, const Tensor& change, bool subtract) {
  switch (value.dtype()) {
    case DType::kF32:
      return add_elements<float>(value, change, subtract);
    case DType::kF64:
      return add_elements<double>(value, change, subtract);
    case DType::kF16:
      return add_halves<tensor::half_to_float, tensor::float_to_half>(value, change, subtract);
    case DType::kBF16:
      return add_halves<tensor::bfloat16_to_float, tensor::float_to_bfloat16>(value, change, subtract);
    default:
      break;
  }
  switch (dtype_size(value.dtype())) {
    case 1:
      return add_elements<std::uint8_t>(value, change, subtract);
    case 2:
      return add_elements<std::uint16_t>(value, change, subtract);
    case 4:
      return add_elements<std::uint32_t>(value, change, subtract);
    default:
      return add_elements<std::uint64_t>(value, change, subtract);
  }
}

// A value to keep: a part of a larger buffer (a message, rows of a table) is copied out, so that it doesn't keep the
// rest.
Tensor owned(const Tensor& value) {
  const bool whole = value.offset() == 0 && reinterpret_cast<std::uintptr_t>(value.data()) % tensor::kAlignment == 0;
  if (whole) return value;
  Tensor copy = value;  // a second owner, so that unshared() copies
  return copy.unshared();
}

Result<void> check_update(const VariableState& state, const Update& update, const Optimizer* optimizer) {
  if (update.kind == UpdateKind::kGradient) {
    if (optimizer == nullptr)
      return fail(Code::kFailedPrecondition, "a gradient for '{}', but the program has no optimizer", state.name);
    return check_gradient(state.name, state.value.spec(), update.value.spec());
  }
  if (!update.value.has_value() || update.value.spec() != state.value.spec())
    return fail(Code::kInvalidArgument, "the new value of '{}' is {}, the variable is {}", state.name,
                format_spec(update.value.spec()), format_spec(state.value.spec()));
  if (update.kind != UpdateKind::kAssign && state.value.dtype() == DType::kBool)
    return fail(Code::kInvalidArgument, "variable '{}' is {}: nothing can be added to it", state.name,
                format_spec(state.value.spec()));
  return {};
}

// Checked before: can't fail but for lack of memory.
Result<void> apply_checked(VariableState& state, const Update& update, const Optimizer* optimizer) {
  switch (update.kind) {
    case UpdateKind::kGradient:
      return optimizer->apply(state, update.value);
    case UpdateKind::kAssign:
      state.value = owned(update.value);
      break;
    case UpdateKind::kAssignAdd:
      add_to(state.value, update.value, false);
      break;
    case UpdateKind::kAssignSub:
      add_to(state.value, update.value, true);
      break;
  }
  return {};
}

Result<std::int64_t> counter_of(std::string_view name, const Tensor& tensor) {
  if (tensor.spec() != tensor::TensorSpec{DType::kS64, {}} || tensor.as<std::int64_t>()[0] < 0)
    return fail(Code::kInvalidArgument, "'{}' must be a count (s64[]), it is {}", name, format_spec(tensor.spec()));
  return tensor.as<std::int64_t>()[0];
}

}  // namespace

void AppliedSet::insert(std::uint64_t sequence) {
  if (sequence < low_) return;
  above_.insert(sequence);
  while (!above_.empty() && *above_.begin() == low_) {
    above_.erase(above_.begin());
    ++low_;
  }
}

Result<void> VariableStore::create(std::string name, Tensor value) {
  if (name.empty() || name.front() == '.' || name.find(kSlotMark) != std::string::npos)
    return fail(Code::kInvalidArgument,
                "'{}' can't be the name of a variable: it is empty, starts with '.' or has '{}' in it", printable(name),
                kSlotMark);
  if (index_.contains(name)) return fail(Code::kAlreadyExists, "variable '{}' exists already", name);
  index_.emplace(name, variables_.size());
  variables_.push_back(VariableState{std::move(name), owned(value), {}, 0});
  return {};
}

void VariableStore::clear() { *this = VariableStore(); }

Result<std::size_t> VariableStore::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return found->second;
  return fail(Code::kNotFound, "no variable '{}'{}", printable(name), did_you_mean(name, names()));
}

Result<Tensor> VariableStore::read(std::string_view name) const { return variables_[TFD_TRY(find(name))].value; }

Result<bool> VariableStore::apply(std::uint64_t sequence, const std::vector<Update>& updates) {
  if (applied_.contains(sequence)) return false;
  std::vector<std::size_t> targets;
  targets.reserve(updates.size());
  for (const Update& update : updates) {
    targets.push_back(TFD_TRY(find(update.variable)));
    TFD_TRY(check_update(variables_[targets.back()], update, optimizer_.get()));
  }
  for (std::size_t i = 0; i < updates.size(); ++i)
    TFD_TRY(apply_checked(variables_[targets[i]], updates[i], optimizer_.get()));
  applied_.insert(sequence);
  if (!updates.empty()) ++iterations_;
  return true;
}

Result<void> VariableStore::assign(const Update& update) {
  const std::size_t target = TFD_TRY(find(update.variable));
  TFD_TRY(check_update(variables_[target], update, optimizer_.get()));
  return apply_checked(variables_[target], update, optimizer_.get());
}

std::vector<std::string> VariableStore::names() const {
  std::vector<std::string> all;
  all.reserve(variables_.size());
  for (const VariableState& state : variables_) all.push_back(state.name);
  return all;
}

std::size_t VariableStore::byte_size() const {
  std::size_t bytes = 0;
  for (const VariableState& state : variables_) {
    bytes += state.value.byte_size();
    for (const auto& [name, slot] : state.slots) bytes += slot.byte_size();
  }
  return bytes;
}

std::vector<std::pair<std::string, Tensor>> VariableStore::export_state() const {
  std::vector<std::pair<std::string, Tensor>> state;
  for (const VariableState& variable : variables_) {
    state.emplace_back(variable.name, variable.value);
    for (const auto& [slot, value] : variable.slots)
      state.emplace_back(fmt::format("{}{}{}", variable.name, kSlotMark, slot), value);
    state.emplace_back(fmt::format("{}{}{}", variable.name, kSlotMark, kUpdates),
                       Tensor::scalar(DType::kS64, variable.updates));
  }
  state.emplace_back(kIterations, Tensor::scalar(DType::kS64, iterations_));
  return state;
}

Result<void> VariableStore::import_state(const std::vector<std::pair<std::string, Tensor>>& state) {
  std::vector<VariableState> restored(variables_.size());
  std::int64_t iterations = 0;
  for (const auto& [name, value] : state) {
    if (name == kIterations) iterations = std::max(iterations, TFD_TRY(counter_of(name, value)));
    const std::size_t mark = name.find(kSlotMark);
    const auto found = index_.find(std::string_view(name).substr(0, mark));
    if (found == index_.end()) continue;
    VariableState& target = restored[found->second];
    const std::string_view slot =
        mark == std::string::npos ? "" : std::string_view(name).substr(mark + kSlotMark.size());
    if (slot == kUpdates) {
      target.updates = TFD_TRY(counter_of(name, value));
      continue;
    }
    const tensor::TensorSpec& spec = variables_[found->second].value.spec();
    if (value.spec() != spec)
      return fail(Code::kInvalidArgument, "'{}' is {}, the variable is {}", printable(name), format_spec(value.spec()),
                  format_spec(spec));
    if (mark == std::string::npos)
      target.value = owned(value);
    else
      target.slots.emplace_back(slot, owned(value));
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!restored[i].value.has_value()) return fail(Code::kNotFound, "no value of variable '{}'", variables_[i].name);
    restored[i].name = variables_[i].name;
  }
  variables_ = std::move(restored);
  iterations_ = iterations;
  return {};
}

int place_variable(std::size_t creation_index, int ps_count) {
  return static_cast<int>(creation_index % static_cast<std::size_t>(ps_count));
}

}  // namespace tfd::variable
