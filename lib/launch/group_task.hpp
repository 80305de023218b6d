#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A task of a TaskGroup. Private to the room. Thread rule: the group's.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "tfd/base/exit_code.hpp"
#include "tfd/launch/task_group.hpp"

namespace tfd::launch {

inline constexpr int kOthersLoss = number_of(ExitCode::kUnavailable);  // how members end because another one is lost

struct TaskGroup::Task {
  explicit Task(Member given) : member(std::move(given)), name(cluster::format_task(member.id)) {}
  bool is_left() const { return child || group != 0; }

  Member member;
  std::string name;
  std::optional<process::Child> child;
  pid_t group = 0;                        // after the child's end: its process group, if others of it are waited for
  bool has_failed = false;                // its last start
  bool is_refused = false;                // the same, as a TaskFailure has it
  bool is_final = false;                  // the same
  bool is_elastic = false;                // it said so in an earlier start, or others take it in
  process::EventLoop::TimerId again = 0;  // of its next start alone
  int pid = 0;                            // of the last start
  int starts = 0;
};

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tfd::launch
