#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Exact passes of a function over its dataset, one at a time, each in parts: pending, running and finished ones. State
// machines: no lock, clock or socket; their owner sends the parts. Private to the room. Thread rule: thread-compatible;
// the coordinator's lock guards them.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/task/worker_client.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {

class Evaluation {
 public:
  /// Properties of all parts. `seed` is for shuffles that state none.
  struct Pass {
    std::string function;
    std::optional<std::int64_t> steps;  // of the whole pass
    std::uint64_t seed = 0;
    std::int64_t parts = 1;
  };
  explicit Evaluation(Pass pass);

  const Pass& pass() const { return pass_; }
  std::size_t left() const { return left_; }  // parts
  bool ended() const { return error_.has_value() || left_ == 0; }
  const std::optional<Error>& error() const { return error_; }
  bool has_pending() const { return !ended() && !pending_.empty(); }
  /// Workers that run a part, each of them one.
  const WorkerList& busy() const { return busy_; }
  bool runs_on(std::size_t worker) const { return busy_.contains(worker); }
  /// True if the worker runs this part: an answer for a part that was returned is too late.
  bool is_running(std::int64_t part, std::size_t worker) const;

  /// Takes the next part for an idle worker; nullopt if none is pending.
  std::optional<std::int64_t> take_part(std::size_t worker);
  /// Returns the worker's part, to be repeated by another one.
  void return_part(std::size_t worker);
  /// Ends the worker's part, which it must have.
  void finish_part(std::size_t worker, std::vector<step::Metric> metrics);
  /// Fails it; the first error is the pass's.
  void fail_part(std::size_t worker, Error error);
  void end(Error error);
  /// Metrics of all parts, once they are done.
  std::vector<std::pair<std::string, double>> values() const;

 private:
  std::int64_t end_part(std::size_t worker);

  const Pass pass_;
  std::deque<std::int64_t> pending_;
  std::unordered_map<std::size_t, std::int64_t> running_;  // by worker
  WorkerList busy_;                                        // their workers
  std::vector<std::vector<step::Metric>> metrics_;
  std::size_t left_;
  std::optional<Error> error_;
};

/// The pass under way, and whether others may follow it. Lost parts are repeated on other workers.
class EvaluationQueue {
 public:
  explicit EvaluationQueue(WorkerPool& workers) : workers_(workers) {}

  const Evaluation* current() const { return current_.get(); }  // nullptr: none
  /// Begins a pass, of which there is one at a time, in as many parts as workers are up or loading: one that is still
  /// loading takes its part when it is ready.
  std::shared_ptr<const Evaluation> begin(std::string function, std::optional<std::int64_t> steps, std::uint64_t seed);
  /// Ends the current pass, whether it is complete or its caller waits no longer.
  void leave() { current_.reset(); }
  void end(const Error& error);  // of the current pass, if there is one
  /// Ends the current pass, and lets none follow.
  void close();
  bool is_closed() const { return is_closed_; }

  struct Part {
    std::shared_ptr<Evaluation> evaluation;  // shared with the queue
    std::int64_t index;
    std::size_t worker;
    std::uint64_t generation;  // the worker's
  };
  /// Takes a part for each worker that can have one.
  std::vector<Part> take_parts();
  /// Returns the part of a worker that is lost.
  void return_part(std::size_t worker);
  enum class Answer {
    kLate,  // the part is done again elsewhere
    kCounted,
    kServerFailed,  // the worker can't reach a parameter server; the part is returned
    kWorkerLost,    // the worker can't be reached: return_part() follows
  };
  /// Records a worker's answer; `is_of_server`: its error names a parameter server.
  Answer answered(const Part& part, const Result<std::vector<step::Metric>>& metrics, bool is_of_server,
                  Clock::time_point now);

 private:
  WorkerPool& workers_;
  std::shared_ptr<Evaluation> current_;  // shared with its parts
  bool is_closed_ = false;
};

}  // namespace tfd::coordinator
