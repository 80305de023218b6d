#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One run of tfd-exec: arguments become commands, commands become closures of a ClusterCoordinator, their output is
// printed unmixed, in the order of the arguments or of completion. Thread rule: main thread; the coordinator's
// callbacks only queue events.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "halt.hpp"
#include "joblog.hpp"
#include "template.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/process/event_loop.hpp"
#include "tfd/process/signals.hpp"

namespace tfd::exec {

struct SessionOptions {
  bool keep_order = true;
  bool tag = false;
  std::int64_t tries = 1;
  Halt halt;
  Duration timeout{};  // of one command; zero: none
};

struct Summary {
  std::uint64_t done = 0;  // commands finished in this run, counting each one's last attempt
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;  // finished by earlier runs, according to the joblog
  std::uint64_t stopped = 0;  // scheduled, but not waited for
  bool halted = false;
  int signal = 0;         // the signal that ended it; SIGPIPE: the reader of the output is gone
  bool is_stuck = false;  // the signal came while the output was blocked
  std::string first_failure;
};

class Session {
 public:
  Session(const Template& command, SessionOptions options, cli::Io& io, process::SignalSource& signals)
      : command_(command), options_(options), io_(io), signals_(signals) {}
  void set_joblog(JobLog log) { joblog_ = std::move(log); }
  /// Sets the commands to skip, by number, if they are unchanged.
  void set_done(std::map<std::uint64_t, Done> done) { before_ = std::move(done); }

  /// Runs until all commands have ended, or the run is stopped: those still running then end with the coordinator.
  Result<Summary> run(coordinator::ClusterCoordinator& coordinator, Arguments& arguments);

 private:
  struct Job {
    std::string tag;
    std::string command;
    std::int64_t tries = 0;
    bool is_given_up = false;                     // it kills its workers: not retried
    double scheduled = 0;                         // seconds since 1970
    std::optional<task::CommandOutcome> outcome;  // buffered until its turn
  };
  struct Event {
    std::uint64_t number = 0;
    std::optional<coordinator::RemoteValue> value;  // absent: its worker was lost
    std::string task;
  };

  bool has_room() const;
  Result<void> schedule_more(coordinator::ClusterCoordinator& coordinator, Arguments& arguments);
  Result<void> schedule(coordinator::ClusterCoordinator& coordinator, std::uint64_t number);
  Result<bool> is_done_before(std::uint64_t number, const std::string& command);
  Result<void> take_events(coordinator::ClusterCoordinator& coordinator);
  Result<void> on_outcome(coordinator::ClusterCoordinator& coordinator, std::uint64_t number,
                          task::CommandOutcome outcome);
  Result<void> log_moved(std::uint64_t number, const std::string& task);
  Result<void> log_outcome(std::uint64_t number, const Job& job, const task::CommandOutcome& outcome);
  Result<void> print_ready();
  Result<void> print(const Job& job);
  Result<void> write(cli::Output& out, const tensor::Tensor& text, const std::string& tag);
  Result<void> write(cli::Output& out, std::string_view text);
  bool take_signal();
  Result<void> wait(const Arguments& arguments);

  const Template& command_;
  const SessionOptions options_;
  cli::Io& io_;
  process::SignalSource& signals_;
  std::optional<JobLog> joblog_;
  std::map<std::uint64_t, Done> before_;
  const std::shared_ptr<process::EventLoop> loop_ =  // shared with the coordinator's callbacks, which may be late
      std::make_shared<process::EventLoop>();
  std::vector<Event> events_;
  std::map<std::uint64_t, Job> jobs_;  // not printed yet
  std::uint64_t next_number_ = 1;
  std::size_t running_ = 0;
  std::size_t held_bytes_ = 0;
  Summary summary_;
  bool ends_now_ = false;
};

}  // namespace tfd::exec
