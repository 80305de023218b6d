#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The table of optimizers: names, slots, settings with defaults and ranges, and which formula they make. Schedules,
// clipping, decay, averages, accumulation, groups and sparse gradients are the same for all and live in optimizer.cpp.
// An optimizer is added by its formula in formulas.hpp and its row in optimizers.cpp.
// Thread rule: rows are constants; a Rule is immutable and thread-safe.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "../elements.hpp"
#include "formulas.hpp"
#include "tfd/tensor/json_object.hpp"

namespace tfd::variable {

inline constexpr std::size_t kMaxSlots = 4;

/// One variable, or a part of one: `count` elements of everything.
template <class T>
struct Elements {
  std::int64_t count = 0;
  Lane<T> value;
  const T* gradient = nullptr;
  std::array<Lane<T>, kMaxSlots> slots;  // in the order of Rule::slots
};
/// Updates the elements. T is float or double.
template <class T>
void update(const Formula& formula, const Elements<T>& elements, const Iteration<T>& now);

struct Slot {
  std::string_view name;  // as Keras (or tf.compat.v1) names it
  double initial = 0;
};
/// An optimizer with its settings.
struct Rule {
  Formula formula;
  std::vector<Slot> slots;  // those that its settings need
};

/// A setting of one optimizer. The learning rate and what all have in common are not among them.
struct Setting {
  std::string_view name;
  double initial = 0;
  tensor::NumberRange range = tensor::kAnyNumber;
  bool is_flag = false;
};

/// Effect of a sparse gradient on the rows that it doesn't name.
enum class OtherRows {
  kRest,  // they stay as they are: a gradient of zero changes nothing, or the original leaves them alone
  kMove,  // they get a gradient of zero, for moments decay
};

struct OptimizerInfo;
/// The settings of one optimizer, read.
class Values {
 public:
  Values(const OptimizerInfo& info, std::vector<double> numbers) : info_(&info), numbers_(std::move(numbers)) {}
  double operator[](std::string_view name) const;
  /// The first slots of the row, the very first with another initial value than 0.
  std::vector<Slot> slots(std::size_t count, double initial = 0) const;

 private:
  const OptimizerInfo* info_;
  std::vector<double> numbers_;  // in the order of the table
};

struct OptimizerInfo {
  std::string_view name;         // "adam"
  bool v1 = false;               // tf.compat.v1's formula: {"adam": {"v1": true}}
  std::string_view state_name;   // stands before its slots in checkpoints; the same where states are the same
  double learning_rate = 0.001;  // negative: must be stated
  std::span<const Setting> settings;
  std::span<const std::string_view> slots;  // all that it may have
  OtherRows other_rows = OtherRows::kMove;
  double weight_decay = 0;  // default
  Rule (*make)(const Values&) = nullptr;
};

extern const std::span<const OptimizerInfo> kOptimizers;

}  // namespace tfd::variable
