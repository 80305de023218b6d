// SPDX-License-Identifier: Apache-2.0
//
// Real modules on a real plug-in: Meson runs this file on both.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "engines.hpp"

using namespace tfd;
using namespace tfd::function;
using namespace tfd::function::test;

TEST_CASE("function: the plug-in says what it is") {
  CHECK(engine().plugin().platform == "cpu");
  CHECK(engine().plugin().api_major == 0);
  CHECK(engine().plugin().api_minor >= 81);
  CHECK(engine().plugin().stablehlo_current.size() == 3);
}

TEST_CASE("function: adds two scalars") {
  const auto add = compiled(module_of("add.mlir"));
  CHECK(hlo::format_signature(add->signature()) == "(a: s32[], b: s32[]) -> (s32[])");
  CHECK(called(*add, {s32(40), s32(2)})[0].as<std::int32_t>()[0] == 42);
  const Tensor one = s32(1);
  CHECK(called(*add, {one, one})[0].as<std::int32_t>()[0] == 2);
}

TEST_CASE("function: gradients of an MLP are jax's, from text and from bytecode") {
  check_mlp_results(called(*compiled(module_of("mlp_grads.mlir")), mlp_arguments()));
  check_mlp_results(called(*compiled(module_of("mlp_grads.mlirbc")), mlp_arguments()));
}

TEST_CASE("function: every dtype goes in and comes out, empty tensors too") {
  const hlo::Module module = module_of("types.mlir");
  std::vector<Tensor> arguments;
  for (const hlo::Parameter& parameter : module.signature.arguments) {
    Tensor tensor = Tensor::zeros(parameter.spec.dtype, parameter.spec.shape);
    const std::size_t size = tensor::dtype_size(parameter.spec.dtype);
    for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i) {
      std::byte* element = tensor.mutable_data() + i * size;
      const float value = static_cast<float>(i);
      if (parameter.spec.dtype == DType::kF64)
        *reinterpret_cast<double*>(element) = value;
      else if (parameter.spec.dtype == DType::kF32)
        *reinterpret_cast<float*>(element) = value;
      else if (parameter.spec.dtype == DType::kF16)
        *reinterpret_cast<std::uint16_t*>(element) = tensor::float_to_half(value);
      else if (parameter.spec.dtype == DType::kBF16)
        *reinterpret_cast<std::uint16_t*>(element) = tensor::float_to_bfloat16(value);
      else
        element[0] = static_cast<std::byte>(parameter.spec.dtype == DType::kBool ? i % 2 : i);
    }
    arguments.push_back(tensor);
  }
  const std::vector<Tensor> results = called(*compiled(module), arguments);
  REQUIRE(results.size() == 14);
  CHECK(results[0].as<bool>()[0]);
  CHECK_FALSE(results[0].as<bool>()[1]);
  CHECK(results[1].as<std::int8_t>()[2] == 4);
  CHECK(results[2].as<std::int16_t>()[2] == 4);
  CHECK(results[3].as<std::int32_t>()[2] == 4);
  CHECK(results[4].as<std::int64_t>()[2] == 4);
  CHECK(results[5].as<std::uint8_t>()[2] == 4);
  CHECK(results[6].as<std::uint16_t>()[2] == 4);
  CHECK(results[7].as<std::uint32_t>()[2] == 4);
  CHECK(results[8].as<std::uint64_t>()[2] == 4);
  CHECK(tensor::half_to_float(results[9].as<std::uint16_t>()[2]) == 4);
  CHECK(tensor::bfloat16_to_float(results[10].as<std::uint16_t>()[2]) == 4);
  CHECK(results[11].as<float>()[2] == 4);
  CHECK(results[12].as<double>()[2] == 4);
  CHECK(results[13].shape() == Shape{0, 3});
  CHECK(results[13].data() != nullptr);
}

TEST_CASE("function: arguments that don't fit never reach the plug-in") {
  const auto add = compiled(module_of("add.mlir"));
  const auto error = [&](const std::vector<Tensor>& arguments) {
    const auto results = add->call(arguments);
    REQUIRE_FALSE(results);
    CHECK(results.error().code == Code::kInvalidArgument);
    return results.error().message;
  };
  CHECK(error({s32(1)}) == "add.mlir: 1 argument is given, but the module takes 2: (a: s32[], b: s32[]) -> (s32[])");
  CHECK(error({s32(1), filled({}, 1)}) == "add.mlir: argument 1 (b) is f32[], but the module takes s32[]");
  CHECK(error({Tensor::zeros(DType::kS32, {1}), s32(1)}) ==
        "add.mlir: argument 0 (a) is s32[1], but the module takes s32[]");
}

