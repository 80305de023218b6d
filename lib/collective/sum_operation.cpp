// SPDX-License-Identifier: Apache-2.0
#include "sum_operation.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bytes.hpp"

namespace tfd::collective {
namespace {

constexpr std::size_t kTileElements = 8 << 10;  // 32 KiB of f32
// Tiles of each peer that are kept: few, so that they stay in the cache. What comes sooner waits in its socket.
constexpr std::size_t kRingTiles = 2;

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

bool has_any_value(const SumLayout& layout, tensor::LeafRange leaves) {
  if (layout.has_value.empty()) return true;
  const auto first = layout.has_value.begin() + leaves.first;
  return std::find(first, first + leaves.count, true) != first + leaves.count;
}

}  // namespace

std::vector<tensor::LeafRange> SumLayout::parts_of(int rank) const {
  std::vector<tensor::LeafRange> out = tensor::whole_subtrees(replicas, shares[index(rank)]);
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

SumOperation::SumOperation(Call call, std::string encoded, int rank, int members, PartsLayout layout,
                           std::span<const tensor::SumPart> parts, std::byte* out, bool is_flat)
    : Operation(std::move(call), std::move(encoded)),
      rank_(rank),
      members_(members),
      layout_(std::move(layout)),
      is_flat_(is_flat),
      own_(parts),
      out_(out),
      elements_(static_cast<std::size_t>(tensor::element_count(this->call().spec.shape))),
      element_(tensor::dtype_size(this->call().spec.dtype)),
      own_slice_(slice_of(rank)),
      tile_(is_flat ? std::max<std::size_t>(elements_, 1) : kTileElements),
      rings_(index(members)),
      arrived_(index(members)) {
  std::size_t with_value = 0;
  std::vector<std::pair<std::size_t, std::size_t>> order;  // place, index
  for (const PartsLayout::Part& part : layout_.parts()) {
    tree_.push_back({.leaves = part.leaves, .data = nullptr, .dtype = part.dtype});
    with_value += part.rank >= 0 ? 1 : 0;
    if (part.rank != rank_) continue;
    tree_.back().scale = own_[part.index].scale;
    order.emplace_back(part.before, part.index);
    is_in_place_ = is_in_place_ || (own_[part.index].data == out_ && with_value > 1);
  }
  std::ranges::sort(order);
  for (const auto& [place, part] : order) order_.push_back(part);
  for (int peer = 0; peer < members_; ++peer)
    if (peer == rank_ || layout_.width_of(peer) == 0) arrived_[index(peer)] = tiles();
  if (is_flat_ && members_ > 1)
    for (const std::size_t part : order_)
      copy_ += as_text({own_[part].data, elements_ * tensor::dtype_size(own_[part].dtype)});
  add_up();
}

SumOperation::Slice SumOperation::slice_of(int rank) const {
  if (is_flat_) return {0, elements_};
  const std::size_t each = ((elements_ + index(members_) - 1) / index(members_) + 63) / 64 * 64;
  const std::size_t first = std::min(elements_, each * index(rank));
  return {first, std::min(each, elements_ - first)};
}

std::size_t SumOperation::tile_count(std::size_t tile) const {
  return std::min(tile_, own_slice_.count - tile * tile_);
}

std::string SumOperation::own() const {
  std::string out;
  for (const tensor::SumPart& part : own_) put(out, std::bit_cast<std::uint64_t>(part.scale));
  return out;
}

Result<void> SumOperation::hear(int peer, std::string_view own) {
  ByteReader in(own);
  for (std::size_t i = 0; i < tree_.size(); ++i)
    if (layout_.parts()[i].rank == peer) tree_[i].scale = std::bit_cast<double>(in.number<std::uint64_t>());
  if (!in.is_at_end()) return fail(Code::kInvalidArgument, "it says something else than how its parts are scaled");
  return {};
}

std::size_t SumOperation::bytes_to(int peer) const {
  return slice_of(peer).count * layout_.width_of(rank_) + (is_flat_ ? 0 : own_slice_.count * element_);
}

std::span<const std::byte> SumOperation::ready(int peer, std::size_t at) {
  if (is_flat_) return as_bytes(copy_).subspan(at);
  const Slice slice = slice_of(peer);
  const std::size_t width = layout_.width_of(rank_), parts = slice.count * width;
  if (at >= parts) {
    const std::size_t added = std::min(added_ * tile_, own_slice_.count) * element_;
    return {out_ + own_slice_.first * element_ + (at - parts), added - (at - parts)};
  }
  if (own_.size() == 1) return {own_[0].data + slice.first * width + at, parts - at};
  const std::size_t tile = at / (tile_ * width), count = std::min(tile_, slice.count - tile * tile_);
  std::size_t within = at - tile * tile_ * width;
  for (const std::size_t part : order_) {
    const std::size_t size = tensor::dtype_size(own_[part].dtype), bytes = count * size;
    if (within < bytes) return {own_[part].data + (slice.first + tile * tile_) * size + within, bytes - within};
    within -= bytes;
  }
  return {};
}

std::byte* SumOperation::ring_of(int peer, std::size_t tile) {
  const std::size_t bytes = tile_ * layout_.width_of(peer), kept = std::min(kRingTiles, tiles());
  std::unique_ptr<std::byte[]>& ring = rings_[index(peer)];
  if (ring == nullptr) ring.reset(new std::byte[kept * bytes]);
  return ring.get() + tile % kept * bytes;
}

std::span<std::byte> SumOperation::room(int peer, std::size_t at) {
  const std::size_t width = layout_.width_of(peer), parts = own_slice_.count * width;
  if (at >= parts) return {out_ + slice_of(peer).first * element_ + (at - parts), bytes_from(peer) - at};
  const std::size_t tile = at / (tile_ * width), within = at - tile * tile_ * width;
  if (tile >= added_ + kRingTiles) return {};
  return {ring_of(peer, tile) + within, tile_count(tile) * width - within};
}

void SumOperation::arrived(int peer, std::size_t at) {
  const std::size_t width = layout_.width_of(peer), parts = own_slice_.count * width;
  if (width == 0) return;
  const std::size_t whole = at >= parts ? tiles() : at / (tile_ * width);
  if (whole == arrived_[index(peer)]) return;
  arrived_[index(peer)] = whole;
  if (!is_flat_) add_up();
}

void SumOperation::add_up() {
  if (is_flat_ && members_ > 1) return;
  const std::size_t until = *std::ranges::min_element(arrived_);
  for (; added_ < until; ++added_) add_tile(added_);
}

void SumOperation::finish() {
  if (is_flat_ && members_ > 1 && elements_ > 0) add_tile(0);
}

bool SumOperation::overwrites() const {
  return is_in_place_ &&
         (tree_.size() > 2 || std::ranges::any_of(tree_, [](const auto& part) { return part.scale != 1; }));
}

void SumOperation::add_tile(std::size_t tile) {
  const std::size_t count = tile_count(tile), first = own_slice_.first + tile * tile_;
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const PartsLayout::Part& part = layout_.parts()[i];
    if (part.rank == rank_)
      tree_[i].data = own_[part.index].data + first * tensor::dtype_size(part.dtype);
    else if (part.rank >= 0)
      tree_[i].data = ring_of(part.rank, tile) + part.before * count;
  }
  std::byte* const out = out_ + first * element_;
  if (scratch_ == nullptr && overwrites()) scratch_.reset(new std::byte[std::min(tile_, own_slice_.count) * element_]);
  std::byte* const to = scratch_ != nullptr ? scratch_.get() : out;
  tensor::add_parts(call().replicas, tree_, call().spec.dtype, static_cast<std::int64_t>(count), to);
  if (to != out) std::memcpy(out, to, count * element_);
}

}  // namespace tfd::collective
