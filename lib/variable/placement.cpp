// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/placement.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::variable {

Result<PlacedVariable> Placer::place_beside(const VariableToPlace& variable) const {
  const auto other = std::ranges::find(placed_, variable.colocate_with, &PlacedVariable::name);
  if (other == placed_.end()) {
    std::vector<std::string> names;
    for (const PlacedVariable& placed : placed_) names.push_back(placed.name);
    return fail(Code::kInvalidArgument, "'{}' can't be placed beside '{}': no such variable was created before it{}",
                variable.name, printable(variable.colocate_with), did_you_mean(variable.colocate_with, names));
  }
  if (other->sharding.count() > 1)
    return fail(Code::kInvalidArgument, "'{}' can't be placed beside '{}', which is in {} shards", variable.name,
                other->name, other->sharding.count());
  return PlacedVariable{variable.name, Sharding(variable.spec.shape), {other->ps.front()}};
}

Result<PlacedVariable> Placer::place(const VariableToPlace& variable) {
  if (ps_count_ < 1) return fail(Code::kInvalidArgument, "variables need a parameter server, but there is none");
  if (!variable.colocate_with.empty()) return placed_.emplace_back(TFD_TRY(place_beside(variable)));
  const tensor::Shape& shape = variable.spec.shape;
  std::int64_t shards = 1;
  if (variable.partitions && !shape.empty()) {
    shards = TFD_TRY(shard_count(*variable.partitions, shape), variable.name);
  } else if (variable.partitioner && !shape.empty()) {
    const auto bytes = static_cast<std::int64_t>(dtype_size(variable.spec.dtype));
    const auto partitions = TFD_TRY(variable.partitioner->partitions(shape, bytes), variable.name);
    shards = TFD_TRY(shard_count(partitions, shape), variable.name);
  }
  Sharding sharding = TFD_TRY(Sharding::make(shape, shards), variable.name);
  PlacedVariable out{variable.name, std::move(sharding), {}};
  for (std::int64_t i = 0; i < out.sharding.count(); ++i) {
    out.ps.push_back(next_);
    next_ = (next_ + 1) % ps_count_;
  }
  return placed_.emplace_back(std::move(out));
}

Result<std::vector<PlacedVariable>> place_variables(const std::vector<VariableToPlace>& variables, int ps_count) {
  if (ps_count < 1) return fail(Code::kInvalidArgument, "variables need a parameter server, but there is none");
  Placer placer(ps_count);
  std::vector<PlacedVariable> out;
  for (const VariableToPlace& variable : variables) out.push_back(TFD_TRY(placer.place(variable)));
  return out;
}

}  // namespace tfd::variable
