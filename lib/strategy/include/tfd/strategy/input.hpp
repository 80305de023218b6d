#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Datasets whose elements are for replicas. Thread rule: a DistributedDataset is immutable, an iterator lives on one
// thread at a time. Source: tensorflow/python/distribute/input_lib.py and distribute_lib.py, InputContext, 2.21.
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

/// What a dataset function is told.
struct InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;
  int num_replicas_in_sync = 1;

  /// kInvalidArgument where the global batch can't be shared equally.
  Result<std::int64_t> get_per_replica_batch_size(std::int64_t global_batch_size) const;
};

/// How often a dataset function is called: once for each worker, whose replicas then take elements in turn, or once for
/// each replica. Source: tf.distribute.InputReplicationMode.
enum class InputReplicationMode : std::uint8_t { kPerWorker, kPerReplica };

using DatasetPtr = std::shared_ptr<const data::Dataset>;  // immutable: iterators share it
using DatasetFunction = std::function<Result<DatasetPtr>(const InputContext&)>;

/// An element of each replica, by field. Replicas for which there was nothing left have no rows.
struct DistributedElement {
  data::ElementSpec spec;
  std::vector<DistributedValue> fields;

  /// What the replica sees.
  data::Element on(std::size_t replica) const;
};

/// Who shares a dataset.
struct Distribution {
  int workers = 1;
  int replicas = 1;  // of all workers, each of which has as many
  Compat compat = Compat::kNone;
  /// Workers are processes that agree on each step, as with MultiWorkerMirroredStrategy: under kTensorflow a step is
  /// made then while any of them has data, whatever the shapes.
  bool between_graph = false;
};

/// How the datasets of replicas make steps.
struct DistributedSteps {
  int replicas = 1;
  bool shares_rows = false;      // of one element; else each replica has one of its own
  bool ends_with_first = false;  // no step where any replica lacks data; else none where all of them do
};

class DistributedIterator {
 public:
  DistributedIterator(std::vector<std::unique_ptr<data::Iterator>> iterators, data::ElementSpec spec,
                      const DistributedSteps& steps);
  /// nullopt at the end of the data, and ever after. Errors of the datasets; kInvalidArgument: in a replica; an element
  /// without rows, or with several numbers of rows, that several replicas are to share; data that end within a step
  /// where elements are scalars, so that there is no empty one.
  Result<std::optional<DistributedElement>> next();

 private:
  Result<std::vector<data::Element>> share();
  Result<std::vector<data::Element>> take_each();
  Result<void> fill_up(std::vector<data::Element>& elements) const;

  std::vector<std::unique_ptr<data::Iterator>> iterators_;  // each for as many replicas
  data::ElementSpec spec_;
  DistributedSteps steps_;
  bool has_ended_ = false;
};

class DistributedDataset {
 public:
  /// Instantiates a plan.
  using Make = std::function<Result<DatasetPtr>(const data::Plan&)>;

  /// As experimental_distribute_dataset, for the replicas of all workers: those of the first worker come first. Each
  /// worker reads its data::input_of(). kInvalidArgument: workers that would have different numbers of replicas; errors
  /// of data::input_of() and `make`.
  static Result<DistributedDataset> of_plan(const data::Plan& plan, const Make& make, const Distribution& distribution);
  /// Batches that `replicas` share: as equal as can be, those with more rows first, nothing lost.
  static DistributedDataset of_batches(DatasetPtr dataset, int replicas);
  /// Elements that are one replica's each: of one dataset in turn, or of one dataset for each replica. Under
  /// kTensorflow elements of static shapes are lost where not every replica has one.
  static DistributedDataset of_elements(std::vector<DatasetPtr> datasets, int replicas, Compat compat = Compat::kNone);

  /// Of one replica's elements.
  const data::ElementSpec& element_spec() const { return spec_; }
  /// From the first element. Errors of data::Dataset::iterate().
  Result<DistributedIterator> iterate(const data::Order& order = {}) const;

 private:
  DistributedDataset(std::vector<DatasetPtr> datasets, const DistributedSteps& steps);
  std::vector<DatasetPtr> datasets_;
  DistributedSteps steps_;
  data::ElementSpec spec_;
};

}  // namespace tfd::strategy
