// SPDX-License-Identifier: Apache-2.0
//
// The messages of tasks: requests and answers of every kind, and commands.
#include <array>
#include <string>

#include "checks.hpp"
#include "messages/command_messages.hpp"
#include "messages/protocol.hpp"
#include "messages/state_messages.hpp"
#include "targets.hpp"

namespace tfd::fuzz {
namespace {

using task::CommandKind;
using task::Kind;
using task::StateKind;
using tensor::Tensor;
using transport::Message;

bool is_same(const Message& a, const Message& b) {
  if (a.kind != b.kind || a.epoch != b.epoch || a.meta != b.meta || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i)
    if (!same_bytes(a.tensors[i], b.tensors[i])) return false;
  return true;
}

template <class Decode, class Encode>
void check(const Message& message, const Decode& decode, const Encode& encode) {
  const auto value = decode(message);
  if (!value) return expect_readable(value.error());
  const Message once = encode(*value);
  const auto again = decode(once);
  expect(again.has_value(), "what was read can be read again");
  expect(is_same(once, encode(*again)), "and is the same");
}

struct Codec {
  std::uint16_t kind;
  void (*check)(const Message& message);
};

template <auto decode, class Kinds>
constexpr Codec codec(Kinds kind) {
  return {static_cast<std::uint16_t>(kind), [](const Message& message) {
            check(message, decode, [](const auto& value) { return task::encode(value); });
          }};
}

constexpr std::array kCodecs{
    codec<task::decode_program>(Kind::kBringProgram),
    codec<task::decode_create_iterator>(Kind::kCreateIterator),
    codec<task::decode_call>(Kind::kRun),
    codec<task::decode_outcome>(Kind::kRun),
    codec<task::decode_outcome>(Kind::kDrop),
    codec<task::decode_evaluate>(Kind::kEvaluate),
    codec<task::decode_drop>(Kind::kDrop),
    codec<task::decode_give_back>(Kind::kGiveBack),
    codec<task::decode_settle>(Kind::kSettle),
    codec<task::decode_update>(Kind::kUpdate),
    codec<task::decode_adopt>(Kind::kAdopt),
    Codec{static_cast<std::uint16_t>(Kind::kAdopt),
          [](const Message& message) { check(message, task::decode_history, task::encode_history); }},
    codec<task::decode_status>(Kind::kStatus),
    Codec{static_cast<std::uint16_t>(Kind::kLoadProgram),
          [](const Message& message) {
            check(message, task::decode_load,
                  [&](const auto& orders) { return task::encode_load(message.epoch, orders); });
          }},
    Codec{static_cast<std::uint16_t>(Kind::kRead),
          [](const Message& message) {
            check(message, task::decode_names,
                  [&](const auto& names) { return task::encode_names(Kind::kRead, names, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(Kind::kAssign),
          [](const Message& message) {
            check(message, task::decode_named,
                  [&](const auto& named) { return task::encode_named(Kind::kAssign, named, message.epoch); });
          }},
    codec<task::decode_session>(CommandKind::kSession),
    codec<task::decode_run_command>(CommandKind::kRun),
    codec<task::decode_command_outcome>(CommandKind::kRun),
    codec<task::decode_command_outcome>(CommandKind::kGiveBack),
    Codec{static_cast<std::uint16_t>(CommandKind::kSession),
          [](const Message& message) { check(message, task::decode_slots, task::encode_slots); }},
    Codec{static_cast<std::uint16_t>(CommandKind::kGiveBack),
          [](const Message& message) {
            check(message, task::decode_give_back_commands,
                  [](const auto& both) { return task::encode_give_back(both.first, both.second); });
          }},
    Codec{static_cast<std::uint16_t>(CommandKind::kEnd),
          [](const Message& message) { check(message, task::decode_end, task::encode_end); }},
    codec<task::decode_exported_state>(StateKind::kBeginExport),
    Codec{static_cast<std::uint16_t>(StateKind::kExportPart),
          [](const Message& message) {
            check(message, task::decode_export_part,
                  [&](const auto& part) { return task::encode(part, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(StateKind::kImportPart),
          [](const Message& message) {
            check(message, task::decode_import_part,
                  [&](const auto& part) { return task::encode(part, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(StateKind::kEndState),
          [](const Message& message) {
            check(message, task::decode_state_id,
                  [&](std::uint64_t id) { return task::encode_state_id(StateKind::kEndState, id, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(Kind::kCoordinate),
          [](const Message& message) {
            check(message, task::decode_coordination,
                  [&](const auto& request) { return task::encode(request, message.epoch); });
          }},
    codec<task::decode_coordination_answer>(Kind::kCoordinate),
    codec<task::decode_update_answer>(Kind::kUpdate),
    Codec{static_cast<std::uint16_t>(Kind::kDue),
          [](const Message& message) {
            check(message, task::decode_due,
                  [&](const auto& due) { return task::encode_due(Kind::kDue, due, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(StateKind::kProbe),
          [](const Message& message) {
            check(message, task::decode_probe, [&](const auto& probe) { return task::encode(probe, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(StateKind::kWritePart),
          [](const Message& message) {
            check(message, task::decode_write_part,
                  [&](const auto& part) { return task::encode(part, message.epoch); });
          }},
    codec<task::decode_written_part>(StateKind::kWritePart),
    codec<task::decode_commit>(Kind::kCommit),
    codec<task::decode_abort>(Kind::kAbort),
    codec<task::decode_outcome>(Kind::kStage),
    Codec{static_cast<std::uint16_t>(Kind::kStage),
          [](const Message& message) {
            check(message, task::decode_update, [](const auto& update) { return task::encode(update, Kind::kStage); });
          }},
};

}  // namespace

/// Input: kind of message, epoch, number of tensors; for each its size, at most 255, and its bytes; the rest is
/// metadata.
void task_messages(std::string_view bytes) {
  const auto take = [&bytes](std::size_t size) {
    const std::string_view out = bytes.substr(0, size);
    bytes.remove_prefix(out.size());
    return out;
  };
  const auto number = [&take] {
    const std::string_view byte = take(1);
    return byte.empty() ? std::size_t{0} : static_cast<std::size_t>(static_cast<unsigned char>(byte.front()));
  };
  const Codec& codec = kCodecs[number() % kCodecs.size()];
  Message message;
  message.kind = codec.kind;
  message.epoch = number();
  for (std::size_t left = number() % 8; left > 0; --left) {
    const std::string_view content = take(number());
    Tensor tensor = Tensor::uninitialized(tensor::DType::kU8, {static_cast<std::int64_t>(content.size())});
    std::copy(content.begin(), content.end(), tensor.mutable_as<char>());
    message.tensors.push_back(std::move(tensor));
  }
  message.meta = bytes;
  codec.check(message);
}

}  // namespace tfd::fuzz
