#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The variables on parameter servers, as callers of the coordinator read and assign them: checks what is asked, and
// spreads it to the copies of replicas. Private to the room. Thread rule: thread-safe; functions block their caller.
#include <functional>
#include <optional>
#include <string>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/placement.hpp"

namespace tfd::coordinator {

/// Checks that a value fits its variable, which the program has. kInvalidArgument.
Result<void> check_value(const program::Program& program, const std::string& variable, const tensor::Tensor& value);

class PlacedVariables {
 public:
  /// The first four outlive it. `on_refused` is called with kPermissionDenied: parameter servers that belong to another
  /// coordinator refuse all later requests, too.
  PlacedVariables(const program::Program& program, const task::Placement& placement, const step::ReplicaCopies& copies,
                  task::ParameterServers& servers, std::function<void(const Error&)> on_refused)
      : program_(program),
        placement_(placement),
        copies_(copies),
        servers_(servers),
        on_refused_(std::move(on_refused)) {}

  // ClusterCoordinator has the same, for per-worker variables too.
  Result<tensor::Tensor> read(const std::string& variable, Deadline deadline);
  Result<tensor::Tensor> read_rows(const std::string& variable, const tensor::Tensor& rows, Deadline deadline);
  Result<void> assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline);
  Result<void> assign_rows(const std::string& variable, const tensor::Tensor& rows, const tensor::Tensor& values,
                           Deadline deadline);
  Result<tensor::NamedTensors> export_state(Deadline deadline);
  /// task::ParameterServers::begin_writing(), after a probe of the directory the first time. kUnimplemented: variables
  /// have copies, whose values only a coordinator can put together.
  Result<variable::WriteParts> begin_writing(const std::string& directory, const std::string& run, Deadline deadline);
  void hurry_writing() { servers_.hurry_writing(); }
  Result<void> import_state(const tensor::NamedTensors& state, Deadline deadline);
  Result<void> use_averages(Deadline deadline);

 private:
  template <class T>
  Result<T> told(Result<T> answer) const;
  Result<void> check_placed(const std::string& variable) const;
  Result<void> check_table(const std::string& variable, const char* how) const;

  const program::Program& program_;
  const task::Placement& placement_;
  const step::ReplicaCopies& copies_;
  task::ParameterServers& servers_;
  const std::function<void(const Error&)> on_refused_;
  std::optional<Result<void>> probed_;  // by begin_writing(), which one thread calls
};

}  // namespace tfd::coordinator
