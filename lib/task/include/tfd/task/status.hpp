#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The status of a task, which it tells anybody at once, however busy it is. Thread rule: plain values, pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

/// A task's part in a group that makes steps together.
struct MembershipStatus {
  std::int64_t step = 0;
  std::uint64_t generation = 0;
  int first_replica = 0, own_replicas = 0, replicas = 0;  // its own, and the training's
  /// How long each other member was waited for in a step while only it was missing, in microseconds: the median of the
  /// last steps, as this member saw it.
  std::vector<std::pair<std::string, std::int64_t>> late = {};
};

struct TaskStatus {
  cluster::TaskId task;
  transport::Incarnation incarnation = 0;
  std::int64_t uptime_ms = 0;
  std::uint64_t closures_done = 0;
  std::uint64_t closures_waiting = 0;
  std::uint64_t variables = 0;
  std::uint64_t variable_bytes = 0;
  std::uint64_t epoch = 0;  // of the loaded program; 0: none is loaded
  std::string host = {};
  std::int64_t pid = 0;
  std::uint64_t memory_bytes = 0;         // resident
  std::string doing = {};                 // the function that it runs, "(the program)" while it loads one, or nothing
  std::int64_t doing_ms = 0;              // how long it has been doing so
  std::string waits_for = {};             // "ps:1", "closures", "a coordinator"; empty while it computes
  std::vector<std::string> devices = {};  // a worker's, once it has loaded its plug-in
  std::string program = {};               // path of the loaded program
  int replicas = 1;                       // number that a worker runs
  std::int64_t idle_ms = 0;               // time time since it last worked on its program; 0 while it does
  bool is_abandoned = false;              // it works for a coordinator that is gone, or fenced
  std::optional<MembershipStatus> group = {};
  std::string training = {};         // where the run's training is, as one JSON object, where this task has been told
  std::int64_t training_age_ms = 0;  // how long ago it was told
  std::string log = {};              // path, on its host, of the file with what it has written; empty: none
};

/// The status of this process, apart from its role: task, host, process, memory, uptime.
TaskStatus status_of_process(cluster::TaskId task, Clock::time_point started);

// The messages. Tasks answer these to each other; everybody else uses TaskClient::status().
bool is_status_request(const transport::Message& message);
transport::Message status_request();
/// The answer.
transport::Message encode(const TaskStatus& status);
/// kInvalidArgument: malformed.
Result<TaskStatus> decode_status(const transport::Message& message);

}  // namespace tfd::task
