// SPDX-License-Identifier: Apache-2.0
//
// The bytes of every message between tasks, as they have been since protocol version 5: a change needs another version.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "messages/command_messages.hpp"
#include "messages/protocol.hpp"
#include "messages/state_messages.hpp"
#include "tfd/base/sha256.hpp"

using namespace tfd;
using namespace tfd::task;
using tensor::DType;
using tensor::Tensor;

namespace {

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

/// Kind, epoch, metadata, then each tensor.
std::string format(const transport::Message& message) {
  std::string out = fmt::format("{} {} {}", message.kind, message.epoch, hex_of(message.meta));
  for (const Tensor& one : message.tensors)
    out += fmt::format(" {}:{}", format_spec(one.spec()),
                       hex_of({reinterpret_cast<const char*>(one.data()), one.byte_size()}));
  return out;
}

Tensor scalar(float value) { return Tensor::scalar(DType::kF32, value); }
Tensor text(std::string_view bytes) {
  Tensor out = Tensor::uninitialized(DType::kU8, {static_cast<std::int64_t>(bytes.size())});
  std::copy(bytes.begin(), bytes.end(), out.mutable_as<char>());
  return out;
}

std::vector<transport::Message> program_messages() {
  LoadProgram load{.epoch = 2, .path = "p.json", .directory = "/d", .document = "{}", .files = {{"f.mlir", "module"}}};
  load.placement.ps = {{"ps:0", "h:1"}, {"ps:1", "h:2"}};
  load.placement.placed.emplace("v",
                                variable::PlacedVariable{"v", variable::Sharding::make({4, 2}, 2).value(), {1, 0}});
  return {encode(load), encode_load(3, {.shuffle_stream = 1, .data_seed = 2, .steps_taken = 3, .stages = true})};
}

std::vector<transport::Message> call_messages() {
  step::FunctionCall call{.epoch = 3, .sequence = 1, .attempt = 2, .function = "f"};
  call.args = {scalar(1), step::IteratorRef{"it"}, step::VariableRef{"v"}};
  call.kwargs = {{"k", scalar(2)}, {"l", step::IteratorRef{"i2"}}};
  call.step = -7;
  call.replicas = program::Replicas::kSplit;
  call.most_elements = 5;
  call.closure = 9;
  ClosureOutcome outcome;
  outcome.ran = std::chrono::nanoseconds(1234567890123);
  outcome.results = {scalar(3), scalar(4)};
  outcome.metrics = {
      {"loss", program::Reduce::kSum, program::Part::kNumerator, 0.5, 4},
      {"auc", program::Reduce::kMean, program::Part::kFalseNegatives, 1, 2, program::Formula::kPrAuc, {5, 6}}};
  ClosureOutcome staged = outcome, dropped;
  staged.staged_on = {0, 7};
  staged.staged_after = 11;
  dropped.dropped = true;
  return {encode(call),
          encode(step::FunctionCall{.epoch = 4, .function = "g"}),
          encode(outcome),
          encode(staged),
          encode(dropped),
          encode(ClosureOutcome()),
          encode(CreateIterator{"it", "train", 5, 6}),
          encode(Evaluate{"eval", 3, 2, 10, 7, 8}),
          encode(Evaluate{.function = "eval", .epoch = 7}),
          encode(DropWaiting{1, 2, 3}),
          encode(GiveBack{1, 2})};
}

std::vector<transport::Message> update_messages() {
  UpdateRequest request{.epoch = 3,
                        .sequence = 1,
                        .updates = {{variable::UpdateKind::kGradient, "w", scalar(1)},
                                    {variable::UpdateKind::kAddRows, "t", scalar(2), scalar(3)},
                                    {variable::UpdateKind::kNonfiniteScale, "s", scalar(4)}},
                        .client = 12,
                        .is_alone = true,
                        .attempt = 4};
  return {encode(request),
          encode(request, Kind::kStage),
          encode(UpdateRequest{.epoch = 3, .sequence = 1, .is_fence = true}, Kind::kAssignRows),
          encode(Settle{1, 2, 3}),
          encode(Commit{3, {1, 4}}),
          encode(Abort{3, {1, 4}, true}),
          encode(UpdateAnswer{.is_new = true, .is_due = true}),
          encode_due(Kind::kDue, {{"w/part_1", "w", true, 7, 0.1}, {"b", "", false, 8, 169}}, 3),
          encode(Adopt{1, 2}),
          encode_history({.settled = 3,
                          .unused = 1,
                          .low = 5,
                          .above = {7, 9},
                          .fenced = {4, 9},
                          .committed = {{1, 4}, {2, 0}},
                          .staged = {{3, 1}}})};
}

std::vector<transport::Message> coordination_messages() {
  return {encode(CoordinationRequest{GetKey{"k", 4}, 10}, 1),
          encode(CoordinationRequest{PutKey{"k", "value", {}}, 10}, 1),
          encode(CoordinationRequest{AddCounters{{{"a", -1}, {"b", 2}}}, 0}, 1),
          encode(CoordinationRequest{JoinGroup{"g", "m"}, 0}, 1),
          encode(CoordinationRequest{LeaveGroup{"g", "m"}, 0}, 1),
          encode(CoordinationRequest{ReadGroup{"g", {}}, 5}, 1),
          encode(CoordinationRequest{TakeNumbers{"q", 7, "worker:1", 100, 4, 2, true}, 5}, 1),
          encode(CoordinationAnswer{KeyState{"value", 3}}),
          encode(CoordinationAnswer{CounterValues{{-1, 2}}}),
          encode(CoordinationAnswer{GroupState{3, {{"m", {}}, {"n", MemberState::kGone}}}}),
          encode(CoordinationAnswer{NumbersState{5, 6, 7, true, {"worker:0", "worker:2"}}})};
}

std::vector<transport::Message> status_messages() {
  TaskStatus status;
  status.task = {"worker", 3};
  status.incarnation = 17;
  status.uptime_ms = 1;
  status.closures_done = 2;
  status.closures_waiting = 3;
  status.variables = 4;
  status.variable_bytes = 5;
  status.epoch = 6;
  status.host = "h";
  status.pid = 7;
  status.memory_bytes = 8;
  status.doing = "train";
  status.doing_ms = 9;
  status.waits_for = "ps:1";
  status.devices = {"cpu:0", "cpu:1"};
  status.program = "p.json";
  status.replicas = 2;
  status.idle_ms = 10;
  status.is_abandoned = true;
  status.training = "{}";
  status.training_age_ms = 11;
  status.log = "/log";
  TaskStatus member = status;
  member.group = MembershipStatus{1, 2, 3, 4, 5, {{"worker:1", 6}}};
  return {encode(status), encode(member)};
}

std::vector<transport::Message> state_messages() {
  return {encode_state(StateKind::kBeginExport, 2),
          encode_state_id(StateKind::kEndState, 7, 2),
          encode(ExportedState{5, {{"w", {DType::kBF16, {2, 3}}}, {"n", {DType::kS64, {}}}}}),
          encode(ExportPart{5, {0, 2}}, 3),
          encode(ImportPart{5, {{"w", scalar(1)}, {"n", scalar(2)}}}, 3),
          encode(DirectoryProbe{"/d", "name", "token", 1}, 3),
          encode(WritePart{5, {1, 2}, {"/d", "name", 1, 2}}, 3),
          encode(variable::CheckpointPart{100, 200})};
}

std::vector<transport::Message> other_messages() {
  CommandOutcome outcome{1, 9, true, false, 100, 200, "h", text("out"), text(""), "worker:1"};
  CommandOutcome given_back;
  given_back.given_back = true;
  return {encode(CommandSession{1, 2, 3, "/d"}),
          encode_slots(4),
          encode(RunCommand{1, {"echo", 2, std::chrono::seconds(3)}}),
          encode(outcome),
          encode(given_back),
          encode_give_back(1, 2),
          encode_end(3),
          encode(Claim{"h", 1, true, false, 2}),
          encode_epoch(9),
          encode_names(Kind::kRead, {"a", "bc"}, 2),
          encode_named(Kind::kAssign, {{"w", scalar(1)}}, 2),
          encode_empty(Kind::kShutdown, 2),
          encode_flag(Kind::kDue, true)};
}

/// Names that don't fit into the metadata.
std::string digest_of_large_names() {
  std::vector<std::string> names;
  for (int i = 0; i < 70000; ++i) names.push_back(fmt::format("layer/{}", i));
  const auto message = encode_names(Kind::kRead, names, 7);
  Sha256 sum;
  sum.add(format(message));
  return hex_of({reinterpret_cast<const char*>(sum.digest().data()), 8});
}

void check(const std::vector<transport::Message>& messages, const std::vector<std::string>& bytes) {
  REQUIRE(messages.size() == bytes.size());
  for (std::size_t i = 0; i < messages.size(); ++i) CHECK(format(messages[i]) == bytes[i]);
}

}  // namespace

