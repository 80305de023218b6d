// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>

#include "messages/protocol.hpp"

using namespace tfd;
using namespace tfd::task;
using tensor::DType;
using tensor::Tensor;

namespace {

const Tensor kOne = Tensor::scalar(DType::kF32, 1.0f);

}  // namespace

TEST_CASE("wire format: a large body travels as a tensor, and tensors that nobody asked for are refused") {
  std::vector<std::string> names;
  for (int i = 0; i < 70000; ++i) names.push_back("layer/" + std::to_string(i));
  auto message = encode_names(Kind::kRead, names, 7);
  REQUIRE(message.tensors.size() == 1);
  CHECK(message.meta.size() < 16);
  CHECK(message.epoch == 7);
  CHECK(decode_names(message).value() == names);
  message.tensors.push_back(Tensor::scalar(DType::kF32, 1.0f));
  CHECK_FALSE(decode_names(message).has_value());
  message.tensors = {Tensor::scalar(DType::kF32, 1.0f)};  // a body of another type
  CHECK_FALSE(decode_names(message).has_value());
}

TEST_CASE("wire format: calls and updates say which tensors they lack") {
  step::FunctionCall call{.epoch = 3, .sequence = 1, .function = "f"};
  call.args = {Tensor::scalar(DType::kF32, 1.0f), step::IteratorRef{"it"}, step::VariableRef{"v"}};
  call.kwargs = {{"k", Tensor::scalar(DType::kF32, 2.0f)}};
  call.closure = 9;
  auto message = encode(call);
  const auto again = decode_call(message).value();
  CHECK(again.epoch == 3);
  CHECK(again.closure == 9);
  CHECK(std::get<step::IteratorRef>(again.args[1]).id == "it");
  CHECK(std::get<step::VariableRef>(again.args[2]).name == "v");
  CHECK(std::get<Tensor>(again.kwargs[0].second).as<float>()[0] == 2.0f);
  message.tensors.pop_back();
  CHECK_FALSE(decode_call(message).has_value());

  auto update = encode(UpdateRequest{3, 1, {{variable::UpdateKind::kAssignRows, "t", kOne, kOne}}});
  CHECK(decode_update(update).has_value());
  update.tensors.pop_back();
  CHECK_FALSE(decode_update(update).has_value());
}

