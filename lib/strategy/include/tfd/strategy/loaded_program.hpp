#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program in a strategy's scope: its variables have values, its functions are compiled for every replica, its
// datasets are for all of them. Thread rule: as the strategy, but stop_data().
//
//   auto loaded = TFD_TRY(strategy->load(program));
//   auto batches = TFD_TRY(TFD_TRY(loaded->distribute("train")).iterate());
//   while (auto batch = TFD_TRY(batches.next())) TFD_TRY(loaded->run("step", {*batch}));
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/function/command.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/strategy/strategy.hpp"

namespace tfd::strategy {

class ReplicatedProgram;

class LoadedProgram {
 public:
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  /// One of the program's variables, or null. All replicas have one value of those that are synchronized on write.
  DistributedVariable* find_variable(std::string_view name);
  /// A dataset of the program. Its maps call the program's functions. kNotFound; errors of its files.
  Result<DistributedDataset> distribute(const std::string& dataset);

  /// The function once on every replica that has data. An element is for inputs that name its fields; a value or a
  /// variable is one argument. Datasets that the function reads itself go on by an element: kOutOfRange at their end.
  /// What it wants of the variables is applied before this returns, as one update. The results, then the variables of
  /// its "returns". kNotFound, kInvalidArgument: arguments that it doesn't take; else errors of the function and of its
  /// updates.
  Result<std::vector<DistributedValue>> run(const std::string& function, const std::vector<Argument>& args,
                                            const std::vector<std::pair<std::string, Argument>>& kwargs = {});
  /// A function that gives rows for rows, and updates nothing: for each result all rows, in the order of the element's.
  /// Modules take them in pieces of their own sizes, the last one padded.
  Result<std::vector<tensor::Tensor>> run_on_rows(const std::string& function, const DistributedElement& element);

  /// For good: who waits for data that a command prints gets kCancelled. From any thread.
  void stop_data() const { stop_data_->request(); }

  /// The variables become those of a checkpoint, of any strategy. Errors of VariableStore::import_state().
  Result<void> import_state(const std::vector<std::pair<std::string, tensor::Tensor>>& state);

 private:
  friend class Strategy;
  LoadedProgram(Strategy& strategy, const program::Program& program);
  Result<void> make();

  Strategy& strategy_;
  const program::Program& program_;
  const std::shared_ptr<const function::CommandStop> stop_data_ =  // with the datasets
      std::make_shared<const function::CommandStop>();
  step::ReplicaCopies copies_;
  std::unique_ptr<VariableHost> host_;
  std::map<std::string, std::unique_ptr<DistributedVariable>, std::less<>> variables_;
  std::unique_ptr<ReplicatedProgram> replicas_;
};

}  // namespace tfd::strategy
