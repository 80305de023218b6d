#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A closure as the coordinator keeps it, and how it is made of a caller's call. Private to the room. Thread rule:
// thread-compatible; the coordinator's lock guards those that are in its table.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "remote_value.hpp"
#include "tfd/coordinator/closure_queue.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

/// A scheduled function until its value is set.
struct Closure {
  ClosureId id = 0;
  step::FunctionCall call;
  bool updates = false;                               // it needs a sequence number that parameter servers track
  bool sequenced = false;                             // it has one
  std::shared_ptr<RemoteValue::Shared> value;         // shared with the caller's RemoteValue
  std::vector<std::shared_ptr<const void>> datasets;  // its arguments, shared with the caller's PerWorkerDatasets
  std::function<void(const RemoteValue&)> on_done;
  std::optional<task::ShellCommand> command = {};
  std::function<void(const std::string&, const std::string&)> on_moved = {};
  std::string label = {};
  std::uint64_t bytes = 0;                // of its arguments
  std::uint64_t turn = 0;                 // order in which closures were sent to its worker
  std::vector<std::string> died_of = {};  // workers that died after starting it
  bool runs_alone = false;  // a worker died that may have started it or another one: see Dispatcher::lose()
};

using ClosurePtr = std::shared_ptr<Closure>;  // shared with the table, while it is being sent without the lock
using ClosurePtrs = std::vector<ClosurePtr>;

/// Makes a closure of a call that check_call() accepts. It gets an id and a value when it is queued.
ClosurePtr make_closure(const program::Program& program, std::uint64_t epoch, Call call);

}  // namespace tfd::coordinator
