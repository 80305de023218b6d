// SPDX-License-Identifier: Apache-2.0
#include "command_messages.hpp"

#include "tfd/transport/message_body.hpp"

namespace tfd::task {

using transport::make_message;
using transport::Message;
using transport::read_message;

namespace {

constexpr Duration kMostTimeout = std::chrono::hours(100 * 365 * 24);  // later than any real time

}  // namespace

template <class Io>
void fields(Io& io, CommandSession& session) {
  io.epoch(session.epoch);
  io(session.generation, session.slots, session.directory);
}

template <class Io>
void fields(Io& io, RunCommand& run) {
  io.epoch(run.epoch);
  io(run.command.text, run.command.number, run.command.timeout);
  io.require(run.command.timeout >= Duration::zero() && run.command.timeout <= kMostTimeout);
}

template <class Io>
void fields(Io& io, CommandOutcome& outcome) {
  io(outcome.code, outcome.signal, outcome.timed_out, outcome.overflowed, outcome.started_us, outcome.duration_us);
  io(outcome.host, outcome.task, outcome.output, outcome.errors);
  if constexpr (Io::kReads) io.require(transport::is_bytes(outcome.output) && transport::is_bytes(outcome.errors));
}

bool is_command_kind(std::uint16_t kind) {
  return kind >= static_cast<std::uint16_t>(CommandKind::kSession) &&
         kind <= static_cast<std::uint16_t>(CommandKind::kGiveBack);
}

Message encode(const CommandSession& session) { return make_message(CommandKind::kSession, session); }

Result<CommandSession> decode_session(const Message& message) {
  return read_message<CommandSession>(message, CommandKind::kSession, "command session");
}

Message encode_slots(int slots) { return make_message(CommandKind::kSession, slots); }

Result<int> decode_slots(const Message& message) {
  return read_message<int>(message, CommandKind::kSession, "command slots");
}

Message encode(const RunCommand& run) { return make_message(CommandKind::kRun, run); }

Result<RunCommand> decode_run_command(const Message& message) {
  return read_message<RunCommand>(message, CommandKind::kRun, "run command");
}

Message encode(const CommandOutcome& outcome) {
  return outcome.given_back ? encode_given_back() : make_message(CommandKind::kRun, outcome);
}

Result<CommandOutcome> decode_command_outcome(const Message& message) {
  if (message.kind != static_cast<std::uint16_t>(CommandKind::kGiveBack))
    return read_message<CommandOutcome>(message, CommandKind::kRun, "command outcome");
  CommandOutcome out;
  out.given_back = true;
  return out;
}

Message encode_give_back(std::uint64_t epoch, std::uint64_t count) {
  return make_message(CommandKind::kGiveBack, count, epoch);
}

Result<std::pair<std::uint64_t, std::uint64_t>> decode_give_back_commands(const Message& message) {
  const auto count = TFD_TRY(read_message<std::uint64_t>(message, CommandKind::kGiveBack, "give back"));
  return std::pair(message.epoch, count);
}

Message encode_given_back() { return transport::empty_message(CommandKind::kGiveBack); }

Message encode_end(std::uint64_t epoch) { return transport::empty_message(CommandKind::kEnd, epoch); }

Result<std::uint64_t> decode_end(const Message& message) {
  TFD_TRY(transport::BodyReader(message, CommandKind::kEnd).end("command end"));
  return message.epoch;
}

}  // namespace tfd::task
