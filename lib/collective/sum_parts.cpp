// SPDX-License-Identifier: Apache-2.0
#include "sum_parts.hpp"

#include <algorithm>

namespace tfd::collective {
namespace {

constexpr std::size_t kLine = 64;  // elements: a whole number of lines of the cache, whatever the dtype
constexpr std::size_t kRingTiles = 2;

bool has_any_value(const SumLayout& layout, tensor::LeafRange leaves) {
  if (layout.has_value.empty()) return true;
  const auto first = layout.has_value.begin() + leaves.first;
  return std::find(first, first + leaves.count, true) != first + leaves.count;
}

}  // namespace

Slice slice_of(Slice whole, std::size_t number, std::size_t which) {
  const std::size_t each = ((whole.count + number - 1) / number + kLine - 1) / kLine * kLine;
  const std::size_t first = std::min(whole.count, each * which);
  return {whole.first + first, std::min(each, whole.count - first)};
}

Tiling::Tiling(Slice whole, std::size_t runs, std::size_t most) : whole_(whole), most_(std::min(whole.count, most)) {
  for (std::size_t run = 0; run < runs; ++run) {
    const Slice slice = slice_of({0, whole.count}, runs, run);
    for (std::size_t at = 0; at < slice.count; at += most)
      ends_.push_back(slice.first + std::min(at + most, slice.count));
  }
}

Slice Tiling::operator[](std::size_t tile) const {
  const std::size_t first = elements_of(tile);
  return {first, ends_[tile] - first};
}

std::size_t Tiling::tile_at(std::size_t element) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, element) - ends_.begin());
}

std::vector<tensor::LeafRange> SumLayout::parts_of(int rank) const {
  std::vector<tensor::LeafRange> out = tensor::whole_subtrees(replicas, shares[static_cast<std::size_t>(rank)]);
  std::erase_if(out, [&](tensor::LeafRange leaves) { return !has_any_value(*this, leaves); });
  return out;
}

PartsLayout::PartsLayout(const SumLayout& layout, tensor::DType dtype)
    : counts_(layout.shares.size()), widths_(layout.shares.size()) {
  for (std::size_t rank = 0; rank < layout.shares.size(); ++rank) {
    const std::size_t first = parts_.size();
    for (const tensor::LeafRange& leaves : tensor::whole_subtrees(layout.replicas, layout.shares[rank])) {
      if (has_any_value(layout, leaves))
        parts_.push_back({leaves, static_cast<int>(rank), counts_[rank]++,
                          leaves.count == 1 ? dtype : tensor::partial_dtype(dtype)});
      else
        parts_.push_back({leaves, -1});
    }
    for (const bool wide : {true, false})
      for (std::size_t i = first; i < parts_.size(); ++i) {
        if (parts_[i].rank < 0 || (parts_[i].dtype == tensor::partial_dtype(dtype)) != wide) continue;
        parts_[i].before = widths_[rank];
        widths_[rank] += tensor::dtype_size(parts_[i].dtype);
      }
  }
}

std::vector<tensor::SumPart> PartsLayout::in_order(int rank, std::span<const tensor::SumPart> parts) const {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // place, index
  for (const Part& part : parts_)
    if (part.rank == rank) order.emplace_back(part.before, part.index);
  std::ranges::sort(order);
  std::vector<tensor::SumPart> out;
  for (const auto& [place, index] : order) out.push_back(parts[index]);
  return out;
}

Result<void> check_parts(const PartsLayout& layout, int rank, std::span<const tensor::SumPart> parts,
                         const std::string& which) {
  if (parts.size() != layout.count_of(rank))
    return fail(Code::kInvalidArgument, "{}: {} parts instead of {}", which, parts.size(), layout.count_of(rank));
  for (const PartsLayout::Part& part : layout.parts()) {
    if (part.rank != rank) continue;
    const tensor::SumPart& own = parts[part.index];
    if (own.leaves != part.leaves || own.data == nullptr || own.dtype != part.dtype)
      return fail(Code::kInvalidArgument, "{}: part {} isn't {} of replicas {} to {}", which, part.index,
                  tensor::dtype_name(part.dtype), part.leaves.first, part.leaves.first + part.leaves.count - 1);
  }
  return {};
}

std::span<const std::byte> piece_of(std::span<const tensor::SumPart> parts, std::size_t width, const Tiling& tiling,
                                    std::size_t at) {
  const Slice whole = tiling.whole();
  if (parts.size() == 1) return {parts[0].data + whole.first * width + at, whole.count * width - at};
  const Slice tile = tiling[tiling.tile_at(at / width)];
  std::size_t within = at - tile.first * width;
  for (const tensor::SumPart& part : parts) {
    const std::size_t size = tensor::dtype_size(part.dtype), bytes = tile.count * size;
    if (within < bytes) return {part.data + (whole.first + tile.first) * size + within, bytes - within};
    within -= bytes;
  }
  return {};
}

std::byte* TileRing::place(std::size_t tile) {
  constexpr std::size_t kAligned = 64;  // where each tile begins, whatever its parts' dtypes
  const std::size_t bytes = (tiling_->most() * width_ + kAligned - 1) / kAligned * kAligned;
  const std::size_t kept = std::min(kRingTiles, tiling_->size());
  if (memory_ == nullptr) memory_.reset(new std::byte[kept * bytes]);
  return memory_.get() + tile % kept * bytes;
}

std::span<std::byte> TileRing::room(std::size_t at, std::size_t added) {
  const std::size_t number = tiling_->tile_at(at / width_);
  if (number >= added + kRingTiles) return {};
  const Slice tile = (*tiling_)[number];
  const std::size_t within = at - tile.first * width_;
  return {place(number) + within, tile.count * width_ - within};
}

bool TileRing::arrived(std::size_t at) {
  if (bytes() == 0) return false;
  const std::size_t whole = tiling_->whole_tiles(std::min(at, bytes()) / width_);
  return std::exchange(whole_, whole) != whole;
}

const std::byte* TileRing::tile(std::size_t tile) { return place(tile); }

}  // namespace tfd::collective
