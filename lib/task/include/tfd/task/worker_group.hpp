#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of one run, from the view of one of them: the chief's process, the members that joined, left or died, and
// a request to stop. The state is in the coordination service, in the run's scope: the key "chief" (a process), the key
// "stopped", the group "workers" and a counter of each worker's updates. Thread rule: one thread; watched keys are
// updated on the endpoint's I/O thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/task/coordination.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::task {

struct WorkerGroupOptions {
  std::string self;                  // this worker: "worker:1"
  std::vector<std::string> workers;  // all of them, the chief first
  /// How long the chief waits at the end for a worker that does nothing, or never came.
  Duration linger = std::chrono::seconds(10);
  Log log = {};
  std::function<void(const std::string& line)> say = {};  // progress of a long wait, for people
  std::function<bool()> is_stopping = {};                 // true once this process is to stop
  std::stop_token interruption = {};                      // ends waits
};

class WorkerGroup {
 public:
  /// `service` is the task that coordinates the run, `run` asks it. Both speak for the epoch of the run, whichever it
  /// is at the time.
  WorkerGroup(transport::Endpoint& endpoint, TaskClient service, CoordinationClient run, WorkerGroupOptions options);

  const std::string& chief() const { return options_.workers.front(); }
  bool is_chief() const { return options_.self == chief(); }
  /// Makes this process the chief of the run, in place of any other one.
  Result<void> become_chief();
  /// Checks, before the chief speaks for the run, that it still is the chief: kPermissionDenied names the process that
  /// has come in its place. kInternal: the training of a worker has failed (stop_all()).
  Result<void> check_chief() const;

  /// Joins the run, also after leaving it: reads whether it was stopped and how many updates this worker has made. The
  /// chief doesn't become a member, since no worker waits for it.
  Result<void> join();
  /// Announces that this worker is done. A run that is gone meanwhile is no error.
  Result<void> leave();

  /// Counts an update of this worker, so that the chief sees that it does something. Nothing depends on one that is
  /// lost.
  void count_update();
  /// Updates of this worker before join().
  std::int64_t updates_before() const { return updates_before_; }

  /// Tells all workers to stop, before the last step. `failure`: since this worker's training has failed so; empty: it
  /// is complete.
  Result<void> stop_all(const std::string& failure = {});
  /// True once the chief has told them so, as far as this worker has heard.
  bool has_stopped() const;
  /// Why all were stopped, if one's training has failed; empty: none has.
  std::string failure() const;
  /// Asks the service whether the run was stopped.
  Result<bool> read_stopped() const;

  /// Waits until all other workers have left, or this one is to stop. It gives up on a worker whose process has been
  /// gone for 5 s (one restarted by then is waited for), and on one that was idle for `linger` or never joined; the log
  /// names it, and those that a long wait is for.
  Result<void> wait_for_others();
  /// Waits until all other workers have left; false at the deadline.
  Result<bool> have_others_left(Deadline deadline);

 private:
  struct Other;
  struct Others;
  struct Wait {
    Deadline deadline;
    bool gives_up;     // on workers, and when this one is to stop
    const char* what;  // that they do: "to end"
  };
  Result<bool> wait(const Wait& how);
  Result<void> look_at(Others& others, Deadline deadline) const;
  static std::vector<std::string> names_of(const std::vector<const Other*>& others);
  std::optional<std::string> why_given_up(const Other& other) const;
  bool is_stopping() const { return options_.is_stopping && options_.is_stopping(); }

  transport::Endpoint& endpoint_;
  TaskClient service_;
  CoordinationClient run_;
  const WorkerGroupOptions options_;
  std::unique_ptr<Membership> membership_;  // of a worker that isn't the chief, until it leaves
  std::string process_;                     // this one, once it is the chief's
  std::int64_t updates_before_ = 0;
  bool stopped_ = false;
};

}  // namespace tfd::task
