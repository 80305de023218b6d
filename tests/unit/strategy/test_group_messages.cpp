// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "group/group_messages.hpp"
#include "group/packed.hpp"
#include "group/value_bytes.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;

step::ReplicaOutputs some_outputs() {
  Tensor row = Tensor::uninitialized(DType::kF32, {1, 2});
  row.mutable_as<float>()[0] = 3;
  row.mutable_as<float>()[1] = -0.0F;
  step::ReplicaOutputs out;
  out.outputs.resize(2);
  out.examples = {4, 0};
  step::BoundOutputs& one = out.outputs.front();
  one.outcome.results = {row, Tensor(), Tensor::zeros(DType::kBF16, {0, 7})};
  one.outcome.metrics = {{"loss", program::Reduce::kSum, program::Part::kNumerator, 0.5, 4}};
  one.updates = {{variable::UpdateKind::kGradientRows, "table", row, Tensor::scalar(DType::kS64, std::int64_t{9})},
                 {variable::UpdateKind::kAssignAdd, "n", Tensor::scalar(DType::kBool, true)}};
  return out;
}

TEST_CASE("outputs of replicas arrive as they were sent") {
  const step::ReplicaOutputs sent = some_outputs();
  const step::ReplicaOutputs got = parse_outputs(format_outputs(sent)).value();
  CHECK(got.examples == sent.examples);
  REQUIRE(got.outputs.size() == 2);
  const auto& [outcome, updates] = got.outputs.front();
  REQUIRE(outcome.results.size() == 3);
  CHECK(tensor::same_bytes(outcome.results[0], sent.outputs[0].outcome.results[0]));
  CHECK_FALSE(outcome.results[1].has_value());
  CHECK(outcome.results[2].spec() == tensor::TensorSpec{DType::kBF16, {0, 7}});
  REQUIRE(outcome.metrics.size() == 1);
  CHECK(outcome.metrics[0].name == "loss");
  CHECK(outcome.metrics[0].part == program::Part::kNumerator);
  CHECK(outcome.metrics[0].value == 0.5);
  REQUIRE(updates.size() == 2);
  CHECK(updates[0].kind == variable::UpdateKind::kGradientRows);
  CHECK(updates[0].variable == "table");
  CHECK(updates[0].indices.as<std::int64_t>()[0] == 9);
  CHECK(updates[1].kind == variable::UpdateKind::kAssignAdd);
  CHECK_FALSE(updates[1].indices.has_value());
  CHECK(got.outputs.back().updates.empty());
  CHECK(parse_outputs(format_outputs({})).value().outputs.empty());
}

TEST_CASE("outputs that are cut off, or whose sizes are wrong, are refused") {
  step::ReplicaOutputs one = some_outputs();
  one.outputs.pop_back();
  one.examples.pop_back();
  const std::string text = format_outputs(one);
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK(parse_outputs(std::string_view(text).substr(0, size)).error().code == Code::kProtocolMismatch);
  for (std::size_t at = 0; at < text.size(); ++at) {  // whatever it is then, nothing is read beyond the end
    std::string other = text;
    other[at] = static_cast<char>(0xff);
    const auto parsed = parse_outputs(other);
    CHECK((parsed || parsed.error().code == Code::kProtocolMismatch));
  }
}

TEST_CASE("metrics arrive as they were sent, and cut off they are refused") {
  const std::vector<step::Metric> sent{
      {"accuracy", program::Reduce::kMean, program::Part::kDenominator, 64, 2, program::Formula::kRoot, {5, 6}}};
  const std::string text = format_metrics(sent);
  const auto got = parse_metrics(text).value();
  REQUIRE(got.size() == 1);
  CHECK(got[0].name == "accuracy");
  CHECK(got[0].weight == 2);
  CHECK(got[0].formula == program::Formula::kRoot);
  CHECK(got[0].counts == std::vector<double>{5, 6});
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK(parse_metrics(std::string_view(text).substr(0, size)).error().code == Code::kProtocolMismatch);
}

