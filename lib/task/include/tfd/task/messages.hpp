#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The requests of clients to workers and parameter servers, and the answers, where they are more than a tensor or a
// name. Thread rule: plain values.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/step/call.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

// ---- of workers

/// Settings of one worker: of the program's own datasets, and of updates.
struct WorkerOrders {
  std::uint64_t shuffle_stream = 0;  // data::Order's, for datasets that are this worker's own
  /// Seed of shuffles that state none: one for all workers where the data are sharded dynamically
  /// ("distribute": "dynamic"); for each of the worker's own datasets otherwise, where it isn't 0.
  std::uint64_t data_seed = 0;
  /// The steps whose elements the worker skips, where a training continues.
  std::int64_t steps_taken = 0;
  /// Whether updates are only staged, for the coordinator to commit: ClosureOutcome::staged_on.
  bool stages = false;
};

// Shell commands are the closures of tfd-exec. A session sets their owner, their working directory and their number at
// a time on a worker. It must be renewed; when its owner is gone, its commands are killed.

struct CommandSession {
  std::uint64_t epoch = 0;       // identifies the owner: unique to a coordinator
  std::uint64_t generation = 0;  // a higher one than the worker has seen kills the session's running commands
  int slots = 0;                 // commands at a time; 0: the worker's share of its host's processors
  std::string directory;         // working directory; must exist on the worker
};

/// Lease of a session: its commands are killed if it isn't renewed by then.
inline constexpr Duration kCommandLease = std::chrono::seconds(15);

struct ShellCommand {
  std::string text;          // for /bin/sh -c
  std::uint64_t number = 0;  // the command's number, from 1: TFD_SEQ
  Duration timeout{};        // zero: none
};

/// Outcome of a command. `code` is as a shell reports it: 128 + signal; 126 and 127 if it couldn't be started.
struct CommandOutcome {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  bool overflowed = false;      // it was killed because it printed too much
  std::int64_t started_us = 0;  // microseconds since 1970
  std::int64_t duration_us = 0;
  std::string host;         // where
  tensor::Tensor output;    // u8: all of its stdout
  tensor::Tensor errors;    // u8: all of its stderr
  std::string task;         // "worker:1"
  bool given_back = false;  // returned by give_back() before it started; other fields are unset
};

/// Sequence numbers from here on are those of calls without updates. Parameter servers don't track them, whose history
/// requires dense numbers.
inline constexpr std::uint64_t kWithoutUpdates = std::uint64_t{1} << 63;

/// A worker answers calls that updated variables in handfuls of this size, while others wait there: it holds fewer
/// answers than calls that wait, and sends them once kAnswerHeld has gone by and it does its I/O.
inline constexpr std::size_t kAnswersTogether = 32;
inline constexpr Duration kAnswerHeld = std::chrono::milliseconds(4);

/// A worker's answer to a call.
struct ClosureOutcome : step::CallOutcome {
  Duration ran = {};  // on the worker, with what it read; not with an update that was on its way
  std::shared_ptr<const CommandOutcome> command = {};  // a shell command's, which has nothing else; immutable
  /// Where WorkerOrders::stages was set, the parameter servers (positions) that have its updates staged; each is to be
  /// told to commit them. The results have then only those `returns` that are the worker's own variables.
  std::vector<std::uint32_t> staged_on = {};
  /// Then how many staged closures of this worker, since it loaded the program, come before it: in that order they are
  /// to be committed. An answer may be overtaken by later ones.
  std::uint64_t staged_after = 0;
  bool dropped = false;  // dropped by drop_waiting() or give_back() before it started; other fields are unset
};

// ---- of parameter servers

/// A parameter server's answer to the updates of a closure.
struct UpdateAnswer {
  bool is_new = false;   // applied; false: this sequence number had been
  bool is_busy = false;  // not applied: a due update must be made first (make_due()); not staged: send it again now
  bool is_due = false;   // an update of one of its variables is due
};

/// One entry of VariableStore::export_state(), without its value.
struct StateEntry {
  std::string name;
  tensor::TensorSpec spec;
};
struct ExportedState {
  std::uint64_t id = 0;  // identifies the export on its connection
  std::vector<StateEntry> entries;
};
/// Asks whether a server sees a directory: it finds the file "token" with this text in the directory `name` there, and
/// leaves a file beside it.
struct DirectoryProbe {
  std::string directory;  // absolute
  std::string name;       // variable::UnfinishedCheckpoint
  std::string token;
  std::uint32_t part = 0;  // the file that it leaves is probe_answer_name(part)
};
inline constexpr std::string_view kProbeToken = "token";  // name of its file
inline std::string probe_answer_name(std::uint32_t part) { return fmt::format("seen-by-{}", part); }

/// The file of a checkpoint in parts that a server writes: part 1 of 2 of the unfinished checkpoint `name` in a
/// directory that a probe has shown.
struct PartPlace {
  std::string directory;
  std::string name;
  std::uint32_t part = 0, parts = 0;
};

// ---- Size limit of tasks' messages. States are transferred in parts and closures ask only for what they need, but a
// tensor is never split: one of 20 GB must fit into a message.

/// Raises the limit to half of this machine's memory, if that is more than the transport's default: a value that is
/// being replaced exists twice for a moment.
void allow_large_messages(transport::EndpointOptions& options);

}  // namespace tfd::task
