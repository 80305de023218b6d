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
#include "sum_parts.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::collective {

/// A sum's own(): how the member's parts are scaled.
std::string format_scales(std::span<const tensor::SumPart> parts);

/// kWhole: not cut; the parts are copied, so that all can leave at once. kSlices: cut. kOwnSlice: owners keep their
/// slices' sums (reduce_scatter), and `out` has room for one.
enum class SumWay : std::uint8_t { kWhole, kSlices, kOwnSlice };

class SumOperation : public Operation {
 public:
  /// `parts` and `out` are borrowed.
  SumOperation(Call call, std::string encoded, int rank, int members, PartsLayout layout,
               std::span<const tensor::SumPart> parts, std::byte* out, SumWay way);
  std::string own() const override { return format_scales(own_); }
  Result<void> hear(int peer, std::string_view own) override;
  std::size_t bytes_to(int peer) const override;
  std::size_t bytes_from(int peer) const override { return owed_by(peer) + sum_bytes_of(peer); }
  std::size_t owed_by(int peer) const override { return rings_[static_cast<std::size_t>(peer)].bytes(); }
  std::span<const std::byte> ready(int peer, std::size_t at) override;
  std::span<std::byte> room(int peer, std::size_t at) override;
  void arrived(int peer, std::size_t at) override;
  void finish() override;

 private:
  Slice slice_of(int rank) const;
  std::size_t sum_bytes_of(int peer) const { return sends_sums() ? slice_of(peer).count * element_ : 0; }
  bool is_flat() const { return way_ == SumWay::kWhole; }
  bool sends_sums() const { return way_ == SumWay::kSlices; }
  /// Where the sum of the elements from this one on goes.
  std::byte* place_of(std::size_t element) const {
    return out_ + (element - (way_ == SumWay::kOwnSlice ? own_tiles_.whole().first : 0)) * element_;
  }
  bool overwrites() const;
  void add_up();
  void add_tile(std::size_t tile);

  const int rank_, members_;
  const PartsLayout layout_;
  const SumWay way_;
  const std::span<const tensor::SumPart> own_;
  const std::vector<tensor::SumPart> ordered_;  // the same in the order of the stream
  std::byte* const out_;
  const std::size_t elements_, element_;  // how many, and bytes of one of the sum
  std::vector<Tiling> tilings_;           // by rank: of its slice
  const Tiling& own_tiles_;               // what this member adds up
  std::vector<tensor::SumPart> tree_;     // all parts; the data of the tile that is added up
  std::vector<TileRing> rings_;           // by rank
  std::size_t added_ = 0;                 // tiles
  bool is_in_place_ = false;              // `out` is one of the parts, and not the first
  std::unique_ptr<std::byte[]> scratch_;  // a tile's sum, where it would overwrite a part that is still to be read
  std::string copy_;                      // of the own parts, as they are sent
};

}  // namespace tfd::collective
