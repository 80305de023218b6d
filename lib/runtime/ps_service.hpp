#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parameter server's half of a task: its variables and what is done to them.
// Thread rule: lives on the endpoint's I/O thread; nothing here blocks, so nothing here locks.
#include <cstdint>
#include <string>

#include "protocol.hpp"
#include "tfd/base/error.hpp"
#include "tfd/runtime/rules.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::runtime {

/// The variables that every worker has of its own, with their initial values.
Result<variable::VariableStore> make_own_store(const program::Program& program);

class PsService {
 public:
  /// The engine is for optimizers of one's own.
  PsService(std::string name, MakeEngine make_engine) : name_(std::move(name)), make_engine_(std::move(make_engine)) {}

  /// Makes the variables that the placement gives to this task, unless they are those of this epoch already.
  /// kPermissionDenied for an epoch older than one seen before: a newer coordinator has taken over.
  Result<void> load_program(const LoadProgram& load);
  Result<transport::Message> read(const transport::Message& request) const;
  Result<transport::Message> read_rows(const transport::Message& request) const;
  Result<transport::Message> update(const transport::Message& request);
  Result<void> assign(const transport::Message& request);
  Result<transport::Message> export_state() const;
  Result<void> import_state(const transport::Message& request);
  void use_averages() { store_.use_averages(); }

  void fill(TaskStatus& status) const;
  std::uint64_t epoch() const { return epoch_; }

 private:
  std::string name_;
  MakeEngine make_engine_;
  std::uint64_t epoch_ = 0;
  std::uint64_t updates_ = 0;  // requests answered
  variable::VariableStore store_;
};

}  // namespace tfd::runtime
