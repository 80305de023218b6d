#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Faults on purpose, to see what a program makes of them: "kill worker:1 after 5s", "kill worker:1 at step 412".
// Thread rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::launch {

struct Fault {
  int signal = 0;  // SIGKILL, SIGSTOP, SIGCONT or SIGTERM, for the task's process group
  cluster::TaskId task;
  Duration after{};  // the start of the group
  /// The step that it is done after, instead. The task does it to itself, the first time that it runs.
  std::optional<std::int64_t> step = {};
};

/// "kill|stop|cont|term JOB:I after DUR", "kill|stop|term JOB:I at step N". kInvalidArgument says what is wrong with
/// which word.
Result<Fault> parse_fault(std::string_view text);

/// The text of TFD_FAULT for a task with a fault at a step: "kill worker:1 at step 412".
std::string format_fault(const Fault& fault);

}  // namespace tfd::launch
