#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The life of a tfd-launch: start the tasks, pass on output and signals, and end as they do. With launchers of other
// hosts it does what they agree on. Thread rule: main thread; only a rendezvous has others.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "remote.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/launch/faults.hpp"
#include "tfd/launch/members.hpp"
#include "tfd/launch/task_group.hpp"
#include "tfd/process/signals.hpp"
#include "tfd/rendezvous/rendezvous.hpp"

namespace tfd::tool_launch {

/// Where launchers of other hosts take part.
struct JointOptions {
  rendezvous::RendezvousOptions rendezvous;  // without its callbacks but `bring`
  int tasks = 1;                             // of this host
  std::function<Result<std::vector<launch::Member>>(const rendezvous::Plan&)> members = {};
};

struct SessionOptions {
  launch::TaskGroupOptions group;
  bool prefixed = true;
  std::string error_directory = {};
  std::optional<Duration> timeout = {};
  std::vector<launch::Fault> faults = {};
  std::optional<JointOptions> joint = {};
  RemoteInput* remote = nullptr;  // with it: signals come from there, too, and it never ends by one
};

/// Runs the tasks to their end; those of `joint`, if there are others, once all have met. Ends this process by the
/// signal that ended them, if it was sent to us.
Result<int> run_session(SessionOptions options, launch::Members members, cli::Io& io);

}  // namespace tfd::tool_launch
