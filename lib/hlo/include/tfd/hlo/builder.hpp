#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes a StableHLO module, operation by operation. Values have the arithmetic of numbers, so that a formula that is
// written once, as a template, runs on the host or becomes operations. Source of the operations and their text:
// https://openxla.org/stablehlo/spec. Thread rule: a builder and its values are one thread's.
//
//   Builder builder("scale");
//   const Value w = builder.argument("w", {DType::kF32, {4}}), rate = builder.argument("rate", {DType::kF32, {}});
//   Module module = builder.finish({{"w", w - w * rate}});
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/hlo/embed.hpp"
#include "tfd/hlo/module.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::hlo {

class Builder;

/// A value of the module that a builder writes; or a number, which becomes a constant of the dtype and shape of what it
/// meets. One of two values may be a scalar, which is broadcast. Two that don't fit together are a mistake of the
/// caller's, and an assertion. Comparisons are values of bool.
class Value {
 public:
  Value(double number = 0) : number_(number) {}  // NOLINT: formulas write N(1), and plain numbers
  bool is_number() const { return builder_ == nullptr; }
  const tensor::TensorSpec& spec() const { return spec_; }

 private:
  friend class Builder;
  Builder* builder_ = nullptr;  // which outlives it
  std::string name_;            // "%3"
  tensor::TensorSpec spec_;
  std::optional<tensor::DType> compared_;  // for a bool: the dtype of the compared values
  double number_ = 0;
};

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator<(const Value& a, const Value& b);
Value operator&(const Value& a, const Value& b);  // of bools
Value select(const Value& condition, const Value& yes, const Value& no);
Value sqrt(const Value& a);
Value abs(const Value& a);
Value pow(const Value& a, const Value& b);
Value is_finite(const Value& a);
Value convert(const Value& value, tensor::DType dtype);

class Builder {
 public:
  /// `name`: of the module, an identifier.
  explicit Builder(std::string name);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// `aliases_output`: its memory becomes that result's.
  Value argument(std::string name, tensor::TensorSpec spec, std::optional<int> aliases_output = std::nullopt);
  /// The same number in every element.
  Value constant(double number, const tensor::TensorSpec& spec);

  // Used by the operators.
  static Value binary(const char* operation, const Value& a, const Value& b);
  static Value unary(const char* operation, const Value& a);
  static Value less(const Value& a, const Value& b);
  static Value select(const Value& condition, const Value& yes, const Value& no);
  static Value is_finite(const Value& a);

  static Value convert(const Value& value, tensor::DType dtype);
  Value reshape(const Value& value, tensor::Shape shape);
  /// Elements [first, last) of a vector.
  Value slice(const Value& vector, std::int64_t first, std::int64_t last);
  /// The element of a vector, as a scalar.
  Value element(const Value& vector, std::int64_t at);
  /// Concatenates vectors of one dtype.
  Value concatenate(std::span<const Value> vectors);
  /// Reduces all elements: their sum; of bools, whether all are true.
  Value sum(const Value& value);
  Value all(const Value& value);
  /// Sums over the replicas of the module; every replica gets the sum.
  Value all_reduce(const Value& value, int replicas);
  /// Calls one of our functions, which has a typed handler, for its effect: with its attribute `index`.
  void call_out(std::string_view target, std::span<const Value> operands, std::size_t index);
  /// This replica's id: a scalar, u32.
  Value replica_id();

  /// Adds the functions, once for each `main`, and the module's custom calls.
  void embed(const Embedded& module);
  /// Calls the @main of an embedded module.
  std::vector<Value> call(const Embedded& module, std::span<const Value> arguments);

  /// Finishes the module with these results of its @main.
  Module finish(const std::vector<std::pair<std::string, Value>>& results, int replicas = 1);

 private:
  /// Converts to this dtype and shape: a number becomes a constant, a scalar is broadcast.
  Value fit(const Value& value, const tensor::TensorSpec& spec);
  Value define(tensor::TensorSpec spec, std::string_view operation);
  Value reduce(const Value& value, const char* operation, double initial);

  std::string name_;
  Signature signature_;
  std::string aliases_, functions_, body_;
  std::vector<std::string> custom_calls_, embedded_;
  bool may_donate_ = false;
  int next_ = 0;
};

}  // namespace tfd::hlo
