// SPDX-License-Identifier: Apache-2.0
//
// States that move in parts: of one moment, all or nothing, and gone with the client that began them.
#include <random>

#include "messages/state_messages.hpp"
#include "ps_bed.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;
using variable::Update;
using variable::UpdateKind;

namespace {

constexpr int kVariables = 24;
constexpr std::int64_t kSize = 50'000;  // 200 kB each

Parts many_variables() {
  std::string variables;
  for (int i = 0; i < kVariables; ++i)
    variables += fmt::format(R"({}"v{}": {{"shape": [{}], "init": {{"zeros": {{}}}}}})", i == 0 ? "" : ", ", i, kSize);
  return {
      R"({"v": 1, "variables": {)" + variables + R"(}, "optimizer": {"sgd": {"learning_rate": 1, "momentum": 0.5}}})",
      {},
      {}};
}

Tensor every(float value) {
  Tensor out = Tensor::uninitialized(DType::kF32, {kSize});
  std::fill_n(out.mutable_as<float>(), kSize, value);
  return out;
}

/// One closure that adds to all variables.
std::vector<Update> add_to_all(float value) {
  std::vector<Update> out;
  for (int i = 0; i < kVariables; ++i) out.push_back({UpdateKind::kAssignAdd, fmt::format("v{}", i), every(value)});
  return out;
}

Asked<tensor::NamedTensors> export_of(PsClient& client, std::uint64_t part_bytes = 300'000) {
  return client.ask<tensor::NamedTensors>(
      [&](Deadline deadline, auto done) { client.task().export_state(deadline, done, part_bytes); });
}
Asked<void> import_to(PsClient& client, const tensor::NamedTensors& state, std::uint64_t part_bytes = 300'000) {
  return client.ask<void>(
      [&](Deadline deadline, auto done) { client.task().import_state(state, deadline, done, part_bytes); });
}
Result<ExportedState> begin_export(PsClient& client) {
  return client.ask<ExportedState>([&](Deadline deadline, auto done) { client.task().begin_export(deadline, done); })
      .get();
}
Result<std::uint64_t> begin_import(PsClient& client) {
  return client.ask<std::uint64_t>([&](Deadline deadline, auto done) { client.task().begin_import(deadline, done); })
      .get();
}
Result<Tensors> part_of(PsClient& client, std::uint64_t id, std::vector<std::uint32_t> positions) {
  return client
      .ask<Tensors>([&](Deadline deadline, auto done) { client.task().export_part(id, positions, deadline, done); })
      .get();
}
Result<void> import_part(PsClient& client, std::uint64_t id, const tensor::NamedTensors& values) {
  return client.ask<void>([&](Deadline deadline, auto done) { client.task().import_part(id, values, deadline, done); })
      .get();
}
Result<void> commit(PsClient& client, std::uint64_t id) {
  return client.ask<void>([&](Deadline deadline, auto done) { client.task().commit_import(id, deadline, done); }).get();
}

float first_of(PsClient& client, const std::string& name) {
  return client.read({name}).get().value()[0].as<float>()[0];
}

}  // namespace

TEST_CASE("state in parts: is of one moment, whatever is updated meanwhile") {
  PsBed bed(many_variables(), false);
  const auto client = bed.client(), trainer = bed.client("trainer");
  std::vector<Asked<bool>> updates;
  std::vector<Asked<tensor::NamedTensors>> exports;
  for (std::uint64_t i = 0; i < 12; ++i) {
    updates.push_back(trainer->update(i, add_to_all(1)));
    if (i % 4 == 1) exports.push_back(export_of(*client));
  }
  for (auto& update : updates) CHECK(update.get() == true);
  for (auto& exported : exports) {
    const auto state = exported.get().value();
    REQUIRE(state.size() == 2 * kVariables + 1);  // values, counters, iterations
    const float step = state[0].second.as<float>()[0];
    for (const auto& [name, value] : state) {
      if (value.dtype() != DType::kF32) continue;
      CHECK(tensor::same_bytes(value, every(step)));
    }
    CHECK(state.back().first == ".iterations");
    CHECK(state.back().second.as<std::int64_t>()[0] == static_cast<std::int64_t>(step));
  }
}

TEST_CASE("state in parts: what is exported can be imported, slots and all, however it is cut") {
  PsBed bed(many_variables(), true);
  const auto client = bed.client();
  std::vector<Update> gradients;
  for (int i = 0; i < kVariables; ++i)
    gradients.push_back({UpdateKind::kGradient, fmt::format("v{}", i), every(static_cast<float>(i))});
  REQUIRE(client->update(0, gradients).get());
  const auto state = export_of(*client).get().value();
  CHECK(state.size() == 3 * kVariables + 1);
  for (const std::uint64_t part_bytes : {std::uint64_t{1}, std::uint64_t{1'000'000}, kStatePartBytes}) {
    REQUIRE(client->update(100 + part_bytes, add_to_all(1)).get());
    const auto imported = import_to(*client, state, part_bytes).get();
    REQUIRE_MESSAGE(imported, (imported ? "" : imported.error().message));
    const auto again = export_of(*client, part_bytes).get().value();
    REQUIRE(again.size() == state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      CHECK(again[i].first == state[i].first);
      CHECK(tensor::same_bytes(again[i].second, state[i].second));
    }
  }
}

