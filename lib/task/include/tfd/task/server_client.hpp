#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The client of one parameter server; ParameterServers is that of all. Names of variables are those that the server
// has: "table/part_1" is a shard.
// Thread rule: thread-safe; callbacks run on the endpoint's I/O thread and must not block.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tfd/task/epoch.hpp"
#include "tfd/task/messages.hpp"
#include "tfd/task/task_client.hpp"
#include "tfd/variable/checkpoint_parts.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::task {

/// Bytes of a state that move in one message; a larger tensor moves alone.
inline constexpr std::uint64_t kStatePartBytes = std::uint64_t{64} << 20;

class ServerClient : public TaskClient {
 public:
  using TaskClient::TaskClient;

  /// Asks parameter server 0 for an epoch. kPermissionDenied: another coordinator, which the message names, has the
  /// cluster and answers.
  void claim(const Claim& claim, Deadline deadline, Callback<std::uint64_t> done);
  /// Moves the run of epoch `from` to `epoch`, with its variables and sequence numbers as they are; requests of `from`
  /// are refused from now on. kFailedPrecondition: the server has another run, or is loading one.
  void adopt(std::uint64_t from, std::uint64_t epoch, Deadline deadline, Callback<variable::SequenceHistory> done);

  /// Reads rows of tables: (name, indices). kOutOfRange, kInvalidArgument.
  void read_rows(const tensor::NamedTensors& rows, Deadline deadline, Callback<std::vector<tensor::Tensor>> done);
  /// Assigns rows of tables: (name, indices, values). All of it, or nothing. kOutOfRange, kInvalidArgument.
  void assign_rows(const std::vector<variable::Update>& rows, Deadline deadline, Callback<void> done);

  /// Applies all updates of one closure to this server, at once. Every client counts its own sequence; 0 is the
  /// coordinator and its workers. `is_alone`: all gradients of the closure are among these.
  void update(std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline,
              Callback<UpdateAnswer> done, std::uint64_t client = 0, bool is_alone = false);
  /// The same in two steps.
  transport::Message update_message(std::uint64_t sequence, std::vector<variable::Update> updates, std::uint64_t client,
                                    bool is_alone) const;
  void update(transport::Message message, Deadline deadline, Callback<UpdateAnswer> done);
  // Updates in two steps: exactly those of one attempt are applied, on all servers.
  /// The message that stages the updates of an attempt; it is sent by update(). Later reads of the same process wait
  /// until they are committed or aborted. They are dropped where the sequence number is over, or a later attempt is
  /// known.
  transport::Message stage_message(const variable::Attempt& attempt, std::vector<variable::Update> updates,
                                   bool is_alone) const;
  /// Applies what is staged of an attempt; it may be repeated. kDataLoss: nothing is, nor was it applied.
  void commit(const variable::Attempt& attempt, Deadline deadline, Callback<UpdateAnswer> done);
  /// Drops the staged updates of an attempt and of earlier ones, and later messages about them.
  void abort(const variable::Attempt& attempt, Deadline deadline, Callback<void> done);
  /// Drops everything that is staged, when another coordinator has taken the run.
  void abort_all(Deadline deadline, Callback<void> done);

  /// Finds the updates that are due for variables that share a norm with others; without names, for all of those.
  void find_due(const std::vector<std::string>& variables, Deadline deadline,
                Callback<std::vector<variable::DueUpdate>> done);
  /// Makes those of these updates that haven't been made since.
  void make_due(const std::vector<variable::DueUpdate>& updates, Deadline deadline, Callback<void> done);
  /// Fences a sequence number, of a closure that is canceled or was tried before: its updates are dropped from now on.
  void fence(std::uint64_t epoch, std::uint64_t sequence, Deadline deadline, Callback<void> done);
  /// Forgets the sequence numbers below `below`: none will be sent again, and late ones are dropped. `unused` of
  /// them have no updates.
  void settle(std::uint64_t epoch, std::uint64_t below, std::uint64_t unused, Deadline deadline, Callback<void> done);
  /// Replaces every variable by its average, at the end of a training: VariableStore::use_averages().
  void use_averages(Deadline deadline, Callback<void> done);

  /// Exports the state of one moment, however long it takes to get here: in parts of about `part_bytes`, two at a time.
  /// kAborted: the server gave the export up.
  void export_state(Deadline deadline, Callback<tensor::NamedTensors> done, std::uint64_t part_bytes = kStatePartBytes);
  /// Imports a state in such parts; all of it becomes the state at once, or nothing does. Errors of
  /// VariableStore::import_state(); kAborted: the server gave it up, or has another program by now.
  void import_state(const tensor::NamedTensors& state, Deadline deadline, Callback<void> done,
                    std::uint64_t part_bytes = kStatePartBytes);

  // The single requests of these two. A transfer ends with end_state(), with the connection, or after ten minutes
  // without a request.
  void begin_export(Deadline deadline, Callback<ExportedState> done);
  /// The same for write_part(): meanwhile rows of variables change where they lie.
  void begin_parts(Deadline deadline, Callback<ExportedState> done);
  /// Gets the values at these positions of ExportedState::entries.
  void export_part(std::uint64_t id, const std::vector<std::uint32_t>& positions, Deadline deadline,
                   Callback<std::vector<tensor::Tensor>> done);
  /// Asks for a probe. The errors of the system, with the path; kNotFound: the token is missing.
  void probe(const DirectoryProbe& probe, Deadline deadline, Callback<void> done);
  /// Has the server write these positions of an export to a file while updates go on, and ends the export. Answered
  /// once the file is on disk. kFailedPrecondition: no probe of this run has shown the directory; kAborted: there is no
  /// such export; kCancelled: end_state(), or the connection's end; the errors of the system, with the path.
  void write_part(std::uint64_t id, const std::vector<std::uint32_t>& positions, const PartPlace& place,
                  Deadline deadline, Callback<variable::CheckpointPart> done);
  /// Parts are written in time that nobody else wants, until this says that they are waited for.
  void hurry_parts(Deadline deadline, Callback<void> done);
  void begin_import(Deadline deadline, Callback<std::uint64_t> done);
  void import_part(std::uint64_t id, const tensor::NamedTensors& values, Deadline deadline, Callback<void> done);
  void commit_import(std::uint64_t id, Deadline deadline, Callback<void> done);
  void end_state(std::uint64_t id, Deadline deadline, Callback<void> done);
};

}  // namespace tfd::task
