// SPDX-License-Identifier: Apache-2.0
//
// Partitioned variables through the coordinator: read and assigned whole, checkpoints for any number of parameter
// servers, averages at the end of training.
#include "bed.hpp"
#include "tfd/coordinator/trainer.hpp"
#include "tfd/variable/checkpoint.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

program::Program table_program(const std::vector<std::string>& overrides) {
  const auto read = [](const std::string&) -> Result<std::string> {
    return "module { func.func public @main(%g: tensor<5x2xf32>) -> tensor<5x2xf32> { } }";
  };
  auto program = program::parse_program(
      R"({"v": 1, "variables": {
            "table": {"shape": [5, 2], "init": {"zeros": {}}, "partitioner": {"fixed_shards": {"num_shards": 3}}},
            "other": {"shape": [], "init": {"zeros": {}}}},
          "optimizer": {"sgd": {"learning_rate": 1, "momentum": 0.5}},
          "datasets": {"ones": [{"tensor_slices": {"dtype": "f32", "shape": [1, 5, 2], "data": [[[1, 1], [1, 1], [1, 1], [1, 1], [1, 1]]]}},
                                {"repeat": {}}]},
          "functions": {
            "push": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"gradient": "table"}]},
            "step": {"module": "same.mlir", "inputs": [{"dataset": "ones"}], "outputs": [{"gradient": "table"}]}},
          "train": {"function": "step", "steps": 2}})",
      "test.json", "/", read, {.overrides = overrides});
  if (!program) FAIL(program.error().message);
  return std::move(*program);
}

std::vector<float> floats_of(const Tensor& tensor) { return {tensor.as<float>().begin(), tensor.as<float>().end()}; }

Tensor counted(float first) {
  Tensor out = Tensor::uninitialized(DType::kF32, {5, 2});
  for (std::int64_t i = 0; i < 10; ++i) out.mutable_as<float>()[i] = first + static_cast<float>(i);
  return out;
}

Tensor read_table(ClusterCoordinator& coordinator, const std::string& variable) {
  auto value = coordinator.read(variable, Deadline::after(20s));
  if (!value) FAIL(value.error().message);
  return *value;
}

void push(ClusterCoordinator& coordinator, float first) {
  REQUIRE(coordinator.schedule({.function = "push", .args = {counted(first)}}));
  REQUIRE(coordinator.join(Deadline::after(20s)));
}

TrainSummary train_well(Bed& bed, const program::Program& program) {
  auto summary = coordinator::train(
      program,
      [&](CoordinatorOptions with) { return ClusterCoordinator::connect(program, bed.config(), std::move(with)); },
      bed.options(), {});
  if (!summary) FAIL(summary.error().message);
  return *summary;
}

Tensor saved(const std::string& directory, const std::string& name) {
  const auto checkpoint = variable::load_latest_checkpoint(directory, nullptr);
  REQUIRE((checkpoint && *checkpoint));
  for (const auto& [key, value] : (*checkpoint)->state)
    if (key == name) return value;
  FAIL("no " << name);
  return {};
}

}  // namespace