TEST_CASE("state in parts: an import that doesn't fit changes nothing") {
  PsBed bed(many_variables(), false);
  const auto client = bed.client();
  auto state = export_of(*client).get().value();
  REQUIRE(client->update(0, add_to_all(3)).get());
  std::erase_if(state, [](const auto& one) { return one.first == "v7"; });
  const auto imported = import_to(*client, state).get();
  REQUIRE_FALSE(imported);
  CHECK(imported.error().message == "no value for variable 'v7'");
  for (const char* name : {"v0", "v7", "v23"}) CHECK(first_of(*client, name) == 3);
}

TEST_CASE("state in parts: an export belongs to its connection and ends with it") {
  PsBed bed(many_variables(), false);
  const auto client = bed.client();
  const auto listed = begin_export(*client).value();
  CHECK(listed.entries[2].name == "v1");
  CHECK(listed.entries[2].spec == tensor::TensorSpec{DType::kF32, {kSize}});
  REQUIRE(client->update(0, add_to_all(1)).get());
  CHECK(tensor::same_bytes(part_of(*client, listed.id, {2}).value()[0], every(0)));
  CHECK(part_of(*client, listed.id, {9999}).error().code == Code::kInvalidArgument);
  auto other = bed.client("other");
  CHECK(part_of(*other, listed.id, {2}).error().code == Code::kAborted);
  for (int i = 0; i < 3; ++i) REQUIRE(begin_export(*other));
  CHECK(begin_export(*client).error().code == Code::kResourceExhausted);
  other.reset();  // dies between two parts
  other = bed.client("another");
  for (int i = 0; i < 3; ++i) REQUIRE(begin_export(*other));
  REQUIRE(client->ask<void>([&](Deadline deadline, auto done) { client->task().end_state(listed.id, deadline, done); })
              .get());
  CHECK(part_of(*client, listed.id, {2}).error().code == Code::kAborted);
}

TEST_CASE("state in parts: an import whose client dies leaves nothing behind") {
  PsBed bed(many_variables(), false);
  const auto client = bed.client();
  auto dying = bed.client("dying");
  const auto id = begin_import(*dying).value();
  REQUIRE(import_part(*dying, id, {{"v0", every(5)}}));
  CHECK(commit(*client, id).error().code == Code::kAborted);
  REQUIRE(begin_import(*dying));
  CHECK(begin_import(*client).error().code == Code::kResourceExhausted);
  dying.reset();
  dying = bed.client("next");
  CHECK(first_of(*client, "v0") == 0);
  tensor::NamedTensors state;
  for (int i = 0; i < kVariables; ++i) state.emplace_back(fmt::format("v{}", i), every(4));
  REQUIRE(import_to(*client, state).get());
  CHECK(first_of(*client, "v0") == 4);
}

TEST_CASE("state in parts: an import is for the program that was there when it began, and no larger than that") {
  PsBed bed(many_variables(), false);
  const auto client = bed.client();
  const auto id = begin_import(*client).value();
  REQUIRE(import_part(*client, id, {{"v0", every(5)}}));
  bed.load(kPsEpoch + 1);
  CHECK(commit(*client, id).error().code == Code::kPermissionDenied);
  client->task().set_epoch(kPsEpoch + 1);
  CHECK(commit(*client, id).error().code == Code::kAborted);
  const auto large = begin_import(*client).value();
  const Tensor much = Tensor::zeros(DType::kU8, {64 << 20});
  Result<void> taken;
  for (int i = 0; i < 10 && taken; ++i) taken = import_part(*client, large, {{fmt::format("x{}", i), much}});
  CHECK(taken.error().code == Code::kResourceExhausted);
}

TEST_CASE("state messages: what is no message is refused") {
  const auto refused = [](const auto& result) { return !result && result.error().code == Code::kInvalidArgument; };
  ExportedState state{7, {{"w", {DType::kF32, {2, 3}}}, {"", {DType::kS64, {}}}}};
  const auto message = encode(state);
  const auto decoded = decode_exported_state(message).value();
  CHECK(decoded.id == 7);
  REQUIRE(decoded.entries.size() == 2);
  CHECK(decoded.entries[0].spec == state.entries[0].spec);
  const auto part = encode(ImportPart{9, {{"a", every(1)}, {"bc", every(2)}}}, kPsEpoch);
  CHECK(decode_import_part(part)->values[1].first == "bc");
  const auto asked = encode(ExportPart{9, {3, 4}}, kPsEpoch);
  CHECK(decode_export_part(asked)->positions == std::vector<std::uint32_t>{3, 4});
  const auto id = encode_state_id(StateKind::kEndState, 5, kPsEpoch);
  CHECK(decode_state_id(id) == 5);
  std::mt19937 random(5);
  for (const auto& whole : {message, part, asked, id}) {
    for (std::size_t size = 1; size < whole.meta.size(); ++size) {
      auto cut = whole;
      cut.meta.resize(size);
      CHECK(refused(decode_exported_state(cut)));
      CHECK(refused(decode_import_part(cut)));
      CHECK(refused(decode_export_part(cut)));
      CHECK((refused(decode_state_id(cut)) || size == 9));  // the first nine bytes are an id
    }
    for (int i = 0; i < 1000; ++i) {  // none of them may read past the end, which a sanitizer would see
      auto bad = whole;
      for (std::size_t n = 1 + random() % 3; n > 0; --n)
        bad.meta[random() % bad.meta.size()] = static_cast<char>(random());
      static_cast<void>(decode_exported_state(bad));
      static_cast<void>(decode_import_part(bad));
      static_cast<void>(decode_export_part(bad));
      static_cast<void>(decode_state_id(bad));
    }
  }
  auto fewer = part;
  fewer.tensors.pop_back();
  CHECK(refused(decode_import_part(fewer)));
}
