#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program's functions on the replicas of this process, with variables wherever they are. Private to the room.
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

/// A value for each replica, or elements whose fields inputs name.
using ProgramArgument = std::variant<DistributedValue, DistributedElement>;
struct ProgramArguments {
  std::vector<ProgramArgument> args = {};
  std::vector<std::pair<std::string, ProgramArgument>> kwargs = {};
};
/// The same element for everything that the function takes.
ProgramArguments all_from(const program::FunctionDef& function, const DistributedElement& element);

struct ProgramOutcome {
  std::vector<DistributedValue> results = {};
  std::size_t replicas = 0;                    // that had data
  std::vector<variable::Update> updates = {};  // to be applied
};

class ReplicatedProgram {
 public:
  /// `program` and `host` are borrowed. Errors of ReplicaRunner::make().
  static Result<std::unique_ptr<ReplicatedProgram>> make(const program::Program& program, VariableHost& host,
                                                         const step::ReplicaCopies& copies,
                                                         const step::ReplicaOptions& options,
                                                         Compat compat = Compat::kNone);

  /// Under kTensorflow in its shares.
  Result<DistributedDataset> distribute(const std::string& dataset);
  /// As LoadedProgram::run(), but nothing is applied.
  Result<ProgramOutcome> run(const std::string& function, const ProgramArguments& arguments);
  /// LoadedProgram::run_on_rows().
  Result<std::vector<tensor::Tensor>> run_on_rows(const std::string& function, const DistributedElement& element);
  /// Adds the function's "returns", as they are now, to what it returned.
  Result<void> add_returns(const std::string& function, ProgramOutcome& outcome);

 private:
  ReplicatedProgram(const program::Program& program, VariableHost& host, const step::ReplicaCopies& copies,
                    const step::ReplicaOptions& options, Compat compat, std::unique_ptr<step::ReplicaRunner> runner);
  Result<const program::FunctionDef*> find_function(const std::string& name) const;
  Result<step::VariableValues> read(const std::vector<std::string>& variables);
  Result<step::ReplicaArguments> bind(const program::FunctionDef& function, const ProgramArguments& arguments);
  Result<void> take_own_data(const program::FunctionDef& function, step::ReplicaArguments& bound);

  const program::Program& program_;
  VariableHost& host_;
  const step::ReplicaCopies& copies_;
  const int replicas_;
  const Compat compat_;
  const data::Order order_;
  std::unique_ptr<step::ReplicaRunner> runner_;
  std::map<std::string, DistributedIterator> own_data_;  // of datasets that functions read themselves
};

}  // namespace tfd::strategy
