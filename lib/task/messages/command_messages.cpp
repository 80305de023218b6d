// SPDX-License-Identifier: Apache-2.0
#include "command_messages.hpp"

#include "wire_format.hpp"

namespace tfd::task {
namespace {

using transport::Message;

constexpr Duration kMostTimeout = std::chrono::hours(100 * 365 * 24);  // later than any real time

}  // namespace

bool is_command_kind(std::uint16_t kind) {
  return kind >= static_cast<std::uint16_t>(CommandKind::kSession) &&
         kind <= static_cast<std::uint16_t>(CommandKind::kGiveBack);
}

Message encode(const CommandSession& session) {
  Writer out;
  out.put(session.generation);
  out.put(session.slots);
  out.put(session.directory);
  return make_message(CommandKind::kSession, out, {}, session.epoch);
}

Result<CommandSession> decode_session(const Message& message) {
  Reader in(message, CommandKind::kSession);
  CommandSession out;
  out.epoch = message.epoch;
  out.generation = in.number<std::uint64_t>();
  out.slots = in.number<int>();
  out.directory = in.text();
  TFD_TRY(in.end("command session"));
  return out;
}

Message encode_slots(int slots) {
  Writer out;
  out.put(slots);
  return make_message(CommandKind::kSession, out);
}

Result<int> decode_slots(const Message& message) {
  Reader in(message, CommandKind::kSession);
  const int slots = in.number<int>();
  TFD_TRY(in.end("command slots"));
  return slots;
}

Message encode(const RunCommand& run) {
  Writer out;
  out.put(run.command.text);
  out.put(run.command.number);
  out.put(std::int64_t{run.command.timeout.count()});
  return make_message(CommandKind::kRun, out, {}, run.epoch);
}

Result<RunCommand> decode_run_command(const Message& message) {
  Reader in(message, CommandKind::kRun);
  RunCommand out;
  out.epoch = message.epoch;
  out.command.text = in.text();
  out.command.number = in.number<std::uint64_t>();
  out.command.timeout = Duration(in.number<std::int64_t>());
  in.require(out.command.timeout >= Duration::zero() && out.command.timeout <= kMostTimeout);
  TFD_TRY(in.end("run command"));
  return out;
}

Message encode(const CommandOutcome& outcome) {
  if (outcome.given_back) return encode_given_back();
  Writer out;
  out.put(outcome.code);
  out.put(outcome.signal);
  out.put(outcome.timed_out);
  out.put(outcome.overflowed);
  out.put(outcome.started_us);
  out.put(outcome.duration_us);
  out.put(outcome.host);
  out.put(outcome.task);
  return make_message(CommandKind::kRun, out, {outcome.output, outcome.errors});
}

Result<CommandOutcome> decode_command_outcome(const Message& message) {
  CommandOutcome out;
  if (message.kind == static_cast<std::uint16_t>(CommandKind::kGiveBack)) {
    out.given_back = true;
    return out;
  }
  Reader in(message, CommandKind::kRun);
  out.code = in.number<int>();
  out.signal = in.number<int>();
  out.timed_out = in.flag();
  out.overflowed = in.flag();
  out.started_us = in.number<std::int64_t>();
  out.duration_us = in.number<std::int64_t>();
  out.host = in.text();
  out.task = in.text();
  out.output = in.tensor();
  out.errors = in.tensor();
  in.require(is_bytes(out.output) && is_bytes(out.errors));
  TFD_TRY(in.end("command outcome"));
  return out;
}

Message encode_give_back(std::uint64_t epoch, std::uint64_t count) {
  Writer out;
  out.put(count);
  return make_message(CommandKind::kGiveBack, out, {}, epoch);
}

Result<std::pair<std::uint64_t, std::uint64_t>> decode_give_back_commands(const Message& message) {
  Reader in(message, CommandKind::kGiveBack);
  const std::pair out{message.epoch, in.number<std::uint64_t>()};
  TFD_TRY(in.end("give back"));
  return out;
}

Message encode_given_back() { return make_message(CommandKind::kGiveBack, Writer()); }

Message encode_end(std::uint64_t epoch) { return make_message(CommandKind::kEnd, Writer(), {}, epoch); }

Result<std::uint64_t> decode_end(const Message& message) {
  TFD_TRY(Reader(message, CommandKind::kEnd).end("command end"));
  return message.epoch;
}

}  // namespace tfd::task
