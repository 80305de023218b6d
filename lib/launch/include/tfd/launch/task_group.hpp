#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One command as several tasks, each a process group of its own: starts them, and ends the others when one fails. The
// task that failed first is the cause; its exit code is the group's, unless failures are made good: all are started
// again, or only those that failed, where the others say that they go on without them (Standing). Unlike a Supervisor
// it doesn't wait for readiness and knows nothing about what the command does. Thread rule: lives on the thread that
// turns its EventLoop; that thread must live as long as the tasks.
#include <signal.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/log.hpp"
#include "tfd/launch/error_files.hpp"
#include "tfd/launch/faults.hpp"
#include "tfd/launch/members.hpp"
#include "tfd/launch/output_relay.hpp"
#include "tfd/launch/restarts.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/event_loop.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/oom_kills.hpp"

namespace tfd::launch {

/// A failed task, for the launcher that decides about tasks of several hosts.
struct TaskFailure {
  std::string task;
  process::ExitStatus status;
  std::string line;                       // "worker:1 exited with 7: no such shard"
  std::string cause;                      // what the task itself stated, "no such shard"
  double time = 0;                        // in seconds since 1970
  std::optional<std::int64_t> step = {};  // that it made, where it said so
  /// It is no member, and won't become one, however often it is started, since its command line, its program or its key
  /// is wrong, or isn't the others' (64, 65, 77, 126, 127).
  bool is_refused = false;
  /// It ends like this however often it is started: it is refused, or is a member and states that its input is wrong.
  bool is_final = false;
};

/// Counts of a host's tasks with a rank, by what they say of themselves (Standing).
struct Standings {
  int running = 0;
  int alone = 0;         // of those that run: they end if another one does
  int members = 0;       // of those that run
  int done = 0;          // were members, and ended well
  bool is_over = false;  // one of those said that its group had made its last step
  /// True if some run, and all of them continue without those that have ended.
  bool go_on() const { return running > 0 && alone == 0; }
  /// True if those that run are right to refuse one that ended with this code: some are members already, or at least
  /// two have the same key.
  bool may_refuse(int code) const;
  friend bool operator==(const Standings&, const Standings&) = default;
};

struct TaskGroupOptions {
  std::vector<std::string> command;
  std::string output_directory = {};               // its files get the tasks' output, instead of the relay
  bool shows_text = false;                         // people read the relay's stdout: tasks are told (TFD_TEXT_STREAM)
  Duration stop_grace = std::chrono::seconds(10);  // from SIGTERM to SIGKILL, where another task failed
  Duration grace = std::chrono::seconds(25);       // from a signal that was passed on to SIGKILL; also for members to
                                                   // end after one of them has ended well
  std::optional<int> max_failures = {};            // so often failures are made good; none: one ends the group
  int least = 1;                                   // tasks with a rank that suffice; with max_failures
  std::vector<Fault> faults_at_steps = {};         // told to their tasks at their first start
  Log log = {};                                    // starts and ends, as info
  /// If the group has tasks on other hosts, others decide: they get each failure, and a call when no task runs,
  /// and call halt() and start_again(). Either both are set or none is.
  std::function<void(const TaskFailure&)> on_failure = {};
  std::function<void(int generation)> on_idle = {};
  /// Where those may start only the tasks that failed again, by replace_failed(): they are told what tasks say.
  std::function<void(const Standings&)> on_standings = {};
};

/// Exit code of the whole, and the signal to end by if the tasks died of it.
struct GroupEnd {
  int code = 0;
  int signal = 0;
};

class TaskGroup {
 public:
  /// `said`: lines for the user, such as "worker:1 exited with 7".
  TaskGroup(process::EventLoop& loop, OutputRelay& relay, ErrorFiles files, TaskGroupOptions options,
            std::vector<Member> members, std::function<void(const std::string& line)> say);
  ~TaskGroup();  // SIGKILL for what still runs
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Errors of Child::start, after which nothing runs.
  Result<void> start();
  /// Ends all, with SIGTERM, because others decided so.
  void halt() { end_all(SIGTERM, options_.stop_grace); }
  /// Starts these tasks, in place of those that ran before, all of which have ended. The first call starts the group;
  /// a task that can't be started is told as a failure. `joins`: others are running that take these in, so they are
  /// taken for tasks that go on when others die until they say what they are.
  void start_again(int generation, std::vector<Member> members, bool joins = false);
  /// Starts the tasks that failed again, after a while, because others decided so. `members`: of all tasks, in the same
  /// order, with what those are told that start.
  void replace_failed(int generation, std::vector<Member> members, Duration wait);
  /// Passes a signal on to all tasks, and changes nothing else.
  void signal(int number);
  /// The same for a signal that asks for the end: SIGKILL follows after the grace, or with the third such signal, or
  /// with the first one where the group is ending because of a failure.
  void stop(int number);
  /// Ends all, with SIGTERM, for a reason that is said: "… (--timeout)". The code is 75.
  void expire(const std::string& why);
  /// Sends a signal to one task's process group, if it runs.
  void signal(const cluster::TaskId& task, int number);
  /// SIGKILL for all.
  void kill();
  bool ended() const { return ended_; }
  GroupEnd end() const { return end_; }
  /// Where others decide: no task runs.
  bool is_idle() const { return idle_; }
  /// Names of the tasks that run.
  std::vector<std::string> running() const;

