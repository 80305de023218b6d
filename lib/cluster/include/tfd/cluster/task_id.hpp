#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Identifies a task of a cluster: a job's name and an index. Thread rule: plain values.
#include <compare>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::cluster {

struct TaskId {
  std::string job;
  int index = 0;
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

/// "worker:1".
std::string format_task(const TaskId& task);
/// JOB:INDEX; kInvalidArgument says what is missing.
Result<TaskId> parse_task(std::string_view text);

}  // namespace tfd::cluster
