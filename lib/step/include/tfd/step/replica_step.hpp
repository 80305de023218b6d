#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One step on the replicas of a process: each runs the function on data and a device of its own, at the same time, and
// what they want of the variables becomes one list of updates. Private to the room.
// Thread rule: one thread calls; ReplicaThreads help it until it returns.
#include <functional>
#include <string>
#include <vector>

#include "tfd/step/function_call.hpp"
#include "tfd/step/replica_threads.hpp"

namespace tfd::step {

/// What one replica works on.
struct ReplicaShare {
  ElementTable elements;
  std::vector<tensor::Tensor> rows = {};  // of lookups_of(); used where the context has rows
  std::int64_t batch = 0;                 // of an evaluation: which of the pass
};

/// Finds an iterator by its id; made on the way, or an error.
using FindIterator = std::function<Result<WorkerIterator*>(const std::string& id)>;
/// The next element of each; the first iterator that has none, null where all have.
Result<const WorkerIterator*> take_elements(const std::vector<std::string>& ids, const FindIterator& find,
                                            ElementTable& elements);
/// What each of `replicas` works on: an element of its own of every dataset (`most_elements` in all, where it isn't 0),
/// or with kSplit its share of the rows of one. Where the data end before the last replica, those before it have
/// shares, so that nothing is lost, and an element without rows is no share; kOutOfRange where there is nothing for
/// any.
Result<std::vector<ReplicaShare>> take_shares(const std::vector<std::string>& ids, const FindIterator& find,
                                              int replicas, program::Replicas how, int most_elements = 0);

/// What the replicas did, in the order of their shares.
struct ReplicaOutputs {
  std::vector<BoundOutputs> outputs;
  std::vector<double> examples;
};
/// Replica i on shares[i]; `context` says the rest, with the number of replicas that there are (those beyond the shares
/// have no data and don't run); where that is 1, each of them is. The first error in the order of replicas.
Result<ReplicaOutputs> run_on_replicas(const RunAtOnce& run_at_once, const CompiledFunction& function,
                                       const CallContext& context, const std::vector<ReplicaShare>& shares);

/// One list of updates (see reduce.hpp) and the metrics of all; no results. `context` is that of the call: its copies
/// are updated, and what is assigned as a difference is one to what it has read.
Result<BoundOutputs> reduce_outputs(const CompiledFunction& function, const CallContext& context,
                                    ReplicaOutputs outputs);

/// Every result of the replicas as one tensor, [replicas, …]. kInvalidArgument where their specs differ.
Result<std::vector<tensor::Tensor>> stack_results(const std::vector<std::vector<tensor::Tensor>>& replicas);

}  // namespace tfd::step
