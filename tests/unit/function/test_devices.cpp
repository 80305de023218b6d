// SPDX-License-Identifier: Apache-2.0
//
// Several devices of one client: a module is compiled once and runs on each, at the same time.
#include <doctest/doctest.h>

#include <thread>

#include "engines.hpp"
#include "golden.hpp"
#include "temporary_directory.hpp"
#include "tfd/function/function.hpp"

using namespace tfd;
using namespace tfd::function;
using namespace tfd::function::test;
using tensor::DType;
using tensor::Tensor;

namespace {

std::shared_ptr<Engine> engine_of(int devices, const std::string& cache = "") {
  EngineOptions options;
  options.plugin = find_plugin(Environment::of_process()).value();
  options.cache_directory = cache;
  options.device_count = devices;
  auto engine = make_engine(options);
  if (!engine) FAIL(engine.error().message);
  return *engine;
}

hlo::Module add_module() { return hlo::make_module("add.mlir", tfd::test::golden("add.mlir"), std::nullopt).value(); }

std::int32_t added(Function& add, const Tensor& a, const Tensor& b) {
  const auto results = add.call({a, b});
  if (!results) FAIL(results.error().message);
  return (*results)[0].as<std::int32_t>()[0];
}

void check_all(const std::vector<std::shared_ptr<Function>>& add) {
  REQUIRE(add.size() == 3);
  // Results of one device are arguments of the next.
  Tensor sum = s32(0);
  for (const auto& function : add) sum = function->call({sum, s32(7)}).value()[0];
  CHECK(sum.as<std::int32_t>()[0] == 21);
  std::vector<std::int32_t> sums(add.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t device = 0; device < add.size(); ++device)
      threads.emplace_back([&, device] {
        for (int i = 0; i < 100; ++i) sums[device] = added(*add[device], s32(sums[device]), s32(1));
      });
  }
  CHECK(sums == std::vector<std::int32_t>{100, 100, 100});
}

}  // namespace

TEST_CASE("devices: a module is compiled once and runs on each of three, at the same time") {
  const auto engine = engine_of(3);
  CHECK(engine->device_count() == 3);
  check_all(engine->compile_for_devices(add_module()).value());
  CHECK(engine->compile_stats().compiled == 1);
  CHECK(added(*engine->compile(add_module()).value(), s32(40), s32(2)) == 42);
  const auto one = engine_of(1)->compile_for_devices(add_module());
  REQUIRE(one);
  CHECK(one->size() == 1);
}

TEST_CASE("devices: what is compiled for several comes from the cache too, and isn't what is compiled for one") {
  const tfd::test::TemporaryDirectory cache;
  CHECK(engine_of(1, cache.path())->compile(add_module()));
  CHECK(engine_of(3, cache.path())->compile_for_devices(add_module()));
  const auto engine = engine_of(3, cache.path());
  check_all(engine->compile_for_devices(add_module()).value());
  CHECK(engine->compile_stats().compiled + engine->compile_stats().from_cache == 1);
}
