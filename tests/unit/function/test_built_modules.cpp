// SPDX-License-Identifier: Apache-2.0
//
// Modules that tfd writes itself, on the plug-in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "engines.hpp"
#include "tfd/function/value_watch.hpp"
#include "tfd/hlo/builder.hpp"
#include "tfd/hlo/embed.hpp"

using namespace tfd;
using namespace tfd::function;
using namespace tfd::function::test;
using hlo::Builder;
using hlo::Value;
using tensor::TensorSpec;

namespace {

using Floats = std::vector<float>;
const TensorSpec kFour{DType::kF32, {4}};

Tensor f32s(tensor::Shape shape, const Floats& values) {
  Tensor out = Tensor::uninitialized(DType::kF32, std::move(shape));
  std::ranges::copy(values, out.mutable_as<float>());
  return out;
}

Floats listed(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

std::vector<Tensor> run(const hlo::Module& module, const std::vector<Tensor>& arguments) {
  const auto parsed = hlo::make_module(module.name, module.code, std::nullopt);
  REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.error().message));
  CHECK(hlo::same_specs(parsed->signature, module.signature));
  CHECK(parsed->replicas == module.replicas);
  const auto function = new_engine()->compile(module);
  REQUIRE_MESSAGE(function, (function ? "" : function.error().message + "\n" + module.code));
  return (*function)->call(arguments).value();
}

}  // namespace

TEST_CASE("built modules: arithmetic with numbers and scalars, comparisons, choices") {
  Builder builder("arithmetic");
  const Value x = builder.argument("x", kFour), s = builder.argument("s", {DType::kF32, {}});
  const Value y = (x * s + 1 - s / 2) * -x;
  const auto module = builder.finish({{"y", y},
                                      {"root", sqrt(abs(x))},
                                      {"power", pow(abs(x), Value(3))},
                                      {"sign", select(Value(0) < x, Value(1), Value(-1))},
                                      {"least", select(x < s, x, s)},
                                      {"finite", is_finite(1 / x)}});
  const auto results = run(module, {f32s({4}, {1, -2, 0, 4}), f32s({}, {2})});
  CHECK(listed(results[0]) == Floats{-2, -8, 0, -32});
  CHECK(listed(results[1]) == Floats{1, std::sqrt(2.0F), 0, 2});
  CHECK(listed(results[2])[3] == doctest::Approx(64));
  CHECK(listed(results[3]) == Floats{1, -1, -1, 1});
  CHECK(listed(results[4]) == Floats{1, -2, 0, 2});
  CHECK(results[5].spec() == TensorSpec{DType::kBool, {4}});
  CHECK(results[5].data()[2] == std::byte(0));
  CHECK(results[5].data()[3] == std::byte(1));
}

TEST_CASE("built modules: values are shown before the program ends, if anybody watches") {
  struct Watch final : ValueWatch {
    void computed(std::size_t index, const std::byte* data) override {
      const std::lock_guard lock(mutex);
      const auto* const from = reinterpret_cast<const float*>(data);
      shown[index].assign(from, from + 4);
    }
    std::mutex mutex;
    std::map<std::size_t, Floats> shown;
  };
  Builder builder("shows");
  const Value x = builder.argument("x", kFour), watch = builder.argument("watch", {DType::kU64, {}});
  const Value doubled = x * 2, more = doubled + 1;
  builder.call_out(kWatchTarget, std::array{doubled, watch}, 3);
  builder.call_out(kWatchTarget, std::array{more, watch}, 0);
  const auto module = builder.finish({{"more", more}});
  REQUIRE(new_engine()->shows_values());
  Watch both;
  const auto results = run(module, {f32s({4}, {1, 2, 3, 4}), watch_argument(&both)});
  CHECK(listed(results[0]) == Floats{3, 5, 7, 9});
  CHECK(both.shown == std::map<std::size_t, Floats>{{0, {3, 5, 7, 9}}, {3, {2, 4, 6, 8}}});
  CHECK(listed(run(module, {f32s({4}, {1, 2, 3, 4}), watch_argument(nullptr)})[0]) == Floats{3, 5, 7, 9});
}

TEST_CASE("built modules: constants are exact") {
  for (const double number : {0.1, 1e-7, 1.0 / 3, -65504.0, 5e-324, 1e308}) {
    Builder builder("constants");
    const auto results = run(builder.finish({{"f32", builder.constant(number, {DType::kF32, {}})},
                                             {"f64", builder.constant(number, {DType::kF64, {}})},
                                             {"s32", builder.constant(-7, {DType::kS32, {2}})}}),
                             {});
    CHECK(results[0].as<float>()[0] == static_cast<float>(number));
    CHECK(results[1].as<double>()[0] == number);
    CHECK(results[2].as<std::int32_t>()[1] == -7);
  }
}

TEST_CASE("built modules: parts of vectors, sums, other dtypes") {
  Builder builder("parts");
  const Value x = builder.argument("x", {DType::kF32, {6}});
  const Value matrix = builder.reshape(builder.slice(x, 2, 6), {2, 2});
  const Value half = builder.convert(matrix, DType::kBF16);
  const Value back = builder.reshape(builder.convert(half, DType::kF32), {4});
  const auto results = run(builder.finish({{"matrix", matrix},
                                           {"joined", builder.concatenate(std::vector{back, builder.slice(x, 0, 1)})},
                                           {"sum", builder.sum(matrix)},
                                           {"third", builder.element(x, 2)},
                                           {"all", builder.all(x < 6)},
                                           {"not all", builder.all(x < 5)}}),
                           {f32s({6}, {0, 1, 2, 3, 4, 5})});
  CHECK(results[0].shape() == Shape{2, 2});
  CHECK(listed(results[1]) == Floats{2, 3, 4, 5, 0});
  CHECK(results[2].as<float>()[0] == 14);
  CHECK(results[3].as<float>()[0] == 2);
  CHECK(results[4].data()[0] == std::byte(1));
  CHECK(results[5].data()[0] == std::byte(0));
}

