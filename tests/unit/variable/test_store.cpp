// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <random>

#include "tensors.hpp"
#include "tfd/variable/store.hpp"

using namespace tfd;
using namespace tfd::variable;
using namespace tfd::variable::test;
using tensor::DType;
using tensor::Tensor;

namespace {

std::vector<float> read(const VariableStore& store, const char* name) {
  const auto value = store.read(name);
  REQUIRE(value);
  return {value->as<float>().begin(), value->as<float>().end()};
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

TEST_CASE("store: says which updates of rows change them where they lie, and touch nothing else") {
  VariableStore store;
  REQUIRE(store.create("t", Tensor::zeros(DType::kF32, {4000, 16})));
  store.set_optimizer(optimizer_of(R"({"adagrad": {"learning_rate": 1}})"));
  CHECK(store.changes_rows_alone(0, UpdateKind::kAddRows));
  CHECK_FALSE(store.changes_rows_alone(0, UpdateKind::kAssignAdd));
  CHECK_FALSE(store.changes_rows_alone(0, UpdateKind::kGradientRows));  // its slot is made first
  const Tensor ids = Tensor::zeros(DType::kS32, {1});
  REQUIRE(store.apply(0, {{UpdateKind::kGradientRows, "t", Tensor::zeros(DType::kF32, {1, 16}), ids}}));
  CHECK(store.changes_rows_alone(0, UpdateKind::kGradientRows));
  {
    const VariableState snapshot = store.snapshot(0);
    CHECK(store.changes_rows_alone(0, UpdateKind::kGradientRows));
    const Tensor reader = store.value(0);
    CHECK_FALSE(store.changes_rows_alone(0, UpdateKind::kAddRows));
  }
  const VariableState copy = store.copy(0);
  CHECK_FALSE(store.changes_rows_alone(0, UpdateKind::kGradientRows));

  VariableStore moving;  // all moments decay with each update
  REQUIRE(moving.create("t", Tensor::zeros(DType::kF32, {4000, 16})));
  moving.set_optimizer(optimizer_of(R"({"adam": {}})"));
  REQUIRE(moving.apply(0, {{UpdateKind::kGradientRows, "t", Tensor::zeros(DType::kF32, {1, 16}), ids}}));
  CHECK_FALSE(moving.changes_rows_alone(0, UpdateKind::kGradientRows));
  CHECK(moving.changes_rows_alone(0, UpdateKind::kAssignRows));
}

TEST_CASE("store: what is settled counts as applied, and is not remembered one by one") {
  AppliedSet applied;
  for (std::uint64_t sequence = 0; sequence < 100; sequence += 2) applied.insert(sequence);
  CHECK(applied.low() == 1);
  CHECK(applied.above().size() == 49);
  applied.settle(51);
  CHECK(applied.low() == 51);
  CHECK(applied.contains(49));
  CHECK_FALSE(applied.contains(51));
  CHECK(applied.contains(52));
  CHECK(applied.above().size() == 24);
  applied.settle(98);  // the number just above is part of it
  CHECK(applied.low() == 99);
  CHECK(applied.above().empty());
  applied.settle(5);  // late
  CHECK(applied.low() == 99);
}

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
}

TEST_CASE("store: knows what became of every number that isn't settled") {
  VariableStore store = store_of_two();
  REQUIRE(store.apply(0, {gradient("b", {1})}));
  REQUIRE(store.apply(2, {}));  // a step, though nothing of it was for this store
  CHECK(store.fence(3));
  CHECK(store.apply(3, {gradient("b", {1})}) == false);  // late
  CHECK_FALSE(store.fence(2));
  REQUIRE(store.apply(5, {gradient("b", {1})}));
  CHECK(read(store, "b") == std::vector<float>{1});
  auto history = store.history();
  CHECK(history.settled == 0);
  CHECK(history.low == 1);
  CHECK(history.above == std::vector<std::uint64_t>{2, 3, 5});
  CHECK(history.fenced == std::vector<std::uint64_t>{3});
  store.settle(5, 2);
  store.settle(3, 1);  // late
  history = store.history();
  CHECK(history.settled == 5);
  CHECK(history.unused == 2);
  CHECK(history.low == 6);
  CHECK(history.above.empty());
  CHECK(history.fenced.empty());
}

TEST_CASE("store: applies all updates of a closure or none") {
  VariableStore store = store_of_two();
  auto result = store.apply(0, {gradient("w", {1, 1}), gradient("b", {1, 2})});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "the gradient of 'b' is f32[2], but the variable is f32[1]");
  result = store.apply(0, {gradient("w", {1, 1}), gradient("c", {1})});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kNotFound);
  result = store.apply(0, {gradient("w", {1, 1}), {UpdateKind::kAssign, "b", Tensor::zeros(DType::kF64, {1})}});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "the new value of 'b' is f64[1], but the variable is f32[1]");
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
    CHECK(state[1].first.starts_with("w/.optimizer/"));
    CHECK(state[1].first.ends_with("/momentum"));

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
  CHECK(result.error().message == "no value for variable 'b'");
  result = store.import_state({{"w", floats({5, 6})}, {"b", floats({5, 6})}});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "'b' is f32[2], but the variable is f32[1]");
  CHECK_FALSE(
      store.import_state({{"w", floats({5, 6})}, {"b", floats({5})}, {"w/.optimizer/sgd/momentum", floats({1})}}));
  CHECK_FALSE(store.import_state({{"w", floats({5, 6})}, {"b", floats({5})}, {"w/.optimizer/updates", floats({1})}}));
  CHECK_FALSE(store.import_state(
      {{"w", floats({5, 6})}, {"b", floats({5})}, {".iterations", Tensor::scalar<std::int64_t>(DType::kS64, -1)}}));
  CHECK(read(store, "w") == std::vector<float>{1, 2});
  CHECK(store.import_state({{"w", floats({5, 6})}, {"b", floats({5})}}));
  CHECK(read(store, "w") == std::vector<float>{5, 6});
}

