// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "tfd/variable/store.hpp"

using namespace tfd;
using namespace tfd::variable;
using tensor::DType;
using tensor::Tensor;

namespace {

Tensor floats(const std::vector<float>& values) {
  Tensor out = Tensor::uninitialized(DType::kF32, {static_cast<std::int64_t>(values.size())});
  std::memcpy(out.mutable_data(), values.data(), out.byte_size());
  return out;
}
std::vector<float> read(const VariableStore& store, const char* name) {
  const auto value = store.read(name);
  REQUIRE(value);
  return {value->as<float>().begin(), value->as<float>().end()};
}
std::shared_ptr<const Optimizer> optimizer_of(const std::string& text) {
  return *make_optimizer(nlohmann::ordered_json::parse(text));
}
Update gradient(std::string name, const std::vector<float>& values) {
  return {UpdateKind::kGradient, std::move(name), floats(values)};
}

VariableStore store_of_two() {
  VariableStore store;
  REQUIRE(store.create("w", floats({1, 2})));
  REQUIRE(store.create("b", floats({3})));
  store.set_optimizer(optimizer_of(R"({"sgd": {"learning_rate": 1}})"));
  return store;
}

}  // namespace

TEST_CASE("store: an applied set stays compact and knows what it has seen, in any order") {
  std::mt19937 random(7);
  std::vector<std::uint64_t> sequences(1000);
  for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i] = i;
  std::shuffle(sequences.begin(), sequences.end(), random);
  AppliedSet applied;
  std::set<std::uint64_t> reference;
  for (const std::uint64_t sequence : sequences) {
    applied.insert(sequence);
    applied.insert(sequence);
    reference.insert(sequence);
    for (const std::uint64_t probe : {sequence, (sequence + 1) % 1000, (sequence + 500) % 1000})
      REQUIRE(applied.contains(probe) == reference.contains(probe));
  }
  CHECK(applied.low() == 1000);
  CHECK(applied.above().empty());
  applied.insert(3);
  CHECK(applied.low() == 1000);
}

TEST_CASE("store: applies every sequence number once") {
  VariableStore store = store_of_two();
  CHECK(store.apply(5, {gradient("w", {1, 1}), gradient("b", {1})}) == true);
  CHECK(store.apply(5, {gradient("w", {1, 1}), gradient("b", {1})}) == false);
  CHECK(store.apply(0, {gradient("b", {1})}) == true);
  CHECK(read(store, "w") == std::vector<float>{0, 1});
  CHECK(read(store, "b") == std::vector<float>{1});
  CHECK(store.iterations() == 2);
  CHECK(store.apply(1, {}) == true);  // a closure without updates is no iteration
  CHECK(store.iterations() == 2);
  CHECK(store.applied().low() == 2);
  store.begin_epoch();
  CHECK(store.apply(5, {gradient("b", {1})}) == true);
  CHECK(read(store, "b") == std::vector<float>{0});
}

TEST_CASE("store: applies all updates of a closure or none") {
  VariableStore store = store_of_two();
  auto result = store.apply(0, {gradient("w", {1, 1}), gradient("b", {1, 2})});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "the gradient of 'b' is f32[2], the variable is f32[1]");
  result = store.apply(0, {gradient("w", {1, 1}), gradient("c", {1})});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kNotFound);
  result = store.apply(0, {gradient("w", {1, 1}), {UpdateKind::kAssign, "b", Tensor::zeros(DType::kF64, {1})}});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "the new value of 'b' is f64[1], the variable is f32[1]");
  CHECK_FALSE(store.apply(0, {gradient("w", {1, 1}), {UpdateKind::kAssign, "b", Tensor()}}));
  CHECK(read(store, "w") == std::vector<float>{1, 2});
  CHECK(store.iterations() == 0);
  // The failed attempts didn't use up the number.
  CHECK(store.apply(0, {gradient("w", {1, 1}), gradient("b", {1})}) == true);
  store.set_optimizer(nullptr);
  result = store.apply(1, {gradient("w", {1, 1})});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kFailedPrecondition);
}

