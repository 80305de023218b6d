#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Starting and watching child processes. A child doesn't inherit a descriptor above 2 unless told to, gets /dev/null
// as stdin unless told otherwise, has no signal blocked and SIGPIPE at its default, and dies with its parent
// (PR_SET_PDEATHSIG) however that dies.
// Thread rule: a Child lives on one thread; the thread that starts it must live as long as the child (PDEATHSIG is per
// thread).
//
//   Child child = TFD_TRY(Child::start({.argv = {"nvidia-smi", "-L"}, .environment = env, .stdout_fd =
//   pipe.write.get()})); const ExitStatus status = TFD_TRY(child.wait(Deadline::after(5s)));
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH of `environment`
  Environment environment;
  std::string directory = {};  // empty: the parent's
  int stdin_fd = -1;           // -1: /dev/null; 0 to share the parent's
  int stdout_fd = -1;          // -1: /dev/null; 1 to share the parent's
  int stderr_fd = 2;
  std::vector<std::pair<int, int>> keep = {};  // (parent's descriptor, number in the child, 3 or more)
  bool shares_descriptors = false;             // also all others above 2 that aren't closed on exec, as with exec()
  bool new_group = true;                       // a process group of its own (so that Ctrl-C reaches only the parent)
  int death_signal = 9;                        // sent when the parent dies; 0: none
  int announce_fd = -1;                        // told its number, a pid_t, before the program runs; -pid: it won't run
  std::string program = {};                    // path to execute, if argv[0] is only a name
};

struct ExitStatus {
  int code = 0;          // 0..255, or 128 + signal
  int signal = 0;        // 0: it exited by itself
  bool is_known = true;  // false: unknown, for instance because other code reaped it; the code is 71 then
  bool is_oom = false;   // killed by the kernel, for want of memory, as OomKills has found out
  static constexpr ExitStatus unknown() { return {71, 0, false}; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

class Child {
 public:
  /// kNotFound (exit 127 for the caller) and kPermissionDenied (126) when the program can't be run, kInvalidArgument
  /// when argv is empty or a descriptor of `keep` isn't open, kSystem otherwise. Returns once the program is running.
  static Result<Child> start(const ChildOptions& options);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();  // SIGKILL and reap, if it still runs

  pid_t pid() const { return pid_; }
  int end_fd() const { return ended_.get(); }  // readable once it has ended: for poll()
  bool running() const { return pid_ > 0 && !status_; }
  void signal(int number) const;  // harmless after the end
  /// nullopt while it runs; reaps at the first call after the end.
  std::optional<ExitStatus> poll();
  /// kDeadlineExceeded when it still runs.
  Result<ExitStatus> wait(Deadline deadline);

 private:
  Child() = default;
  void end();
  pid_t pid_ = -1;
  Fd ended_;
  std::optional<ExitStatus> status_;
};

/// Exit code that a shell would report for an Error of Child::start: 127 not found, 126 not runnable, else 71.
int exit_code_of_start_error(const Error& error);

/// "died of signal 9 (killed)", "died of signal 9 (killed: out of memory)", "exited with 3", "ended, and its exit code
/// is lost".
std::string describe(const ExitStatus& status);

}  // namespace tfd::process