TEST_CASE("partitioned: a variable in shards is read and assigned by its name") {
  for (const int servers : {1, 2, 3}) {
    Bed bed(1, servers);
    const auto program = table_program({});
    const auto coordinator = bed.connect(program, bed.options());
    REQUIRE(coordinator->assign("table", counted(3), Deadline::after(20s)));
    CHECK(tensor::same_bytes(read_table(*coordinator, "table"), counted(3)));
    push(*coordinator, 3);
    CHECK(floats_of(read_table(*coordinator, "table")) == std::vector<float>(10, 0));
    CHECK(coordinator->read("tabel", Deadline::after(20s)).error().message ==
          "no variable 'tabel', did you mean 'table'?");
    CHECK(coordinator->assign("table", number(1), Deadline::after(20s)).error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("partitioned: rows of a table are read by their numbers, wherever they are") {
  const auto numbers = [](const std::vector<std::int64_t>& rows) {
    Tensor out = Tensor::uninitialized(DType::kS64, {static_cast<std::int64_t>(rows.size())});
    std::ranges::copy(rows, out.mutable_as<std::int64_t>());
    return out;
  };
  for (const int servers : {1, 2, 3}) {
    Bed bed(1, servers);
    const auto program = table_program({});
    const auto coordinator = bed.connect(program, bed.options());
    REQUIRE(coordinator->assign("table", counted(0), Deadline::after(20s)));
    const auto rows = coordinator->read_rows("table", numbers({4, 0, 2, 4}), Deadline::after(20s));
    if (!rows) FAIL(rows.error().message);
    CHECK(floats_of(*rows) == std::vector<float>{8, 9, 0, 1, 4, 5, 8, 9});
    CHECK(coordinator->read_rows("table", numbers({}), Deadline::after(20s))->spec() ==
          tensor::TensorSpec{DType::kF32, {0, 2}});
    const auto beyond = coordinator->read_rows("table", numbers({0, 5}), Deadline::after(20s));
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().code == Code::kInvalidArgument);
    CHECK(beyond.error().message == "'table': no row 5: there are 5");
    CHECK(coordinator->read_rows("other", numbers({0}), Deadline::after(20s)).error().message ==
          "'other': a scalar has no rows");
    CHECK(coordinator->read_rows("tabel", numbers({0}), Deadline::after(20s)).error().code == Code::kNotFound);
  }
}

TEST_CASE("partitioned: rows of a table are assigned by their numbers, and no others change") {
  const auto numbers = [](const std::vector<std::int64_t>& rows) {
    Tensor out = Tensor::uninitialized(DType::kS64, {static_cast<std::int64_t>(rows.size())});
    std::ranges::copy(rows, out.mutable_as<std::int64_t>());
    return out;
  };
  const auto rows_of = [](std::vector<float> values) {
    Tensor out = Tensor::uninitialized(DType::kF32, {static_cast<std::int64_t>(values.size()) / 2, 2});
    std::ranges::copy(values, out.mutable_as<float>());
    return out;
  };
  for (const int servers : {1, 2, 3}) {
    Bed bed(1, servers);
    const auto coordinator = bed.connect(table_program({}), bed.options());
    REQUIRE(coordinator->assign("table", counted(0), Deadline::after(20s)));
    const auto assign = [&](const Tensor& rows, const Tensor& values) {
      return coordinator->assign_rows("table", rows, values, Deadline::after(20s));
    };
    // The last value of a repeated row counts.
    REQUIRE(assign(numbers({4, 0, 4}), rows_of({-1, -2, -3, -4, -5, -6})));
    CHECK(floats_of(read_table(*coordinator, "table")) == std::vector<float>{-3, -4, 2, 3, 4, 5, 6, 7, -5, -6});
    REQUIRE(assign(numbers({}), rows_of({})));
    CHECK(assign(numbers({5}), rows_of({1, 1})).error().message == "'table': no row 5: there are 5");
    CHECK(assign(numbers({1}), rows_of({1, 1, 1, 1})).error().message ==
          "these rows of 'table' are f32[1, 2], but the value is f32[2, 2]");
    CHECK(coordinator->assign_rows("other", numbers({0}), rows_of({1, 1}), Deadline::after(20s)).error().message ==
          "'other': a scalar has no rows");
    CHECK(floats_of(read_table(*coordinator, "table")) == std::vector<float>{-3, -4, 2, 3, 4, 5, 6, 7, -5, -6});
  }
}

TEST_CASE("partitioned: the state of one cluster goes on in one of another size") {
  Bed three(1, 3), two(1, 2), one(1, 1);
  const auto program = table_program({}), whole = table_program({"variables.table.partitioner=null"});
  const auto first = three.connect(program, three.options()), second = two.connect(program, two.options()),
             third = one.connect(whole, one.options());
  push(*first, 1);
  push(*first, 2);
  const auto state = first->export_state(Deadline::after(20s));
  REQUIRE(state);
  push(*first, 3);
  for (ClusterCoordinator* other : {second.get(), third.get()}) {
    REQUIRE(other->import_state(*state, Deadline::after(20s)));
    push(*other, 3);  // its momentum has come along
    CHECK(tensor::same_bytes(read_table(*other, "table"), read_table(*first, "table")));
  }
}

TEST_CASE(
    "partitioned: training continues from a checkpoint of another number of parameter servers, whoever wrote it") {
  for (const std::string by : {"coordinator", "servers"}) {
    CAPTURE(by);
    TemporaryDirectory directory;
    const auto table = [&](const std::string& steps) {
      return table_program({R"(train.checkpoint={"dir": ")" + directory.path() + R"(", "by": ")" + by + R"("})",
                            "train.steps=" + steps});
    };
    Bed two(1, 2), three(1, 3), one(1, 1), again(1, 1);
    CHECK(train_well(two, table("2")).step == 2);
    const auto resumed = train_well(three, table("4"));
    CHECK(resumed.first_step == 2);
    CHECK(resumed.step == 4);
    CHECK(train_well(one, table("6")).first_step == 4);
    const auto listed = variable::list_checkpoints(directory.path()).value();
    REQUIRE(listed.size() == 3);
    for (const auto& [step, path] : listed) CHECK(std::filesystem::is_directory(path) == (by == "servers"));
    train_well(again, table_program({"train.steps=6", "train.checkpoint.dir=" + directory.path() + "/whole"}));
    const auto parts = variable::load_latest_checkpoint(directory.path(), nullptr).value();
    const auto whole = variable::load_latest_checkpoint(directory.path() + "/whole", nullptr).value();
    CHECK(parts->state.size() == whole->state.size());
    for (const auto& [name, value] : whole->state)
      CHECK_MESSAGE(tensor::same_bytes(saved(directory.path(), name), value), name);
  }
}

TEST_CASE("training: with use_ema the values at the end are the averages, and the checkpoint has them") {
  TemporaryDirectory directory;
  Bed bed(1, 3);
  const auto program =
      table_program({R"(optimizer={"sgd": {"learning_rate": 1, "use_ema": true, "ema_momentum": 0.5}})",
                     "train.checkpoint.dir=" + directory.path()});
  CHECK(train_well(bed, program).reason == "done");  // -1, then -2
  CHECK(floats_of(saved(directory.path(), "table")) == std::vector<float>(10, -1.5F));
  CHECK(floats_of(saved(directory.path(), "table/.optimizer/sgd/average")) == std::vector<float>(10, -1.5F));
}
