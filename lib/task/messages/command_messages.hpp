#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The messages of sessions and shell commands: kinds beside those of protocol.hpp, bodies as
// tfd/transport/message_body.hpp writes them. Private to the room. Thread rule: pure functions.
#include "tfd/task/messages.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

enum class CommandKind : std::uint16_t {
  kSession = 64,  // opens or renews a session; answered with its slots
  kRun = 65,
  kEnd = 66,       // kills running commands and forgets the session; answered when none runs
  kGiveBack = 67,  // returns some waiting commands; also the answer to those
};
bool is_command_kind(std::uint16_t kind);

struct RunCommand {
  std::uint64_t epoch = 0;
  ShellCommand command;
};

transport::Message encode(const CommandSession& session);
Result<CommandSession> decode_session(const transport::Message& message);
transport::Message encode_slots(int slots);
Result<int> decode_slots(const transport::Message& message);
transport::Message encode(const RunCommand& run);
Result<RunCommand> decode_run_command(const transport::Message& message);
transport::Message encode(const CommandOutcome& outcome);
Result<CommandOutcome> decode_command_outcome(const transport::Message& message);
transport::Message encode_give_back(std::uint64_t epoch, std::uint64_t count);
Result<std::pair<std::uint64_t, std::uint64_t>> decode_give_back_commands(const transport::Message& message);
/// The answer to a command that was given back.
transport::Message encode_given_back();
transport::Message encode_end(std::uint64_t epoch);
Result<std::uint64_t> decode_end(const transport::Message& message);

}  // namespace tfd::task