TEST_CASE("store: slots say whose they are, and another optimizer's are refused") {
  VariableStore adam = store_of_two();
  adam.set_optimizer(optimizer_of(R"({"adam": {}})"));
  REQUIRE(adam.apply(0, {gradient("w", {0.5, 0.25}), gradient("b", {-1})}));
  const auto state = adam.export_state();
  CHECK(state[1].first == "w/.optimizer/adam/momentum");
  CHECK(state[2].first == "w/.optimizer/adam/velocity");
  CHECK(state[3].first == "w/.optimizer/updates");

  VariableStore sgd = store_of_two();
  sgd.set_optimizer(optimizer_of(R"({"sgd": {"momentum": 0.9}})"));
  const auto result = sgd.import_state(state);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kInvalidArgument);
  CHECK(result.error().message ==
        "'w' was trained with adam, but the program has sgd: keep the optimizer, or start from the values alone");
  CHECK(read(sgd, "w") == std::vector<float>{1, 2});
  // AdamW goes on from Adam; without an optimizer only the values are taken.
  VariableStore adamw = store_of_two();
  adamw.set_optimizer(optimizer_of(R"({"adamw": {"amsgrad": true}})"));
  REQUIRE(adamw.import_state(state));
  CHECK(adamw.byte_size() == 3 * 12);
  REQUIRE(adamw.apply(0, {gradient("w", {0.5, 0.25})}));
  VariableStore none = store_of_two();
  none.set_optimizer(nullptr);
  REQUIRE(none.import_state(state));
  CHECK(none.byte_size() == 12);
  CHECK(none.export_state().size() == 5);
}

