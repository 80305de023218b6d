// SPDX-License-Identifier: Apache-2.0
#include "sum_operation.hpp"

#include <algorithm>
#include <cstring>

#include "tfd/base/bytes.hpp"

namespace tfd::collective {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

}  // namespace

std::string format_scales(std::span<const tensor::SumPart> parts) {
  ByteWriter out;
  for (const tensor::SumPart& part : parts) out(part.scale);
  return out.take_bytes();
}

SumOperation::SumOperation(Call call, std::string encoded, int rank, int members, PartsLayout layout,
                           std::span<const tensor::SumPart> parts, std::byte* out, SumWay way)
    : Operation(std::move(call), std::move(encoded)),
      rank_(rank),
      members_(members),
      layout_(std::move(layout)),
      way_(way),
      own_(parts),
      ordered_(layout_.in_order(rank, parts)),
      out_(out),
      elements_(static_cast<std::size_t>(tensor::element_count(this->call().spec.shape))),
      element_(tensor::dtype_size(this->call().spec.dtype)),
      tilings_([this] {
        std::vector<Tiling> tilings;
        for (int peer = 0; peer < members_; ++peer)
          tilings.emplace_back(slice_of(peer), 1, is_flat() ? std::max<std::size_t>(elements_, 1) : kTileElements);
        return tilings;
      }()),
      own_tiles_(tilings_[index(rank)]) {
  std::size_t with_value = 0;
  for (const PartsLayout::Part& part : layout_.parts()) {
    tree_.push_back({.leaves = part.leaves, .data = nullptr, .dtype = part.dtype});
    with_value += part.rank >= 0 ? 1 : 0;
    if (part.rank != rank_) continue;
    tree_.back().scale = own_[part.index].scale;
    is_in_place_ = is_in_place_ || (own_[part.index].data == out_ && with_value > 1);
  }
  for (int peer = 0; peer < members_; ++peer)
    rings_.push_back(peer == rank_ || layout_.width_of(peer) == 0 ? TileRing()
                                                                  : TileRing(own_tiles_, layout_.width_of(peer)));
  if (is_flat() && members_ > 1)
    for (const tensor::SumPart& part : ordered_)
      copy_ += as_text({part.data, elements_ * tensor::dtype_size(part.dtype)});
  add_up();
}

Slice SumOperation::slice_of(int rank) const {
  return is_flat() ? Slice{0, elements_} : collective::slice_of({0, elements_}, index(members_), index(rank));
}

Result<void> SumOperation::hear(int peer, std::string_view own) {
  ByteReader in(own);
  for (std::size_t i = 0; i < tree_.size(); ++i)
    if (layout_.parts()[i].rank == peer) in(tree_[i].scale);
  if (!in.is_at_end()) return fail(Code::kInvalidArgument, "it says something else than how its parts are scaled");
  return {};
}

std::size_t SumOperation::bytes_to(int peer) const {
  return slice_of(peer).count * layout_.width_of(rank_) + (sends_sums() ? own_tiles_.whole().count * element_ : 0);
}

std::span<const std::byte> SumOperation::ready(int peer, std::size_t at) {
  if (is_flat()) return as_bytes(copy_).subspan(at);
  const Tiling& tiles = tilings_[index(peer)];
  const std::size_t width = layout_.width_of(rank_), parts = tiles.whole().count * width;
  if (at < parts) return piece_of(ordered_, width, tiles, at);
  const Slice own = own_tiles_.whole();
  const std::size_t added = own_tiles_.elements_of(added_) * element_;
  return {place_of(own.first) + (at - parts), added - (at - parts)};
}

std::span<std::byte> SumOperation::room(int peer, std::size_t at) {
  TileRing& ring = rings_[index(peer)];
  if (at < ring.bytes()) return ring.room(at, added_);
  return {place_of(slice_of(peer).first) + (at - ring.bytes()), bytes_from(peer) - at};
}

void SumOperation::arrived(int peer, std::size_t at) {
  if (rings_[index(peer)].arrived(at) && !is_flat()) add_up();
}

void SumOperation::add_up() {
  if (is_flat() && members_ > 1) return;
  for (; added_ < own_tiles_.size(); ++added_) {
    if (!std::ranges::all_of(rings_, [&](const TileRing& ring) { return ring.has(added_); })) return;
    add_tile(added_);
  }
}

void SumOperation::finish() {
  if (is_flat() && members_ > 1 && elements_ > 0) add_tile(0);
}

bool SumOperation::overwrites() const {
  return is_in_place_ &&
         (tree_.size() > 2 || std::ranges::any_of(tree_, [](const auto& part) { return part.scale != 1; }));
}

void SumOperation::add_tile(std::size_t tile) {
  const std::size_t count = own_tiles_[tile].count, first = own_tiles_.whole().first + own_tiles_[tile].first;
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const PartsLayout::Part& part = layout_.parts()[i];
    if (part.rank == rank_)
      tree_[i].data = own_[part.index].data + first * tensor::dtype_size(part.dtype);
    else if (part.rank >= 0)
      tree_[i].data = rings_[index(part.rank)].tile(tile) + part.before * count;
  }
  std::byte* const out = place_of(first);
  if (scratch_ == nullptr && overwrites()) scratch_.reset(new std::byte[own_tiles_.most() * element_]);
  std::byte* const to = scratch_ != nullptr ? scratch_.get() : out;
  tensor::add_parts(call().replicas, tree_, call().spec.dtype, static_cast<std::int64_t>(count), to);
  if (to != out) std::memcpy(out, to, count * element_);
}

}  // namespace tfd::collective
