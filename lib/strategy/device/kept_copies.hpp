#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values of variables that are synchronized on read, where replicas share devices or processes: a copy for each replica
// of the training, by its number, on the host. Every process has all copies, so whichever is lost takes none along, and
// a replica may be made elsewhere from one step to the next. Private to the room. Thread rule: one thread writes;
// several read meanwhile.
#include <map>
#include <vector>

#include "device_state.hpp"

namespace tfd::strategy {

class KeptCopies {
 public:
  /// Takes the values that each replica begins with from the state that was put on the devices.
  Result<void> put(const program::Program& program, const DeviceLayout& layout, const ReplicaState& state,
                   int replicas);
  void clear() { packs_.clear(); }
  bool empty() const { return packs_.empty(); }
  /// Copies of a pack, by replica of the training; null: its variables are on the devices.
  const std::vector<tensor::Tensor>* find(std::size_t pack) const;
  bool has_variable(std::size_t variable) const { return !empty() && places_.contains(variable); }
  /// A replica's copy of a variable in one of these packs.
  tensor::Tensor variable(const DeviceLayout& layout, std::size_t variable, std::size_t replica) const;
  /// Applies what a replica assigns to its copies of a pack, or adds to them.
  Result<void> write(const Pack& use, std::size_t pack, std::size_t replica, const tensor::Tensor& change);

  /// All copies, by ReplicaCopies::copy_name().
  tensor::NamedTensors export_all(const program::Program& program, const DeviceLayout& layout,
                                  const step::ReplicaCopies& copies) const;
  /// Sets those that are named. kInvalidArgument: a spec differs, or the name is no copy's.
  Result<void> import_all(const program::Program& program, const DeviceLayout& layout,
                          const step::ReplicaCopies& copies, const tensor::NamedTensors& state);

 private:
  struct Place {
    std::size_t pack = 0;
    std::int64_t first = 0;  // element
    tensor::TensorSpec spec;
  };
  std::map<std::size_t, std::vector<tensor::Tensor>> packs_;  // by pack, then by replica
  std::map<std::size_t, Place> places_;                       // by variable
};

}  // namespace tfd::strategy