TEST_CASE("store: slots of the first version are read where they can only be this optimizer's") {
  const tensor::NamedTensors adam{{"w", floats({5, 6})},
                                  {"w/.optimizer/momentum", floats({1, 1})},
                                  {"w/.optimizer/velocity", floats({2, 2})},
                                  {"w/.optimizer/updates", Tensor::scalar<std::int64_t>(DType::kS64, 7)},
                                  {"b", floats({5})}};
  VariableStore store = store_of_two();
  store.set_optimizer(optimizer_of(R"({"adam": {}})"));
  REQUIRE(store.import_state(adam));
  const auto exported = store.export_state();
  CHECK(exported[2].first == "w/.optimizer/adam/velocity");
  CHECK(exported[2].second.as<float>()[1] == 2);
  store.set_optimizer(optimizer_of(R"({"sgd": {"momentum": 0.9}})"));
  const auto result = store.import_state(adam);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.starts_with("'w' was trained with adam, but the program has sgd"));
  const tensor::NamedTensors sgd{{"w", floats({5, 6})}, {"w/.optimizer/momentum", floats({1, 1})}, {"b", floats({5})}};
  CHECK(store.import_state(sgd));
  store.set_optimizer(optimizer_of(R"({"rmsprop": {}})"));
  CHECK_FALSE(store.import_state(sgd));
}

TEST_CASE("store: rows are read and updated without the others") {
  VariableStore store;
  Tensor table = Tensor::zeros(DType::kF32, {4, 2});
  for (int i = 0; i < 8; ++i) table.mutable_as<float>()[i] = static_cast<float>(i);
  REQUIRE(store.create("t", std::move(table)));
  store.set_optimizer(optimizer_of(R"({"sgd": {"learning_rate": 1}})"));
  Tensor ids = Tensor::uninitialized(DType::kS64, {3});
  for (int i = 0; i < 3; ++i) ids.mutable_as<std::int64_t>()[i] = 3 - i % 2 * 3;  // 3, 0, 3
  const Tensor values = floats({1, 1, 2, 2, 10, 10}).reshaped({3, 2});
  const auto rows = store.read_rows("t", ids);
  REQUIRE(rows);
  CHECK(std::vector<float>(rows->as<float>().begin(), rows->as<float>().end()) == std::vector<float>{6, 7, 0, 1, 6, 7});
  const std::byte* address = store.read("t")->data();
  REQUIRE(store.apply(0, {{UpdateKind::kGradientRows, "t", values, ids}}));
  CHECK(read(store, "t") == std::vector<float>{-2, -1, 2, 3, 4, 5, -5, -4});
  CHECK(store.read("t")->data() == address);
  REQUIRE(store.apply(1, {{UpdateKind::kAddRows, "t", values, ids}}));
  CHECK(read(store, "t") == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(store.apply(2, {{UpdateKind::kSubtractRows, "t", values, ids}}));
  REQUIRE(store.apply(3, {{UpdateKind::kAssignRows, "t", values, ids}}));
  CHECK(read(store, "t") == std::vector<float>{2, 2, 2, 3, 4, 5, 10, 10});
  auto bad = store.apply(4, {{UpdateKind::kAddRows, "t", floats({1, 1}), ids}});
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message == "rows of 't' are f32[2], but must be f32[3, 2]");
  ids = Tensor::scalar<std::int64_t>(DType::kS64, 4).reshaped({1});
  bad = store.apply(4, {{UpdateKind::kAssignRows, "t", floats({1, 1}).reshaped({1, 2}), ids}});
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == Code::kOutOfRange);
  CHECK(bad.error().message == "'t': no row 4: there are 4");
}

