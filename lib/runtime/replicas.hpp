#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One step on the replicas of a process: each runs the function on data and a device of its own, at the same time, and
// what they want of the variables becomes one list of updates. Private to the room.
// Thread rule: one thread calls; ReplicaThreads help it until it returns.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "closure_runner.hpp"

namespace tfd::runtime {

/// What one replica works on.
struct ReplicaShare {
  ElementTable elements;
  std::vector<tensor::Tensor> rows = {};  // of lookups_of(); used where the context has rows
  std::int64_t batch = 0;                 // of an evaluation: which of the pass
};

/// The element's rows for each of `replicas`: as equal as can be, those with more rows first, nothing lost; fewer
/// shares where there are fewer rows than replicas. kInvalidArgument: fields without rows, or of different ones.
/// Source: the sizes of tf.data's RebatchV2, as experimental_distribute_dataset makes them.
Result<std::vector<data::Element>> split_rows(const data::Element& element, int replicas);

/// Finds an iterator by its id; made on the way, or an error.
using FindIterator = std::function<Result<WorkerIterator*>(const std::string& id)>;
/// The next element of each; the first iterator that has none, null where all have.
Result<const WorkerIterator*> take_elements(const std::vector<std::string>& ids, const FindIterator& find,
                                            ElementTable& elements);
/// What each of `replicas` works on: an element of its own of every dataset (`most_elements` in all, where it isn't 0),
/// or with kSplit its share of the rows of one. Where the data end before the last replica, those before it have
/// shares, so that nothing is lost; kOutOfRange where there is nothing for any.
Result<std::vector<ReplicaShare>> take_shares(const std::vector<std::string>& ids, const FindIterator& find,
                                              int replicas, program::Replicas how, int most_elements = 0);

/// The threads that replicas run on beside the caller's own; they are started by the first step that needs them, and
/// sleep between steps. Whoever is awake takes the next replica, so a step that is shorter than waking up a thread is
/// run by the caller alone. Thread rule: one thread calls.
class ReplicaThreads {
 public:
  explicit ReplicaThreads(int replicas) : most_(static_cast<std::size_t>(replicas)) {}
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  /// work(0) … work(count - 1), each once, and at the same time as far as count <= replicas. Returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();

  const std::size_t most_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // with count_, of whoever took one of what is left_
  std::size_t count_ = 0;
  std::atomic<std::uint32_t> left_{0};    // that nobody has taken yet
  std::atomic<std::uint32_t> undone_{0};  // that somebody may be at
  std::vector<std::jthread> threads_;     // most_ - 1, once they are needed
};

/// What the replicas did, in the order of their shares.
struct ReplicaOutputs {
  std::vector<BoundOutputs> outputs;
  std::vector<double> examples;
};
/// Replica i on shares[i]; `context` says the rest, with the number of replicas that there are (those beyond the shares
/// have no data and don't run); where that is 1, each of them is. The first error in the order of replicas.
Result<ReplicaOutputs> run_on_replicas(ReplicaThreads& threads, const CompiledFunction& function,
                                       const CallContext& context, const std::vector<ReplicaShare>& shares);

/// One list of updates (see reduce.hpp) and the metrics of all; no results. `context` is that of the call: its copies
/// are updated, and what is assigned as a difference is one to what it has read.
Result<BoundOutputs> reduce_outputs(const CompiledFunction& function, const CallContext& context,
                                    ReplicaOutputs outputs);

/// Every result of the replicas as one tensor, [replicas, …]. kInvalidArgument where their specs differ.
Result<std::vector<tensor::Tensor>> stack_results(const std::vector<std::vector<tensor::Tensor>>& replicas);

}  // namespace tfd::runtime
