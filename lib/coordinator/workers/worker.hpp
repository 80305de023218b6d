#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker as the coordinator sees it: only WorkerPool changes it. No lock, clock of its own or socket (its client is
// only kept here). Private to the room. Thread rule: thread-compatible; the coordinator's lock guards it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/coordinator/closure_queue.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/task/worker_client.hpp"

namespace tfd::coordinator {

enum class WorkerState {
  kAway,     // connecting, lost, or unable to load the program
  kWaiting,  // up, while the parameter servers aren't ready yet
  kLoading,  // loading the program and creating iterators
  kReady,
};
inline constexpr std::size_t kWorkerStates = 4;

/// Number of closures that a worker should hold: about 20 ms of work, so that little has to be migrated and no worker
/// idles.
class Window {
 public:
  explicit Window(std::size_t most) : most_(most), size_(std::min<std::size_t>(most, 8)) {}
  /// Makes a window for a worker that runs `least` at a time, below which it would idle.
  Window(std::size_t most, std::size_t least)
      : most_(std::max(most, least)), least_(least), at_once_(least), size_(least) {}
  std::size_t size() const { return size_; }
  std::size_t at_once() const { return at_once_; }  // the rest wait at the worker
  /// Notes how long a closure took on the worker: its speed, whatever else the coordinator has to do.
  void ran(Duration one);

 private:
  std::size_t most_;
  std::size_t least_ = 2;  // so that the next closure is there when one ends
  std::size_t at_once_ = 1;
  std::size_t size_;
  Duration average_ = {};  // of the last ones; 0: not known
  int known_ = 0;          // of how many, up to those that count
};

class Worker {
 public:
  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  task::WorkerClient& client() const { return *client_; }  // since WorkerPool::connect()
  /// A number that grows with every loss: answers to earlier requests are ignored.
  std::uint64_t generation() const { return generation_; }
  WorkerState state() const { return state_; }
  bool is_ready() const { return state_ == WorkerState::kReady; }
  bool has_program() const { return has_program_; }
  bool was_ready() const { return was_ready_; }
  bool has_left() const { return has_left_; }      // it isn't in the newest spec, and may return
  bool is_paused() const { return is_paused_; }    // it couldn't reach a parameter server, which is being checked
  bool gives_back() const { return gives_back_; }  // asked to return closures that haven't started
  int replicas() const { return replicas_; }       // 0: not known
  /// Closures, in the order in which it got them.
  const std::vector<ClosureId>& held() const { return held_; }
  bool holds(ClosureId closure) const { return std::ranges::find(held_, closure) != held_.end(); }
  const Window& window() const { return window_; }
  Clock::time_point since() const { return since_; }     // time of the last answer, or change of state
  const std::string& reason() const { return reason_; }  // why it is away
  /// Permanent error of this incarnation, until the worker is ready.
  const std::optional<Error>& load_error() const { return load_error_; }
  /// Its remaining work for an earlier coordinator, while it is loading; else empty.
  const std::string& occupied() const { return occupied_; }
  const DataProgress& data() const { return data_; }  // begins anew when the worker is lost with the program
  /// Shuffle stream of the iterators that it creates from now on.
  std::uint64_t shuffle_stream() const;

 private:
  friend class WorkerPool;
  static constexpr Duration kFirstBackoff = std::chrono::seconds(1);

  std::string name_;
  std::string address_;
  std::unique_ptr<task::WorkerClient> client_;
  std::uint64_t generation_ = 0;
  transport::Incarnation incarnation_ = 0;
  WorkerState state_ = WorkerState::kAway;
  bool has_program_ = false;
  bool was_ready_ = false;
  bool has_left_ = false;
  bool joined_later_ = false;  // by a newer spec
  bool is_paused_ = false;
  bool is_creating_ = false;  // an iterator
  bool gives_back_ = false;
  bool runs_alone_ = false;  // its closure, if any, must run alone
  int replicas_ = 0;
  std::vector<ClosureId> held_;
  Window window_{1};
  std::size_t counted_window_ = 0;  // what it adds to WorkerPool::windows()
  Clock::time_point since_{};
  Clock::time_point server_trouble_since_{};  // since when it can't reach a parameter server that is up; zero: it can
  Duration backoff_ = kFirstBackoff;          // until a retry after a failure
  std::string reason_ = "not reached yet";
  std::optional<Error> load_error_;
  std::string occupied_;
  DataProgress data_;
};

}  // namespace tfd::coordinator
