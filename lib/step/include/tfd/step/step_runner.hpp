#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one step for a worker or tfd-run: a function of the program on its data and on values of the variables that it
// reads, once or on every replica of this process; and one part of an evaluation. The placement of variables, and
// applying their updates, are the caller's business. Private to the room. Thread rule: one thread calls; replicas run
// on threads of their own, and so are elements made (DatasetContext::ahead).
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tfd/step/nonfinite.hpp"
#include "tfd/step/replica_exchange.hpp"
#include "tfd/step/replica_runner.hpp"
#include "tfd/step/replica_step.hpp"
#include "tfd/step/row_lookup.hpp"

namespace tfd::step {

struct StepOptions {
  ReplicaRange replicas = {};    // of this process
  std::uint32_t first_draw = 0;  // this process's first replica, if several trainings share a step's random stream
  LookUpRows look_up = {};       // for tables that aren't among a call's variables
  bool is_alone = false;         // as in ReplicaThreads
  RunAtOnce run_at_once = {};    // runs the replicas; empty: threads of its own
  bool results_stay = false;     // results stay on the devices until they are read
  GatherOutputs gather = {};     // of other processes' replicas; empty: none are reduced with these
};

/// Result of a step; no update is applied yet.
struct StepResult {
  std::vector<std::vector<tensor::Tensor>> results;  // of each replica that had data, by result index
  std::vector<Metric> metrics;                       // of all replicas
  std::vector<variable::Update> updates;  // one per variable and output, reduced and (prepare_gradients()) clipped
  bool is_skipped = false;                // its gradients aren't finite, so the optimizer skips its updates
};

class StepRunner {
 public:
  /// The program is borrowed.
  StepRunner(CompiledProgram& program, ReplicaCopies copies, StepOptions options);

  const ReplicaCopies& copies() const { return copies_; }

  /// Opens an iterator of the program's dataset, which prefetches as many elements as the replicas take, while a step
  /// runs. Source: experimental_distribute_dataset's prefetch.
  Result<WorkerIterator> open(const std::string& dataset, const data::Shard& part, const data::Order& order);

  /// Takes the shares of the call's replicas (see take_shares()), which advances the iterators. kOutOfRange at the end
  /// of the data.
  Result<std::vector<ReplicaShare>> take(const program::FunctionDef& function, const FunctionCall& call,
                                         const FindIterator& find) const;
  /// Binds each share's inputs other than variables: run() up to the calls.
  Result<StepInputs> bind(const CompiledFunction& function, const FunctionCall& call,
                          std::vector<ReplicaShare> shares) const;
  /// Runs the function on these shares, and reduces its outputs with those that StepOptions::gather adds. `variables`
  /// are the values that it reads, including all copies; a call that runs once sees the aggregated value. Random
  /// numbers depend on the call's step, or closure, and on the replica. kInternal: train.function's loss, or a
  /// gradient, is not finite, and that ends the training; nothing is to be updated then.
  Result<StepResult> run(const CompiledFunction& function, const FunctionCall& call, std::vector<ReplicaShare> shares,
                         const VariableValues& variables);
  /// True if the last run() failed since a loss or a gradient was not finite.
  bool has_diverged() const { return has_diverged_; }
  /// The results of a function that updates nothing, of these shares alone.
  Result<ReplicaOutputs> run_alone(const CompiledFunction& function, const FunctionCall& call,
                                   std::vector<ReplicaShare> shares, const VariableValues& variables);
  /// Evaluates one part of a pass over the function's dataset, or over its first `steps` batches; every device takes
  /// one batch at a time. A function without a dataset is run once, for the first part. kCancelled if `is_stopped` says
  /// so between batches.
  Result<std::vector<Metric>> evaluate(const std::string& function, const data::Shard& part,
                                       std::optional<std::int64_t> steps, const data::Order& order,
                                       const VariableValues& variables, const std::function<bool()>& is_stopped);

 private:
  Result<void> check_losses(const program::FunctionDef& def, const FunctionCall& call, const ReplicaOutputs& outputs,
                            const std::vector<ReplicaShare>& shares);
  CallContext context_of(const FunctionCall& call, const VariableValues& variables) const;
  double learning_rate_of(std::int64_t step) const;
  Result<void> look_up(const program::FunctionDef& function, CallContext& context,
                       std::vector<ReplicaShare>& shares) const;
  /// The variables with the aggregated values of those that have copies, stored in `own`.
  Result<const VariableValues*> outside_of_replicas(const VariableValues& variables, VariableValues& own) const;

  CompiledProgram& program_;
  const ReplicaCopies copies_;
  const StepOptions options_;
  const LossWatch losses_;
  bool has_diverged_ = false;
  ReplicaThreads threads_;
  const RunAtOnce run_at_once_;
};

}  // namespace tfd::step
