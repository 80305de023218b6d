#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Access to a worker's variables, on parameter servers or in this process. Private to the room. Thread rule: one
// thread.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/step/row_lookup.hpp"
#include "tfd/step/rules.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {

class VariableHost {
 public:
  virtual ~VariableHost() = default;
  virtual Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names) = 0;
  virtual Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups) = 0;
  /// Applies updates. kPermissionDenied: the chief has begun anew. With a `sequence` they are applied once, whichever
  /// worker makes them.
  virtual Result<void> update(const std::vector<variable::Update>& updates,
                              std::optional<std::uint64_t> sequence = {}) = 0;
  virtual Result<void> assign(const std::string& variable, const tensor::Tensor& value) = 0;
  /// Exports the state in checkpoint form: one value per variable, replica copies merged.
  virtual Result<tensor::NamedTensors> export_state() = 0;
  virtual Result<void> import_state(const tensor::NamedTensors& state) = 0;
  virtual Result<void> use_averages() = 0;
};

/// Variables in this process, to which more can be added.
class LocalVariables : public VariableHost {
 public:
  /// Creates a variable. Errors of VariableStore::create().
  virtual Result<void> create(std::string name, tensor::Tensor value) = 0;
};
std::unique_ptr<LocalVariables> make_local_variables();
/// The same on devices: a device on which a function needs a variable keeps it from then on. Assigned values stay where
/// they are; additions are computed on the host.
std::unique_ptr<LocalVariables> make_device_variables();

/// Makes a host in this process, with initial values; with an engine of its own for a user-defined optimizer.
Result<std::unique_ptr<VariableHost>> make_local_host(const program::Program& program,
                                                      const step::MakeEngine& make_engine = {},
                                                      const step::ReplicaCopies& copies = {});

/// The same on the replicas' devices, which are the engine's, or groups of logical devices, and may be fewer than there
/// are replicas in all: gradients and sums are applied there, too, except where only the host can (rows, an optimizer
/// in bytecode, replicas of several logical devices). `program` is borrowed.
Result<std::unique_ptr<VariableHost>> make_device_host(const program::Program& program,
                                                       const step::MakeEngine& make_engine,
                                                       const step::ReplicaCopies& copies,
                                                       std::shared_ptr<function::Engine> engine, int logical_devices);

}  // namespace tfd::strategy
