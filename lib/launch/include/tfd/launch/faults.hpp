#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Faults on purpose, to see what a program makes of them: "kill worker:1 after 5s". Thread rule: plain values.
#include <string_view>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::launch {

struct Fault {
  int signal = 0;  // SIGKILL, SIGSTOP, SIGCONT or SIGTERM, for the task's process group
  cluster::TaskId task;
  Duration after{};  // the start of the group
};

/// "kill|stop|cont|term JOB:I after DUR". kInvalidArgument says what is wrong with which word.
Result<Fault> parse_fault(std::string_view text);

}  // namespace tfd::launch