TEST_CASE("built modules: a module that is embedded twice gives what it gives by itself") {
  const auto module = hlo::make_module("mlp_grads.mlir", golden("mlp_grads.mlir"), std::nullopt).value();
  std::vector<Tensor> arguments;
  for (const hlo::Parameter& argument : module.signature.arguments)
    arguments.push_back(tensor::load_npy(golden_path("mlp_grads.arg." + argument.name + ".npy")).value());
  const auto own = run(module, arguments);

  const auto a = hlo::embed(module, "a").value(), b = hlo::embed(module, "b").value();
  Builder builder("twice");
  std::vector<Value> values;
  for (const hlo::Parameter& argument : module.signature.arguments)
    values.push_back(builder.argument(argument.name, argument.spec));
  builder.embed(a);
  builder.embed(b);
  const auto first = builder.call(a, values), second = builder.call(b, values);
  std::vector<std::pair<std::string, Value>> sums;
  for (std::size_t i = 0; i < first.size(); ++i) sums.emplace_back(fmt::format("r{}", i), first[i] + second[i]);
  const auto both = run(builder.finish(sums), arguments);
  REQUIRE(both.size() == own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::int64_t k = 0; k < own[i].size(); ++k)
      CHECK(both[i].as<float>()[static_cast<std::size_t>(k)] ==
            doctest::Approx(2 * own[i].as<float>()[static_cast<std::size_t>(k)]));
}

TEST_CASE("built modules: each replica knows which it is, and what is embedded twice is there once") {
  const auto engine = make_engine({.plugin = plugin_path(), .cache_directory = "", .device_count = 2}).value();
  Builder one("one");
  const Value x = one.argument("x", kFour);
  const auto embedded = hlo::embed(one.finish({{"y", x * 2}}), "twice").value();
  Builder builder("which");
  const Value own = hlo::convert(builder.replica_id(), DType::kF32);
  std::vector<Value> values{builder.argument("x", kFour) + own};
  for (int i = 0; i < 2; ++i) {
    builder.embed(embedded);
    values = builder.call(embedded, values);
  }
  auto program = engine->compile_program(builder.finish({{"y", values.front()}}, 2), {.assignment = {{0}, {1}}});
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  std::vector<DeviceBuffers> arguments(2);
  for (int device : {0, 1})
    arguments[static_cast<std::size_t>(device)].push_back(engine->put(f32s({4}, {1, 2, 3, 4}), device).value());
  const auto results = (*program)->execute(arguments).value();
  CHECK(results[0][0]->to_host().value().as<float>()[3] == 16);
  CHECK(results[1][0]->to_host().value().as<float>()[3] == 20);
}

TEST_CASE("built modules: a sum over replicas, and memory that is taken over") {
  EngineOptions options{.plugin = plugin_path(), .cache_directory = "", .device_count = 2};
  const auto engine = make_engine(options).value();
  Builder builder("reduce");
  const Value w = builder.argument("w", kFour, 0), g = builder.argument("g", kFour);
  const auto module = builder.finish({{"w", w + builder.all_reduce(g, 2)}}, 2);
  CHECK(module.may_donate);
  auto program = engine->compile_program(module, {.assignment = {{0}, {1}}});
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  std::vector<DeviceBuffers> arguments(2);
  for (int device : {0, 1}) {
    auto& own = arguments[static_cast<std::size_t>(device)];
    own.push_back(engine->put(f32s({4}, {1, 2, 3, 4}), device).value());
    own.push_back(engine->put(f32s({4}, {10, 10, 10, static_cast<float>(device)}), device).value());
  }
  const std::vector<std::size_t> donated{0};
  const auto results = (*program)->execute(arguments, donated).value();
  for (const DeviceBuffers& own : results) CHECK(listed(own[0]->to_host().value()) == Floats{21, 22, 23, 5});
}

TEST_CASE("built modules: a compile error names the line of the file that is embedded, or what is written around it") {
  const auto embedded = hlo::embed(
      hlo::make_module(
          "user.mlir",
          "#loc = loc(\"f.py\":1:2)\nmodule {\n func.func @main(%a: tensor<4xf32> loc(#loc)) -> tensor<4xf32> {\n"
          "  %0 = stablehlo.negate %a : tensor<4xf32> loc(#loc)\n  return %nothing : tensor<4xf32>\n }\n}\n",
          std::nullopt)
          .value(),
      "model");
  REQUIRE(embedded);
  Builder builder("step");
  builder.embed(*embedded);
  const Value x = builder.argument("x", kFour);
  const Value y = builder.call(*embedded, std::vector<Value>{x})[0];
  hlo::Module module = builder.finish({{"y", y}});
  const auto error = [&] { return new_engine()->compile(module).error().message; };
  CHECK(error() == "step does not compile: line 5 of user.mlir: use of undeclared SSA value name");
  module.code.replace(module.code.find("return %0"), 9, "return %9");
  CHECK(
      error() ==
      "step does not compile: line 4 of what tfd wrote around it ('return %9 : tensor<4xf32>'): use of undeclared SSA "
      "value name");
}
