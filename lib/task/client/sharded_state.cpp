// SPDX-License-Identifier: Apache-2.0
#include "sharded_state.hpp"

#include <algorithm>
#include <cstring>

#include "tfd/base/text.hpp"
#include "tfd/variable/slot_mark.hpp"

namespace tfd::task {
namespace {

using tensor::Tensor;
using variable::PlacedVariable;

const Tensor& larger(const Tensor& a, const Tensor& b) {
  return a.as<std::int64_t>()[0] >= b.as<std::int64_t>()[0] ? a : b;
}

bool is_count(const Tensor& value) { return value.spec() == tensor::TensorSpec{tensor::DType::kS64, {}}; }

/// One entry of the whole state, assembled from shards.
struct Entry {
  std::string name;
  const PlacedVariable* placed = nullptr;  // null: it is whole
  std::vector<Tensor> parts;

  bool is_complete() const {
    return std::all_of(parts.begin(), parts.end(), [](const Tensor& part) { return part.has_value(); });
  }
};

class Joiner {
 public:
  explicit Joiner(const Placement& placement) {
    for (const auto& [name, placed] : placement.placed)
      for (std::size_t i = 0; placed.ps.size() > 1 && i < placed.ps.size(); ++i)
        shards_.emplace(stored_name(placed, i), std::pair(&placed, i));
  }

  Result<void> add(const std::string& name, Tensor value) {
    const std::string base = variable_of(name);
    const auto shard = shards_.find(base);
    if (shard == shards_.end() && name != kIterations) {
      entries_.push_back({name, nullptr, {std::move(value)}});
      return {};
    }
    const PlacedVariable* placed = shard == shards_.end() ? nullptr : shard->second.first;
    const std::string whole = placed == nullptr ? name : placed->name + name.substr(base.size());
    const auto [known, fresh] = by_name_.emplace(whole, entries_.size());
    if (is_count(value)) {
      if (fresh) entries_.push_back({whole, nullptr, {value}});
      Entry& entry = entries_[known->second];
      if (!is_count(entry.parts[0]))
        return fail(Code::kInternal, "'{}' is a count on some parameter servers only", printable(whole));
      entry.parts[0] = larger(entry.parts[0], value);
      return {};
    }
    if (placed == nullptr) return fail(Code::kInternal, "'{}' is not a count", printable(name));
    if (fresh) entries_.push_back({whole, placed, std::vector<Tensor>(placed->ps.size())});
    Entry& entry = entries_[known->second];
    if (entry.placed != placed)
      return fail(Code::kInternal, "'{}' is a count on some parameter servers only", printable(whole));
    entry.parts[shard->second.second] = std::move(value);
    return {};
  }

  Result<tensor::NamedTensors> finish() {
    tensor::NamedTensors out;
    for (Entry& entry : entries_) {
      if (entry.placed == nullptr)
        out.emplace_back(std::move(entry.name), std::move(entry.parts[0]));
      else if (entry.is_complete())
        out.emplace_back(std::move(entry.name), TFD_TRY(join_value(*entry.placed, entry.parts)));
      entry.parts.clear();  // so that only one variable exists twice, not the whole state
    }
    return out;
  }

 private:
  std::map<std::string, std::pair<const PlacedVariable*, std::size_t>> shards_;
  std::vector<Entry> entries_;  // in the order of their first part
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace

std::string variable_of(const std::string& name) { return name.substr(0, name.find(variable::kSlotMark)); }

std::string stored_name(const PlacedVariable& placed, std::size_t shard) {
  return placed.ps.size() == 1 ? placed.name : variable::shard_name(placed.name, static_cast<std::int64_t>(shard));
}

std::vector<Tensor> cut_value(const PlacedVariable& placed, const Tensor& value) {
  if (placed.ps.size() == 1) return {value};
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < placed.sharding.count(); ++i)
    parts.push_back(value.slice_rows(placed.sharding.first_row(i), placed.sharding.rows(i)));
  return parts;
}

Result<Tensor> join_value(const PlacedVariable& placed, const std::vector<Tensor>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const tensor::Shape wanted = placed.sharding.shard_shape(static_cast<std::int64_t>(i));
    if (parts[i].has_value() && parts[i].shape() == wanted && parts[i].dtype() == parts[0].dtype()) continue;
    return fail(Code::kInternal, "'{}' is {}, not {}", stored_name(placed, i), format_spec(parts[i].spec()),
                tensor::format_shape(wanted));
  }
  if (parts.size() == 1) return parts[0];
  Tensor out = Tensor::uninitialized(parts.at(0).dtype(), placed.sharding.shape());
  std::byte* to = out.mutable_data();
  for (const Tensor& part : parts) {
    if (part.byte_size() > 0) std::memcpy(to, part.data(), part.byte_size());
    to += part.byte_size();
  }
  return out;
}

Result<tensor::NamedTensors> join_state(const Placement& placement, std::vector<tensor::NamedTensors> parts) {
  Joiner joiner(placement);
  for (tensor::NamedTensors& part : parts)
    for (auto& [name, value] : part) TFD_TRY(joiner.add(name, std::move(value)));
  return joiner.finish();
}

Result<std::vector<tensor::NamedTensors>> cut_state(const Placement& placement, const tensor::NamedTensors& state) {
  std::vector<tensor::NamedTensors> parts(placement.ps.size());
  for (const auto& [name, value] : state) {
    if (name == kIterations) {
      for (tensor::NamedTensors& part : parts) part.emplace_back(name, value);
      continue;
    }
    const std::string base = variable_of(name);
    const auto found = placement.placed.find(base);
    if (found == placement.placed.end()) continue;
    const PlacedVariable& placed = found->second;
    const std::string path = name.substr(base.size());
    const bool is_shared = placed.ps.size() == 1 || (is_count(value) && !path.empty());
    if (!is_shared && value.shape() != placed.sharding.shape())
      return fail(Code::kInvalidArgument, "'{}' is {}, but the variable is {}", printable(name),
                  format_spec(value.spec()), tensor::format_shape(placed.sharding.shape()));
    const auto values = is_shared ? std::vector<Tensor>(placed.ps.size(), value) : cut_value(placed, value);
    for (std::size_t i = 0; i < values.size(); ++i)
      parts[static_cast<std::size_t>(placed.ps[i])].emplace_back(stored_name(placed, i) + path, values[i]);
  }
  return parts;
}

}  // namespace tfd::task
