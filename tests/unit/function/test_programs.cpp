// SPDX-License-Identifier: Apache-2.0
//
// Values that stay on devices, and programs that run on several of them at once.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines.hpp"
#include "temporary_directory.hpp"
#include "tfd/function/device.hpp"

using namespace tfd;
using namespace tfd::function;
using namespace tfd::function::test;
using tensor::DType;
using tensor::Tensor;

namespace {

using Floats = std::vector<float>;

// w + g in w's memory.
constexpr const char* kAdd = R"(module @add_to {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %w, %g : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

// The sum over two replicas, and which of them this one is.
constexpr const char* kSum = R"(module @sum attributes {mhlo.num_replicas = 2 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<ui32>) {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.replica_id : tensor<ui32>
    return %0, %2 : tensor<2xf32>, tensor<ui32>
  }
})";

// Each of two partitions has half of the columns of x and of the rows of w.
constexpr const char* kSharded = R"(module @product attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%x: tensor<2x4xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"},
                         %w: tensor<4x3xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})
      -> (tensor<2x3xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
})";

std::shared_ptr<Engine> engine_with(int devices, const std::string& cache = "") {
  EngineOptions options{.plugin = plugin_path(), .cache_directory = cache, .device_count = devices};
  auto engine = make_engine(options);
  if (!engine) FAIL(engine.error().message);
  return *engine;
}

Engine& four() {
  static const std::shared_ptr<Engine> shared = engine_with(4);
  return *shared;
}

hlo::Module text_module(const char* text) { return hlo::make_module("test.mlir", text, std::nullopt).value(); }

std::shared_ptr<DeviceProgram> program_of(Engine& engine, const char* text, std::vector<std::vector<int>> assignment) {
  auto program = engine.compile_program(text_module(text), {.assignment = std::move(assignment)});
  if (!program) FAIL(program.error().message);
  return *program;
}

Tensor floats(tensor::Shape shape, const Floats& values) {
  Tensor out = Tensor::uninitialized(DType::kF32, std::move(shape));
  std::ranges::copy(values, out.mutable_as<float>());
  return out;
}

Floats host(const DeviceBufferPtr& buffer) {
  const auto value = buffer->to_host();
  if (!value) FAIL(value.error().message);
  const auto values = value->as<float>();
  return {values.begin(), values.end()};
}

std::vector<DeviceBuffers> executed(DeviceProgram& program, const std::vector<DeviceBuffers>& arguments,
                                    std::vector<std::size_t> donated = {}) {
  auto results = program.execute(arguments, donated);
  if (!results) FAIL(results.error().message);
  return *results;
}

std::string refusal(const Result<std::vector<DeviceBuffers>>& executed) {
  REQUIRE_FALSE(executed);
  CHECK(executed.error().code == Code::kInvalidArgument);
  return executed.error().message;
}

}  // namespace

TEST_CASE("programs: a value is put on a device, and comes back when it is asked for") {
  const DeviceBufferPtr buffer = four().put(floats({2, 2}, {1, 2, 3, 4}), 3).value();
  CHECK(buffer->device() == 3);
  CHECK(buffer->spec() == tensor::TensorSpec{DType::kF32, {2, 2}});
  CHECK(buffer->await());
  CHECK(host(buffer) == Floats{1, 2, 3, 4});
  CHECK(four().put(floats({0}, {}), 0).value()->to_host()->size() == 0);
  CHECK_FALSE(four().put(floats({1}, {1}), 4));
  CHECK_FALSE(four().put(floats({1}, {1}), -1));
}

TEST_CASE("programs: what was put is a copy, what was lent may not be") {
  Tensor value = floats({2}, {1, 2});
  const DeviceBufferPtr put = four().put(value, 0).value();
  REQUIRE(put->await());
  value.mutable_as<float>()[0] = 9;
  CHECK(host(put) == Floats{1, 2});
  CHECK(host(four().lend(value, 0).value()) == Floats{9, 2});
}

