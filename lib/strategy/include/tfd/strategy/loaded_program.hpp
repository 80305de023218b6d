#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program loaded in a strategy's scope: variables have values, functions are compiled for every replica, datasets are
// distributed to all of them. Thread rule: as the strategy, except stop_data().
//
//   auto loaded = TFD_TRY(strategy->load(program));
//   auto batches = TFD_TRY(TFD_TRY(loaded->distribute("train")).iterate());
//   while (auto batch = TFD_TRY(batches.next())) TFD_TRY(loaded->run("step", {*batch}));
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/command/command.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/strategy/strategy.hpp"

namespace tfd::strategy {

class ReplicatedProgram;
class ReplicaGroup;

class LoadedProgram {
 public:
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  /// Finds one of the program's variables; null if there is none. Variables synchronized on write have one value for
  /// all replicas.
  DistributedVariable* find_variable(std::string_view name);
  /// Distributes a dataset of the program, whose maps call its functions. kNotFound; errors of its files.
  Result<DistributedDataset> distribute(const std::string& dataset);

  /// Runs the function once on every replica that has data, of all processes, each of which calls this with its own
  /// replicas' values, and gets theirs: without a component where it has no data. An element supplies the inputs that
  /// name its fields; a value or a variable is one argument. Datasets that the function reads itself advance by an
  /// element: kOutOfRange at their end. Its updates are applied, as one, before this returns. Returns the results, then
  /// the variables of its "returns". kNotFound, kInvalidArgument: arguments that it doesn't take; else errors of the
  /// function and of its updates.
  Result<std::vector<DistributedValue>> run(const std::string& function, const std::vector<Argument>& args,
                                            const std::vector<std::pair<std::string, Argument>>& kwargs = {});
  /// Runs a function that maps rows to rows and updates nothing; returns all rows of each result, those of all
  /// processes, in the element's order. The element is processed in pieces of the modules' sizes, the last one padded.
  Result<std::vector<tensor::Tensor>> run_on_rows(const std::string& function, const DistributedElement& element);

  /// Stops commands that print data, for good: waits for their output fail with kCancelled. From any thread.
  void stop_data() const { stop_data_->request(); }

  /// Sets the variables from the newest whole checkpoint of a directory, written by any strategy, and returns its step;
  /// nullopt: there is none. With several processes, each of which may have a directory of its own, the chief's counts,
  /// unless another one has a newer one of its run, or it has none; its owner sends it to all. kInvalidArgument: it is
  /// of another program; errors of load_latest_checkpoint() and of VariableStore::import_state().
  Result<std::optional<std::int64_t>> restore(const std::string& directory);
  /// Sets the variables from a checkpoint of any strategy, the same in all processes. Errors of
  /// VariableStore::import_state().
  Result<void> import_state(const tensor::NamedTensors& state);

 private:
  friend class Strategy;
  LoadedProgram(Strategy& strategy, const program::Program& program);
  Result<void> make();
  Result<void> take_initial_values(ReplicaGroup& group);
  Result<std::optional<std::int64_t>> restore_newest(const std::string& directory);

  Strategy& strategy_;
  const program::Program& program_;
  const std::shared_ptr<const command::CommandStop> stop_data_ =  // with the datasets
      std::make_shared<const command::CommandStop>();
  step::ReplicaCopies copies_;
  std::unique_ptr<VariableHost> host_;
  std::map<std::string, std::unique_ptr<DistributedVariable>, std::less<>> variables_;
  std::unique_ptr<ReplicatedProgram> replicas_;
};

}  // namespace tfd::strategy
