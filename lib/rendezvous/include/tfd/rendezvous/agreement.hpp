#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The decisions of a group of launchers: which ones take part, when all start, the first failure, whether all are
// started again, and how everything ends. A state machine of the launcher that holds the rendezvous: no socket, no
// clock of its own: it is told of joins and reports, ticks at next() at the latest, and its commands are taken to be
// sent. Thread rule: plain value.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/launch/restarts.hpp"
#include "tfd/launch/task_group.hpp"

namespace tfd::rendezvous {

using LauncherId = std::uint64_t;
constexpr LauncherId kHolder = 0;  // the launcher that holds the rendezvous

/// How many take part: launchers, or tasks.
struct Bounds {
  int least = 1;
  int most = 1;
  bool counts_tasks = false;
  bool is_elastic = false;  // lost launchers are replaced, and a failure restarts all, or only the failed ones
};

/// A launcher's contribution.
struct Joining {
  std::string host;                                            // its name for people, and its address for the others
  std::vector<std::string> addresses;                          // of its tasks, in the order of their local ranks
  std::vector<std::pair<std::string, std::string>> same = {};  // what must be the same on all hosts: option, value
};

/// Plan of one start: which launchers take part, and which tasks the receiver starts.
struct Plan {
  int generation = 0;
  int node = 0;                        // the receiver's place among the launchers
  int nodes = 1;                       // launchers
  std::vector<std::string> addresses;  // of all tasks, by rank; of one that is lost, where it was
  std::vector<int> own;                // ranks of the receiver's tasks
  int least = 0, most = 0;             // tasks that an elastic group needs, and may have; 0: it has these to the end
  bool joins = false;                  // the others are running, and take these tasks in
};

/// A launcher does what a command says.
struct Command {
  enum class Kind {
    kSay,      // `line` is for the user
    kStart,    // starts its tasks of `plan`
    kReplace,  // starts those of its tasks that failed again, after `wait`, as `plan` says, which joins
    kHalt,     // ends its tasks, and reports kIdle; `line` says why
    kStop,     // passes `signal` on, which asks for the end, for the `count`th time; `line`: "SIGTERM at 10.0.0.2"
    kEnd,      // is over with `code`; `signal`: the one that tasks died of, if a launcher had got it
  };
  Kind kind = Kind::kSay;
  std::string line = {};
  Plan plan = {};
  int code = 0;
  int signal = 0;
  int count = 0;
  Duration wait{};
};

/// A launcher's report.
struct Report {
  enum class Kind {
    kFailed,    // a task failed
    kStanding,  // `standings` of its tasks have changed; before kFailed of a task that it counts no more
    kIdle,      // none of its tasks runs, nor waits for its next start
    kStop,      // it got `signal`, which asks for the end, for the `count`th time
    kLeave,     // the same, but asks for the end of this launcher alone, if the others go on without it
    kExpired,   // its --timeout is over; `line` says so
  };
  Kind kind = Kind::kFailed;
  int generation = 0;                     // of the start, or replacement, that it knows of
  std::string task = {};                  // kFailed: "worker:1"
  std::string line = {};                  // "worker:1 exited with 7: no such shard"
  std::string cause = {};                 // kFailed: what the task itself stated, "no such shard"
  double time = 0;                        // kFailed: when, by the clock of its host
  std::optional<std::int64_t> step = {};  // kFailed: that the task made, where it said so
  int code = 0;                           // kFailed
  int signal = 0;
  int count = 0;
  bool is_refused = false, is_final = false;  // kFailed: launch::TaskFailure's
  launch::Standings standings = {};
};

struct AgreementOptions {
  Bounds bounds = {};
  int max_failures = 0;  // within Restarts::kWindow, of an elastic group
  Duration join = std::chrono::minutes(10);
  Duration settle = std::chrono::seconds(10);  // enough have joined, and nobody else for this long; at most thrice
  Duration report = kFirstWaitReport;          // until a line names missing launchers
  Duration grace = std::chrono::seconds(25);   // for members to end after one of them has ended well
};

class Agreement {
 public:
  Agreement(AgreementOptions options, Clock::time_point now);

  /// kFailedPrecondition: it differs in what must be the same, or it is too late. kResourceExhausted: there are enough
  /// already, of which one may have ended unseen.
  Result<void> join(LauncherId launcher, Joining joining, Clock::time_point now);
  /// The launcher has gone, or doesn't answer: "connection reset".
  void lose(LauncherId launcher, const std::string& why, Clock::time_point now);
  void report(LauncherId launcher, const Report& report, Clock::time_point now);
  /// Somebody without the launchers' key has come, and was turned away: a line that says who is missing says so, too.
  void turned_away() { has_turned_away_ = true; }
  void tick(Clock::time_point now);
  /// When tick() has something to do; max() if never.
  Clock::time_point next() const;

