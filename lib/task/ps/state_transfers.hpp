#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Transfers of states from and to a parameter server, in parts, and from there to disk. An export is a snapshot from
// when it began, which shares the variables' buffers until these are updated. An import is buffered until it is
// complete. Both end with the connection that began them, or after a long time without requests. Thread rule: lives on
// the endpoint's I/O thread.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "messages/state_messages.hpp"
#include "part_writer.hpp"
#include "tfd/base/deadline.hpp"
#include "variable_queues.hpp"

namespace tfd::task {

class StateTransfers {
 public:
  using Served = std::shared_ptr<VariableQueues>;
  /// Handles a message of a StateKind, about the variables that are served now.
  void handle(const Served& served, const transport::Caller& caller, const transport::Message& request,
              transport::Responder responder);
  void caller_gone(std::uint64_t connection);
  /// Written states must have finite values of these variables, by the names that they have here.
  void expect_finite(PartWriter::Names names) { finite_ = std::move(names); }
  /// Ends transfers without a request since then; true if others are left.
  bool drop_unused(Clock::time_point since);
  bool empty() const { return exports_.empty() && imports_.empty(); }
  /// Ends what is being written. Not on the I/O thread.
  void stop() { writer_.stop(); }

 private:
  static constexpr std::size_t kMostExports = 4;  // each may keep a copy of the state alive
  static constexpr std::size_t kMostImports = 2;

  /// Filled by the executor, then read on the I/O thread.
  struct Snapshot {
    std::vector<variable::VariableState> variables;
    tensor::NamedTensors values;
    std::atomic<bool> is_complete{false};
  };
  struct Export {
    std::uint64_t connection = 0;
    Clock::time_point used;
    std::shared_ptr<Snapshot> snapshot;  // shared with the request that fills it
  };
  struct Import {
    std::uint64_t connection = 0;
    Clock::time_point used;
    Served served;  // its future owner
    tensor::NamedTensors values;
    std::uint64_t bytes = 0;
  };

  void begin_export(const Served& served, std::uint64_t connection, bool is_for_parts, transport::Responder responder);
  Result<transport::Message> export_part(std::uint64_t connection, const transport::Message& request);
  void write_part(std::uint64_t connection, const transport::Message& request, transport::Responder responder);
  void probe(std::uint64_t connection, const transport::Message& request, transport::Responder responder);
  Result<transport::Message> begin_import(const Served& served, std::uint64_t connection);
  Result<transport::Message> import_part(std::uint64_t connection, const transport::Message& request);
  void commit_import(const Served& served, std::uint64_t connection, const transport::Message& request,
                     transport::Responder responder);
  Result<transport::Message> end_state(std::uint64_t connection, const transport::Message& request);

  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Export> exports_;
  std::map<std::uint64_t, Import> imports_;
  PartWriter::Names finite_;
  PartWriter writer_;
};

}  // namespace tfd::task
