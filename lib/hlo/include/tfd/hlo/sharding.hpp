#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a value lies on the logical devices of a replica, in a program and in a module's text, and its pieces.
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

/// Whole on each of them, cut into so many pieces along each dimension, or on one.
struct OpSharding {
  enum class Kind : std::uint8_t { kReplicate, kSplit, kAssign };
  Kind kind = Kind::kReplicate;
  std::vector<std::int64_t> pieces = {};  // kSplit: one for each dimension
  int device = 0;                         // kAssign
  /// kSplit: the piece, counted row-major, that each logical device has; empty: device d has piece d.
  std::vector<int> order = {};

  /// How many logical devices it needs; it may be on more unless it is split.
  std::int64_t devices() const;
  friend bool operator==(const OpSharding&, const OpSharding&) = default;
};

// What TPUStrategy allows, with a dimension of -1 for one that isn't known. kInvalidArgument.
/// Not with SPMD partitioning, and only a device that there is.
Result<void> check_assigned(int device, int logical_devices, bool spmd);
/// One number of pieces for each dimension, which divides it.
Result<void> check_pieces(std::span<const std::int64_t> pieces, const tensor::Shape& shape);
/// And as many pieces as there are devices.
Result<void> check_split(std::span<const std::int64_t> pieces, const tensor::Shape& shape, int logical_devices);

/// As XLA's text has it: "{devices=[2,1]<=[2]}".
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

/// What each device has of a value of this shape, which divides.
tensor::Shape shape_of_piece(const OpSharding& sharding, const tensor::Shape& shape);
/// The device's; of a value that isn't split, the value.
tensor::Tensor piece_of(const tensor::Tensor& value, const OpSharding& sharding, int device);
/// The value, of its pieces by device.
tensor::Tensor join_pieces(std::span<const tensor::Tensor> pieces, const OpSharding& sharding,
                           const tensor::TensorSpec& spec);

}  // namespace tfd::hlo
