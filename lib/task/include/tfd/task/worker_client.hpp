#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The client of a worker: what a coordinator asks of it.
// Thread rule: thread-safe; callbacks run on the endpoint's I/O thread and must not block.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/step/call.hpp"
#include "tfd/task/messages.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::task {

class WorkerClient : public TaskClient {
 public:
  using TaskClient::TaskClient;

  /// Sends the program as load_program() does. `on_replicas` is called early with the worker's number of replicas, one
  /// per device, since compiling takes longer. `orders` are for iterators that the worker creates from now on.
  void load_worker(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                   std::function<void(int replicas)> on_replicas, Callback<void> done, const WorkerOrders& orders = {});

  /// Makes an iterator, anew where the worker has one of this id; `shuffle_stream` as data::Order has it.
  void create_iterator(const std::string& id, const std::string& dataset, Deadline deadline, Callback<void> done,
                       std::uint64_t shuffle_stream = 0);
  void drop_iterator(const std::string& id, Deadline deadline, Callback<void> done);

  /// Runs a function. kOutOfRange: an iterator's data have ended. kUnavailable: this worker is gone, or the parameter
  /// server that Error::task names ("ps:1"). The function's own errors name the worker there.
  void run(const step::FunctionCall& call, Deadline deadline, Callback<ClosureOutcome> done);
  /// Drops queued calls whose sequence number is below `updates_below` (from kWithoutUpdates on: below `others_below`),
  /// and those that come later: each call is either run or answered as dropped.
  void drop_waiting(std::uint64_t epoch, std::uint64_t updates_below, std::uint64_t others_below, Deadline deadline,
                    Callback<void> done);
  /// Drops at most `count` queued calls (or commands of a session), the newest first, for other workers to run.
  void give_back(std::uint64_t epoch, std::uint64_t count, bool commands, Deadline deadline, Callback<void> done);
  /// Evaluates a part of one pass over the function's dataset (or its first `steps` elements): the elements with number
  /// index, index + count, …; variables are read once. `seed` is that of shuffles that state none, so that all parts
  /// with the same one are cut from one order. Idempotent: a lost part is run again elsewhere, on the same elements. A
  /// function without a dataset runs once, in part 0.
  void evaluate(const std::string& function, std::int64_t count, std::int64_t index, std::optional<std::int64_t> steps,
                std::uint64_t epoch, std::uint64_t seed, Deadline deadline, Callback<std::vector<step::Metric>> done);

  /// Opens a session of shell commands, or renews it; answered with the number of commands that the worker runs at a
  /// time. kPermissionDenied: the worker doesn't allow any.
  void open_session(const CommandSession& session, Deadline deadline, Callback<int> done);
  /// Runs a shell command. kCancelled: the worker has ended the session, or doesn't know it.
  void run_command(std::uint64_t epoch, const ShellCommand& command, Deadline deadline, Callback<CommandOutcome> done);
  /// Kills the session's commands, and answers when none is left.
  void end_session(std::uint64_t epoch, Deadline deadline, Callback<void> done);
};

}  // namespace tfd::task
