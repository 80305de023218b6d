#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sharding of a value over the logical devices of a replica, in a program and in a module's text, and its pieces.
// Thread rule: plain values, pure functions. Source: XLA's OpSharding, Shardy (https://openxla.org/shardy), and
// tensorflow/python/distribute/tpu_strategy.py, 2.21.
//
//   OpSharding rows{OpSharding::Kind::kSplit, {2, 1}};
//   Tensor second = piece_of(batch, rows, 1);   // the lower half of the rows
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::hlo {

/// Replicated, split into a number of pieces along each dimension, or assigned to one device.
struct OpSharding {
  enum class Kind : std::uint8_t { kReplicate, kSplit, kAssign };
  Kind kind = Kind::kReplicate;
  std::vector<std::int64_t> pieces = {};  // kSplit: one for each dimension
  int device = 0;                         // kAssign
  /// kSplit: the piece, counted row-major, that each logical device has; empty: device d has piece d.
  std::vector<int> order = {};

  /// Number of logical devices it needs; exactly that many if it is split, at least that many otherwise.
  std::int64_t devices() const;
  friend bool operator==(const OpSharding&, const OpSharding&) = default;
};

// Checks of TPUStrategy; -1 means an unknown dimension. kInvalidArgument.
/// Requires a device in range, and no SPMD partitioning.
Result<void> check_assigned(int device, int logical_devices, bool spmd);
/// Requires one number of pieces for each dimension, which divides it.
Result<void> check_pieces(std::span<const std::int64_t> pieces, const tensor::Shape& shape);
/// Requires the above and as many pieces as devices.
Result<void> check_split(std::span<const std::int64_t> pieces, const tensor::Shape& shape, int logical_devices);

/// XLA's textual form: "{devices=[2,1]<=[2]}".
std::string format_sharding(const OpSharding& sharding);
/// kInvalidArgument: not a sharding of a value of this rank; kUnimplemented: one that a program's arguments can't have
/// here (on one device, manual).
Result<OpSharding> parse_sharding_text(std::string_view text, std::size_t rank);

/// The axes of a mesh of logical devices, major to minor.
using Mesh = std::vector<std::pair<std::string, std::int64_t>>;
/// `inside`: of #sdy.sharding<…>, such as `@mesh, [{"data"}, {}]`. Errors as parse_sharding_text().
Result<OpSharding> parse_shardy(std::string_view inside, const std::map<std::string, Mesh, std::less<>>& meshes,
                                std::size_t rank);
/// `inside`: of sdy.mesh's <…>, such as `["data"=2, "model"=2]`. Errors as parse_sharding_text().
Result<Mesh> parse_mesh(std::string_view inside);

/// Shape of a device's piece of a value of this shape, which divides evenly.
tensor::Shape shape_of_piece(const OpSharding& sharding, const tensor::Shape& shape);
/// The device's piece; the whole value if it isn't split.
tensor::Tensor piece_of(const tensor::Tensor& value, const OpSharding& sharding, int device);
/// Reassembles the value from its pieces, by device.
tensor::Tensor join_pieces(std::span<const tensor::Tensor> pieces, const OpSharding& sharding,
                           const tensor::TensorSpec& spec);

}  // namespace tfd::hlo
