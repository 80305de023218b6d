#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Variables that are synchronized on read, with several replicas per worker: each replica has its own copy. The copies
// are variables "c/.replica/0-of-2" and so on, placed where "c" would be, on parameter servers or in the process that
// trains by itself; replica i of every worker reads and writes copy i. Outside of replicas there is one value: in
// checkpoints, evaluations, a function's returns, and closures that run once. With one replica there are no copies.
// Thread rule: immutable; pure functions. Source: tensorflow/python/distribute/values.py, SyncOnReadVariable, 2.21.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::step {

/// Values by variable name; a variable with copies has one value per copy.
using VariableValues = std::map<std::string, tensor::Tensor>;

/// Returns "c" for "c/.replica/0-of-2", other names unchanged.
std::string_view original_name(std::string_view stored);

class ReplicaCopies {
 public:
  ReplicaCopies() = default;  // no variable has any
  /// Finds the variables with copies. kUnimplemented: a gradient, a lookup or an update of rows of such a variable;
  /// kInvalidArgument: one without an aggregation if the training needs its one value.
  static Result<ReplicaCopies> make(const program::Program& program, int replicas);

  bool empty() const { return kinds_.empty(); }
  bool has(std::string_view variable) const { return kinds_.contains(variable); }
  int replicas() const { return replicas_; }
  std::string copy_name(std::string_view variable, int replica) const;
  /// Names of a variable's copies; its own name if it has none.
  std::vector<std::string> names_of(const std::string& variable) const;
  /// The same of several.
  std::vector<std::string> stored_names(const std::vector<std::string>& variables) const;

  /// Adds, for the copies among the values, their aggregated value under the variable's name.
  Result<void> aggregate(VariableValues& values) const;
  /// Aggregates a variable's copies. kInvalidArgument: it has no aggregation.
  Result<tensor::Tensor> read_across(const std::string& variable, std::vector<tensor::Tensor> copies) const;
  /// Values of the copies, by name, for an assignment outside of replicas.
  Result<tensor::NamedTensors> assign_across(const std::string& variable, const tensor::Tensor& value) const;
  /// Converts updates from outside of replicas to updates of the copies; others stay. kInvalidArgument: nothing can be
  /// added to a variable aggregated by sum.
  Result<std::vector<variable::Update>> update_across(std::vector<variable::Update> updates) const;

  /// Converts to checkpoint form: one value for the copies, and the largest of their counters.
  Result<tensor::NamedTensors> gather(tensor::NamedTensors state) const;
  /// Converts back, from a checkpoint with any number of replicas. kNotFound: a value is missing.
  Result<tensor::NamedTensors> spread(const tensor::NamedTensors& state) const;

 private:
  Result<void> check(const program::Program& program) const;
  Result<void> check_function(const program::Program& program, const program::FunctionDef& function) const;
  Result<void> check_train(const program::Program& program) const;

  struct Kind {
    variable::ReplicationKind replication;
    bool per_worker = false;  // in no checkpoint
  };
  int replicas_ = 1;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace tfd::step