 private:
  struct Task;
  struct Failure {
    Task* task;
    process::ExitStatus status;
    std::string message;  // of the task's own file
    double time;
    std::optional<std::int64_t> step = {};  // that it made, where it said so
  };
  static std::string line_of(const Failure& failure);
  static TaskFailure start_failure(const Task& task, const Error& error);
  /// True if a task has ended because its output is no longer read, as the others soon will. A reader that closes
  /// ends its writers, as in any pipeline, and its user knows why.
  bool is_unread(const Failure& failure) const { return failure.status.signal == SIGPIPE && relay_.has_lost_reader(); }
  Result<void> start_all();
  Result<void> start_task(Task& task);
  void on_exit(Task& task);
  void on_failure(Failure failure);
  void decide();
  bool goes_on() const { return restarts_ && standings().go_on(); }
  Standing standing_of(const Task& task) const;
  Standings standings() const;
  void watch_standings();
  void tell_standings();
  std::vector<std::string> schedule_failed(Duration wait);
  void replace_later(const std::string& failure, Duration wait, int failures);
  void replace(Task& task);
  bool is_done() const;
  void finish();
  void finish_later();
  void cancel_replacements();
  void start_again_later(const std::string& failure, Duration wait, int failures);
  Failure note(Task& task, const process::ExitStatus& status, const MemberState& last);
  void restart();
  void end_all(int number, Duration grace);
  void check_end();
  void leave_behind();
  void conclude();
  void conclude(GroupEnd end);

  process::EventLoop& loop_;
  OutputRelay& relay_;
  process::OomKills oom_kills_;
  ErrorFiles files_;
  TaskGroupOptions options_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::function<void(const std::string&)> say_;
  std::optional<Failure> cause_;
  std::optional<Failure> earliest_;  // by the time that the tasks' own files state
  std::optional<Restarts> restarts_;
  FailuresTogether failures_;                    // that nothing was decided about yet
  std::optional<Clock::time_point> restart_at_;  // set from a failure to the next start
  int generation_ = 0;
  GroupEnd end_;
  bool ending_ = false;
  bool ended_ = false;
  process::Fd standing_changes_;   // inotify
  std::optional<Standings> told_;  // the last report to the deciding launcher
  int done_ = 0;                   // members that ended well
  bool is_over_ = false;           // one of them had made the last step
  bool idle_ = true;               // where others decide: on_idle was called, or nothing has been started
  bool expired_ = false;
  bool kills_ = false;      // those that run get SIGKILL
  bool cut_short_ = false;  // a signal came between a failure and the next start
  int stops_ = 0;           // signals that asked for the end
  int asked_signal_ = 0;    // the first of them
  process::EventLoop::TimerId decide_timer_ = 0, kill_timer_ = 0, check_timer_ = 0, restart_timer_ = 0, done_timer_ = 0;
};

}  // namespace tfd::launch
