#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file by which a task tells its launcher which step it makes, and whether it goes on when others die
// (TFD_MEMBER_FILE): "joining", and once it is of a group "member STEP", and "done" after its last step; "step STEP" of
// one that doesn't. Thread rule: a MemberFile is used by one thread; functions touch the disk.
#include <cstdint>
#include <optional>
#include <string>

#include "tfd/process/fd.hpp"

namespace tfd::launch {

/// A task's statement about itself.
enum class Standing : std::uint8_t {
  kAlone,    // nothing, or its step: it ends if another task does, or is to be ended
  kJoining,  // it goes on when others die, and isn't of a group yet
  kMember,   // it is of a group
};

struct MemberState {
  Standing standing = Standing::kAlone;
  std::optional<std::int64_t> step = {};  // that it makes, if it states one
  bool is_done = false;                   // a member whose group has made its last step
};

/// The content of the file; kAlone if it doesn't exist.
MemberState load_member_state(const std::string& path);

/// The task's side. A file that can't be written leaves the task alone: the launcher starts all again.
class MemberFile {
 public:
  /// `goes_on`: when others die.
  explicit MemberFile(std::string path, bool goes_on = true) : path_(std::move(path)), goes_on_(goes_on) {}
  /// No step: it joins; else it is a member, and makes this step next.
  void say(std::optional<std::int64_t> step);
  /// A member makes this step now: doesn't wake the file's watcher, and costs one system call.
  void note_step(std::int64_t step);
  /// The group has made its last step.
  void say_done();

 private:
  std::string text_of(std::int64_t step) const;

  const std::string path_;
  const bool goes_on_;
  process::Fd file_;  // what say() wrote, of a member
};

}  // namespace tfd::launch