TEST_CASE("store: a worker adds up the duplicates of sparse gradients, then clips all gradients together") {
  Tensor ids = Tensor::zeros(DType::kS64, {2});  // row 0, twice
  const auto prepared = [&](const std::string& text) {
    std::vector<Update> updates{gradient("w", {6, 0}),
                                {UpdateKind::kAssign, "b", floats({100})},
                                {UpdateKind::kGradientRows, "t", floats({3, 5}).reshaped({2, 1}), ids}};
    REQUIRE(prepare_gradients(*optimizer_of(text), updates));
    CHECK(updates[1].value.as<float>()[0] == 100);
    CHECK(updates[2].indices.size() == 1);
    return std::pair(updates[0].value.as<float>()[0], updates[2].value.as<float>()[0]);
  };
  CHECK(prepared(R"({"sgd": {}})") == std::pair(6.F, 8.F));
  CHECK(prepared(R"({"sgd": {"clipvalue": 7}})") == std::pair(6.F, 7.F));
  const auto global = prepared(R"({"sgd": {"global_clipnorm": 5}})");  // the norm is 10
  CHECK(global.first == doctest::Approx(3));
  CHECK(global.second == doctest::Approx(4));
  std::vector<Update> bad{{UpdateKind::kGradientRows, "t", floats({3}), ids}};
  CHECK(prepare_gradients(*optimizer_of(R"({"sgd": {}})"), bad).error().message ==
        "'t': 2 indices need as many rows of values, not f32[1]");
}

namespace {

// Their means over two steps are 3, 4 and 12: together a norm of 13.
std::vector<Update> first_half() { return {gradient("w", {6, 0}), gradient("b", {30})}; }
std::vector<Update> second_half() { return {gradient("w", {0, 8}), gradient("b", {-6})}; }

std::string accumulating(const std::string& clip) {
  return R"({"sgd": {"learning_rate": 1, "gradient_accumulation_steps": 2, )" + clip + "}}";
}

}  // namespace

TEST_CASE("store: what is clipped is the mean of the gradients that were accumulated") {
  const std::tuple<const char*, std::vector<float>, float> cases[] = {
      {R"("global_clipnorm": 6.5)", {1 - 1.5F, 2 - 2}, 3 - 6},
      {R"("clipnorm": 2.5)", {1 - 1.5F, 2 - 2}, 3 - 2.5F},
      {R"("clipvalue": 3.5)", {1 - 3, 2 - 3.5F}, 3 - 3.5F},
  };
  for (const auto& [clip, w, b] : cases) {
    CAPTURE(clip);
    VariableStore store = store_of_two();
    store.set_optimizer(optimizer_of(accumulating(clip)));
    for (std::uint64_t round = 0; round < 2; ++round) {
      REQUIRE(store.import_state(store_of_two().export_state()));
      for (auto updates : {first_half(), second_half()}) {
        REQUIRE(prepare_gradients(*optimizer_of(accumulating(clip)), updates));
        CHECK(read(store, "w") == std::vector<float>{1, 2});
        REQUIRE(store.apply(2 * round + (updates[1].value.as<float>()[0] > 0 ? 0 : 1), updates));
      }
      CHECK(read(store, "w") == w);
      CHECK(read(store, "b") == std::vector<float>{b});
    }
  }
}

