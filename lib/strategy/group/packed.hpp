#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Messages between processes about their replicas' values and their next step, as bytes. Bytes of another
// process isn't trusted. Private to the room. Thread rule: plain values.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/replica_group.hpp"

namespace tfd::strategy {

/// Values of one process's replicas: what they are, and, if they are small, their bytes. Else these are sent apart.
class Packed {
 public:
  /// kProtocolMismatch.
  static Result<Packed> parse(std::string_view text);
  bool has_values() const { return has_values_; }
  std::size_t byte_size() const;
  Result<void> set_values(std::string_view bytes);
  const std::vector<tensor::Tensor>& values() const { return values_; }

 private:
  std::vector<tensor::TensorSpec> specs_;
  bool has_values_ = false;
  std::vector<tensor::Tensor> values_;
};
inline constexpr std::size_t kMostPacked = std::size_t{1} << 20;  // bytes of pack()
std::string pack(std::span<const tensor::Tensor> values);
std::string bytes_of(std::span<const tensor::Tensor> values);

/// Text and named tensors that follow it: of these only what they are.
struct NamedSpecs {
  std::string text;
  std::vector<std::pair<std::string, tensor::TensorSpec>> tensors;
};
std::string format_named(std::string_view text, const tensor::NamedTensors& tensors);
/// kProtocolMismatch.
Result<NamedSpecs> parse_named(std::string_view text);

std::string pack_offer(const StepOffer& offer);
/// kProtocolMismatch.
Result<StepOffer> parse_offer(std::string_view text);

}  // namespace tfd::strategy