TEST_CASE("function: host tensors go in without a copy and are given back before the call returns") {
  const auto identity = compiled(module_of("identity.mlir"));
  Tensor x = filled({64, 16}, 3);
  const std::vector<Tensor> results = called(*identity, {x});
  CHECK(x.is_sole_owner());  // XLA holds nothing of it: a parameter server may write in place
  CHECK(results[0].data() != x.data());
  x.mutable_as<float>()[0] = 7;
  CHECK(results[0].as<float>()[0] == 3);
  CHECK(called(*identity, {x})[0].as<float>()[0] == 7);
  for (int i = 0; i < 200; ++i) {
    called(*identity, {x});
    REQUIRE(x.is_sole_owner());
    x.mutable_as<float>()[1023] = static_cast<float>(i);
  }
}

TEST_CASE("function: memory that isn't aligned is copied and right") {
  const auto identity = compiled(module_of("identity.mlir"));
  Tensor rows = filled({65, 16}, 0);
  for (int i = 0; i < 65 * 16; ++i) rows.mutable_as<float>()[i] = static_cast<float>(i);
  const Tensor aligned = rows.slice_rows(1, 64);  // 64 bytes on
  CHECK(called(*identity, {aligned})[0].as<float>()[0] == 16);
  const Tensor odd(DType::kF32, {64, 16}, rows.storage(), 4);
  const std::vector<Tensor> results = called(*identity, {odd});
  CHECK(results[0].as<float>()[0] == 1);
  CHECK(results[0].as<float>()[64 * 16 - 1] == 64 * 16);
}

TEST_CASE("function: results are read in place and go into the next call as they are") {
  const auto identity = compiled(module_of("identity.mlir"));
  std::vector<Tensor> results = called(*identity, {filled({64, 16}, 5)});
  const Tensor first = results[0];
  CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % tensor::kAlignment == 0);
  CHECK_FALSE(first.is_sole_owner());
  const std::byte* before = first.data();
  for (int i = 0; i < 10; ++i) results = called(*identity, {results[0]});
  CHECK(results[0].as<float>()[1023] == 5);
  CHECK(first.data() == before);
  CHECK(first.as<float>()[1023] == 5);
  // A view of a result, or one in another shape, is a host tensor like any other.
  const auto add =
      compiled(hlo::make_module("row.mlir",
                                "func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> { %0 = stablehlo.add "
                                "%a, %a : tensor<16xf32>\n return %0 : tensor<16xf32> }",
                                std::nullopt)
                   .value());
  CHECK(called(*add, {first.slice_rows(63, 1).reshaped({16})})[0].as<float>()[15] == 10);
  Tensor own = first.unshared();
  CHECK(own.is_sole_owner());
}

TEST_CASE("function: a module that wants to overwrite its argument gets a copy") {
  const auto donate = compiled(module_of("donate.mlir"));
  const Tensor w = filled({1024}, 10), g = filled({1024}, 1);
  CHECK(called(*donate, {w, g})[0].as<float>()[7] == 9);
  CHECK(w.as<float>()[7] == 10);
  const Tensor device = called(*donate, {w, g})[0];
  CHECK(called(*donate, {device, g})[0].as<float>()[7] == 8);
  CHECK(called(*donate, {device, g})[0].as<float>()[7] == 8);
  CHECK(called(*donate, {device, device})[0].as<float>()[7] == 0);
  CHECK(device.as<float>()[7] == 9);
}

TEST_CASE("function: results outlive their function and their engine") {
  Tensor result;
  {
    const auto own = new_engine();
    const auto identity = own->compile(module_of("identity.mlir")).value();
    result = called(*identity, {filled({64, 16}, 2)})[0];
  }
  CHECK(result.as<float>()[500] == 2);
  // A buffer of another client goes in as host memory.
  CHECK(called(*compiled(module_of("identity.mlir")), {result})[0].as<float>()[500] == 2);
}

