#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A sum over replicas by streams. Large ones are cut into a slice per member: everybody sends its parts of a slice to
// the slice's owner, who adds them up and sends the sum to all (two hops, and each member sends twice the tensor's
// bytes at most). Small ones aren't cut: everybody sends its parts to everybody, and adds them all up (one hop). Parts
// travel in tiles, so that an owner adds one tile while the next ones arrive. Thread rule: as Operation.
#include <cstdint>
#include <memory>
#include <vector>

#include "operation.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::collective {

/// Where each member's parts lie within its stream: tile after tile, in each the parts with larger elements first, so
/// that all are aligned.
class PartsLayout {
 public:
  struct Part {
    tensor::LeafRange leaves;
    int rank = 0;           // whose it is; -1: no replica of it has a value
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

 private:
  std::vector<Part> parts_;
  std::vector<std::size_t> counts_, widths_;  // by rank
};

/// Checks a member's own parts against the layout. kInvalidArgument.
Result<void> check_parts(const PartsLayout& layout, int rank, std::span<const tensor::SumPart> parts,
                         const std::string& which);

class SumOperation : public Operation {
 public:
  /// `parts` and `out` are borrowed. `is_flat`: not cut; the parts are copied, so that all can leave at once.
  SumOperation(Call call, std::string encoded, int rank, int members, PartsLayout layout,
               std::span<const tensor::SumPart> parts, std::byte* out, bool is_flat);
  std::string own() const override;
  Result<void> hear(int peer, std::string_view own) override;
  std::size_t bytes_to(int peer) const override;
  std::size_t bytes_from(int peer) const override { return owed_by(peer) + sum_bytes_of(peer); }
  std::size_t owed_by(int peer) const override { return own_slice_.count * layout_.width_of(peer); }
  std::span<const std::byte> ready(int peer, std::size_t at) override;
  std::span<std::byte> room(int peer, std::size_t at) override;
  void arrived(int peer, std::size_t at) override;
  void finish() override;

 private:
  struct Slice {
    std::size_t first = 0, count = 0;  // in elements
  };
  Slice slice_of(int rank) const;
  std::size_t sum_bytes_of(int peer) const { return is_flat_ ? 0 : slice_of(peer).count * element_; }
  std::size_t tiles() const { return own_slice_.count == 0 ? 0 : (own_slice_.count + tile_ - 1) / tile_; }
  std::size_t tile_count(std::size_t tile) const;
  bool overwrites() const;
  std::byte* ring_of(int peer, std::size_t tile);
  void add_up();
  void add_tile(std::size_t tile);

  const int rank_, members_;
  const PartsLayout layout_;
  const bool is_flat_;
  const std::span<const tensor::SumPart> own_;
  std::byte* const out_;
  const std::size_t elements_, element_;             // how many, and bytes of one of the sum
  const Slice own_slice_;                            // what this member adds up
  const std::size_t tile_;                           // elements of a tile
  std::vector<std::size_t> order_;                   // own parts in the order of the stream
  std::vector<tensor::SumPart> tree_;                // all parts; the data of the tile that is added up
  std::vector<std::unique_ptr<std::byte[]>> rings_;  // by rank: the tiles that have arrived and aren't added up
  std::vector<std::size_t> arrived_;                 // by rank: whole tiles
  std::size_t added_ = 0;                            // tiles
  bool is_in_place_ = false;                         // `out` is one of the parts, and not the first
  std::unique_ptr<std::byte[]> scratch_;  // a tile's sum, where it would overwrite a part that is still to be read
  std::string copy_;                      // of the own parts, as they are sent
};

}  // namespace tfd::collective
