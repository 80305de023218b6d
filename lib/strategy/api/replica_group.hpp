#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// All replicas in sync, as one process sees them: it has some of them, and needs the others' values. A strategy on the
// devices of one process has them all (make_local_replicas()); several processes exchange values
// (group/process_replicas.hpp), and then each call is made by all of them, in the same order. Private to the room.
// Thread rule: one thread at a time calls.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/data/dataset.hpp"
#include "tfd/step/replica_exchange.hpp"
#include "tfd/step/replica_step.hpp"
#include "tfd/strategy/values.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {

/// A process's data for the next step of a dataset.
struct StepOffer {
  std::vector<bool> has = {};              // by own replica: it has an element
  std::int64_t rows = 0;                   // of its elements together; of the element whose rows replicas share
  std::vector<tensor::Shape> shapes = {};  // of the fields of one of its elements; empty: it has none
  std::optional<Error> error = {};         // ends the step in all
};

class ReplicaGroup {
 public:
  virtual ~ReplicaGroup() = default;
  ReplicaGroup(const ReplicaGroup&) = delete;
  ReplicaGroup& operator=(const ReplicaGroup&) = delete;

  /// Every process's replicas, by worker: contiguous, in order.
  const std::vector<step::ReplicaRange>& shares() const { return shares_; }
  const step::ReplicaRange& range() const { return shares_[static_cast<std::size_t>(worker_)]; }
  int workers() const { return static_cast<int>(shares_.size()); }
  int worker() const { return worker_; }  // 0 is the chief
  bool is_alone() const { return shares_.size() == 1; }

  using Axes = std::optional<std::vector<std::int64_t>>;
  /// Reduces, and concatenates, the values of all replicas, of which `value` has this process's; as strategy::reduce()
  /// and gather(). `name`: of the call, or empty.
  virtual Result<tensor::Tensor> reduce(program::Reduce how, const DistributedValue& value, const Axes& axes,
                                        std::string_view name) = 0;
  virtual Result<tensor::Tensor> gather(const DistributedValue& value, std::int64_t axis, std::string_view name) = 0;

  // Variables, of which `now` has this process's copies.
  /// The chief's value.
  virtual Result<tensor::Tensor> initial(std::string_view variable, const tensor::Tensor& own) = 0;
  /// All replicas write, synchronized on write with an aggregation.
  virtual Result<void> write(std::string_view variable, variable::ReplicatedVariable& now, variable::WriteOp op,
                             const DistributedValue& value) = 0;
  /// Writes, and reads, outside of replicas.
  virtual Result<void> write_across(std::string_view variable, variable::ReplicatedVariable& now, variable::WriteOp op,
                                    const tensor::Tensor& value) = 0;
  virtual Result<tensor::Tensor> read_across(std::string_view variable, const variable::ReplicatedVariable& now) = 0;

  // Datasets; `what` is the same in all.
  /// The order in which all iterate it.
  virtual Result<data::Order> agree_on_order(std::string_view what, const data::Order& own) = 0;
  /// Every process's offer, by worker; or the first one's error, with its name.
  virtual Result<std::vector<StepOffer>> agree_on_step(std::string_view what, const StepOffer& own) = 0;

  // Programs; `what` is the same in all.
  /// Outputs of all replicas, in their order, of which `own` has this process's.
  virtual Result<step::ReplicaOutputs> gather_outputs(std::string_view what, const step::ReplicaOutputs& own) = 0;
  /// Every process's text, by worker.
  virtual Result<std::vector<std::string>> gather_texts(std::string_view what, std::string_view own) = 0;
  /// The tensors of worker `from`, with a text of its.
  virtual Result<tensor::NamedTensors> send_all(std::string_view what, tensor::NamedTensors own, std::string& text,
                                                int from) = 0;

  /// The name of a worker in messages.
  virtual std::string name_of(int worker) const = 0;

  /// Tells the others that this process has failed where they may wait for it. It doesn't wait. If all fail alike, all
  /// go on; else the others' next call, and this one's, fails, and says with what.
  virtual void tell(const Error& error) = 0;
  /// The result, told if it is an error.
  template <class T>
  Result<T> told(Result<T> result) {
    if (!result) tell(result.error());
    return result;
  }

 protected:
  ReplicaGroup(std::vector<step::ReplicaRange> shares, int worker) : shares_(std::move(shares)), worker_(worker) {}

 private:
  const std::vector<step::ReplicaRange> shares_;
  const int worker_;
};

/// A value in messages, with the elements of a small one.
std::string show_value(const tensor::Tensor& value);

/// The replicas of a process that has them all.
std::unique_ptr<ReplicaGroup> make_local_replicas(int replicas);

}  // namespace tfd::strategy