TEST_CASE("function: calls from several threads at once") {
  const auto add = compiled(module_of("add.mlir"));
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const auto results = add->call({s32(i), s32(t)});
        if (!results || (*results)[0].as<std::int32_t>()[0] != i + t) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("function: a module that the compiler refuses is an error with its name and one line") {
  const auto error = [&](const std::string& body) {
    const std::string code =
        "module {\n func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" + body + "\n }\n}\n";
    const auto function = engine().compile(hlo::make_module("bad.mlir", code, std::nullopt).value());
    REQUIRE_FALSE(function);
    CHECK(function.error().code == Code::kInvalidArgument);
    return function.error().message;
  };
  CHECK(error("return %b : tensor<4xf32>") == "bad.mlir does not compile: line 3: use of undeclared SSA value name");
  CHECK(error("%0 = stablehlo.frobnicate %a : tensor<4xf32>\n return %0 : tensor<4xf32>") ==
        "bad.mlir does not compile: line 3: custom op 'stablehlo.frobnicate' is unknown");
  CHECK(error("%0 = stablehlo.add %a, %a : tensor<5xf32>\n return %0 : tensor<5xf32>")
            .find("bad.mlir does not compile: line 3: use of value '%a'") == 0);
}

TEST_CASE("function: jax's platform index is filled in, from text and from bytecode") {
  const auto doubled = [](hlo::Module module) {
    module.platforms = {"cuda", "cpu", "tpu"};
    const auto results = called(*compiled(module), {filled({3}, 1.5F)});
    const auto values = results[0].as<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> expected{3, 3, 3};
  CHECK(doubled(module_of("by_platform.mlir")) == expected);
  CHECK(doubled(module_of("by_platform.mlirbc")) == expected);
  const auto results = called(*compiled(module_of("platforms.mlir")), {Tensor::scalar(DType::kF32, 2.0F)});
  CHECK(results[0].as<float>()[0] == 3);  // it doesn't ask: none need be stated
  CHECK(engine().compile(module_of("by_platform.mlir")).error().message.find("list them in the order") !=
        std::string::npos);
  hlo::Module other = module_of("by_platform.mlir");
  other.platforms = {"cuda", "rocm", "tpu"};
  const auto refused = engine().compile(other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kFailedPrecondition);
  CHECK(refused.error().message ==
        "by_platform.mlir is for cuda, rocm and tpu (its 'platforms'), but this task's plug-in is for cpu");
}

TEST_CASE("function: arguments of a module for several platforms are checked by its own signature") {
  hlo::Module module = module_of("by_platform.mlirbc");
  module.platforms = {"cuda", "cpu", "tpu"};
  const auto function = compiled(module);
  CHECK(hlo::format_signature(function->signature()) == "(x: f32[3]) -> (f32[3])");
  CHECK(function->call({s32(1), filled({3}, 1)}).error().message ==
        "2 arguments are given, but the module takes 1: (x: f32[3]) -> (f32[3])");
}

TEST_CASE("function: a custom call that the plug-in lacks is named, but not one that is for another platform") {
  hlo::Module changed = module_of("cholesky.mlir");
  const std::string known = "lapack_spotrf_ffi", unknown = "lapack_sfoo_ffi";
  changed.code.replace(changed.code.find("@" + known) + 1, known.size(), unknown);
  changed.custom_calls = {unknown};
  const auto lacks = engine().compile(changed);
  REQUIRE_FALSE(lacks);
  CHECK(lacks.error().message.find(
            "cholesky.mlir needs a custom call that the plug-in for cpu doesn't have: No FFI handler registered for "
            "lapack_sfoo_ffi") == 0);
  hlo::Module chosen = module_of("kernels.mlir");
  chosen.platforms = {"cpu", "cuda"};
  const auto results = called(*compiled(chosen), {filled({2, 2}, 4)});
  CHECK(results[0].as<float>()[0] == 8);
}

TEST_CASE("function: several partitions are refused for now") {
  const auto function = engine().compile(module_of("sharded.mlir"));
  REQUIRE_FALSE(function);
  CHECK(function.error().code == Code::kUnimplemented);
  CHECK(function.error().message ==
        "sharded.mlir is for 2 partitions and 1 replicas, but only modules for one device are supported: export it for "
        "one");
}

TEST_CASE("function: a sidecar that lies about its bytecode is found out") {
  const std::string sidecar = golden("mlp_grads.sig");
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = sidecar;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    const auto function = engine().compile(hlo::make_module("m.mlirbc", golden("mlp_grads.mlirbc"), changed).value());
    REQUIRE_FALSE(function);
    CHECK(function.error().code == Code::kInvalidArgument);
    return function.error().message;
  };
  CHECK(error("result f32 3 b2", "result f32 4 b2") ==
        "m.mlirbc: the signature states result 1 as f32[4], but the compiled program has f32[3]");
  CHECK(error("result f32 3 b2\n", "") == "m.mlirbc: the signature states 4 results, but the compiled program has 5");
  // The same number of bytes, which is all that the plug-in would look at.
  CHECK(error("arg s32 5 y", "arg f32 5 y") ==
        "m.mlirbc: the signature states argument 5 as f32[5], but the compiled program has s32[5]");
  CHECK(error("arg f32 12,8 w1", "arg f32 8,12 w1") ==
        "m.mlirbc: the signature states argument 0 as f32[8, 12], but the compiled program has f32[12, 8]");
  CHECK(error("arg s32 5 y\n", "") == "m.mlirbc: the signature states 5 arguments, but the compiled program has 6");
}
