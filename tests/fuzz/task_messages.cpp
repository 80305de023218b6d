// SPDX-License-Identifier: Apache-2.0
//
// The messages of tasks: requests and answers of every kind, and commands.
#include <array>
#include <string>

#include "checks.hpp"
#include "command_messages.hpp"
#include "protocol.hpp"
#include "state_messages.hpp"
#include "targets.hpp"

namespace tfd::fuzz {
namespace {

using runtime::CommandKind;
using runtime::Kind;
using runtime::StateKind;
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
  return {static_cast<std::uint16_t>(kind),
          [](const Message& message) { check(message, decode, [](const auto& value) { return encode(value); }); }};
}

constexpr std::array kCodecs{
    codec<runtime::decode_program>(Kind::kBringProgram),
    codec<runtime::decode_create_iterator>(Kind::kCreateIterator),
    codec<runtime::decode_call>(Kind::kRun),
    codec<runtime::decode_outcome>(Kind::kRun),
    codec<runtime::decode_outcome>(Kind::kDrop),
    codec<runtime::decode_evaluate>(Kind::kEvaluate),
    codec<runtime::decode_drop>(Kind::kDrop),
    codec<runtime::decode_give_back>(Kind::kGiveBack),
    codec<runtime::decode_settle>(Kind::kSettle),
    codec<runtime::decode_update>(Kind::kUpdate),
    codec<runtime::decode_adopt>(Kind::kAdopt),
    Codec{static_cast<std::uint16_t>(Kind::kAdopt),
          [](const Message& message) { check(message, runtime::decode_history, runtime::encode_history); }},
    codec<runtime::decode_status>(Kind::kStatus),
    Codec{static_cast<std::uint16_t>(Kind::kLoadProgram),
          [](const Message& message) {
            check(message, runtime::decode_load,
                  [&](const auto& orders) { return runtime::encode_load(message.epoch, orders); });
          }},
    Codec{static_cast<std::uint16_t>(Kind::kRead),
          [](const Message& message) {
            check(message, runtime::decode_names,
                  [&](const auto& names) { return runtime::encode_names(Kind::kRead, names, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(Kind::kAssign),
          [](const Message& message) {
            check(message, runtime::decode_named,
                  [&](const auto& named) { return runtime::encode_named(Kind::kAssign, named, message.epoch); });
          }},
    codec<runtime::decode_session>(CommandKind::kSession),
    codec<runtime::decode_run_command>(CommandKind::kRun),
    codec<runtime::decode_command_outcome>(CommandKind::kRun),
    codec<runtime::decode_command_outcome>(CommandKind::kGiveBack),
    Codec{static_cast<std::uint16_t>(CommandKind::kSession),
          [](const Message& message) { check(message, runtime::decode_slots, runtime::encode_slots); }},
    Codec{static_cast<std::uint16_t>(CommandKind::kGiveBack),
          [](const Message& message) {
            check(message, runtime::decode_give_back_commands,
                  [](const auto& both) { return runtime::encode_give_back(both.first, both.second); });
          }},
    Codec{static_cast<std::uint16_t>(CommandKind::kEnd),
          [](const Message& message) { check(message, runtime::decode_end, runtime::encode_end); }},
    codec<runtime::decode_exported_state>(StateKind::kBeginExport),
    Codec{static_cast<std::uint16_t>(StateKind::kExportPart),
          [](const Message& message) {
            check(message, runtime::decode_export_part,
                  [&](const auto& part) { return runtime::encode(part, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(StateKind::kImportPart),
          [](const Message& message) {
            check(message, runtime::decode_import_part,
                  [&](const auto& part) { return runtime::encode(part, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(StateKind::kEndState),
          [](const Message& message) {
            check(message, runtime::decode_state_id,
                  [&](std::uint64_t id) { return runtime::encode_state_id(StateKind::kEndState, id, message.epoch); });
          }},
    Codec{static_cast<std::uint16_t>(Kind::kCoordinate),
          [](const Message& message) {
            check(message, runtime::decode_coordination,
                  [&](const auto& request) { return runtime::encode(request, message.epoch); });
          }},
    codec<runtime::decode_coordination_answer>(Kind::kCoordinate),
    codec<runtime::decode_update_answer>(Kind::kUpdate),
    Codec{static_cast<std::uint16_t>(Kind::kDue),
          [](const Message& message) {
            check(message, runtime::decode_due,
                  [&](const auto& due) { return runtime::encode_due(Kind::kDue, due, message.epoch); });
          }},
};

}  // namespace

/// Which message, its epoch, how many tensors; of each its size, at most 255, and its bytes; the rest is metadata.
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
