#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Applies updates on the replicas' devices: the optimizer's formulas, and sums, in a module for all variables that are
// updated together, compiled once. Private to the room. Thread rule: one thread.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {

class DeviceUpdates {
 public:
  /// Updates the values on the engine's first `devices`. `program` is borrowed.
  DeviceUpdates(const program::Program& program, std::shared_ptr<function::Engine> engine, int devices)
      : program_(program), engine_(std::move(engine)), devices_(devices) {}

  /// True if it can apply the update: a gradient, or a sum, of a whole variable whose value is the same on all
  /// replicas.
  bool makes(const variable::Update& update) const;

  struct Change {
    const variable::Update* update = nullptr;
    variable::VariableState state;  // before the update, then after it
  };
  /// Applies updates of different variables, whose values and slots are then on the devices. On failure they are
  /// unchanged.
  Result<void> apply(std::vector<Change>& changes);

 private:
  using Programs = std::vector<std::shared_ptr<function::DeviceProgram>>;  // by device
  bool waits(const Change& change) const;
  Result<void> apply_alike(const std::vector<Change*>& changes, bool waits);

  const program::Program& program_;
  std::shared_ptr<function::Engine> engine_;  // shared with functions
  int devices_;
  std::map<std::string, Programs> compiled_;  // by what they update
};

}  // namespace tfd::strategy
