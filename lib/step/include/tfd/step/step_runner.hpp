#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a worker and tfd-run do with one step, once: a function of the program on the data that it takes and on values
// of the variables that it reads, alone or on every replica of this process; and one part of an evaluation. Where
// variables are, and what becomes of their updates, is the caller's. Private to the room.
// Thread rule: one thread calls; replicas run on threads of their own, and so are elements made
// (DatasetContext::ahead).
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tfd/step/replica_runner.hpp"
#include "tfd/step/replica_step.hpp"
#include "tfd/step/row_lookup.hpp"

namespace tfd::step {

struct StepOptions {
  int replicas = 1;                 // of this process
  std::uint32_t first_replica = 0;  // of this process among those that draw random numbers of the same step
  LookUpRows look_up = {};          // of tables that aren't among the variables of a call
  bool is_alone = false;            // as ReplicaThreads has it
  RunAtOnce run_at_once = {};       // what the replicas run on; empty: threads of its own
  bool results_stay = false;        // on the devices, until somebody reads them
};

/// What a step has done; nothing is applied yet.
struct StepResult {
  std::vector<std::vector<tensor::Tensor>> results;  // of each replica that had data, by result index
  std::vector<Metric> metrics;                       // of all replicas
  std::vector<variable::Update> updates;  // one per variable and output, reduced and (prepare_gradients()) clipped
  bool is_skipped = false;                // it had updates, but gradients that aren't finite, which the optimizer skips
};

class StepRunner {
 public:
  /// The program is borrowed.
  StepRunner(CompiledProgram& program, ReplicaCopies copies, StepOptions options);

  const ReplicaCopies& copies() const { return copies_; }

  /// An iterator of the program's dataset, whose next elements are made while a step is run: as many as its replicas
  /// take. Source: experimental_distribute_dataset's prefetch.
  Result<WorkerIterator> open(const std::string& dataset, const data::Shard& part, const data::Order& order);

  /// What each replica of the call works on (see take_shares()): the iterators go on. kOutOfRange at the end of the
  /// data.
  Result<std::vector<ReplicaShare>> take(const program::FunctionDef& function, const FunctionCall& call,
                                         const FindIterator& find) const;
  /// What the inputs of each share are beside variables: run() up to the calls.
  Result<StepInputs> bind(const CompiledFunction& function, const FunctionCall& call,
                          std::vector<ReplicaShare> shares) const;
  /// The function on these shares. `variables` are what it reads, each of the copies of those that have any; a call
  /// that runs once sees their one value. Random numbers are those of the call's step, or closure, and of the replica.
  Result<StepResult> run(const CompiledFunction& function, const FunctionCall& call, std::vector<ReplicaShare> shares,
                         const VariableValues& variables);
  /// The batches of one part of a pass over the function's dataset, or over its first `steps` batches; every device
  /// takes one at a time. A function without a dataset is run once, for the first part. kCancelled where `is_stopped`
  /// says so between batches.
  Result<std::vector<Metric>> evaluate(const std::string& function, const data::Shard& part,
                                       std::optional<std::int64_t> steps, const data::Order& order,
                                       const VariableValues& variables, const std::function<bool()>& is_stopped);

 private:
  double learning_rate_of(std::int64_t step) const;
  Result<void> look_up(const program::FunctionDef& function, CallContext& context,
                       std::vector<ReplicaShare>& shares) const;
  /// The variables with the one value of each that has copies, which `own` then keeps.
  Result<const VariableValues*> outside_of_replicas(const VariableValues& variables, VariableValues& own) const;

  CompiledProgram& program_;
  const ReplicaCopies copies_;
  const StepOptions options_;
  ReplicaThreads threads_;
  const RunAtOnce run_at_once_;
};

}  // namespace tfd::step