TEST_CASE("message bytes: programs") {
  check(
      program_messages(),
      {
          "19 2 0006000000702e6a736f6e020000002f640100000006000000662e6d6c6972 u8[2]:7b7d u8[75]:020000000400000070733a"
          "3003000000683a310400000070733a3103000000683a3201000000010000007602000000040000000000000002000000000000000200"
          "00000100000000000000 u8[6]:6d6f64756c65",
          "1 3 0001000000000000000200000000000000030000000000000001",
      });
}

TEST_CASE("message bytes: calls and outcomes") {
  check(
      call_messages(),
      {
          "4 3 000100000000000000020000000100000066f9ffffffffffffff0300000000010200000069740201000000760200000001000000"
          "6b00010000006c010200000069320201090000000000000005000000 f32[]:0000803f f32[]:00000040",
          "4 4 00000000000000000000000000010000006700000000000000000000000000000000000000000000",
          "4 0 00cb04fb711f01000002000000040000006c6f73730101000000000000e03f000000000000104000000000000300000061756300"
          "06000000000000f03f0000000000000040050200000000000000000014400000000000001840 f32[]:00004040 f32[]:00008040",
          "27 0 00cb04fb711f01000002000000040000006c6f73730101000000000000e03f00000000000010400000000000030000006175630"
          "006000000000000f03f00000000000000400502000000000000000000144000000000000018400200000000000000070000000b00000"
          "000000000 f32[]:00004040 f32[]:00008040",
          "15 0 ",
          "4 0 00000000000000000000000000",
          "2 6 0002000000697405000000747261696e0500000000000000",
          "5 7 00040000006576616c03000000000000000200000000000000010a000000000000000800000000000000",
          "5 7 00040000006576616c01000000000000000000000000000000000000000000000000",
          "15 1 0002000000000000000300000000000000",
          "18 1 000200000000000000",
      });
}

