#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The life of a tfd-serve that supervises: start the tasks, announce the cluster, run the command if there is one, and
// end with the reader of stdout, the command, a signal, or the last task's goodbye. Never blocks on its own output.
// Thread rule: main thread; the process has no other.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/board.hpp"
#include "task_logs.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/launch/supervisor.hpp"
#include "tfd/process/relay.hpp"
#include "tfd/process/signals.hpp"

namespace tfd::serve {

// Announces that all tasks are ready: the spec as one line, in a file, on a descriptor, and to the service
// manager.

struct Announcement {
  cluster::ClusterConfig config;  // with the real ports
  std::string key_file = {};      // stated in the spec, if not empty
  std::string data_root = {};     // likewise
  std::string output_file;        // empty: none
  int ready_fd = -1;              // closed after that
  bool with_process_id = false;   // includes the supervisor's pid, by which a background one can be stopped
};

/// One line with a newline. "key_file", "data_root" and "supervisor": {"pid": N} are added to the spec's other keys, if
/// requested.
Result<std::string> spec_line(const Announcement& announcement);
/// Announces everywhere but on stdout.
Result<void> announce(const Announcement& announcement, const std::string& line, const Environment& env);

struct SessionOptions {
  Announcement announcement;
  bool print_spec = true;        // on stdout
  bool ends_with_reader = true;  // ends when stdout's reader goes, if it has one
  bool once = false;
  TaskLogs logs = {};
  Duration ready_timeout{};
  Duration grace{};
  Duration drain{};  // time that it keeps serving after the first SIGTERM or SIGINT, at most until the goodbye
  std::vector<std::string> command = {};
  Environment command_environment = {};
  std::string task_program = {};
  Environment task_environment = {};
  std::function<void()> on_announced = {};
  std::shared_ptr<http::Board> board = {};  // of --http, with its page; null: none
};

/// Result of a session: an exit code, or a signal to end by, so that our parent sees it.
struct Ending {
  int code = 0;
  int signal = 0;
};

class Session {
 public:
  Session(SessionOptions options, cli::Io& io);
  /// Runs the session to its end.
  Result<Ending> run(std::vector<launch::TaskCommand> tasks);

 private:
  void on_ready();
  Result<void> announce_cluster();
  Result<void> start_command();
  void on_signal(const process::SignalInfo& signal);
  bool holds_back(int signal);
  bool drains(int signal);
  void stop(Ending ending);
  void stop_with(Error error);
  void watch_stdout();
  void watch_stderr();
  void keep(const std::string& task, std::string_view line);  // in the task's log
  void say(const std::string& line);
  bool is_over() const;
  void reap_orphans() const;

  SessionOptions options_;
  cli::Io& io_;
  process::EventLoop loop_;
  process::QueuedOutput out_;
  process::QueuedOutput err_;
  std::optional<process::SignalSource> signals_;
  std::unique_ptr<launch::Supervisor> supervisor_;
  std::optional<process::Child> command_;
  std::optional<Error> error_;
  Ending ending_;
  bool announced_ = false;
  bool stopping_ = false;
  bool held_back_ = false;
  bool draining_ = false;
};

}  // namespace tfd::serve