TEST_CASE("wire format: a placement names parameter servers that there are, and shapes that can be") {
  LoadProgram load{.epoch = 2, .path = "p.json", .directory = "/", .document = "{}", .files = {{"f.mlir", "module"}}};
  load.placement.ps = {{"ps:0", "h:1"}, {"ps:1", "h:2"}};
  const auto placed = [&](tensor::Shape shape, std::vector<int> ps) {
    const auto count = static_cast<std::int64_t>(ps.size());
    auto sharding = variable::Sharding(shape);
    if (auto made = variable::Sharding::make(shape, count)) sharding = *made;
    load.placement.placed.clear();
    load.placement.placed.emplace("v", variable::PlacedVariable{"v", sharding, std::move(ps)});
    return decode_program(encode(load));
  };
  const auto good = placed({4, 2}, {1, 0}).value();
  CHECK(good.epoch == 2);
  CHECK(good.files.at("f.mlir") == "module");
  CHECK(good.placement.ps == load.placement.ps);
  CHECK(good.placement.placed.at("v").ps == std::vector{1, 0});
  CHECK(good.placement.placed.at("v").sharding.shape() == tensor::Shape{4, 2});
  for (const auto& bad : {placed({4}, {2}), placed({4}, {-1}), placed({4}, {}), placed({1}, {0, 1}), placed({-1}, {0}),
                          placed({std::numeric_limits<std::int64_t>::max(), 4}, {0})}) {
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("wire format: a history counts upwards, and has no more in it than there can be") {
  using variable::SequenceHistory;
  const SequenceHistory history{.settled = 3, .unused = 1, .low = 5, .above = {7, 9}, .fenced = {4, 9}};
  const auto read = decode_history(encode_history(history));
  REQUIRE(read);
  CHECK(read->unused == 1);
  CHECK(read->above == history.above);
  CHECK(read->fenced == history.fenced);
  CHECK_FALSE(decode_history(encode_history(SequenceHistory{.above = {9, 7}})));
  CHECK_FALSE(decode_history(encode_history(SequenceHistory{.above = {7, 7}})));
  CHECK_FALSE(decode_history(encode_history(SequenceHistory{.settled = 3, .low = 2})));
  CHECK_FALSE(decode_history(encode_history(SequenceHistory{.settled = 3, .unused = 4, .low = 3})));
}

TEST_CASE("wire format: what is staged, committed and aborted says of which attempt it is") {
  UpdateRequest request{3, 1, {{variable::UpdateKind::kAssign, "t", kOne}}};
  request.attempt = 4;
  const auto staged = decode_update(encode(request, Kind::kStage));
  REQUIRE(staged);
  CHECK(staged->attempt == 4);
  CHECK(decode_update(encode(request))->attempt == 0);
  const auto commit = decode_commit(encode(Commit{3, {1, 4}}));
  REQUIRE(commit);
  CHECK(commit->epoch == 3);
  CHECK(commit->attempt == variable::Attempt{1, 4});
  const auto abort = decode_abort(encode(Abort{3, {1, 4}, true}));
  REQUIRE(abort);
  CHECK(abort->attempt == variable::Attempt{1, 4});
  CHECK(abort->is_of_all);
  ClosureOutcome outcome;
  outcome.results = {kOne};
  CHECK(decode_outcome(encode(outcome))->staged_on.empty());
  outcome.staged_on = {0, 7};
  outcome.staged_after = 9;
  const auto told = decode_outcome(encode(outcome));
  REQUIRE(told);
  CHECK(told->staged_on == outcome.staged_on);
  CHECK(told->staged_after == 9);
  CHECK(told->results.size() == 1);
  using variable::SequenceHistory;
  const SequenceHistory history{.committed = {{1, 4}, {2, 0}}, .staged = {{3, 1}}};
  CHECK(decode_history(encode_history(history))->committed == history.committed);
  CHECK(decode_history(encode_history(history))->staged == history.staged);
  CHECK_FALSE(decode_history(encode_history(SequenceHistory{.staged = {{3, 1}, {3, 2}}})));
  CHECK(decode_load(encode_load(8, {.stages = true}))->stages);
}

TEST_CASE("wire format: updates that are due say by what they are clipped") {
  const std::vector<variable::DueUpdate> due{{"w/part_1", "w", true, 7, 0.1}, {"b", "", false, 8, 169}};
  auto message = encode_due(Kind::kDue, due, 3);
  CHECK(message.epoch == 3);
  const auto again = decode_due(message);
  REQUIRE(again);
  REQUIRE(again->size() == 2);
  CHECK((*again)[0].variable == "w/part_1");
  CHECK((*again)[0].norm == "w");
  CHECK((*again)[0].is_due);
  CHECK((*again)[0].round == 7);
  CHECK((*again)[0].square_sum == 0.1);
  CHECK_FALSE((*again)[1].is_due);
  message.meta.pop_back();
  CHECK_FALSE(decode_due(message));
  const auto answer = decode_update_answer(encode(UpdateAnswer{.is_busy = true, .is_due = true}));
  REQUIRE(answer);
  CHECK((!answer->is_new && answer->is_busy && answer->is_due));
}

TEST_CASE("wire format: only an empty update is a fence") {
  UpdateRequest fence{.epoch = 1, .sequence = 2, .is_fence = true};
  CHECK(decode_update(encode(fence))->is_fence);
  fence.updates.push_back({variable::UpdateKind::kAssign, "v", tensor::Tensor::scalar(tensor::DType::kS32, 1)});
  CHECK_FALSE(decode_update(encode(fence)));
}

TEST_CASE("wire format: a message of another kind isn't taken for it") {
  const auto adopt = encode(Adopt{1, 2});
  CHECK(decode_adopt(adopt).has_value());
  CHECK_FALSE(decode_give_back(adopt).has_value());  // of the same layout
}