  /// The commands to send, in order, since the last call.
  std::vector<std::pair<LauncherId, Command>> take() { return std::exchange(commands_, {}); }
  /// True of a launcher that hasn't been told kEnd, and isn't lost.
  bool has(LauncherId launcher) const { return launchers_.contains(launcher); }
  /// kEnd has been said to all.
  bool is_over() const { return phase_ == Phase::kOver; }

 private:
  enum class Phase { kGathering, kRunning, kEnding, kOver };
  struct Launcher {
    Joining joining;
    int place = 0;  // in the order of nodes; a newcomer takes the lowest free one
    bool is_idle = true;
    bool is_leaving = false;               // its tasks hand over: none of them counts now
    int started = 0, told = 0;             // generations of its last start, and of its last start or replacement
    std::vector<int> ranks = {};           // of its tasks, in the present start
    launch::Standings standings = {};      // of its tasks
    std::vector<std::string> failed = {};  // tasks that nothing was decided about yet
    std::optional<Report> earliest = {};   // of its tasks that failed, by its own clock
    std::optional<Report> refused = {};    // the first of its tasks that the others didn't take in
  };

  Result<void> check_room(const Joining& joining) const;
  Result<void> check_same(const Joining& joining) const;
  int count() const;
  std::optional<Clock::time_point> start_time() const;  // nullopt: too few have joined
  std::string missing(Clock::time_point now) const;
  launch::Standings standings() const;
  bool goes_on() const;
  int tasks() const;
  static std::string names_of_tasks(const std::vector<int>& ranks);
  void gather(Clock::time_point now);
  void start();
  void admit(LauncherId newcomer);
  Plan plan_to_join(const Launcher& launcher) const;
  void replace(const std::string& failure, Duration wait, int failures);
  void on_standing(Launcher& launcher, const Report& report, Clock::time_point now);
  void go_on_without(const std::string& loss, Clock::time_point now);
  void refuse(Launcher& launcher, const Report& failure);
  std::optional<int> code_alone(LauncherId id, const Launcher& launcher) const;
  void dismiss(Clock::time_point now);
  void look_for_enough(Clock::time_point now);
  void wait_for_others(Clock::time_point now);
  void give_up(Clock::time_point now);
  void say_missing(Clock::time_point now);
  void on_failure(LauncherId launcher, const Report& failure, Clock::time_point now);
  void on_stop(LauncherId launcher, const Report& stop, Clock::time_point now);
  bool may_leave(LauncherId launcher) const;
  void on_leave(LauncherId launcher, const Report& stop);
  void decide(Clock::time_point now);
  void halt(const std::string& line);
  void check_end(Clock::time_point now);
  void end(int code, int signal, const std::string& line);
  void send_all(const Command& command);

  AgreementOptions options_;
  launch::Restarts restarts_;
  Phase phase_ = Phase::kGathering;
  std::map<LauncherId, Launcher> launchers_;
  std::vector<std::pair<LauncherId, Command>> commands_;
  int generation_ = 0;               // of the next start, or change
  std::vector<std::string> places_;  // addresses of the present start's tasks, by rank
  int least_tasks_ = 0, most_tasks_ = 0;

  WaitReport gathering_;  // also while a running group is short
  Clock::time_point last_change_;
  std::optional<Clock::time_point> enough_since_;
  std::optional<Clock::time_point> not_before_;  // the next start after a failure
  bool has_changed_ = true;                      // somebody came or went since the last start

  std::optional<Report> cause_;
  launch::FailuresTogether failures_;  // that nothing was decided about yet
  LauncherId cause_at_ = 0;            // the launcher that reported it
  std::optional<Clock::time_point> decide_at_;
  std::optional<Clock::time_point> finish_at_;  // a member has ended well, and no other one is known
  std::optional<Clock::time_point> done_at_;  // the same, but others say that they are members: they are to end by then
  bool is_short_ = false;                     // fewer than enough are left of the running ones
  bool starts_again_ = false;                 // after kEnding
  bool has_expired_ = false;
  bool has_turned_away_ = false;
  bool is_cut_short_ = false;  // a signal came between a failure and the next start
  int asked_signal_ = 0;       // the first that asked for the end
  int stops_ = 0;
};

}  // namespace tfd::rendezvous
