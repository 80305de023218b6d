#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values of a program that is still running. XLA gives a program's results all at once, when it ends; a program that
// calls kWatchTarget with a value hands it over as soon as it is computed (Engine::shows_values()). The call's operands
// are the value and watch_argument(); its attribute `index` says which value it is.
#include <cstddef>
#include <string_view>

#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

inline constexpr std::string_view kWatchTarget = "tfd_computed";

/// Gets a program's values. Thread rule: XLA calls it from threads of its own, several at the same time.
class ValueWatch {
 public:
  virtual ~ValueWatch() = default;
  /// `data`, row after row, is valid during the call only: its memory may be used again, before the program ends.
  virtual void computed(std::size_t index, const std::byte* data) = 0;
};

/// The argument of a run of the program by which its calls find the watch: a scalar of u64. Null: nobody watches. The
/// watch is borrowed until the run has ended.
tensor::Tensor watch_argument(ValueWatch* watch);

}  // namespace tfd::function