TEST_CASE("store: an update whose norm lies elsewhere, too, waits for that, and no gradient is taken meanwhile") {
  VariableStore store = store_of_two();
  store.set_optimizer(optimizer_of(accumulating(R"("global_clipnorm": 6.5)")));
  const auto perform = [&](std::uint64_t sequence, const std::vector<Update>& updates) {
    const auto admission = store.admit(sequence, updates);
    REQUIRE(admission);
    if (admission->is_new && !admission->is_busy)
      for (std::size_t i = 0; i < updates.size(); ++i) REQUIRE(store.perform(admission->targets[i], updates[i]));
    return *admission;
  };
  CHECK(perform(0, first_half()).due.empty());
  CHECK(perform(1, second_half()).due.size() == 2);
  CHECK(read(store, "w") == std::vector<float>{1, 2});
  const auto busy = perform(2, first_half());
  CHECK(busy.is_busy);
  CHECK_FALSE(store.applied().contains(2));
  CHECK_FALSE(perform(1, second_half()).is_new);
  CHECK(perform(1, second_half()).due.size() == 2);
  CHECK_FALSE(perform(3, {{UpdateKind::kAssign, "b", floats({3})}}).is_busy);
  for (std::size_t i = 0; i < 2; ++i) {
    auto due = store.find_due(i);
    REQUIRE(due);
    CHECK(due->is_due);
    CHECK(due->norm.empty());
    CHECK(due->round == 1);
    CHECK(store.due_square_sum(i) == doctest::Approx(i == 0 ? 25 : 144));
    due->square_sum = 169;
    auto late = *due;
    late.round = 0;
    CHECK_FALSE(store.admit(late));
    REQUIRE(store.admit(*due) == i);
    CHECK_FALSE(store.admit(*due));
    REQUIRE(store.perform_due(i, due->square_sum));
    CHECK(store.find_due(i)->square_sum == 169);
    CHECK(store.find_due(i)->round == 2);
  }
  CHECK(read(store, "w") == std::vector<float>{-0.5, 0});
  CHECK(read(store, "b") == std::vector<float>{-3});
  CHECK_FALSE(perform(2, first_half()).is_busy);
}

TEST_CASE("store: a state from between the gradients of an update and the update is imported as after it") {
  const auto optimizer = optimizer_of(accumulating(R"("global_clipnorm": 6.5)"));
  VariableStore store = store_of_two();
  store.set_optimizer(optimizer);
  for (const auto& updates : {first_half(), second_half()}) {
    const auto admission = store.admit(updates[1].value.as<float>()[0] > 0 ? 0 : 1, updates);
    for (std::size_t i = 0; i < 2; ++i) REQUIRE(store.perform(admission->targets[i], updates[i]));
  }
  VariableStore next = store_of_two();
  next.set_optimizer(optimizer);
  REQUIRE(next.import_state(store.export_state()));
  CHECK(read(next, "w") == std::vector<float>{-0.5, 0});
  CHECK(read(next, "b") == std::vector<float>{-3});
  CHECK_FALSE(next.find_due(0)->is_due);
  // One that a stranger has written.
  auto state = store_of_two().export_state();
  state.emplace_back("w/.optimizer/accumulated", Tensor::scalar<std::int64_t>(DType::kS64, 5));
  CHECK(next.import_state(state));
  CHECK(read(next, "w") == std::vector<float>{1, 2});
}

TEST_CASE("store: updates of one norm are made once all of them are due, or one of them was made") {
  const DueUpdate a{"a", "", true, 4, 9}, b{"b", "", true, 4, 16}, other{"c/part_0", "c", true, 1, 3};
  auto both = join_norms({a, other, b});
  CHECK(both.is_complete);
  REQUIRE(both.updates.size() == 3);
  CHECK(both.updates[0].square_sum == 25);
  CHECK(both.updates[1].square_sum == 3);
  CHECK(both.updates[2].square_sum == 25);
  const DueUpdate waits{"b", "", false, 4, 49}, made{"b", "", false, 5, 100};
  auto one = join_norms({a, other, waits});
  CHECK_FALSE(one.is_complete);
  REQUIRE(one.updates.size() == 1);
  CHECK(one.updates[0].variable == "c/part_0");
  CHECK(join_norms({a, waits}, false).updates.at(0).square_sum == 9);
  auto rest = join_norms({a, made});
  CHECK(rest.is_complete);
  REQUIRE(rest.updates.size() == 1);
  CHECK(rest.updates[0].square_sum == 100);
  CHECK(join_norms({waits}).is_complete);
  CHECK(join_norms({}).updates.empty());
}