TEST_CASE("programs: devices say what they are") {
  REQUIRE(four().devices().size() == 4);
  for (int i = 0; i < 4; ++i) CHECK(four().devices()[static_cast<std::size_t>(i)].id == i);
  CHECK_FALSE(four().devices()[0].kind.empty());
  CHECK_FALSE(four().memory(9));
}

TEST_CASE("programs: two replicas, on devices of one's choice, meet in a collective") {
  const auto program = program_of(four(), kSum, {{3}, {1}});
  CHECK(program->devices() == std::vector<int>{3, 1});
  for (float i = 0; i < 20; ++i) {
    const auto results = executed(
        *program, {{four().put(floats({2}, {i, 1}), 3).value()}, {four().put(floats({2}, {i, 20}), 1).value()}});
    REQUIRE(results.size() == 2);
    for (const DeviceBuffers& slot : results) CHECK(host(slot[0]) == Floats{2 * i, 21});
    CHECK(results[0][0]->device() == 3);
    CHECK(results[1][0]->device() == 1);
    CHECK(results[1][1]->to_host()->as<std::uint32_t>()[0] == 1);
  }
}

TEST_CASE("programs: partitions take and give shards") {
  const auto program = program_of(four(), kSharded, {{2, 0}});
  REQUIRE(program->arguments().size() == 2);
  CHECK(program->arguments()[0].shape == tensor::Shape{2, 2});
  CHECK(program->arguments()[1].shape == tensor::Shape{2, 3});
  CHECK(program->results()[0].shape == tensor::Shape{2, 3});
  // x = [[1 2 | 3 4], [5 6 | 7 8]], w = rows (1 0 0), (0 1 0) | (0 0 1), (1 1 1)
  const auto results = executed(*program, {{four().put(floats({2, 2}, {1, 2, 5, 6}), 2).value(),
                                            four().put(floats({2, 3}, {1, 0, 0, 0, 1, 0}), 2).value()},
                                           {four().put(floats({2, 2}, {3, 4, 7, 8}), 0).value(),
                                            four().put(floats({2, 3}, {0, 0, 1, 1, 1, 1}), 0).value()}});
  for (const DeviceBuffers& slot : results) CHECK(host(slot[0]) == Floats{5, 6, 7, 13, 14, 15});
}

TEST_CASE("programs: an argument that is donated is gone, and its memory is the result's") {
  const auto program = program_of(four(), kAdd, {{1}});
  const Tensor ones = floats({4}, {1, 1, 1, 1});
  DeviceBufferPtr w = four().put(floats({4}, {1, 2, 3, 4}), 1).value();
  const DeviceBufferPtr first = w;
  for (int step = 1; step <= 10; ++step) w = executed(*program, {{w, four().lend(ones, 1).value()}}, {0})[0][0];
  CHECK(host(w) == Floats{11, 12, 13, 14});
  const auto gone = first->await();
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Code::kFailedPrecondition);
  CHECK(refusal(program->execute({{first, four().lend(ones, 1).value()}})) ==
        "test.mlir: argument 0 of slot 0 was taken over by an earlier program");
}

TEST_CASE("programs: what isn't donated, is seen by the host or is there twice stays as it is") {
  const auto program = program_of(four(), kAdd, {{0}});
  const DeviceBufferPtr w = four().put(floats({4}, {1, 2, 3, 4}), 0).value();
  const DeviceBufferPtr ones = four().put(floats({4}, {1, 1, 1, 1}), 0).value();
  CHECK(host(executed(*program, {{w, ones}})[0][0]) == Floats{2, 3, 4, 5});
  CHECK(host(w) == Floats{1, 2, 3, 4});
  const Tensor seen = w->to_host().value();
  const auto results = executed(*program, {{w, ones}}, {0});
  CHECK(host(results[0][0]) == Floats{2, 3, 4, 5});
  CHECK(seen.as<float>()[0] == 1);
  CHECK(host(executed(*program, {{ones, ones}}, {0})[0][0]) == Floats{2, 2, 2, 2});
  CHECK(host(ones) == Floats{1, 1, 1, 1});
}

