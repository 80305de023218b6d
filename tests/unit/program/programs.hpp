#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A small program that is right, its modules, and a parser for variants of it.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tfd/program/program.hpp"

namespace tfd::program::test {

inline const std::string kProgram = R"({
  "v": 1,
  "variables": {
    "w": {"shape": [8, 2], "dtype": "f32", "init": {"glorot_uniform": {"seed": 1}}},
    "b": {"shape": [2], "dtype": "f32", "init": {"zeros": {}}},
    "n": {"shape": [], "dtype": "s64", "init": {"zeros": {}}},
    "fixed": {"shape": [2], "dtype": "f32", "init": {"ones": {}}, "trainable": false}
  },
  "optimizer": {"adam": {"learning_rate": 0.001}},
  "datasets": {
    "train": [{"csv": {"path": "train.csv", "fields": {"image": {"columns": [0, 8], "dtype": "f32"},
                                                       "label": {"columns": 8, "dtype": "s32"}}}},
              {"repeat": {}}, {"batch": {"size": 4, "drop_remainder": true}}],
    "test": [{"tensor_slices": {"fields": {"image": {"dtype": "f32", "shape": [6, 8], "data": [
                [1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0],
                [0, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0]]},
              "label": [0, 1, 0, 1, 0, 1]}}}, {"batch": {"size": 4}}]
  },
  "functions": {
    "train_step": {"module": "step.mlir",
      "inputs": [{"variable": "w"}, {"variable": "b"}, {"dataset": "train", "field": "image"}, {"dataset": "train", "field": "label"}],
      "outputs": [{"metric": "loss"}, {"gradient": "w"}, {"gradient": "b"}]},
    "eval_step": {"module": ["eval.mlir", "eval_2.mlir"],
      "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"dataset": "test", "field": "image"}, "y": {"dataset": "test", "field": "label"}},
      "outputs": [{"metric": "loss", "reduce": "mean"}, {"metric": "accuracy", "part": "numerator"}, {"metric": "accuracy", "part": "denominator"}]},
    "count": {"module": "count.mlir", "inputs": [{"variable": "n"}, {"arg": 0}, {"kwarg": "by"}, "step", "learning_rate"],
      "outputs": [{"assign": "n"}, {"result": 0}], "returns": ["n"]}
  },
  "train": {"function": "train_step", "steps": 20, "checkpoint": {"dir": "ck", "every": 5, "keep": 2},
            "evaluate": {"function": "eval_step", "every": 10}}
})";

inline std::string eval_module(const std::string& batch) {
  return "module @eval {\n  func.func public @main(%arg0: tensor<8x2xf32> loc(\"w\"), %arg1: tensor<2xf32> loc(\"b\"), "
         "%arg2: tensor<" +
         batch + "x8xf32> loc(\"x\"), %arg3: tensor<" + batch +
         "xi32> loc(\"y\")) -> (tensor<f32>, tensor<f32>, tensor<f32>) {\n"
         "    %0 = stablehlo.constant dense<0.0> : tensor<f32>\n    return %0, %0, %0 : tensor<f32>, tensor<f32>, "
         "tensor<f32>\n  }\n}\n";
}

inline std::map<std::string, std::string> modules() {
  return {
      {"step.mlir", R"(module @step {
  func.func public @main(%arg0: tensor<8x2xf32> loc("w"), %arg1: tensor<2xf32> loc("b"), %arg2: tensor<4x8xf32> loc("x"), %arg3: tensor<4xi32> loc("y")) -> (tensor<f32>, tensor<8x2xf32>, tensor<2xf32>) {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    return %0, %arg0, %arg1 : tensor<f32>, tensor<8x2xf32>, tensor<2xf32>
  }
}
)"},
      {"eval.mlir", eval_module("4")},
      {"eval_2.mlir", eval_module("2")},
      {"count.mlir", R"(module @count {
  func.func public @main(%arg0: tensor<i64> loc("n"), %arg1: tensor<3xf32> loc("x"), %arg2: tensor<i64> loc("by"), %arg3: tensor<i64> loc("step"), %arg4: tensor<f32> loc("rate")) -> (tensor<i64>, tensor<3xf32>) {
    return %arg0, %arg1 : tensor<i64>, tensor<3xf32>
  }
}
)"},
      {"flag.mlir", R"(module @flag {
  func.func public @main(%arg0: tensor<i1> loc("n"), %arg1: tensor<3xf32> loc("x"), %arg2: tensor<i64> loc("by"), %arg3: tensor<i64> loc("step"), %arg4: tensor<f32> loc("rate")) -> (tensor<i1>, tensor<3xf32>) {
    return %arg0, %arg1 : tensor<i1>, tensor<3xf32>
  }
}
)"},
      {"replicas.mlir", "module attributes {mhlo.num_replicas = 2 : i32} { func.func public @main() { return } }"},
      {"partitions.mlir", "module attributes {mhlo.num_partitions = 4 : i32} { func.func public @main() { return } }"},
      {"platforms.mlir", R"(module @step {
  func.func public @main(%arg9: tensor<i32> {jax.global_constant = "_platform_index"}, %arg0: tensor<8x2xf32> loc("w"), %arg1: tensor<2xf32> loc("b"), %arg2: tensor<4x8xf32> loc("x"), %arg3: tensor<4xi32> loc("y")) -> (tensor<f32>, tensor<8x2xf32>, tensor<2xf32>) {
    %0 = "stablehlo.case"(%arg9) ({
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }, {
      %1 = stablehlo.constant dense<1.0> : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    return %0, %arg0, %arg1 : tensor<f32>, tensor<8x2xf32>, tensor<2xf32>
  }
}
)"},
      {"double.mlir", R"(module @double {
  func.func public @main(%arg0: tensor<8xf32> loc("x")) -> (tensor<8xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
)"}};
}

inline FileReader memory_reader(std::map<std::string, std::string> files = modules()) {
  return [files = std::move(files)](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::kNotFound, "cannot read {}: no such file or directory", path);
    return found->second;
  };
}

inline std::string temporary_directory() {
  std::string path = (std::filesystem::temp_directory_path() / "tfd-program-XXXXXX").string();
  return mkdtemp(path.data());
}

/// `errors` gets all of them.
inline Result<Program> parse(const std::string& document, std::vector<std::string> overrides = {},
                             std::vector<Error>* errors = nullptr) {
  ProgramOptions options;
  options.overrides = std::move(overrides);
  options.look_at_files = false;
  options.errors = errors;
  return parse_program(document, "p.json", "/nowhere", memory_reader(), options);
}
inline Result<Program> parse_variant(std::vector<std::string> overrides, std::vector<Error>* errors = nullptr) {
  return parse(kProgram, std::move(overrides), errors);
}

}  // namespace tfd::program::test
