// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/status.hpp"

#include <unistd.h>

#include "protocol.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/memory.hpp"
#include "wire_format.hpp"

namespace tfd::task {

using transport::Message;

namespace {

MembershipStatus take_membership(Reader& in) {
  MembershipStatus out;
  out.step = in.number<std::int64_t>();
  out.generation = in.number<std::uint64_t>();
  out.first_replica = in.number<int>();
  out.own_replicas = in.number<int>();
  out.replicas = in.number<int>();
  for (std::size_t left = in.count(kLeastText + sizeof(std::int64_t)); left > 0; --left) {
    std::string name = in.text();
    out.late.emplace_back(std::move(name), in.number<std::int64_t>());
  }
  return out;
}

}  // namespace

TaskStatus status_of_process(cluster::TaskId task, Clock::time_point started) {
  TaskStatus out;
  out.task = std::move(task);
  out.uptime_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started).count();
  out.host = host_name();
  out.pid = ::getpid();
  out.memory_bytes = resident_bytes();
  return out;
}

bool is_status_request(const Message& message) { return message.kind == static_cast<std::uint16_t>(Kind::kStatus); }

Message status_request() { return encode_empty(Kind::kStatus); }

Message encode(const TaskStatus& status) {
  Writer out;
  out.put(status.task.job);
  out.put(status.task.index);
  out.put(status.incarnation);
  out.put(status.uptime_ms);
  out.put(status.closures_done);
  out.put(status.closures_waiting);
  out.put(status.variables);
  out.put(status.variable_bytes);
  out.put(status.epoch);
  out.put(status.host);
  out.put(status.pid);
  out.put(status.memory_bytes);
  out.put(status.doing);
  out.put(status.doing_ms);
  out.put(status.waits_for);
  put_names(out, status.devices);
  out.put(status.program);
  out.put(status.replicas);
  out.put(status.is_abandoned);
  out.put(status.idle_ms);
  out.put(status.training);
  out.put(status.training_age_ms);
  out.put(status.log);
  out.put(status.group.has_value());
  if (!status.group) return make_message(Kind::kStatus, out);
  out.put(status.group->step);
  out.put(status.group->generation);
  out.put(status.group->first_replica);
  out.put(status.group->own_replicas);
  out.put(status.group->replicas);
  out.count(status.group->late.size());
  for (const auto& [name, late] : status.group->late) {
    out.put(name);
    out.put(late);
  }
  return make_message(Kind::kStatus, out);
}

Result<TaskStatus> decode_status(const Message& message) {
  Reader in(message, Kind::kStatus);
  TaskStatus out;
  out.task.job = in.text();
  out.task.index = in.number<int>();
  out.incarnation = in.number<transport::Incarnation>();
  out.uptime_ms = in.number<std::int64_t>();
  out.closures_done = in.number<std::uint64_t>();
  out.closures_waiting = in.number<std::uint64_t>();
  out.variables = in.number<std::uint64_t>();
  out.variable_bytes = in.number<std::uint64_t>();
  out.epoch = in.number<std::uint64_t>();
  out.host = in.text();
  out.pid = in.number<std::int64_t>();
  out.memory_bytes = in.number<std::uint64_t>();
  out.doing = in.text();
  out.doing_ms = in.number<std::int64_t>();
  out.waits_for = in.text();
  out.devices = take_names(in);
  out.program = in.text();
  out.replicas = in.number<int>();
  out.is_abandoned = in.flag();
  out.idle_ms = in.number<std::int64_t>();
  out.training = in.text();
  out.training_age_ms = in.number<std::int64_t>();
  out.log = in.text();
  if (in.flag()) out.group = take_membership(in);
  TFD_TRY(in.end("status"));
  return out;
}

}  // namespace tfd::task
