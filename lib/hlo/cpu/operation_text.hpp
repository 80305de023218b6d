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

/// What the names of its operations begin with.
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
  std::string_view attributes;  // what is between its operands and its types, or its region
  std::string_view region;      // the only one, with its braces; empty: none
};

/// Reads the operation whose name was the last token that `behind` took. nullopt for one that has several results, or
/// types that tfd has no dtype for, or that is written in another way than MLIR prints it.
std::optional<OperationText> read_operation(std::string_view text, std::string_view kind, std::string_view result,
                                            Lexer behind);

/// The integers of attribute `key`, in one row: of "[1, 2]", "array<i64: 1, 2>", "dense<[[0, 1], [1, 0]]> : …", "3 :
/// i64", and of bools. Empty for an empty list; nullopt where there is no such attribute, or it has something else. One
/// number of a dense attribute stands for `count`.
std::optional<std::vector<std::int64_t>> read_integers(std::string_view attributes, std::string_view key,
                                                       std::size_t count);

/// What a region of two scalars does: "maximum", "add"; for a comparison its direction is in `direction`, and its type
/// ("FLOAT") in `type`. nullopt where it does more than one operation on them in their order.
struct RegionText {
  std::string operation;
  std::string direction = {}, type = {};
};
std::optional<RegionText> read_region(std::string_view region);
/// The text of a region that follows the first one: select_and_scatter has two.
std::string_view second_region(std::string_view regions);

}  // namespace tfd::hlo
