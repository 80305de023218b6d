// SPDX-License-Identifier: Apache-2.0
#include "command_messages.hpp"

#include "cbor.hpp"

namespace tfd::runtime {
namespace {

using nlohmann::json;
using transport::Message;

/// Command lines are bytes, not UTF-8: CBOR's byte strings.
json bytes_of(const std::string& text) { return json::binary({text.begin(), text.end()}); }

std::string text_of(const json& bytes) {
  const auto& binary = bytes.get_binary();
  return {binary.begin(), binary.end()};
}

}  // namespace

bool is_command_kind(std::uint16_t kind) {
  return kind >= static_cast<std::uint16_t>(CommandKind::kSession) &&
         kind <= static_cast<std::uint16_t>(CommandKind::kGiveBack);
}

Message encode(const CommandSession& session) {
  return make_message(CommandKind::kSession,
                      {session.epoch, session.generation, session.slots, bytes_of(session.directory)});
}

Result<CommandSession> decode_session(const Message& message) {
  return decode<CommandSession>(message, "command session", [](const json& meta) -> Result<CommandSession> {
    return CommandSession{meta.at(0).get<std::uint64_t>(), meta.at(1).get<std::uint64_t>(), meta.at(2).get<int>(),
                          text_of(meta.at(3))};
  });
}

Message encode_slots(int slots) { return make_message(CommandKind::kSession, json::array({slots})); }

Result<int> decode_slots(const Message& message) {
  return decode<int>(message, "command slots", [](const json& meta) -> Result<int> { return meta.at(0).get<int>(); });
}

Message encode(const RunCommand& run) {
  return make_message(CommandKind::kRun,
                      {run.epoch, bytes_of(run.command.text), run.command.number, run.command.timeout.count()});
}

Result<RunCommand> decode_run_command(const Message& message) {
  return decode<RunCommand>(message, "run command", [](const json& meta) -> Result<RunCommand> {
    return RunCommand{meta.at(0).get<std::uint64_t>(),
                      {text_of(meta.at(1)), meta.at(2).get<std::uint64_t>(), Duration(meta.at(3).get<std::int64_t>())}};
  });
}

Message encode(const CommandOutcome& outcome) {
  Message message =
      make_message(CommandKind::kRun, {outcome.code, outcome.signal, outcome.timed_out, outcome.overflowed,
                                       outcome.started_us, outcome.duration_us, outcome.host, outcome.task});
  message.tensors = {outcome.output, outcome.errors};
  return message;
}

Result<CommandOutcome> decode_command_outcome(const Message& message) {
  if (message.kind == static_cast<std::uint16_t>(CommandKind::kGiveBack)) {
    CommandOutcome given_back;
    given_back.given_back = true;
    return given_back;
  }
  return decode<CommandOutcome>(message, "command outcome", [&](const json& meta) -> Result<CommandOutcome> {
    if (message.tensors.size() != 2) return fail(Code::kInvalidArgument, "malformed command outcome message");
    CommandOutcome out;
    meta.at(0).get_to(out.code);
    meta.at(1).get_to(out.signal);
    meta.at(2).get_to(out.timed_out);
    meta.at(3).get_to(out.overflowed);
    meta.at(4).get_to(out.started_us);
    meta.at(5).get_to(out.duration_us);
    meta.at(6).get_to(out.host);
    meta.at(7).get_to(out.task);
    out.output = message.tensors[0];
    out.errors = message.tensors[1];
    return out;
  });
}

Message encode_give_back(std::uint64_t epoch, std::uint64_t count) {
  return make_message(CommandKind::kGiveBack, {epoch, count});
}

Result<std::pair<std::uint64_t, std::uint64_t>> decode_give_back_commands(const Message& message) {
  return decode<std::pair<std::uint64_t, std::uint64_t>>(
      message, "give back", [](const json& meta) -> Result<std::pair<std::uint64_t, std::uint64_t>> {
        return std::pair{meta.at(0).get<std::uint64_t>(), meta.at(1).get<std::uint64_t>()};
      });
}

Message encode_given_back() { return make_message(CommandKind::kGiveBack, json::array()); }

Message encode_end(std::uint64_t epoch) { return make_message(CommandKind::kEnd, json::array({epoch})); }

Result<std::uint64_t> decode_end(const Message& message) {
  return decode<std::uint64_t>(message, "command end", [](const json& meta) -> Result<std::uint64_t> {
    return meta.at(0).get<std::uint64_t>();
  });
}

}  // namespace tfd::runtime
