#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How the parts of a sum travel: slices of its elements, tiles of these, and the parts side by side within a tile.
// Thread rule: as Operation.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tfd/collective/communicator.hpp"

namespace tfd::collective {

/// One of `number` slices of about the same size, which begin with lines of the cache; the last ones may be empty.
Slice slice_of(Slice whole, std::size_t number, std::size_t which);

inline constexpr std::size_t kTileElements = 8 << 10;  // 32 KiB of f32

/// Elements cut into tiles, of which none lies in two of `runs` slices.
class Tiling {
 public:
  Tiling(Slice whole, std::size_t runs, std::size_t most);
  Slice whole() const { return whole_; }
  std::size_t size() const { return ends_.size(); }
  std::size_t most() const { return most_; }  // elements of a tile
  /// Elements of a tile, counted from the whole's first.
  Slice operator[](std::size_t tile) const;
  /// The tile that an element is in, counted as above.
  std::size_t tile_at(std::size_t element) const;
  /// How many elements the first `tiles` have.
  std::size_t elements_of(std::size_t tiles) const { return tiles == 0 ? 0 : ends_[tiles - 1]; }
  /// How many tiles end with the first `elements`, or before.
  std::size_t whole_tiles(std::size_t elements) const { return tile_at(elements); }

 private:
  Slice whole_;
  std::size_t most_ = 0;
  std::vector<std::size_t> ends_;  // by tile
};

/// Where each member's parts lie within its stream: tile after tile, in each the parts with larger elements first, so
/// that all are aligned.
class PartsLayout {
 public:
  struct Part {
    tensor::LeafRange leaves;
    int rank = 0;           // its owner; -1: no replica of it has a value
    std::size_t index = 0;  // among its member's parts
    tensor::DType dtype = tensor::DType::kF32;
    std::size_t before = 0;  // bytes of its member's parts before it, per element of a tile
  };
  PartsLayout(const SumLayout& layout, tensor::DType dtype);

  /// All parts of the tree, in the order of leaves.
  const std::vector<Part>& parts() const { return parts_; }
  std::size_t count_of(int rank) const { return counts_[static_cast<std::size_t>(rank)]; }
  /// Bytes of a member's parts, per element of the sum.
  std::size_t width_of(int rank) const { return widths_[static_cast<std::size_t>(rank)]; }
  /// A member's parts in the order of its stream; `parts` are in their own.
  std::vector<tensor::SumPart> in_order(int rank, std::span<const tensor::SumPart> parts) const;

 private:
  std::vector<Part> parts_;
  std::vector<std::size_t> counts_, widths_;  // by rank
};

/// Checks a member's own parts against the layout. kInvalidArgument.
Result<void> check_parts(const PartsLayout& layout, int rank, std::span<const tensor::SumPart> parts,
                         const std::string& which);

/// The bytes at a position of a stream of parts, which are in its order and `width` bytes in all.
std::span<const std::byte> piece_of(std::span<const tensor::SumPart> parts, std::size_t width, const Tiling& tiling,
                                    std::size_t at);

/// The tiles of one peer's parts that have arrived and aren't added up yet: few, so that they stay in the cache. Bytes
/// that come sooner wait on their way.
class TileRing {
 public:
  TileRing() = default;  // of a peer that sends no parts
  /// `tiling` is borrowed.
  TileRing(const Tiling& tiling, std::size_t width) : tiling_(&tiling), width_(width) {}
  std::size_t bytes() const { return tiling_ == nullptr ? 0 : tiling_->whole().count * width_; }
  /// Where the bytes from a position go, if `added` tiles have been added up; empty: there is no room yet.
  std::span<std::byte> room(std::size_t at, std::size_t added);
  /// Bytes have arrived up to this position. True: further tiles are whole.
  bool arrived(std::size_t at);
  /// True if this tile is whole, or isn't sent.
  bool has(std::size_t tile) const { return bytes() == 0 || tile < whole_; }
  const std::byte* tile(std::size_t tile);

 private:
  std::byte* place(std::size_t tile);

  const Tiling* tiling_ = nullptr;
  std::size_t width_ = 0, whole_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tfd::collective
