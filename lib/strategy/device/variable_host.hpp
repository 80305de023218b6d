#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a worker's variables are: on parameter servers, or in this process. Private to the room.
// Thread rule: one thread.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/step/rules.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {

class VariableHost {
 public:
  virtual ~VariableHost() = default;
  virtual Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names) = 0;
  virtual Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups) = 0;
  /// kPermissionDenied: the chief has begun anew. With a `sequence` it is applied once, whichever worker makes it.
  virtual Result<void> update(const std::vector<variable::Update>& updates,
                              std::optional<std::uint64_t> sequence = {}) = 0;
  virtual Result<void> assign(const std::string& variable, const tensor::Tensor& value) = 0;
  /// As checkpoints have it: of a variable with copies its one value.
  virtual Result<task::NamedState> export_state() = 0;
  virtual Result<void> import_state(const task::NamedState& state) = 0;
  virtual Result<void> use_averages() = 0;
};

/// In this process, as many as one likes.
class LocalVariables : public VariableHost {
 public:
  /// Errors of VariableStore::create().
  virtual Result<void> create(std::string name, tensor::Tensor value) = 0;
};
std::unique_ptr<LocalVariables> make_local_variables();
/// The same on devices: each that a function needs a variable on has it from then on. What is assigned stays where it
/// is; what is calculated with it is calculated on the host.
std::unique_ptr<LocalVariables> make_device_variables();

/// In this process, with their initial values.
/// In an engine of its own where the program updates them by an optimizer of its own.
Result<std::unique_ptr<VariableHost>> make_local_host(const program::Program& program,
                                                      const step::MakeEngine& make_engine = {},
                                                      const step::ReplicaCopies& copies = {});

/// The same on the devices of replicas, which are the engine's, or groups of as many logical devices: gradients and
/// sums are added there, too, but what only the host knows how to (rows, an optimizer in bytecode, replicas of several
/// logical devices). `program` is borrowed.
Result<std::unique_ptr<VariableHost>> make_device_host(const program::Program& program,
                                                       const step::MakeEngine& make_engine,
                                                       const step::ReplicaCopies& copies,
                                                       std::shared_ptr<function::Engine> engine, int logical_devices);

/// On parameter servers that are borrowed.
std::unique_ptr<VariableHost> make_remote_host(task::ParameterServers& servers, step::ReplicaCopies copies);

}  // namespace tfd::strategy
