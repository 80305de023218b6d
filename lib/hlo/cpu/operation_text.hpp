#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One operation of a module's text, as the rewriting for CPUs needs it. Thread rule: plain values and free functions.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lexer.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::hlo {

/// Names of StableHLO's operations begin with it.
inline constexpr std::string_view kStableHlo = "stablehlo.";

struct OperandText {
  std::string name;  // "%5", "%5#1"
  tensor::TensorSpec spec;
};

struct OperationText {
  std::string_view kind;           // "convolution", without the dialect
  std::size_t begin = 0, end = 0;  // in the text, from the name of its result to its type
  std::string_view result;         // "%5"
  std::vector<OperandText> operands;
  tensor::TensorSpec spec;      // of its only result
  std::string_view attributes;  // between its operands and its types, or its region
  std::string_view region;      // the only one, with its braces; empty: none
};

/// Reads the operation whose name was the last token that `behind` took, and leaves it behind the operation, or where
/// it gave up. nullopt for one that has several results, or types that tfd has no dtype for, or that is written in
/// another way than MLIR prints it.
std::optional<OperationText> read_operation(std::string_view text, std::string_view kind, std::string_view result,
                                            Lexer& behind);

/// The integers of attribute `key`, in one row: of "[1, 2]", "array<i64: 1, 2>", "dense<[[0, 1], [1, 0]]> : …", "3 :
/// i64", and of bools. Empty for an empty list; nullopt where there is no such attribute, or it has something else. One
/// number of a dense attribute is repeated `count` times.
std::optional<std::vector<std::int64_t>> read_integers(std::string_view attributes, std::string_view key,
                                                       std::size_t count);

/// The operation of a region of two scalars: "maximum", "add"; a comparison also has a direction, and a type ("FLOAT").
/// nullopt where the region has more than one operation, or other operands.
struct RegionText {
  std::string operation;
  std::string direction = {}, type = {};
};
std::optional<RegionText> read_region(std::string_view region);
/// The text of a region that follows the first one: select_and_scatter has two.
std::string_view second_region(std::string_view regions);

}  // namespace tfd::hlo
