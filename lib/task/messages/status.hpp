#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A task's report about its process, independent of its role. Private to the room. Thread rule: pure functions.
#include "tfd/base/deadline.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::task {

/// Task, host, process, memory, and for how long it has been there.
TaskStatus status_of_process(cluster::TaskId task, Clock::time_point started);

}  // namespace tfd::task