TEST_CASE("store: several updates of one variable in a closure apply in their order") {
  VariableStore store = store_of_two();
  REQUIRE(store.apply(0, {{UpdateKind::kAssign, "b", floats({10})},
                          gradient("b", {1}),
                          {UpdateKind::kAssignAdd, "b", floats({0.5})},
                          {UpdateKind::kAssignSub, "b", floats({2})}}));
  CHECK(read(store, "b") == std::vector<float>{7.5});
}

TEST_CASE("store: a value that was read doesn't change with the next update") {
  VariableStore store = store_of_two();
  const Tensor held = *store.read("w");
  REQUIRE(store.apply(0, {gradient("w", {1, 1})}));
  REQUIRE(store.apply(1, {{UpdateKind::kAssignAdd, "w", floats({5, 5})}}));
  CHECK(held.as<float>()[0] == 1);
  CHECK(read(store, "w") == std::vector<float>{5, 6});
  const std::byte* address = store.read("w")->data();
  REQUIRE(store.apply(2, {gradient("w", {1, 1})}));
  CHECK(store.read("w")->data() == address);  // nobody held it
}

TEST_CASE("store: a value that it was given doesn't change either, and part of a buffer is copied") {
  VariableStore store = store_of_two();
  const Tensor given = floats({7, 8});
  REQUIRE(store.assign({UpdateKind::kAssign, "w", given}));
  CHECK(store.read("w")->data() == given.data());
  REQUIRE(store.apply(0, {gradient("w", {1, 1})}));
  CHECK(given.as<float>()[0] == 7);
  CHECK(read(store, "w") == std::vector<float>{6, 7});
  const Tensor table = floats({1, 2, 3, 4});
  REQUIRE(store.assign({UpdateKind::kAssign, "w", table.slice_rows(1, 2)}));
  CHECK(read(store, "w") == std::vector<float>{2, 3});
  CHECK(store.read("w")->storage() != table.storage());
}

TEST_CASE("store: adds to every dtype but bool; integers wrap round") {
  VariableStore store;
  REQUIRE(store.create("u8", Tensor::scalar<std::uint8_t>(DType::kU8, 250)));
  REQUIRE(store.create("s64", Tensor::scalar<std::int64_t>(DType::kS64, INT64_MAX)));
  REQUIRE(store.create("s16", Tensor::scalar<std::int16_t>(DType::kS16, -5)));
  REQUIRE(store.create("f16", Tensor::scalar(DType::kF16, tensor::float_to_half(1.5F))));
  REQUIRE(store.create("bf16", Tensor::scalar(DType::kBF16, tensor::float_to_bfloat16(1.5F))));
  REQUIRE(store.create("f64", Tensor::scalar(DType::kF64, 0.1)));
  REQUIRE(store.create("bool", Tensor::scalar<std::uint8_t>(DType::kBool, 1)));
  REQUIRE(store.assign({UpdateKind::kAssignAdd, "u8", Tensor::scalar<std::uint8_t>(DType::kU8, 10)}));
  REQUIRE(store.assign({UpdateKind::kAssignAdd, "s64", Tensor::scalar<std::int64_t>(DType::kS64, 1)}));
  REQUIRE(store.assign({UpdateKind::kAssignSub, "s16", Tensor::scalar<std::int16_t>(DType::kS16, 7)}));
  REQUIRE(store.assign({UpdateKind::kAssignAdd, "f16", Tensor::scalar(DType::kF16, tensor::float_to_half(2))}));
  REQUIRE(store.assign({UpdateKind::kAssignSub, "bf16", Tensor::scalar(DType::kBF16, tensor::float_to_bfloat16(2))}));
  REQUIRE(store.assign({UpdateKind::kAssignAdd, "f64", Tensor::scalar(DType::kF64, 0.2)}));
  CHECK(store.read("u8")->as<std::uint8_t>()[0] == 4);
  CHECK(store.read("s64")->as<std::int64_t>()[0] == INT64_MIN);
  CHECK(store.read("s16")->as<std::int16_t>()[0] == -12);
  CHECK(tensor::half_to_float(store.read("f16")->as<std::uint16_t>()[0]) == 3.5F);
  CHECK(tensor::bfloat16_to_float(store.read("bf16")->as<std::uint16_t>()[0]) == -0.5F);
  CHECK(store.read("f64")->as<double>()[0] == 0.1 + 0.2);
  const auto result = store.assign({UpdateKind::kAssignAdd, "bool", Tensor::scalar<std::uint8_t>(DType::kBool, 1)});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "variable 'bool' is bool[]: nothing can be added to it");
}

