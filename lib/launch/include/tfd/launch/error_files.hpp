#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Files by which tasks talk to their launcher. A JSON file per failed task: the first failure and its cause are in
// one place. A task may write its own before it ends (TFD_ERROR_FILE, TORCHELASTIC_ERROR_FILE): a "message" and perhaps
// a "time" and its "code", or the JSON of torch's @record. The launcher adds its own knowledge. And a file for each
// task that survives the others' deaths (TFD_MEMBER_FILE). Thread rule: plain values; functions touch the disk.
#include <cstdint>
#include <optional>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/launch/member_file.hpp"
#include "tfd/process/child.hpp"

namespace tfd::launch {

/// {"task", "code", "message", "host", "pid", "signal", "time", "step"}: signal 0: it exited; time in seconds since
/// 1970; step only where the task states one, here or in its TFD_MEMBER_FILE.
struct TaskError {
  std::string task;
  int code = 0;
  std::string message;
  std::string host;
  int pid = 0;
  int signal = 0;
  double time = 0;
  std::optional<std::string> step = {};  // as it was written
  std::optional<int> stated_code = {};   // what the task itself wrote as its "code"
};

class ErrorFiles {
 public:
  /// Files in `directory`, which is made. Where it is empty: in a temporary one under TMPDIR, which is removed at the
  /// end.
  static Result<ErrorFiles> make(const std::string& directory, const Environment& env);
  ErrorFiles(ErrorFiles&& other) noexcept;
  ErrorFiles& operator=(ErrorFiles&&) = delete;
  ~ErrorFiles();

  /// Somebody will read them.
  bool are_kept() const { return !is_temporary_; }
  /// Where they are.
  const std::string& directory() const { return directory_; }
  /// DIR/worker-1.json.
  std::string path_of(const cluster::TaskId& task) const;
  /// DIR/worker-1.member, which is there while the task runs.
  std::string member_path_of(const cluster::TaskId& task) const;
  MemberState member_state_of(const cluster::TaskId& task) const { return load_member_state(member_path_of(task)); }
  void clear_standing(const cluster::TaskId& task) const;
  /// Removes an earlier file of the task.
  void clear(const cluster::TaskId& task) const;
  /// The task's own file, with `own` for every missing part; `own` alone if there is nothing to read.
  TaskError complete(const cluster::TaskId& task, TaskError own) const;
  /// Replaces the task's file. Errors of save_file().
  Result<void> save(const cluster::TaskId& task, const TaskError& error) const;

 private:
  ErrorFiles(std::string directory, bool is_temporary)
      : directory_(std::move(directory)), is_temporary_(is_temporary) {}
  std::string directory_;
  bool is_temporary_;
};

/// "worker-1": the name of a task's files.
std::string file_name_of(const cluster::TaskId& task);
/// "exited with 7", "was killed by SIGKILL", "was killed by SIGKILL, out of memory".
std::string describe_end(const process::ExitStatus& status);
/// "SIGTERM"; "signal 40" for one without a name.
std::string signal_name(int number);

}  // namespace tfd::launch
