#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Datasets whose elements are distributed to replicas. Thread rule: a DistributedDataset is immutable, an iterator
// lives on one thread at a time. Source: tensorflow/python/distribute/input_lib.py and distribute_lib.py, InputContext,
// 2.21.
//
//   auto batches = TFD_TRY(strategy->experimental_distribute_dataset(plan, {}));   // of 8 rows, two replicas: 4 and 4
//   auto iterator = TFD_TRY(batches.iterate());
//   while (auto batch = TFD_TRY(iterator.next())) TFD_TRY(strategy->run(step, {*batch}));
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tfd/data/distribute.hpp"
#include "tfd/strategy/values.hpp"

namespace tfd::strategy {

class ReplicaGroup;

/// Argument of a dataset function.
struct InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;
  int num_replicas_in_sync = 1;

  /// Divides the global batch size by the replicas. kInvalidArgument if they can't share it equally.
  Result<std::int64_t> get_per_replica_batch_size(std::int64_t global_batch_size) const;
};

/// Calls of a dataset function: once for each worker, whose replicas then take elements in turn, or once for each
/// replica. Source: tf.distribute.InputReplicationMode.
enum class InputReplicationMode : std::uint8_t { kPerWorker, kPerReplica };

using DatasetPtr = std::shared_ptr<const data::Dataset>;  // immutable: iterators share it
using DatasetFunction = std::function<Result<DatasetPtr>(const InputContext&)>;

/// Each replica's element, by field. Replicas without data have no rows.
struct DistributedElement {
  data::ElementSpec spec;
  std::vector<DistributedValue> fields;

  /// The replica's component.
  data::Element on(std::size_t replica) const;
};

/// Workers and replicas that share a dataset.
struct Distribution {
  int workers = 1;
  int replicas = 1;  // of all workers together, which have the same number each
  Compat compat = Compat::kNone;
  /// True: workers are processes that agree on each step, as with MultiWorkerMirroredStrategy: under kTensorflow steps
  /// are made as long as any of them has data, whatever the shapes.
  bool between_graph = false;
};

/// How steps are made from the replicas' datasets.
struct DistributedSteps {
  int replicas = 1;              // of this process
  bool shares_rows = false;      // replicas share the rows of one element; else each has its own
  bool ends_with_first = false;  // data end when any replica has none left; else when all have none
  bool skips_empty = false;      // no step is made where no replica has a row
  /// Processes that agree on each step; null: this one makes its steps alone.
  std::shared_ptr<ReplicaGroup> group = {};
};

class DistributedIterator {
 public:
  DistributedIterator(std::vector<std::unique_ptr<data::Iterator>> iterators, data::ElementSpec spec,
                      const DistributedSteps& steps);
  /// Returns the next step's element; nullopt at the end of the data, and ever after. With several processes all call
  /// it: a step is made while any of them has data, and an error of one's data is the error of all. Errors of the
  /// datasets;
  /// kInvalidArgument: called in a replica; an element that replicas share without rows, or whose fields differ in
  /// rows; data that end within a step of scalar elements, which can't be empty.
  Result<std::optional<DistributedElement>> next();

 private:
  struct Taken;
  Result<Taken> share();
  Result<Taken> take_each();
  struct Step;
  Result<Step> agree(const Result<Taken>& own);
  Result<void> check_shared(const Step& step) const;
  int replicas_in_sync() const;
  Result<void> fill_up(std::vector<data::Element>& elements, const Step& step) const;

  std::vector<std::unique_ptr<data::Iterator>> iterators_;  // each serves an equal number of replicas
  data::ElementSpec spec_;
  DistributedSteps steps_;
  bool has_ended_ = false;
};

class DistributedDataset {
 public:
  /// Instantiates a plan.
  using Make = std::function<Result<DatasetPtr>(const data::Plan&)>;

  /// Distributes a plan, as experimental_distribute_dataset, to the replicas of all workers, the first worker's first.
  /// Each worker reads its data::input_of(). kInvalidArgument: workers that would have different numbers of replicas;
  /// errors of data::input_of() and `make`.
  static Result<DistributedDataset> of_plan(const data::Plan& plan, const Make& make, const Distribution& distribution);
  /// The same for the replicas of a group's processes, of which each reads its own worker's part.
  static Result<DistributedDataset> of_plan(const data::Plan& plan, const Make& make, Compat compat,
                                            std::shared_ptr<ReplicaGroup> group);
  /// Splits batches among `replicas`, as evenly as possible, larger shares first, without loss. In a group every
  /// process has the same batches, and takes its replicas' shares.
  static DistributedDataset of_batches(DatasetPtr dataset, int replicas, std::shared_ptr<ReplicaGroup> group = {});
  /// Gives each replica elements of its own: of one dataset in turn, or of one dataset for each. Under kTensorflow
  /// elements of static shapes are dropped unless every replica has one.
  static DistributedDataset of_elements(std::vector<DatasetPtr> datasets, int replicas, Compat compat = Compat::kNone,
                                        std::shared_ptr<ReplicaGroup> group = {});

  /// Spec of one replica's elements.
  const data::ElementSpec& element_spec() const { return spec_; }
  /// Iterates from the first element. With several processes all call it, and see the order that the chief draws for
  /// shuffles without a seed. Errors of data::Dataset::iterate().
  Result<DistributedIterator> iterate(const data::Order& order = {}) const;

 private:
  DistributedDataset(std::vector<DatasetPtr> datasets, const DistributedSteps& steps);
  std::vector<DatasetPtr> datasets_;
  DistributedSteps steps_;
  data::ElementSpec spec_;
};

}  // namespace tfd::strategy
