#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Variables that are synchronized on read, where a worker runs several replicas: each replica has a copy of its own.
// The copies are variables of the parameter servers (or of the process that trains by itself), "c/.replica/0-of-2" and
// so on, where "c" would be; replica i of every worker reads and writes copy i. Whoever is outside of replicas sees one
// value: checkpoints, evaluations, what a function returns, closures that run once. With one replica there is nothing
// of all this. Thread rule: immutable; pure functions.
// Source: tensorflow/python/distribute/values.py, SyncOnReadVariable, 2.21.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::step {

/// By name; of a variable with copies each of these.
using VariableValues = std::map<std::string, tensor::Tensor>;

/// "c" of "c/.replica/0-of-2"; any other name is its own.
std::string_view original_name(std::string_view stored);

class ReplicaCopies {
 public:
  using State = std::vector<std::pair<std::string, tensor::Tensor>>;  // as VariableStore::export_state

  ReplicaCopies() = default;  // no variable has any
  /// kUnimplemented: a gradient, a lookup or an update of rows of such a variable; kInvalidArgument: one without an
  /// aggregation where the training needs its one value.
  static Result<ReplicaCopies> make(const program::Program& program, int replicas);

  bool empty() const { return kinds_.empty(); }
  bool has(std::string_view variable) const { return kinds_.contains(variable); }
  int replicas() const { return replicas_; }
  std::string copy_name(std::string_view variable, int replica) const;
  /// All copies of a variable; itself where it has none.
  std::vector<std::string> names_of(const std::string& variable) const;
  /// The same of several.
  std::vector<std::string> stored_names(const std::vector<std::string>& variables) const;

  /// Beside the copies among the values, the one value that they are outside of replicas, by the variable's name.
  Result<void> aggregate(VariableValues& values) const;
  /// That of these copies. kInvalidArgument: without an aggregation there is none.
  Result<tensor::Tensor> read_across(const std::string& variable, std::vector<tensor::Tensor> copies) const;
  /// What is assigned outside of replicas, by the names of the copies.
  Result<State> assign_across(const std::string& variable, const tensor::Tensor& value) const;
  /// Updates from outside of replicas as those of the copies; others stay. kInvalidArgument: nothing can be added to a
  /// sum there.
  Result<std::vector<variable::Update>> update_across(std::vector<variable::Update> updates) const;

  /// For a checkpoint: one value for the copies, of their counters the largest.
  Result<State> gather(State state) const;
  /// The inverse, which a checkpoint of any number of replicas may have come from. kNotFound: a value is missing.
  Result<State> spread(const State& state) const;

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
