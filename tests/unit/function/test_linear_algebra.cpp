// SPDX-License-Identifier: Apache-2.0
//
// JAX's modules for jax.numpy.linalg on a CPU, against the results of jaxlib's LAPACK
// (tests/golden/modules/linear_algebra).
#include <filesystem>
#include <thread>

#include "engines.hpp"
#include "temporary_directory.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::function::test {
namespace {

using tfd::test::TemporaryDirectory;

const char* const kCases[] = {
    "cholesky",    "triangular_solve",  "lu",      "qr", "pivoted_qr", "svd", "eigh", "eig", "schur", "hessenberg",
    "tridiagonal", "tridiagonal_solve", "singular"};

std::string case_name(const std::string& name) { return "linear_algebra/" + name + ".mlir"; }

std::vector<Tensor> values_of(const std::string& name, const std::string& kind, std::size_t count) {
  const auto file = tensor::SafetensorsReader::open(golden_path("linear_algebra/" + name + ".safetensors")).value();
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(file.read(fmt::format("{}{}", kind, i)).value());
  return out;
}

/// The largest difference, of numbers above 1 relative to them; NaN equals NaN.
template <class T>
double difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) {
    const double x = static_cast<double>(a.as<T>()[i]), y = static_cast<double>(b.as<T>()[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double distance = std::abs(x - y) / std::max(1.0, std::abs(y));
    worst = std::isnan(distance) ? INFINITY : std::max(worst, distance);
  }
  return worst;
}

void check_results(const std::string& name, const std::vector<Tensor>& results) {
  const std::vector<Tensor> wanted = values_of(name, "result", results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    CAPTURE(name);
    CAPTURE(i);
    REQUIRE(results[i].spec() == wanted[i].spec());
    if (wanted[i].dtype() == DType::kF32)
      CHECK(difference<float>(results[i], wanted[i]) < 2e-4);
    else if (wanted[i].dtype() == DType::kF64)
      CHECK(difference<double>(results[i], wanted[i]) < 1e-11);
    else
      CHECK(difference<std::int32_t>(results[i], wanted[i]) == 0);
  }
}

/// A matrix of two rows and a call on it.
std::string call_of(const std::string& target, const std::string& operands, const std::string& types,
                    const std::string& attributes) {
  return "func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xf32>) -> tensor<f32> {\n %0:2 = stablehlo.custom_call @" +
         target + "(" + operands + ") {api_version = 4 : i32, has_side_effect = true, backend_config = {" + attributes +
         "}} : " + types + "\n %1 = stablehlo.constant dense<0.0> : tensor<f32>\n return %1 : tensor<f32>\n}";
}

std::string error_of_call(const std::string& code) {
  const auto made = hlo::make_module("m.mlir", code, std::nullopt);
  REQUIRE(made);
  const auto results = compiled(*made)->call({filled({2, 2}, 1), filled({2}, 1)});
  REQUIRE_FALSE(results);
  return results.error().message;
}

bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE(text);
  return false;
}

}  // namespace

TEST_CASE("linear algebra: what JAX computes on a CPU, in four types, is computed with the system's LAPACK") {
  for (const std::string name : kCases)
    check_results(name, called(*compiled(module_of(case_name(name))), values_of(name, "argument", 8)));
}

TEST_CASE("linear algebra: several threads call at the same time") {
  const auto function = compiled(module_of(case_name("eigh")));
  const auto arguments = values_of("eigh", "argument", 8);
  std::vector<std::vector<Tensor>> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& own : results)
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) own = function->call(arguments).value();
      });
  }
  for (const auto& own : results) check_results("eigh", own);
}

TEST_CASE("linear algebra: what was compiled is loaded from the cache, and calls LAPACK again") {
  const TemporaryDirectory directory;
  for (int run = 0; run < 2; ++run) {
    const auto fresh = new_engine(directory.path());
    const auto function = fresh->compile(module_of(case_name("qr")));
    REQUIRE(function);
    CHECK(fresh->compile_stats().from_cache == run);
    check_results("qr", called(**function, values_of("qr", "argument", 8)));
  }
}

TEST_CASE("linear algebra: a call that LAPACK would end the process for is an error") {
  const std::string target = "lapack_spotrf_ffi", types = "(tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)";
  CHECK(has(error_of_call(call_of(target, "%a", types, "uplo = 88 : ui8")),
            "spotrf_: its attribute uplo is X, not one of LU"));
  CHECK(has(error_of_call(call_of(target, "%a", types, "")), "spotrf_: it has no attribute uplo"));
  CHECK(has(error_of_call(call_of(target, "%a", types, "uplo = 76 : i32")), "spotrf_: its attribute uplo is not u8"));
  CHECK(
      has(error_of_call(call_of(target, "%b", "(tensor<2xf32>) -> (tensor<2x2xf32>, tensor<i32>)", "uplo = 76 : ui8")),
          "spotrf_: argument 0 is f32[2], of less than 2 dimensions"));
  CHECK(has(
      error_of_call(call_of(target, "%a", "(tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi32>)", "uplo = 76 : ui8")),
      "spotrf_: result 1 is s32[2], not s32[]"));
  CHECK(has(error_of_call(call_of("lapack_dpotrf_ffi", "%a", types, "uplo = 76 : ui8")),
            "dpotrf_: argument 0 is f32[2, 2], not f64[2, 2]"));
  CHECK(
      has(error_of_call(call_of(target, "%a, %b", "(tensor<2x2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<i32>)",
                                "uplo = 76 : ui8")),
          "spotrf_: it takes 1 and gives 2, not 2 and 2: the module is of another jaxlib"));
}

}  // namespace tfd::function::test