TEST_CASE("message bytes: updates") {
  check(
      update_messages(),
      {
          "7 3 0001000000000000000c00000000000000000103000000000100000077060100000074090100000073 f32[]:0000803f f32[]:"
          "00000040 f32[]:00004040 f32[]:00008040",
          "27 3 0001000000000000000c0000000000000000010400000003000000000100000077060100000074090100000073 f32[]:000080"
          "3f f32[]:00000040 f32[]:00004040 f32[]:00008040",
          "17 3 0001000000000000000000000000000000010000000000",
          "16 1 0002000000000000000300000000000000",
          "28 3 00010000000000000004000000",
          "29 3 0001000000000000000400000001",
          "7 0 00010001",
          "23 3 000200000008000000772f706172745f3101000000770107000000000000009a9999999999b93f0100000062000000000008000"
          "000000000000000000000206540",
          "22 1 000200000000000000",
          "22 0 0003000000000000000100000000000000050000000000000002000000070000000000000009000000000000000200000004000"
          "000000000000900000000000000020000000100000000000000040000000200000000000000000000000100000003000000000000000"
          "1000000",
      });
}

TEST_CASE("message bytes: coordination") {
  check(
      coordination_messages(),
      {
          "21 1 000a00000000010000006b010400000000000000",
          "21 1 000a00000001010000006b0500000076616c756500",
          "21 1 000000000002020000000100000061ffffffffffffffff01000000620200000000000000",
          "21 1 0000000000030100000067010000006d",
          "21 1 0000000000040100000067010000006d",
          "21 1 000500000005010000006700",
          "21 1 0005000000070100000071070000000000000008000000776f726b65723a31016400000000000000040000000200000001",
          "21 0 00000500000076616c75650300000000000000",
          "21 0 000102000000ffffffffffffffff0200000000000000",
          "21 0 0002030000000000000002000000010000006d00010000006e02",
          "21 0 00040500000000000000060000000700000000000000010200000008000000776f726b65723a3008000000776f726b65723a32",
      });
}

TEST_CASE("message bytes: status") {
  check(
      status_messages(),
      {
          "11 0 0006000000776f726b6572030000001100000000000000010000000000000002000000000000000300000000000000040000000"
          "00000000500000000000000060000000000000001000000680700000000000000080000000000000005000000747261696e090000000"
          "00000000400000070733a3102000000050000006370753a30050000006370753a3106000000702e6a736f6e02000000010a000000000"
          "00000020000007b7d0b00000000000000040000002f6c6f6700",
          "11 0 0006000000776f726b6572030000001100000000000000010000000000000002000000000000000300000000000000040000000"
          "00000000500000000000000060000000000000001000000680700000000000000080000000000000005000000747261696e090000000"
          "00000000400000070733a3102000000050000006370753a30050000006370753a3106000000702e6a736f6e02000000010a000000000"
          "00000020000007b7d0b00000000000000040000002f6c6f6701010000000000000002000000000000000300000004000000050000000"
          "100000008000000776f726b65723a310600000000000000",
      });
}

TEST_CASE("message bytes: states") {
  check(state_messages(),
        {
            "30 2 ",
            "32 2 000700000000000000",
            "30 0 0005000000000000000200000001000000770a0202000000000000000300000000000000010000006e0400",
            "31 3 000500000000000000020000000000000002000000",
            "34 3 000500000000000000020000000100000077010000006e f32[]:0000803f f32[]:00000040",
            "36 3 00020000002f64040000006e616d6505000000746f6b656e01000000",
            "37 3 000500000000000000020000002f64040000006e616d650100000002000000020000000100000002000000",
            "37 0 006400000000000000c800000000000000",
        });
}

TEST_CASE("message bytes: commands, claims and names") {
  check(
      other_messages(),
      {
          "64 1 00020000000000000003000000020000002f64",
          "64 0 0004000000",
          "65 1 00040000006563686f0200000000000000005ed0b200000000",
          "65 0 00010000000900000001006400000000000000c800000000000000010000006808000000776f726b65723a31 u8[3]:6f7574 u"
          "8[0]:",
          "67 0 ",
          "67 1 000200000000000000",
          "66 3 ",
          "20 0 000100000068010000000000000001000200000000000000",
          "20 0 000900000000000000",
          "6 2 00020000000100000061020000006263",
          "8 2 00010000000100000077 f32[]:0000803f",
          "12 2 ",
          "23 0 0001",
      });
}

TEST_CASE("message bytes: a large body is a tensor") { CHECK(digest_of_large_names() == "f62fa77cb3ded906"); }
