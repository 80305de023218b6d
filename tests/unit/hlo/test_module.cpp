// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "golden.hpp"
#include "modules.hpp"
#include "tfd/hlo/module.hpp"

using namespace tfd;
using namespace tfd::hlo;
using tfd::hlo::test::error_of;
using tfd::hlo::test::parsed;
using tfd::test::golden;

namespace {

std::string main_with(const std::string& arguments, const std::string& results = "tensor<f32>") {
  return "module @m {\n  func.func public @main(" + arguments + ") -> " + results + " {\n  }\n}\n";
}

}  // namespace

TEST_CASE("module: names and types of @main are read from the text") {
  const Module module = parsed(golden("mlp_grads.mlir"));
  CHECK(format_signature(module.signature) ==
        "(w1: f32[12, 8], b1: f32[8], w2: f32[8, 3], b2: f32[3], x: f32[5, 12], y: s32[5]) -> (f32[8], f32[3], f32[], "
        "f32[12, 8], f32[8, 3])");
  CHECK(module.signature.results[2].name == "result['loss']");
  CHECK_FALSE(module.may_donate);
  const Module types = parsed(golden("types.mlir"));
  CHECK(format_signature({types.signature.arguments, {}}).find("p: bool[3], s8: s8[3], s16: s16[3]") == 1);
  CHECK(types.signature.arguments[13].spec.shape == tensor::Shape{0, 3});
  CHECK(parsed(golden("donate.mlir")).signature.arguments[0].aliases_output == 0);
  CHECK(parsed(golden("donate.mlir")).may_donate);
  CHECK(parsed(golden("sharded.mlir")).partitions == 2);
}

TEST_CASE("module: locations may be aliases that are defined before or after") {
  const Module module = parsed(
      "#loc1 = loc(\"x\")\nmodule {\n func.func @main(%arg0: tensor<2xf32> loc(#loc1), %arg1: tensor<f32> loc(#loc2), "
      "%arg2: tensor<i1> "
      "loc(\"f.py\":3:4), %arg3: tensor<ui8> loc(\"named\"(#loc9)), %arg4: tensor<f64> loc(unknown), %arg5: "
      "tensor<bf16> loc(callsite(\"a\" at "
      "#loc1))) -> (tensor<f32>, tensor<f32> {jax.result_info = \"params['a\\22b']\"}) attributes {a = \"x\"} {\n "
      "}\n}\n#loc2 = loc(\"later\")\n");
  std::vector<std::string> names;
  for (const Parameter& argument : module.signature.arguments) names.push_back(argument.name);
  CHECK(names == std::vector<std::string>{"x", "later", "arg2", "named", "arg4", "arg5"});
  CHECK(module.signature.results[0].name == "result0");
  CHECK(module.signature.results[1].name == "params['a\"b']");
}

TEST_CASE("module: one name for all arguments names none, and a sidecar beside the text does") {
  const std::string text = main_with("%arg0: tensor<2xf32> loc(\"XLA_Args\"), %arg1: tensor<f32> loc(\"XLA_Args\")");
  CHECK(format_signature(parsed(text).signature) == "(arg0: f32[2], arg1: f32[]) -> (f32[])");
  const Result<Module> named = make_module("d/m.mlir", text, "arg f32 2 x\narg f32 - lr\nresult f32 - loss\n");
  REQUIRE(named);
  CHECK(format_signature(named->signature) == "(x: f32[2], lr: f32[]) -> (f32[])");
  CHECK(named->signature.results[0].name == "loss");
  CHECK(error_of(text, "arg f32 3 x\narg f32 - lr\nresult f32 - loss\n") ==
        "m.sig: it says (x: f32[3], lr: f32[]) -> (f32[]), but the module is (arg0: f32[2], arg1: f32[]) -> (f32[])");
}

