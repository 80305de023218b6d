#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One exact pass of a function over its dataset, in parts: pending, running and finished ones. A pure state machine.
// Private to the room. Thread rule: thread-compatible; the coordinator's lock guards it.
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/task/worker_client.hpp"

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
  bool runs_on(std::size_t worker) const;
  /// True if the part is running: an answer for a part that was returned is too late.
  bool is_running(std::int64_t part) const { return running_.contains(part); }

  /// Takes the next part for an idle worker; nullopt if none is pending.
  std::optional<std::int64_t> take_part(std::size_t worker);
  /// Returns the worker's part, to be repeated by another one.
  void return_part(std::size_t worker);
  void finish_part(std::int64_t part, std::vector<step::Metric> metrics);
  /// Fails a part; the first error is the pass's.
  void fail_part(std::int64_t part, Error error);
  void end(Error error);
  /// Metrics of all parts, once they are done.
  std::vector<std::pair<std::string, double>> values() const;

 private:
  const Pass pass_;
  std::deque<std::int64_t> pending_;
  std::map<std::int64_t, std::size_t> running_;  // part -> worker
  std::vector<std::vector<step::Metric>> metrics_;
  std::size_t left_;
  std::optional<Error> error_;
};

}  // namespace tfd::coordinator
