#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The variables of a training and what its optimizer keeps, on the devices: a copy for each replica, in packs.
// Private to the room. Thread rule: plain values; a replica's is one thread's at a time.
#include <span>
#include <string>
#include <vector>

#include "device_layout.hpp"
#include "tfd/function/function.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {

/// What one replica has on its device.
struct ReplicaState {
  function::DeviceBuffers packs;
  std::vector<function::DeviceBuffers> slots;  // by pack that changes
  function::DeviceBuffers views = {};          // by variable; null where its pack isn't viewed

  /// The packs that change, then their slots: what an update takes over.
  function::DeviceBuffers changing(const DeviceLayout& layout) const;
  /// They become the first of these, which are the results of an update.
  void replace(const DeviceLayout& layout, std::span<const function::DeviceBufferPtr> results);
  /// The views become those of the packs, which are waited for: an update may have written to the same memory.
  Result<void> view(const program::Program& program, function::Engine& engine, const DeviceLayout& layout);

 private:
  std::vector<const std::byte*> viewed_;  // by pack: the memory that the views are of
};

/// Replica i's is on device i. `states`: in the program's order, as they are outside of replicas; values and slots that
/// are missing are the initial ones. What is there already is let go, pack by pack, as soon as it is on all devices,
/// and what isn't is made then: the host never has more than one pack beside it. `copies`: of the program and as many
/// replicas. Errors of initial values and of devices.
Result<std::vector<ReplicaState>> put_state(const program::Program& program, function::Engine& engine,
                                            const DeviceLayout& layout, const step::ReplicaCopies& copies,
                                            std::vector<variable::VariableState> states);
/// The inverse: in the device's own memory where the host can read it. A variable whose copies have no aggregation is
/// the first one's.
Result<std::vector<variable::VariableState>> read_state(const program::Program& program, const DeviceLayout& layout,
                                                        const step::ReplicaCopies& copies,
                                                        const std::vector<ReplicaState>& state);

/// These of them, where they are, for functions on the same devices: what is there in a buffer of its own isn't moved.
/// Of a variable whose copies differ the one value that it is outside of replicas.
Result<step::VariableValues> find_values(const program::Program& program, const DeviceLayout& layout,
                                         const step::ReplicaCopies& copies, const std::vector<ReplicaState>& state,
                                         const std::vector<std::string>& names);

}  // namespace tfd::strategy
