#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A real plug-in, the one of TFD_PJRT_PLUGIN or the default, and the golden modules on it. Thread rule: main thread.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "golden.hpp"
#include "tfd/base/file.hpp"
#include "tfd/function/function.hpp"
#include "tfd/tensor/npy.hpp"

namespace tfd::function::test {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using tfd::test::golden;
using tfd::test::golden_path;

inline std::string plugin_path() {
  static const Result<std::string> path = find_plugin(Environment::of_process());
  REQUIRE_MESSAGE(path, (path ? "" : path.error().message));
  return *path;
}

inline std::shared_ptr<Engine> new_engine(const std::string& cache_directory = "", const std::string& xla_flags = "") {
  EngineOptions options;
  options.plugin = plugin_path();
  options.cache_directory = cache_directory;
  options.xla_flags = xla_flags;
  Result<std::shared_ptr<Engine>> engine = make_engine(options);
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().message));
  return *engine;
}

/// One for the tests that need none of their own: a client takes some 10 ms and 60 MB.
inline Engine& engine() {
  static const std::shared_ptr<Engine> shared = new_engine();
  return *shared;
}

inline hlo::Module module_of(const std::string& name) {
  const bool bytecode = name.ends_with(".mlirbc");
  Result<hlo::Module> module =
      hlo::make_module(name, golden(name), bytecode ? std::optional(golden(hlo::sidecar_path(name))) : std::nullopt);
  REQUIRE_MESSAGE(module, (module ? "" : module.error().message));
  return *module;
}

inline std::shared_ptr<Function> compiled(const hlo::Module& module) {
  Result<std::shared_ptr<Function>> function = engine().compile(module);
  REQUIRE_MESSAGE(function, (function ? "" : function.error().message));
  return *function;
}

inline std::vector<Tensor> called(Function& function, const std::vector<Tensor>& arguments) {
  Result<std::vector<Tensor>> results = function.call(arguments);
  REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
  return *results;
}

inline Tensor s32(std::int32_t value) { return Tensor::scalar(DType::kS32, value); }

inline Tensor filled(Shape shape, float value) {
  Tensor out = Tensor::uninitialized(DType::kF32, std::move(shape));
  std::fill_n(out.mutable_as<float>(), out.size(), value);
  return out;
}

inline std::vector<Tensor> mlp_arguments() {
  std::vector<Tensor> out;
  for (const char* name : {"w1", "b1", "w2", "b2", "x", "y"})
    out.push_back(tensor::load_npy(golden_path(std::string("mlp_grads.arg.") + name + ".npy")).value());
  return out;
}

inline void check_mlp_results(const std::vector<Tensor>& results) {
  const char* names[] = {"b1", "b2", "loss", "w1", "w2"};
  REQUIRE(results.size() == 5);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor wanted = tensor::load_npy(golden_path(std::string("mlp_grads.result.") + names[i] + ".npy")).value();
    REQUIRE(results[i].spec() == wanted.spec());
    for (std::int64_t k = 0; k < wanted.size(); ++k) {
      const auto at = static_cast<std::size_t>(k);
      CHECK(std::abs(results[i].as<float>()[at] - wanted.as<float>()[at]) < 1e-6f);
    }
  }
}

}  // namespace tfd::function::test
