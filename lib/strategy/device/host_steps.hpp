#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Steps whose variables are on the host, the same in every process: for functions that look rows up or update rows, and
// that are no modules. Each process runs its replicas, all get the outputs of all, and each makes the same update. The
// numbers are those of one process without a cluster that has all replicas (ps_training). Private to the room. Thread
// rule: one thread calls; replicas run on threads of their own.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/step/rules.hpp"
#include "training_steps.hpp"
#include "variable_host.hpp"

namespace tfd::strategy {

/// A checkpoint's state by variable. Shares the tensors. Errors of VariableStore::import_state().
Result<std::vector<variable::VariableState>> states_of(const program::Program& program,
                                                       const tensor::NamedTensors& state);

class HostSteps final : public TrainingSteps {
 public:
  using FindRunner = std::function<step::ReplicaRunner&()>;

  /// Makes the variables, with initial values. `program` is borrowed; `find_runner`: the runner of the process's
  /// replicas at that time, which gathers the outputs of all. Errors of make_local_host() and ReplicaCopies::make().
  static Result<std::unique_ptr<HostSteps>> make(const program::Program& program, step::MakeEngine make_engine,
                                                 step::ReplicaRange replicas, FindRunner find_runner);

  Result<void> load(std::vector<variable::VariableState> states) override;
  void move_to(step::ReplicaRange replicas, step::ReplicaExchange&) override { replicas_ = replicas; }
  Result<std::vector<variable::VariableState>> states() const override;
  tensor::NamedTensors copies() const override;
  Result<void> load_copies(const tensor::NamedTensors& state) override;
  Result<step::VariableValues> values(const std::vector<std::string>& names) const override;
  Result<Done> step(const Inputs& inputs, std::int64_t number) override;
  Result<Computed> compute(const Inputs&, std::int64_t) override { return Computed(); }  // apply() does it
  Result<Done> apply(Computed, const Inputs& inputs, std::int64_t number) override { return step(inputs, number); }

  /// Rows of the tables, for the runner.
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups) {
    return host_->look_up(lookups);
  }

 private:
  HostSteps(const program::Program& program, step::ReplicaRange replicas, FindRunner find_runner)
      : program_(program), replicas_(replicas), find_runner_(std::move(find_runner)) {}

  const program::Program& program_;
  step::ReplicaRange replicas_;
  const FindRunner find_runner_;
  step::ReplicaCopies copies_;
  std::unique_ptr<VariableHost> host_;
};

}  // namespace tfd::strategy