TEST_CASE("store: names its variables, and refuses a name twice or a strange one") {
  VariableStore store = store_of_two();
  CHECK(store.names() == std::vector<std::string>{"w", "b"});
  CHECK(store.byte_size() == 12);
  auto result = store.create("w", floats({1}));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kAlreadyExists);
  CHECK_FALSE(store.create("", floats({1})));
  CHECK_FALSE(store.create(".iterations", floats({1})));
  CHECK_FALSE(store.create("w/.optimizer/momentum", floats({1})));
  CHECK(store.create("enc/w", floats({1})));
  const auto missing = store.read("encw");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().message == "no variable 'encw', did you mean 'enc/w'?");
  store.clear();
  CHECK(store.names().empty());
  CHECK(store.create("w", floats({1})));
}

TEST_CASE("store: exports its state, and training goes on from an import as if nothing had happened") {
  for (const char* text : {R"({"sgd": {"momentum": 0.9}})", R"({"adam": {"learning_rate": 0.1}})"}) {
    CAPTURE(text);
    VariableStore first = store_of_two();
    first.set_optimizer(optimizer_of(text));
    for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(first.apply(i, {gradient("w", {0.5, 0.25}), gradient("b", {-1})}));
    auto state = first.export_state();
    state.emplace_back("other", floats({1, 2, 3}));
    state.emplace_back(".iterations", Tensor::scalar<std::int64_t>(DType::kS64, 1));  // another parameter server's
    CHECK(state.front().first == "w");
    CHECK(state[1].first == "w/.optimizer/momentum");

    VariableStore second = store_of_two();
    second.set_optimizer(optimizer_of(text));
    REQUIRE(second.import_state(state));
    CHECK(second.iterations() == 3);
    REQUIRE(first.apply(3, {gradient("w", {0.1, 0.2}), gradient("b", {1})}));
    REQUIRE(second.apply(0, {gradient("w", {0.1, 0.2}), gradient("b", {1})}));
    CHECK(read(first, "w") == read(second, "w"));
    CHECK(read(first, "b") == read(second, "b"));
    CHECK(first.byte_size() == second.byte_size());
  }
}

TEST_CASE("store: an import is all or nothing") {
  VariableStore store = store_of_two();
  auto result = store.import_state({{"w", floats({5, 6})}});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kNotFound);
  CHECK(result.error().message == "no value of variable 'b'");
  result = store.import_state({{"w", floats({5, 6})}, {"b", floats({5, 6})}});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "'b' is f32[2], the variable is f32[1]");
  CHECK_FALSE(store.import_state({{"w", floats({5, 6})}, {"b", floats({5})}, {"w/.optimizer/momentum", floats({1})}}));
  CHECK_FALSE(store.import_state({{"w", floats({5, 6})}, {"b", floats({5})}, {"w/.optimizer/updates", floats({1})}}));
  CHECK_FALSE(store.import_state(
      {{"w", floats({5, 6})}, {"b", floats({5})}, {".iterations", Tensor::scalar<std::int64_t>(DType::kS64, -1)}}));
  CHECK(read(store, "w") == std::vector<float>{1, 2});
  CHECK(store.import_state({{"w", floats({5, 6})}, {"b", floats({5})}}));
  CHECK(read(store, "w") == std::vector<float>{5, 6});
}

TEST_CASE("store: variables go round robin over the parameter servers") {
  CHECK(place_variable(0, 2) == 0);
  CHECK(place_variable(1, 2) == 1);
  CHECK(place_variable(2, 2) == 0);
  CHECK(place_variable(7, 1) == 0);
}
