// SPDX-License-Identifier: Apache-2.0
#include "kept_copies.hpp"

#include <array>
#include <cstring>

#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {

using tensor::Tensor;

Result<void> KeptCopies::put(const program::Program& program, const DeviceLayout& layout, const ReplicaState& state,
                             int replicas) {
  clear();
  places_.clear();
  for (std::size_t p = 0; p < layout.packs.size(); ++p) {
    const Pack& pack = layout.packs[p];
    if (!pack.use.is_own) continue;
    // The devices' own memory is written by updates.
    const Tensor whole = TFD_TRY(state.packs[p]->to_host());
    Tensor own = Tensor::uninitialized(whole.dtype(), whole.shape());
    if (whole.byte_size() > 0) std::memcpy(own.mutable_data(), whole.data(), whole.byte_size());
    packs_[p].assign(static_cast<std::size_t>(replicas), own);
    std::int64_t first = 0;
    for (std::size_t k = 0; k < pack.variables.size(); ++k) {
      places_[pack.variables[k]] = {p, first, program.variables[pack.variables[k]].spec};
      first += pack.sizes[k];
    }
  }
  return {};
}

const std::vector<Tensor>* KeptCopies::find(std::size_t pack) const {
  const auto found = packs_.find(pack);
  return found == packs_.end() ? nullptr : &found->second;
}

Tensor KeptCopies::variable(const DeviceLayout& layout, std::size_t variable, std::size_t replica) const {
  const Place& place = places_.at(variable);
  const Tensor& whole = packs_.at(place.pack)[replica];
  if (layout.packs[place.pack].variables.size() == 1) return whole;
  return whole.slice_rows(place.first, tensor::element_count(place.spec.shape)).reshaped(place.spec.shape);
}

Result<void> KeptCopies::write(const Pack& pack, std::size_t position, std::size_t replica, const Tensor& change) {
  using variable::WriteOp;
  Tensor& copy = packs_.at(position)[replica];
  const WriteOp op = pack.use.kind == program::OutputKind::kAssignAdd   ? WriteOp::kAdd
                     : pack.use.kind == program::OutputKind::kAssignSub ? WriteOp::kSubtract
                                                                        : WriteOp::kAssign;
  variable::ReplicatedVariable own({variable::Synchronization::kOnRead, pack.use.aggregation, false}, {copy});
  TFD_TRY(own.write(op, std::array{change}));
  copy = own.copies().front();
  return {};
}

tensor::NamedTensors KeptCopies::export_all(const program::Program& program, const DeviceLayout& layout,
                                            const step::ReplicaCopies& copies) const {
  tensor::NamedTensors out;
  for (const auto& [index, place] : places_)
    for (std::size_t replica = 0; replica < packs_.at(place.pack).size(); ++replica)
      out.emplace_back(copies.copy_name(program.variables[index].name, static_cast<int>(replica)),
                       variable(layout, index, replica));
  return out;
}

Result<void> KeptCopies::import_all(const program::Program& program, const DeviceLayout& layout,
                                    const step::ReplicaCopies& copies, const tensor::NamedTensors& state) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> known;  // variable and replica, by name
  for (const auto& [index, place] : places_)
    for (std::size_t replica = 0; replica < packs_.at(place.pack).size(); ++replica)
      known[copies.copy_name(program.variables[index].name, static_cast<int>(replica))] = {index, replica};
  for (const auto& [name, value] : state) {
    const auto found = known.find(name);
    if (found == known.end()) return fail(Code::kInvalidArgument, "'{}' is no copy of a replica", name);
    const auto [index, replica] = found->second;
    const Place& place = places_.at(index);
    if (value.spec() != place.spec)
      return fail(Code::kInvalidArgument, "'{}' is {}, not {}", name, format_spec(value.spec()),
                  format_spec(place.spec));
    Tensor& whole = packs_.at(place.pack)[replica];
    if (layout.packs[place.pack].variables.size() == 1) {
      whole = value;
      continue;
    }
    whole = whole.unshared();
    if (value.byte_size() > 0)
      std::memcpy(whole.mutable_data() + static_cast<std::size_t>(place.first) * tensor::dtype_size(value.dtype()),
                  value.data(), value.byte_size());
  }
  return {};
}

}  // namespace tfd::strategy