TEST_CASE("module: arguments are called after jax.arg_info, their location or their value") {
  const auto names_in = [](const std::string& arguments) {
    std::vector<std::string> names;
    for (const Parameter& argument : parsed(main_with(arguments)).signature.arguments) names.push_back(argument.name);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(names_in("%arg0: tensor<f32> {jax.arg_info = \"params['w']\"} loc(\"f\"), %arg1: tensor<f32> loc(\"x\")") ==
        Names{"params['w']", "x"});
  CHECK(names_in("%w: tensor<f32>, %0: tensor<f32>, %arg7: tensor<f32>") == Names{"w", "arg1", "arg7"});
  CHECK(names_in("%arg0: tensor<f32> loc(\"arg1\"), %arg1: tensor<f32>") == Names{"arg0", "arg1"});
}

TEST_CASE("module: brackets within strings, attributes and shardings don't confuse it") {
  const Module module = parsed(
      "module @m attributes {a = \"}{)(\", b = {c = [1, 2, {}]}, mhlo.num_replicas = 1 : i32} {\n"
      "  sdy.mesh @mesh = <[\"i\"=4]> {stablehlo.mesh = {axes = [{name = \"i\", size = 4 : i64}]}}\n"
      "  func.func private @helper(%arg0: tensor<9xf32>) -> tensor<9xf32> { return %arg0 : tensor<9xf32> } // } not a "
      "brace\n"
      "  func.func public @main(%a: tensor<2x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{\"i\"}, {}]>, x = "
      "\"tf.aliasing_output = 9)\", "
      "tf.aliasing_output = 1 : i32} loc(\"a)\"), %b: tensor<1xf16> {m = affine_map<(d0) -> (d0)>, unit}) -> "
      "(tensor<1xf16>, tensor<2x3xi32>) {\n"
      "    %0 = \"stablehlo.custom_call\"(%a) <{call_target_name = \"}}}\"}> : (tensor<2x3xi32>) -> tensor<2x3xi32>\n  "
      "}\n}\n");
  CHECK(format_signature(module.signature) == "(a): s32[2, 3], b: f16[1]) -> (f16[1], s32[2, 3])");
  CHECK(module.signature.arguments[0].aliases_output == 1);
  CHECK_FALSE(module.signature.arguments[1].aliases_output);
}

TEST_CASE("module: a single result without parentheses is followed by the body") {
  CHECK(
      parsed("func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }").signature.results.size() ==
      1);
  CHECK(parsed("func.func @main(%a: tensor<f32>) -> tensor<f32> {\n ^bb0:\n return %a : tensor<f32> }")
            .signature.results.size() == 1);
  CHECK(parsed("func.func @main() { return }").signature.results.empty());
}

TEST_CASE("module: what can't be run is said with its place") {
  CHECK(error_of(main_with("%a: tensor<?x3xf32>"))
            .find("m.mlir: line 2: argument 0 (%a): tensor<?x3xf32>: dynamic shapes are not supported") == 0);
  CHECK(error_of(main_with("%a: tensor<*xf32>")).find("dynamic shapes") != std::string::npos);
  CHECK(error_of(main_with("%a: tensor<3xf32>, %b: !stablehlo.token")) ==
        "m.mlir: line 2: argument 1 (%b) is a token: the function has ordered effects (jax.debug.print or io_callback "
        "with ordered=True), which only Python can serve; export it without them");
  CHECK(error_of(main_with("%a: tensor<3xf32>", "(!stablehlo.token {jax.token = true}, tensor<f32>)"))
            .find("m.mlir: line 2: result 0 is a token: the function has ordered effects") == 0);
  CHECK(error_of(main_with("%a: tensor<3xf32>, %b: !quant.any")) ==
        "m.mlir: line 2: argument 1 (%b): expected a tensor, not 'quant.any'");
  CHECK(error_of(main_with("%a: tensor<3xf32>", "(tensor<4xi4>)")).find("result 0: tensor<4xi4>: element type 'i4'") !=
        std::string::npos);
  CHECK(error_of(main_with("%a: tensor<999999999999x999999999999xf32>")).find("too large") != std::string::npos);
  CHECK(error_of(main_with("%a: tensor<99999999999999999999xf32>")).find("out of range") != std::string::npos);
  CHECK(
      error_of(main_with("%a: tensor<3xf32> {mhlo.layout_mode = \"{0,1}\"}")).find("layout '{0,1}' is not supported") !=
      std::string::npos);
  CHECK(error_of("module { func.func private @main() { return } }") ==
        "m.mlir: it has no public @main function (its @main is private)");
  CHECK(error_of("module { module @inner { func.func @main() { return } } }") ==
        "m.mlir: it has no public @main function");
  CHECK(error_of("{\"v\": 1}") == "m.mlir: it has no public @main function");
  CHECK(error_of("") == "m.mlir: it has no public @main function");
  CHECK(error_of("\"builtin.module\"() ({\n \"func.func\"() <{function_type = () -> (), sym_name = \"main\"}> ({\n "
                 "\"func.return\"() : () -> ()\n }) : () -> ()\n}) : () -> ()") ==
        "m.mlir: it is in MLIR's generic form (\"func.func\"() …), whose signature tfd doesn't read: print it in the "
        "pretty "
        "form (str(module), mlir-opt without --mlir-print-op-generic)");
  CHECK(error_of("func.func @main() -> tensor<2xf32> {\n %0 = stablehlo.constant dense_resource<big> : tensor<2xf32>\n "
                 "return %0 : tensor<2xf32>\n}") ==
        "m.mlir: line 2: a constant is in a dense_resource, which XLA doesn't read: print its elements (dense<…>)");
  CHECK(error_of("func.func @main() { return") == "m.mlir: it is cut off: 1 '{' are not closed");
  CHECK(error_of("}") == "m.mlir: line 1: unmatched '}'");
}

TEST_CASE("module: jax's platform index is no argument of the signature") {
  const Module unused = parsed(golden("platforms.mlir"));
  CHECK(format_signature(unused.signature) == "(x: f32[]) -> (f32[])");
  CHECK(unused.takes_platform);
  CHECK_FALSE(unused.asks_platform);
  CHECK(check_platforms(unused));
  Module asks = parsed(golden("by_platform.mlir"));
  CHECK(format_signature(asks.signature) == "(x: f32[3]) -> (f32[3])");
  CHECK(asks.asks_platform);
  CHECK(asks.platform_branches == 3);
  CHECK(check_platforms(asks).error().message ==
        "m.mlir is a jax.export for several platforms that asks which one it runs on, but it doesn't say which they "
        "are: list them in the order of the export, e.g. \"platforms\": [\"cpu\", \"cuda\"]");
  asks.platforms = {"cpu", "cuda"};
  CHECK(check_platforms(asks).error().message == "m.mlir chooses among 3 platforms, but 2 are listed");
  asks.platforms = {"cuda", "cpu", "tpu"};
  CHECK(check_platforms(asks));
  const Result<Module> bytecode = make_module("m.mlirbc", golden("by_platform.mlirbc"), golden("by_platform.sig"));
  REQUIRE(bytecode);
  CHECK(format_signature(bytecode->signature) == "(x: f32[3]) -> (f32[3])");
  CHECK(bytecode->takes_platform);
  CHECK(bytecode->asks_platform);
  const std::string index = "%p: tensor<i32> {jax.global_constant = \"_platform_index\"}";
  CHECK(format_signature(parsed(main_with(index)).signature) == "() -> (f32[])");
  CHECK(error_of(main_with("%a: tensor<f32>, " + index)) ==
        "m.mlir: line 2: argument 1 (%p) is jax's platform index, which comes first");
  CHECK(error_of(main_with(index + ", " + index)) ==
        "m.mlir: line 2: argument 0 (%p) is jax's platform index, which comes first");
  CHECK(error_of(main_with("%p: tensor<i64> {jax.global_constant = \"_platform_index\"}")) ==
        "m.mlir: line 2: argument 0 (%p) is jax's platform index, which is s32[], not s64[]");
  CHECK(check_platform_name("rocm"));
  CHECK(check_platform_name("CPU").error().message ==
        "platform 'CPU' is unknown (available: cpu, cuda, rocm, tpu and gpu)");
}

TEST_CASE("module: an export for several platforms is made one for the engine's") {
  Module module = parsed(golden("by_platform.mlir"));
  module.platforms = {"cuda", "cpu", "tpu"};
  const auto constant_for = [&](const std::string& platform) {
    const Result<Module> own = for_platform(module, platform);
    REQUIRE_MESSAGE(own, (own ? "" : own.error().message));
    const Module again = parsed(own->code);  // still one that can be read, now without an index
    CHECK_FALSE(again.takes_platform);
    CHECK(format_signature(again.signature) == format_signature(module.signature));
    const std::size_t at = own->code.find("%arg0 = stablehlo.constant dense<");
    REQUIRE(at != std::string::npos);
    return own->code.substr(at + 33, 1);
  };
  CHECK(constant_for("cuda") == "0");
  CHECK(constant_for("cpu") == "1");
  CHECK(constant_for("tpu") == "2");
  CHECK(constant_for("gpu") == "0");  // as older plug-ins call cuda
  CHECK(for_platform(module, "rocm").error().message ==
        "m.mlir is for cuda, cpu and tpu (its 'platforms'), but this task's plug-in is for rocm");
  module.platforms = {"tpu", "cpu", "gpu"};
  CHECK(constant_for("rocm") == "2");
  module.platforms = {"cuda", "rocm", "cpu"};
  CHECK_FALSE(for_platform(module, "gpu"));  // either
}

TEST_CASE("module: its custom calls are found, and those into Python refused") {
  CHECK(parsed(golden("cholesky.mlir")).custom_calls == std::vector<std::string>{"lapack_spotrf_ffi"});
  CHECK(parsed(golden("kernels.mlir")).custom_calls ==
        std::vector<std::string>{"lapack_spotrf_ffi", "cusolver_potrf_ffi"});
  CHECK(parsed("func.func @main(%a: tensor<f32>) -> tensor<f32> {\n %0 = \"stablehlo.custom_call\"(%a) "
               "<{call_target_name = \"my \\22call\\22\"}> : (tensor<f32>) -> tensor<f32>\n %1 = "
               "stablehlo.custom_call @\"two words\"(%0) {x = \"stablehlo.custom_call @no\"} : (tensor<f32>) -> "
               "tensor<f32> // stablehlo.custom_call @neither\n }")
            .custom_calls == std::vector<std::string>{"my \"call\"", "two words"});
  CHECK(is_common_custom_call("Sharding"));
  CHECK(is_common_custom_call("xla.sdy.FuncResultSharding"));
  CHECK_FALSE(is_common_custom_call("lapack_spotrf_ffi"));
  CHECK(error_of("func.func @main(%a: tensor<f32>) { stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) }") ==
        "m.mlir calls back into Python ('xla_ffi_python_cpu_callback': jax.debug.print, pure_callback or io_callback), "
        "which is not available here; export it without callbacks");
}

TEST_CASE("module: bytecode needs a sidecar, whose lines are checked") {
  const std::string code = golden("mlp_grads.mlirbc");
  CHECK(is_bytecode(code));
  const Result<Module> alone = make_module("d/step.mlirbc", code, std::nullopt);
  REQUIRE_FALSE(alone);
  CHECK(alone.error().message.find("d/step.mlirbc is bytecode and needs d/step.sig beside it") == 0);
  const Result<Module> module = make_module("d/step.mlirbc", code, golden("mlp_grads.sig"));
  REQUIRE(module);
  CHECK_FALSE(module->is_text);
  CHECK(module->may_donate);
  CHECK(format_signature(module->signature) == format_signature(parsed(golden("mlp_grads.mlir")).signature));
  CHECK(error_of(code, "arg f32 1,2 x\nargs f32 - y\n") == "m.sig: line 2: 'args' is neither arg nor result");
  CHECK(error_of(code, "arg f33 1,2 x\n").find("m.sig: line 1: unknown dtype 'f33'") == 0);
  CHECK(error_of(code, "arg f32 1,x x\n") == "m.sig: line 1: shape: 'x' is not a whole number");
  CHECK(error_of(code, "arg f32 -1 x\n").find("m.sig: line 1: shape: -1 is out of range") == 0);
  CHECK(error_of(code, "arg f32\n").find("m.sig: line 1: no shape") == 0);
  CHECK(error_of(code, "arg f32 - x\n") == "m.sig: it has no result line");
  const Result<Module> loose =
      make_module("m.mlirbc", code, "# comment\r\n\r\narg f32 2 params['a b']\r\nresult  s32\t- \r\n");
  REQUIRE(loose);
  CHECK(format_signature(loose->signature) == "(params['a b']: f32[2]) -> (s32[])");
  CHECK(loose->signature.results[0].name == "result0");
}

TEST_CASE("module: the sidecar is beside the module") {
  CHECK(sidecar_path("train_step.mlirbc") == "train_step.sig");
  CHECK(sidecar_path("a.b/step") == "a.b/step.sig");
  CHECK(sidecar_path("a/.hidden") == "a/.hidden.sig");
}

TEST_CASE("module: arguments are checked in order, with their names") {
  const Signature signature = parsed(golden("add.mlir")).signature;
  const auto s32 = tensor::Tensor::zeros(tensor::DType::kS32, {});
  CHECK(check_arguments(signature, {s32, s32}));
  CHECK(check_arguments(signature, {s32}).error().message ==
        "1 argument is given, but the module takes 2: (a: s32[], b: s32[]) -> (s32[])");
  CHECK(check_arguments(signature, {s32, tensor::Tensor::zeros(tensor::DType::kF32, {})}).error().message ==
        "argument 1 (b) is f32[], but the module takes s32[]");
  CHECK(check_arguments(signature, {tensor::Tensor::zeros(tensor::DType::kS32, {1}), s32}).error().message ==
        "argument 0 (a) is s32[1], but the module takes s32[]");
  CHECK(check_arguments(signature, {s32, tensor::Tensor()}).error().message == "argument 1 (b) has no value");
}

TEST_CASE("module: text cut at any byte, or with any byte changed, never crashes") {
  for (const char* name :
       {"mlp_grads.mlir", "types.mlir", "donate.mlir", "sharded.mlir", "platforms.mlir", "by_platform.mlir"}) {
    const std::string whole = golden(name);
    const std::string start = whole.substr(0, 1500);
    // The body of @main, of which only the brackets count, at every seventh byte: this is quadratic.
    for (std::size_t size = 0; size <= whole.size(); size += size < 2500 || size + 500 > whole.size() ? 1 : 7)
      (void)make_module("m.mlir", whole.substr(0, size), std::nullopt);
    for (const char put : {'"', '<', '{', ')', '\\', '%', '#', '\0', '\xff'})
      for (std::size_t at = 0; at < start.size(); ++at) {
        std::string changed = start;
        changed[at] = put;
        (void)make_module("m.mlir", changed, std::nullopt);
      }
  }
  CHECK_FALSE(make_module("m.mlir", std::string(1000000, '{'), std::nullopt));
  CHECK_FALSE(make_module("m.mlir", "func.func @main(%a: tensor<" + std::string(1000000, '<'), std::nullopt));
  CHECK_FALSE(make_module("m.mlir", "func.func @main(%a: tensor<f32> {a = " + std::string(1000000, '['), std::nullopt));
}
