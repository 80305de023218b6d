// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "tfd/function/plugin.hpp"

using namespace tfd;
using function::Plugin;
using tensor::DType;
using tensor::Tensor;

namespace {

const std::string kDirectory = TFD_TEST_PLUGINS;

std::string path_of(const std::string& name) { return kDirectory + "/" + name + ".so"; }

Tensor floats(std::initializer_list<float> values) {
  Tensor out = Tensor::uninitialized(DType::kF32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), out.mutable_as<float>());
  return out;
}

std::shared_ptr<function::Function> make(const std::string& plugin, const std::string& name) {
  const auto loaded = Plugin::load(path_of(plugin));
  if (!loaded) FAIL(loaded.error().message);
  auto made = (*loaded)->make_function(name, (*loaded)->signature(name).value());
  if (!made) FAIL(made.error().message);
  return *made;
}

void check_load_fails(const std::string& plugin, Code code, const std::string& part) {
  const auto loaded = Plugin::load(path_of(plugin));
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == code);
  INFO(loaded.error().message);
  CHECK(loaded.error().message.find(part) != std::string::npos);
  CHECK(loaded.error().message.find(plugin) != std::string::npos);
}

void check_call_fails(const std::string& name, const std::string& part) {
  const auto result = make("broken-calls", name)->call({floats({1, 2})});
  REQUIRE_FALSE(result.has_value());
  INFO(result.error().message);
  CHECK(result.error().message.find("'" + name + "'") != std::string::npos);
  CHECK(result.error().message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("plugin: the example computes, with the signature that it states") {
  const auto scale = make("scale", "scale");
  CHECK(hlo::format_signature(scale->signature()) == "(x: f32[4], factor: f32[]) -> (f32[4])");
  const auto result = scale->call({floats({1, 2, 3, 4}), Tensor::scalar(DType::kF32, 0.5F)});
  REQUIRE(result.has_value());
  REQUIRE(result->size() == 1);
  const auto values = (*result)[0].as<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{0.5F, 1, 1.5F, 2});
}

TEST_CASE("plugin: a function's own failure is told in its words") {
  const auto result = make("scale", "scale")->call({floats({1, 2, 3, 4}), Tensor::scalar(DType::kF32, NAN)});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message.ends_with("'scale' failed: the factor is not a number"));
}

TEST_CASE("plugin: an instance keeps its state, and every function has its own") {
  const auto one = make("scale", "count"), other = make("scale", "count");
  CHECK(one->call({}).value()[0].as<std::int64_t>()[0] == 1);
  CHECK(one->call({}).value()[0].as<std::int64_t>()[0] == 2);
  CHECK(other->call({}).value()[0].as<std::int64_t>()[0] == 1);
}

TEST_CASE("plugin: arguments are checked before the plug-in sees them") {
  const auto result = make("scale", "scale")->call({floats({1, 2}), Tensor::scalar(DType::kF32, 1.0F)});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "argument 0 (x) is f32[2], but the module takes f32[4]");
}

TEST_CASE("plugin: it can be loaded from its bytes alone") {
  std::ifstream file(path_of("scale"), std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const auto plugin = Plugin::load_bytes("scale.so", bytes.str());
  REQUIRE(plugin.has_value());
  CHECK((*plugin)->signature("count").has_value());
  const auto missing = (*plugin)->signature("no\x1bne");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().message == "scale.so has no function 'no?ne'");
}

TEST_CASE("plugin: another signature than the program's is refused") {
  const auto plugin = Plugin::load(path_of("scale")).value();
  hlo::Signature other = plugin->signature("scale").value();
  other.arguments[0].spec.shape = {5};
  const auto made = plugin->make_function("scale", other);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().message.ends_with(
      "'scale' is (x: f32[4], factor: f32[]) -> (f32[4]), but the program declares it as (x: "
      "f32[5], factor: f32[]) -> (f32[4])"));
}

TEST_CASE("plugin: one of another ABI, or with a table that is none, is refused") {
  check_load_fails("broken-abi", Code::kFailedPrecondition,
                   "built for ABI 2 of tfd/function.h, but this tfd has ABI 1");
  check_load_fails("broken-magic", Code::kInvalidArgument, "returned no plug-in table");
  check_load_fails("broken-short", Code::kFailedPrecondition, "its table has 16 bytes, but ABI 1 needs");
  check_load_fails("broken-nocall", Code::kInvalidArgument, "its table lacks 'call'");
  check_load_fails("broken-notable", Code::kInvalidArgument, "returned nothing");
  check_load_fails("broken-noentry", Code::kInvalidArgument, "it has no symbol tfd_plugin");
  check_load_fails("not-there", Code::kNotFound, "cannot read");
}

TEST_CASE("plugin: what is no shared object is refused") {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"),
                                   std::string("\x7f"
                                               "ELF",
                                               4),
                                   std::string("\x7f"
                                               "ELF\2\1\1",
                                               7) +
                                       std::string(200, '\xff')}) {
    const auto loaded = Plugin::load_bytes("bad.so", bytes);
    REQUIRE_FALSE(loaded.has_value());
    CHECK(loaded.error().code == Code::kInvalidArgument);
    CHECK(loaded.error().message.starts_with("bad.so: not a shared object that can be loaded here: "));
  }
}

TEST_CASE("plugin: outputs that aren't as the signature says are errors") {
  check_call_fails("no_output", "made no output 0");
  check_call_fails("wrong_shape", "it made output 0 f32[3], but its signature says f32[2]");
  check_call_fails("wrong_dtype", "it made output 0 of dtype number 99, but its signature says f32[2]");
  check_call_fails("wrong_index", "it asked for output 7, but has 1");
  check_call_fails("twice", "it asked for output 0 twice");
  check_call_fails("returns_three", "failed with 3");
  check_call_fails("says_why", "failed: the sky fell ?[31m");
}

TEST_CASE("plugin: a signature that is none, and an instance that can't be had, are errors") {
  const auto plugin = Plugin::load(path_of("broken-calls")).value();
  const auto nonsense = plugin->signature("nonsense");
  REQUIRE_FALSE(nonsense.has_value());
  CHECK(nonsense.error().message.find("the signature of 'nonsense': line 1") != std::string::npos);
  const auto made = plugin->make_function("no_open", plugin->signature("no_open").value());
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().message.ends_with("open() of 'no_open' failed with 9"));
}