TEST_CASE("metrics of a kind that nobody knows are refused") {
  const std::string text = format_metrics({{"loss", program::Reduce::kSum, program::Part::kWhole, 1, 1}});
  const std::size_t name = 2 * sizeof(std::uint32_t) + std::string_view("loss").size();
  const std::size_t formula = name + 2 + 2 * sizeof(double);
  for (const std::size_t at : {name, name + 1, formula}) {
    std::string other = text;
    other[at] = 17;
    CHECK(parse_metrics(other).error().code == Code::kProtocolMismatch);
  }
}

TEST_CASE("named tensors are told by what they are, and a peer's nonsense is refused") {
  const auto got = parse_named(format_named("text", {{"w", Tensor::zeros(DType::kBF16, {2, 3})}})).value();
  CHECK(got.text == "text");
  REQUIRE(got.tensors.size() == 1);
  CHECK(got.tensors[0].first == "w");
  CHECK(got.tensors[0].second == tensor::TensorSpec{DType::kBF16, {2, 3}});
  const std::string bytes = format_named("text", {{"w", Tensor::zeros(DType::kBF16, {2, 3})}});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(parse_named(bytes.substr(0, size)).error().code == Code::kProtocolMismatch);
  using Specs = std::vector<std::pair<std::string, tensor::TensorSpec>>;
  for (const Specs& nonsense : {Specs{{"w", {DType::kF32, {-1}}}}, Specs{{"w", {static_cast<DType>(99), {1}}}},
                                Specs{{"w", {DType::kF64, {std::int64_t{1} << 62, 4}}}}})
    CHECK_FALSE(parse_named(format_value(std::pair("", nonsense))));
}

TEST_CASE("packed values arrive with their specs, large ones without their bytes, and nonsense is refused") {
  const std::vector<Tensor> values{Tensor::scalar(DType::kF32, 1.5F), Tensor::zeros(DType::kS8, {0, 2})};
  const std::string bytes = pack(values);
  const auto got = Packed::parse(bytes).value();
  REQUIRE(got.has_values());
  CHECK(tensor::same_bytes(got.values()[0], values[0]));
  CHECK(got.values()[1].spec() == values[1].spec());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(Packed::parse(bytes.substr(0, size)).error().code == Code::kProtocolMismatch);
  const std::vector<Tensor> large{Tensor::zeros(DType::kF32, {1 << 20})};
  auto announced = Packed::parse(pack(large)).value();
  CHECK_FALSE(announced.has_values());
  CHECK(announced.byte_size() == large[0].byte_size());
  REQUIRE(announced.set_values(bytes_of(large)));
  CHECK(tensor::same_bytes(announced.values()[0], large[0]));
}

TEST_CASE("an offer of a step arrives as it was sent, and cut off it is refused") {
  const StepOffer offer{
      .has = {true, false, true}, .rows = 5, .shapes = {{5, 2}, {}}, .error = Error{Code::kDataLoss, "e", "t"}};
  const std::string bytes = pack_offer(offer);
  const auto got = parse_offer(bytes).value();
  CHECK(got.has == offer.has);
  CHECK(got.rows == 5);
  CHECK(got.shapes == offer.shapes);
  CHECK(got.error->code == Code::kDataLoss);
  CHECK(got.error->message == "e");
  CHECK(got.error->task == "t");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(parse_offer(bytes.substr(0, size)).error().code == Code::kProtocolMismatch);
  CHECK_FALSE(parse_offer(pack_offer({.shapes = {{-1}}})));
}

TEST_CASE("an error gets its member's name once") {
  const Error own = named({Code::kInvalidArgument, "a bad row", {}}, "worker:1");
  CHECK(own.message == "worker:1: a bad row");
  CHECK(own.task == "worker:1");
  CHECK(named(own, "worker:0").message == own.message);
}

}  // namespace
}  // namespace tfd::strategy
