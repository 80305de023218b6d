#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One command and the processes that it starts: a child with pipes, in a process group of its own. Reading and writing
// are left to the user, who also decides how much output is kept.
// Thread rule: lives on one thread, which must live as long as the child (process/child.hpp).
//
//   Job job = TFD_TRY(Job::start({.child = {.argv = {"make", "-j8"}, .environment = env}}));
//   const std::string output = TFD_TRY(read_all(job.out.get(), Deadline::after(1min)));  // else ~Job kills the group
//   const ExitStatus status = job.finish();
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <utility>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/group_guard.hpp"

namespace tfd::process {

struct JobOptions {
  ChildOptions child;                            // its stdout_fd, announce_fd and new_group are set by Job
  bool pipes_input = false;                      // false: its stdin is child.stdin_fd
  bool pipes_errors = true;                      // false: its stderr is child.stderr_fd
  std::shared_ptr<const GroupGuard> guard = {};  // kills the group if this process is killed; may be null
};

class Job {
 public:
  static constexpr Duration kGrace = std::chrono::seconds(1);  // from SIGTERM to SIGKILL

  /// Errors as of Child::start().
  static Result<Job> start(JobOptions options);
  Job(Job&&) noexcept = default;
  Job& operator=(Job&&) = delete;
  /// Kills the whole group and reaps its leader, unless that has been reaped.
  ~Job();

  int end_fd() const { return child_.end_fd(); }  // readable once the leader has ended: for poll()
  /// Waits for the end of the leader, which isn't reaped; false at the deadline.
  bool has_ended(Deadline deadline) const;
  /// Sends the group SIGTERM, so that it can clean up. kill() or finish() follows after kGrace.
  void terminate() const;
  /// Sends the group SIGKILL.
  void kill() const;
  /// terminate(), then waits up to kGrace for the leader.
  void ask_to_end() const;
  /// Kills the rest of the group, then reaps its leader: in this order, so that the number can't have been reused.
  ExitStatus finish();
  /// Waits for the leader and reaps it; the rest of the group runs on. kDeadlineExceeded if it still runs.
  Result<ExitStatus> wait(Deadline deadline);

  // Our ends of the pipes, not blocking; the user closes them. `in` is a socket: send() with MSG_NOSIGNAL reports a
  // reader that is gone as an error, and recv() whether it left something unread.
  Fd in, out, err;

 private:
  Job(Child child, std::shared_ptr<const GroupGuard> guard) : child_(std::move(child)), guard_(std::move(guard)) {}
  Child child_;
  std::shared_ptr<const GroupGuard> guard_;
};

}  // namespace tfd::process
