#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of a synchronous training on the devices of this process. Every replica has its own copy of the variables
// on its device; they are equal by construction: all replicas make the same update of the same values, and what they
// compute from is summed up in the order of the replicas. Between steps nothing of the variables comes to the host.
// Private to the room. Thread rule: one thread calls; replicas run on threads of their own.
#include <memory>
#include <vector>

#include "device_layout.hpp"
#include "tfd/function/function.hpp"
#include "tfd/runtime/replica_runner.hpp"
#include "tfd/runtime/replica_threads.hpp"
#include "tfd/strategy/trace.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {

class DeviceSteps {
 public:
  /// Replica i runs on the engine's device i. `program` and `trace` outlive it; null: no trace.
  DeviceSteps(const program::Program& program, std::shared_ptr<function::Engine> engine, int replicas,
              Trace* trace = nullptr)
      : program_(program), engine_(std::move(engine)), replicas_(replicas), trace_(trace), threads_(replicas, true) {}

  /// The variables become these, in the program's order: compiled is what hasn't been compiled for them.
  Result<void> load(std::vector<variable::VariableState> states);
  /// What they are. The host's view of them: the devices' own memory where it can be read.
  Result<std::vector<variable::VariableState>> states() const;

  struct Done {
    std::vector<std::vector<tensor::Tensor>> metrics;  // scalars, of each replica that had data
    /// Where the optimizer looks at gradients: the variable whose gradient wasn't finite. Then nothing was updated.
    std::string nonfinite = {};
  };
  /// A step: the changes of all replicas that have data, each as the binding or the variable's aggregation says, and
  /// one update. `number`: of the step, for the trace. Errors of the program's function leave the variables as they
  /// were before it.
  Result<Done> step(const runtime::StepInputs& inputs, std::int64_t number = 0);

 private:
  /// What one replica has on its device.
  struct Replica {
    function::DeviceBuffers packs;
    std::vector<function::DeviceBuffers> slots;  // by changing pack
  };
  using Programs = std::vector<std::shared_ptr<function::DeviceProgram>>;  // by device

  Result<void> compile();
  Result<function::DeviceBuffers> compute(std::size_t replica, const runtime::StepInputs::Replica& inputs) const;
  Result<std::vector<tensor::Tensor>> reduce(const std::vector<std::vector<tensor::Tensor>>& changes,
                                             const std::vector<double>& examples) const;
  /// The first variable with a gradient that isn't finite; empty: none.
  std::string find_nonfinite(const std::vector<tensor::Tensor>& changes) const;
  bool waits() const;
  Result<void> update(std::size_t replica, const function::DeviceBuffers& changes,
                      const std::vector<tensor::Tensor>& scalars);

  const program::Program& program_;
  std::shared_ptr<function::Engine> engine_;  // with whoever evaluates
  const int replicas_;
  Trace* const trace_;
  DeviceLayout layout_;
  std::vector<std::size_t> changing_;
  std::vector<Programs> computes_;  // by module of the function
  Programs update_, waiting_;
  std::vector<std::size_t> donated_;  // arguments of the update
  std::vector<Replica> state_;
  runtime::ReplicaThreads threads_;
};

}  // namespace tfd::strategy