TEST_CASE("store: gradients that wait for their update are in a checkpoint") {
  const std::string text = R"({"sgd": {"learning_rate": 1, "gradient_accumulation_steps": 3}})";
  VariableStore first = store_of_two();
  first.set_optimizer(optimizer_of(text));
  REQUIRE(first.apply(0, {gradient("w", {3, 6})}));
  REQUIRE(first.apply(1, {gradient("w", {3, 0})}));
  CHECK(read(first, "w") == std::vector<float>{1, 2});
  VariableStore second = store_of_two();
  second.set_optimizer(optimizer_of(text));
  REQUIRE(second.import_state(first.export_state()));
  REQUIRE(second.apply(0, {gradient("w", {0, 0})}));
  CHECK(read(second, "w") == std::vector<float>{-1, 0});
}

TEST_CASE("store: averages become the values at the end") {
  VariableStore store = store_of_two();
  store.set_optimizer(optimizer_of(R"({"sgd": {"learning_rate": 1, "use_ema": true, "ema_momentum": 0.5}})"));
  REQUIRE(store.apply(0, {gradient("w", {1, 1})}));  // 0, 1
  REQUIRE(store.apply(1, {gradient("w", {2, 4})}));  // -2, -3; average -1, -1
  store.use_averages();
  CHECK(read(store, "w") == std::vector<float>{-1, -1});
  CHECK(read(store, "b") == std::vector<float>{3});
}

TEST_CASE("store: a loss scale doubles after so many finite steps and is halved by one that isn't") {
  VariableStore store;
  REQUIRE(store.create("optimizer/.loss_scale", Tensor::scalar(DType::kF32, 8.0F)));
  REQUIRE(store.create("w", floats({1})));
  store.set_optimizer(optimizer_of(R"({"sgd": {"loss_scale": {"initial": 8, "growth_steps": 3}}})"));
  std::uint64_t sequence = 0;
  const auto tell = [&](bool finite, float used) {
    const auto kind = finite ? UpdateKind::kFiniteScale : UpdateKind::kNonfiniteScale;
    REQUIRE(store.apply(sequence++, {{kind, "optimizer/.loss_scale", Tensor::scalar(DType::kF32, used)}}));
    return read(store, "optimizer/.loss_scale")[0];
  };
  CHECK(tell(true, 8) == 8);
  CHECK(tell(true, 8) == 8);
  CHECK(tell(true, 8) == 16);
  CHECK(tell(true, 8) == 16);   // late: it ran with the scale before
  CHECK(tell(false, 8) == 16);  // so did this
  CHECK(tell(true, 16) == 16);
  CHECK(tell(true, 16) == 16);
  CHECK(tell(false, 16) == 8);  // and the count begins anew
  CHECK(tell(true, 8) == 8);
  CHECK(tell(true, 8) == 8);
  CHECK(store.iterations() == 0);  // nothing was trained

  // A checkpoint has it with its count.
  VariableStore other;
  REQUIRE(other.create("optimizer/.loss_scale", Tensor::scalar(DType::kF32, 1.0F)));
  REQUIRE(other.create("w", floats({0})));
  other.set_optimizer(optimizer_of(R"({"sgd": {"loss_scale": {"initial": 8, "growth_steps": 3}}})"));
  REQUIRE(other.import_state(store.export_state()));
  REQUIRE(other.apply(0, {{UpdateKind::kFiniteScale, "optimizer/.loss_scale", Tensor::scalar(DType::kF32, 8.0F)}}));
  CHECK(read(other, "optimizer/.loss_scale") == std::vector<float>{16});
  // One from before there was a scale leaves it as it is.
  REQUIRE(other.import_state({{"w", floats({5})}}));
  CHECK(read(other, "optimizer/.loss_scale") == std::vector<float>{16});
  CHECK(read(other, "w") == std::vector<float>{5});
}

TEST_CASE("store: what is told of a loss scale where there is none is refused") {
  VariableStore store = store_of_two();
  const auto told = store.apply(0, {{UpdateKind::kFiniteScale, "b", floats({3})}});
  REQUIRE_FALSE(told);
  CHECK(told.error().code == Code::kFailedPrecondition);
  CHECK(told.error().message == "'b' is not a loss scale");
}
