// SPDX-License-Identifier: Apache-2.0
//
// Modules with complex arguments and results, which a function takes and returns as their parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engines.hpp"
#include "tfd/function/device.hpp"

using namespace tfd;
using namespace tfd::function;
using namespace tfd::function::test;

namespace {

using nlohmann::json;
using Numbers = std::vector<float>;

void append_numbers(const json& value, Numbers& out) {
  if (value.is_number()) return out.push_back(value.get<float>());
  for (const json& element : value) append_numbers(element, out);
}

Tensor parts(Shape shape, const Numbers& values) {
  Tensor out = Tensor::uninitialized(DType::kF32, std::move(shape));
  REQUIRE(out.size() == static_cast<std::int64_t>(values.size()));
  std::ranges::copy(values, out.mutable_as<float>());
  return out;
}

Numbers numbers_of(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

hlo::Module read_complex(const std::string& code) {
  const auto module = hlo::make_module("m.mlir", code, std::nullopt);
  REQUIRE_MESSAGE(module, (module ? "" : module.error().message));
  return *module;
}

}  // namespace

TEST_CASE("complex: jax's text, with parameters, state that is donated, and an fft, has jax's results") {
  const json golden_values = json::parse(golden("complex.json"));
  const auto function = compiled(module_of("complex.mlir"));
  std::vector<Tensor> arguments;
  for (const hlo::Parameter& argument : function->signature().arguments) {
    Numbers numbers;
    append_numbers(golden_values["arguments"][argument.name], numbers);
    arguments.push_back(parts(argument.spec.shape, numbers));
  }
  for (int time = 0; time < 3; ++time) {  // nobody has taken the arguments over
    const std::vector<Tensor> results = called(*function, arguments);
    std::size_t i = 0;
    for (const auto& [name, value] : golden_values["results"].items()) {
      INFO(name);
      Numbers wanted;
      append_numbers(value, wanted);
      const Numbers got = numbers_of(results.at(i++));
      REQUIRE(got.size() == wanted.size());
      for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == doctest::Approx(wanted[k]).epsilon(1e-5));
    }
  }
}

TEST_CASE("complex: an argument is a result, a value is returned twice, a loop carries one") {
  const auto function = compiled(read_complex(R"(module @m {
  func.func private @turn(%z: tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>) {
    %i = stablehlo.constant dense<(0.0, 1.0)> : tensor<2xcomplex<f32>>
    %0 = stablehlo.multiply %z, %i : tensor<2xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    return %0, %1 : tensor<2xcomplex<f32>>, tensor<2xf32>
  }
  func.func public @main(%z: tensor<2xcomplex<f32>> {tf.aliasing_output = 1 : i32}, %times: tensor<i32>, %unused: tensor<complex<f32>>)
      -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2xcomplex<f32>>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%k = %zero, %v = %z) : tensor<i32>, tensor<2xcomplex<f32>>
    cond {
      %c = stablehlo.compare LT, %k, %times, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %n = stablehlo.add %k, %one : tensor<i32>
      %t:2 = func.call @turn(%v) : (tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>)
      stablehlo.return %n, %t#0 : tensor<i32>, tensor<2xcomplex<f32>>
    }
    %1:2 = call @turn(%0#1) : (tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>)
    return %z, %0#1, %1#1, %0#1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2xcomplex<f32>>
  }
})"));
  const Tensor z = parts({2, 2}, {1, 2, 3, 4});
  for (int times = 1; times <= 3; times += 2) {
    const auto results = called(*function, {z, s32(times), parts({2}, {0, 0})});
    const Numbers turned = times == 1 ? Numbers{-2, 1, -4, 3} : Numbers{2, -1, 4, -3};
    CHECK(numbers_of(results[0]) == Numbers{1, 2, 3, 4});
    CHECK(numbers_of(results[1]) == turned);
    CHECK(numbers_of(results[2]) == (times == 1 ? Numbers{-1, -3} : Numbers{1, 3}));
    CHECK(numbers_of(results[3]) == turned);
  }
  CHECK(numbers_of(z) == Numbers{1, 2, 3, 4});
}

TEST_CASE("complex: what is donated is taken over, in parts") {
  const hlo::Module module = read_complex(
      "func.func @main(%z: tensor<2xcomplex<f32>> {tf.aliasing_output = 0 : i32}) -> tensor<2xcomplex<f32>> {\n"
      "  %0 = stablehlo.add %z, %z : tensor<2xcomplex<f32>>\n  return %0 : tensor<2xcomplex<f32>>\n}\n");
  const auto program = engine().compile_program(module, {.assignment = {{0}}}).value();
  const DeviceBufferPtr first = engine().put(parts({2, 2}, {1, 2, 3, 4}), 0).value();
  DeviceBufferPtr z = first;
  const std::vector<std::size_t> donated{0};
  for (int step = 0; step < 3; ++step) {
    const std::vector<DeviceBuffers> arguments{{z}};
    z = program->execute(arguments, donated).value()[0][0];
  }
  CHECK(numbers_of(z->to_host().value()) == Numbers{8, 16, 24, 32});
  CHECK_FALSE(first->await());
  const std::vector<DeviceBuffers> again{{first}};
  CHECK_FALSE(program->execute(again));
}

TEST_CASE("complex: f64, scalars and nothing at all; and bytes are as they were") {
  const auto function = compiled(read_complex(
      "func.func @main(%s: tensor<complex<f64>>, %none: tensor<3x0xcomplex<f32>>) -> (tensor<3x0xcomplex<f32>>, "
      "tensor<complex<f64>>) {\n  return %none, %s : tensor<3x0xcomplex<f32>>, tensor<complex<f64>>\n}\n"));
  Tensor s = Tensor::uninitialized(DType::kF64, {2});
  std::ranges::copy(std::vector{-0.0, std::nan("")}, s.mutable_as<double>());
  const auto results = called(*function, {s, Tensor::zeros(DType::kF32, {3, 0, 2})});
  CHECK(results[0].spec() == tensor::TensorSpec{DType::kF32, {3, 0, 2}});
  CHECK(std::signbit(results[1].as<double>()[0]));
  CHECK(std::isnan(results[1].as<double>()[1]));
}

TEST_CASE("complex: a compile error names the line of the text") {
  const auto error = [](const std::string& line) {
    return engine()
        .compile(read_complex("func.func @main(%z: tensor<complex<f32>>) -> tensor<complex<f32>> {\n" + line +
                              "\n  return %0 : tensor<complex<f32>>\n}\n"))
        .error()
        .message;
  };
  CHECK(error("  %0 = stablehlo.add %z, %y : tensor<complex<f32>>") ==
        "m.mlir does not compile: line 2: use of undeclared SSA value name");
  CHECK(error("  %0 = stablehlo.real %z : (tensor<complex<f32>>) -> tensor<f32>")
            .find("m.mlir does not compile: line 3: ") == 0);
}

TEST_CASE("complex: of bytecode it is refused, and said what to do") {
  for (const std::string name : {"complex.mlirbc", "magnitude.mlirbc"})
    CHECK(engine().compile(module_of(name)).error().message ==
          name + " is bytecode with complex arguments or results, which tfd only reads from text: save it as text");
  CHECK(hlo::make_module("m.mlirbc", golden("magnitude.mlirbc"), "arg complex64 3 z\nresult f32 3\n").error().message ==
        "m.sig: line 1: dtype 'complex64': a complex value is its real and its imaginary part, f32 with a last "
        "dimension of 2");
}
