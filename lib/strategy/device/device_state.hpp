#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The variables of a training and their optimizer slots on the devices: a copy per replica, in packs. Private to the
// room. Thread rule: plain values; a replica's is one thread's at a time.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device_layout.hpp"
#include "tfd/function/function.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {

/// State of the replicas on one device.
struct ReplicaState {
  function::DeviceBuffers packs;
  std::vector<function::DeviceBuffers> slots;  // by pack that changes
  function::DeviceBuffers views = {};          // by variable; null if its pack isn't viewed

  /// The changing packs, then their slots: an update's donated arguments.
  function::DeviceBuffers changing(const DeviceLayout& layout) const;
  /// Replaces them by the first of `results` of an update.
  void replace(const DeviceLayout& layout, std::span<const function::DeviceBufferPtr> results);
  /// Renews the views after waiting for the packs, whose memory an update may have written.
  Result<void> view(const program::Program& program, function::Engine& engine, const DeviceLayout& layout);

 private:
  std::vector<const std::byte*> viewed_;  // by pack: the viewed memory
};

/// Puts the state on the first `devices` devices; of variables that each replica has its own value of, what each begins
/// with. `states`: in the program's order, as outside of replicas; missing values and slots get initial values.
/// Given values are released, pack by pack, as soon as they are on all devices, and missing ones are made then, so that
/// the host never holds more than one additional pack. `copies`: of the program with that many replicas. Errors of
/// initial values and of devices.
Result<std::vector<ReplicaState>> put_state(const program::Program& program, function::Engine& engine,
                                            const DeviceLayout& layout, const step::ReplicaCopies& copies,
                                            std::vector<variable::VariableState> states, int devices);
/// Finds a pack's copies by replica of the training, where they are elsewhere than on the devices; null: they are on
/// the devices.
using FindCopies = std::function<const std::vector<tensor::Tensor>*(std::size_t pack)>;
/// Reads the state back, in the device's own memory if the host can read it. A variable without an aggregation gets the
/// first copy's value.
Result<std::vector<variable::VariableState>> read_state(const program::Program& program, const DeviceLayout& layout,
                                                        const step::ReplicaCopies& copies,
                                                        const std::vector<ReplicaState>& state,
                                                        const FindCopies& elsewhere);

/// Returns variables for functions on the same devices: one with a buffer of its own isn't copied. A variable whose
/// copies differ is aggregated.
Result<step::VariableValues> find_values(const program::Program& program, const DeviceLayout& layout,
                                         const step::ReplicaCopies& copies, const std::vector<ReplicaState>& state,
                                         const FindCopies& elsewhere, const std::vector<std::string>& names);

}  // namespace tfd::strategy
