#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Resources on workers: iterators over the program's datasets, and workers' own variables. They are lost with a worker
// and created again when that returns; the values that callers hold say whether they exist. A state machine beside
// WorkerPool: no lock, clock or socket; its owner sends requests. Private to the room. Thread rule: thread-compatible;
// the coordinator's lock guards it.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch/closure_table.hpp"
#include "tfd/program/program.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {

/// True for a variable of which each worker has its own.
inline bool is_per_worker(const program::Program& program, const std::string& name) {
  const program::VariableDef* variable = program.find_variable(name);
  return variable != nullptr && variable->per_worker;
}

class WorkerResources {
 public:
  /// `requests` is the queue of resources to create on each worker; `link` is shared with all values.
  WorkerResources(const program::Program& program, const WorkerPool& workers, ClosureTable& requests,
                  std::shared_ptr<CoordinatorLink> link)
      : program_(program), workers_(workers), requests_(requests), link_(std::move(link)) {}

  struct Iterators {
    std::uint64_t number;
    std::string id;
    std::string dataset;
    std::weak_ptr<const void> hold;  // PerWorkerDataset's
    std::optional<Error> error = {};
    WorkerList made_on = {};
  };
  /// Adds iterators on all workers, which live as long as the dataset that is returned. `epoch` keeps their id apart
  /// from those of other coordinators on the same worker.
  PerWorkerDataset add(const std::string& dataset, std::uint64_t epoch);
  /// Live iterators by their number or id, nullptr if there are none; valid until they are dropped.
  const Iterators* find(std::uint64_t number) const;
  const Iterators* find(const std::string& id) const;
  /// Drops iterators that are no longer usable. Returns the id by which workers drop them; nullopt: they are
  /// dropped.
  std::optional<std::string> drop(std::uint64_t number);
  /// True if every worker that is ready has them, and there is at least one; others get them before their first
  /// closure.
  bool is_made(const Iterators& iterators) const;

  // Life of one worker.
  /// Queues all iterators for a worker that has got the program.
  void begin(std::size_t worker);
  /// Takes the next iterators to create on a worker, in the order of their creation; nullptr: it has all.
  const Iterators* take_next(std::size_t worker);
  enum class Creation {
    kMade,         // or there since before the connection was lost
    kFailed,       // for good, if the worker is ready: no caller has them yet. Else they were dropped meanwhile.
    kWorkerLost,   // it can't be reached
    kWorkerUnfit,  // it is loading, and lacks a required resource
  };
  /// Records a worker's answer to the request to create iterators.
  Creation created(std::uint64_t number, std::size_t worker, const Result<void>& answer);
  /// Forgets what was on a worker that is lost.
  void lose(std::size_t worker);

  // Values of callers.
  /// True if a worker has its variable, or its iterator of this id.
  bool is_there(const std::string& name, std::size_t worker) const;
  /// The value on every worker of the spec: kReady, or kAborted while it is missing. kNotFound.
  Result<std::vector<RemoteValue>> values(const std::string& name);
  /// Publishes whether a worker's values exist, when it became ready.
  void refresh(std::size_t worker);
  /// The error of a value that is gone with its worker.
  Error aborted(std::size_t worker, const std::string& name) const;
  /// Ends all values, with the coordinator.
  void abandon();

 private:
  using SharedValue = std::shared_ptr<RemoteValue::Shared>;  // shared with callers' RemoteValues

  const program::Program& program_;
  const WorkerPool& workers_;
  ClosureTable& requests_;
  const std::shared_ptr<CoordinatorLink> link_;
  std::map<std::uint64_t, Iterators> iterators_;          // live ones, in the order of their creation
  std::unordered_map<std::string, std::uint64_t> by_id_;  // their numbers
  std::uint64_t next_ = 0;
  std::map<std::string, std::vector<SharedValue>> values_;  // by worker
};

}  // namespace tfd::coordinator
