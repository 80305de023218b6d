#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs a program's functions on the replicas of this process, wherever the variables are. Private to the room.
// Thread rule: one thread.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/variable_host.hpp"
#include "tfd/step/replica_runner.hpp"
#include "tfd/strategy/input.hpp"

namespace tfd::strategy {

class ReplicaGroup;

/// An argument: a value per replica, or elements whose fields are named by inputs.
using ProgramArgument = std::variant<DistributedValue, DistributedElement>;
struct ProgramArguments {
  std::vector<ProgramArgument> args = {};
  std::vector<std::pair<std::string, ProgramArgument>> kwargs = {};
};
/// Passes the same element to all arguments of the function.
ProgramArguments all_from(const program::FunctionDef& function, const DistributedElement& element);

struct ProgramOutcome {
  std::vector<DistributedValue> results = {};
  std::vector<std::size_t> places = {};        // of the replicas that had data
  std::vector<variable::Update> updates = {};  // to be applied
};

class ReplicatedProgram {
 public:
  /// Makes the functions; `program` and `host` are borrowed. `workers`: under kTensorflow, processes with equally many
  /// replicas, each with its share of the data. Errors of ReplicaRunner::make().
  static Result<std::unique_ptr<ReplicatedProgram>> make(const program::Program& program, VariableHost& host,
                                                         const step::ReplicaCopies& copies,
                                                         const step::ReplicaOptions& options,
                                                         Compat compat = Compat::kNone, int workers = 1);
  /// The same of one of several processes, each of which passes its own replicas' values, gets theirs back, and makes
  /// each call. `options` are of these replicas.
  static Result<std::unique_ptr<ReplicatedProgram>> make(const program::Program& program, VariableHost& host,
                                                         const step::ReplicaCopies& copies,
                                                         step::ReplicaOptions options, Compat compat,
                                                         std::shared_ptr<ReplicaGroup> group);

  /// Distributes a dataset; under kTensorflow in TensorFlow's shares.
  Result<DistributedDataset> distribute(const std::string& dataset);
  /// Runs a function, as LoadedProgram::run(), without applying its updates.
  Result<ProgramOutcome> run(const std::string& function, const ProgramArguments& arguments);
  /// Implements LoadedProgram::run_on_rows().
  Result<std::vector<tensor::Tensor>> run_on_rows(const std::string& function, const DistributedElement& element);
  /// Appends the current values of the function's "returns" to its results.
  Result<void> add_returns(const std::string& function, ProgramOutcome& outcome);

 private:
  ReplicatedProgram(const program::Program& program, VariableHost& host, const step::ReplicaCopies& copies,
                    const step::ReplicaOptions& options, Compat compat, int workers,
                    std::shared_ptr<ReplicaGroup> group = {});
  /// True if each process, or worker, has replicas without rows that aren't the last.
  bool is_of_workers() const { return workers_ > 1 || group_; }
  Result<step::ReplicaOutputs> gather_outputs(step::ReplicaOutputs own);
  Result<const program::FunctionDef*> find_function(const std::string& name) const;
  Result<step::VariableValues> read(const std::vector<std::string>& variables);
  struct Bound {
    step::ReplicaArguments arguments;
    std::vector<std::size_t> places;  // of the replicas that run; none: no replica of several workers has a row
  };
  Result<Bound> bind(const program::FunctionDef& function, const ProgramArguments& arguments);
  Result<void> take_own_data(const program::FunctionDef& function, Bound& bound);

  const program::Program& program_;
  VariableHost& host_;
  const step::ReplicaCopies& copies_;
  const int replicas_;
  const Compat compat_;
  const int workers_;
  const data::Order order_;
  const std::shared_ptr<ReplicaGroup> group_;  // with the strategy; null: all replicas are in this process
  std::string gathering_;                      // what of several processes is called: "run 'step'"
  bool gathers_results_ = false;
  std::vector<std::vector<tensor::Tensor>> own_results_;  // of this process's replicas, where only updates are gathered
  std::unique_ptr<step::ReplicaRunner> runner_;
  std::map<std::string, DistributedIterator> own_data_;  // iterators of datasets that functions read themselves
};

}  // namespace tfd::strategy