TEST_CASE("programs: an argument that doesn't fit is named before any device begins, and nothing is lost") {
  const auto program = program_of(four(), kSum, {{0}, {1}});
  const auto put = [](const Tensor& value, int device) { return four().put(value, device).value(); };
  const Tensor pair = floats({2}, {1, 2});
  CHECK(refusal(program->execute({{put(pair, 0)}})) ==
        "test.mlir: arguments were made for 1 device, but the program runs on 2");
  CHECK(refusal(program->execute({{put(pair, 0)}, {}})) == "test.mlir: slot 1 has 0 arguments, but it takes 1");
  CHECK(refusal(program->execute({{put(pair, 0)}, {put(pair, 0)}})) ==
        "test.mlir: argument 0 of slot 1 is on device 0, not 1");
  CHECK(refusal(program->execute({{put(pair, 0)}, {put(floats({1, 2}, {1, 2}), 1)}})) ==
        "test.mlir: argument 0 of slot 1 is f32[1, 2], not f32[2]");
  CHECK(refusal(program->execute({{put(pair, 0)}, {nullptr}})) ==
        "test.mlir: argument 0 of slot 1 is no buffer of a PJRT client");
  const auto other = engine_with(2);
  CHECK(refusal(program->execute({{put(pair, 0)}, {other->put(pair, 1).value()}})) ==
        "test.mlir: argument 0 of slot 1 is of another client");
  CHECK(host(executed(*program, {{put(pair, 0)}, {put(pair, 1)}})[1][0]) == Floats{2, 4});
}

TEST_CASE("programs: an assignment has devices that there are, each once, and as many as the module is for") {
  const auto refused = [](const char* text, std::vector<std::vector<int>> assignment) {
    const auto program = four().compile_program(text_module(text), {.assignment = std::move(assignment)});
    REQUIRE_FALSE(program);
    CHECK(program.error().code == Code::kInvalidArgument);
    return program.error().message;
  };
  CHECK(refused(kAdd, {}) == "test.mlir: a device assignment without devices");
  CHECK(refused(kAdd, {{}}) == "test.mlir: a device assignment without devices");
  CHECK(refused(kAdd, {{4}}) == "test.mlir: a device assignment with device 4: there are 4");
  CHECK(refused(kAdd, {{1}, {1}}) == "test.mlir: a device assignment that has device 1 twice");
  CHECK(refused(kAdd, {{1, 2}, {3}}) ==
        "test.mlir: a device assignment with 2 devices for one replica and 1 for another");
  CHECK(refused(kSum, {{0}, {1}, {2}}) == "test.mlir is for 1 partitions and 2 replicas, not for 1 and 3");
  CHECK(refused(kSharded, {{0}}) == "test.mlir is for 2 partitions and 1 replicas, not for 1 and 1");
}

TEST_CASE("programs: come from the cache, by their assignment, too") {
  tfd::test::TemporaryDirectory directory;
  for (int pass = 0; pass < 2; ++pass) {
    const auto engine = engine_with(2, directory.path());
    program_of(*engine, kAdd, {{0}});
    const auto second = program_of(*engine, kAdd, {{1}});
    CHECK(engine->compile_stats().from_cache == 2 * pass);
    const auto result = executed(*second, {{engine->put(floats({4}, {1, 2, 3, 4}), 1).value(),
                                            engine->put(floats({4}, {1, 1, 1, 1}), 1).value()}});
    CHECK(host(result[0][0]) == Floats{2, 3, 4, 5});
    CHECK(result[0][0]->device() == 1);
  }
}

TEST_CASE("programs: say what memory they need") {
  const auto memory = program_of(four(), kAdd, {{0}})->memory();
  REQUIRE(memory);
  CHECK(memory->arguments == 32);
  CHECK(memory->aliased == 16);
}
