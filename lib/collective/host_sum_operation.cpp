// SPDX-License-Identifier: Apache-2.0
#include "host_sum_operation.hpp"

#include <algorithm>
#include <cstring>

#include "sum_operation.hpp"
#include "tfd/base/bytes.hpp"

namespace tfd::collective {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

/// The layout as if each host were one member.
SumLayout of_hosts(const SumLayout& layout, int per_host) {
  SumLayout out{.replicas = layout.replicas, .shares = {}, .has_value = layout.has_value};
  for (std::size_t first = 0; first < layout.shares.size(); first += index(per_host)) {
    tensor::LeafRange all{0, 0};
    for (const tensor::LeafRange& share : std::span(layout.shares).subspan(first, index(per_host))) {
      if (all.count == 0) all.first = share.first;
      all.count += share.count;
    }
    out.shares.push_back(all);
  }
  return out;
}

}  // namespace

int members_of_each_host(const Members& members) {
  const auto& all = members.all;
  const std::string& first = all.front().host;
  const auto each = std::ranges::find_if(all, [&](const Member& one) { return one.host != first; }) - all.begin();
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  if (each < 2 || each == count || count % each != 0) return 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const std::string& host = all[static_cast<std::size_t>(i)].host;
    if (host != all[static_cast<std::size_t>(i / each * each)].host) return 0;
    if (i % each == 0 && std::ranges::count(all, host, &Member::host) != each) return 0;
  }
  return static_cast<int>(each);
}

HostSumOperation::HostSumOperation(Call call, std::string encoded, int rank, int members, int per_host,
                                   const SumLayout& layout, std::span<const tensor::SumPart> parts, std::byte* out)
    : Operation(std::move(call), std::move(encoded)),
      rank_(rank),
      per_host_(per_host),
      hosts_(members / per_host),
      host_(rank / per_host),
      place_(rank % per_host),
      layout_(layout, this->call().spec.dtype),
      host_layout_(of_hosts(layout, per_host), this->call().spec.dtype),
      own_(parts),
      ordered_(layout_.in_order(rank, parts)),
      out_(out),
      element_(tensor::dtype_size(this->call().spec.dtype)),
      scales_(layout_.parts().size(), 1),
      unheard_(members - 1),
      rings_(index(members)),
      final_(index(hosts_)) {
  for (std::size_t i = 0; i < scales_.size(); ++i)
    if (layout_.parts()[i].rank == rank_) scales_[i] = own_[layout_.parts()[i].index].scale;
  make_tilings();
  make_host_parts();
}

void HostSumOperation::make_tilings() {
  const Slice all{0, static_cast<std::size_t>(tensor::element_count(call().spec.shape))};
  for (int place = 0; place < per_host_; ++place)
    slices_.emplace_back(slice_of(all, index(per_host_), index(place)), index(hosts_), kTileElements);
  const Slice own{0, slices_[index(place_)].whole().count};
  for (int host = 0; host < hosts_; ++host)
    shares_.emplace_back(slice_of(own, index(hosts_), index(host)), 1, kTileElements);
  for (int peer = 0; peer < per_host_ * hosts_; ++peer) {
    if (peer == rank_) continue;
    if (is_here(peer) && layout_.width_of(peer) > 0)
      rings_[index(peer)] = TileRing(slices_[index(place_)], layout_.width_of(peer));
    const std::size_t width = host_layout_.width_of(peer / per_host_);
    if (is_across(peer) && width > 0) rings_[index(peer)] = TileRing(shares_[index(host_)], width);
  }
}

void HostSumOperation::make_host_parts() {
  const std::size_t elements = slices_[index(place_)].whole().count;
  std::vector<tensor::SumPart> sums;
  for (const PartsLayout::Part& part : host_layout_.parts()) {
    tree_.push_back({.leaves = part.leaves, .data = nullptr, .dtype = part.dtype});
    if (part.rank != host_) continue;
    HostPart one{.sum = tree_.back(), .of = {}, .memory = nullptr};
    one.memory.reset(new std::byte[elements * tensor::dtype_size(part.dtype)]);
    one.sum.data = one.memory.get();
    for (std::size_t i = 0; i < layout_.parts().size(); ++i) {
      const tensor::LeafRange& leaves = layout_.parts()[i].leaves;
      if (leaves.first >= part.leaves.first && leaves.first < part.leaves.first + part.leaves.count)
        one.of.push_back(i);
    }
    sums.push_back(one.sum);
    host_parts_.push_back(std::move(one));
  }
  ordered_host_parts_ = host_layout_.in_order(host_, sums);
}

std::string HostSumOperation::own() const { return format_scales(own_); }

Result<void> HostSumOperation::hear(int peer, std::string_view own) {
  ByteReader in(own);
  for (std::size_t i = 0; i < scales_.size(); ++i)
    if (layout_.parts()[i].rank == peer) in(scales_[i]);
  if (!in.is_at_end()) return fail(Code::kInvalidArgument, "it says something else than how its parts are scaled");
  --unheard_;
  add_up();
  return {};
}

std::size_t HostSumOperation::bytes_to(int peer) const {
  if (is_here(peer))
    return slices_[index(peer % per_host_)].whole().count * layout_.width_of(rank_) +
           slices_[index(place_)].whole().count * element_;
  if (!is_across(peer)) return 0;
  return shares_[index(peer / per_host_)].whole().count * host_layout_.width_of(host_) +
         shares_[index(host_)].whole().count * element_;
}

std::size_t HostSumOperation::bytes_from(int peer) const {
  if (is_here(peer)) return ring(peer).bytes() + slices_[index(peer % per_host_)].whole().count * element_;
  return is_across(peer) ? ring(peer).bytes() + shares_[index(peer / per_host_)].whole().count * element_ : 0;
}

/// Elements of this member's slice, from its first, that are the whole sum.
std::size_t HostSumOperation::final_elements() const {
  std::size_t out = 0;
  for (int host = 0; host < hosts_; ++host) {
    out += final_[index(host)];
    if (final_[index(host)] < shares_[index(host)].whole().count) break;
  }
  return out;
}

std::span<const std::byte> HostSumOperation::ready(int peer, std::size_t at) {
  const Slice own = slices_[index(place_)].whole();
  if (is_here(peer)) {
    const Tiling& slice = slices_[index(peer % per_host_)];
    const std::size_t width = layout_.width_of(rank_), parts = slice.whole().count * width;
    if (at < parts) return piece_of(ordered_, width, slice, at);
    const std::size_t until = final_elements() * element_;
    return {out_ + own.first * element_ + (at - parts), until - (at - parts)};
  }
  const Tiling& share = shares_[index(peer / per_host_)];
  const std::size_t width = host_layout_.width_of(host_), parts = share.whole().count * width;
  if (at < parts) {
    const std::size_t added = slices_[index(place_)].elements_of(added_here_), first = share.whole().first;
    const std::size_t until = added <= first ? 0 : std::min(added - first, share.whole().count) * width;
    if (at >= until) return {};
    const std::span<const std::byte> piece = piece_of(ordered_host_parts_, width, share, at);
    return piece.first(std::min(piece.size(), until - at));
  }
  const std::size_t first = own.first + shares_[index(host_)].whole().first;
  return {out_ + first * element_ + (at - parts), final_[index(host_)] * element_ - (at - parts)};
}

std::span<std::byte> HostSumOperation::room(int peer, std::size_t at) {
  TileRing& from = rings_[index(peer)];
  if (at < from.bytes()) return from.room(at, is_here(peer) ? added_here_ : added_);
  const std::size_t first = is_here(peer)
                                ? slices_[index(peer % per_host_)].whole().first
                                : slices_[index(place_)].whole().first + shares_[index(peer / per_host_)].whole().first;
  return {out_ + first * element_ + (at - from.bytes()), bytes_from(peer) - at};
}

void HostSumOperation::arrived(int peer, std::size_t at) {
  TileRing& from = rings_[index(peer)];
  if (is_across(peer) && at > from.bytes()) final_[index(peer / per_host_)] = (at - from.bytes()) / element_;
  if (from.arrived(at)) add_up();
}

void HostSumOperation::add_up() {
  if (unheard_ > 0) return;  // scales aren't known
  const auto have = [&](bool here, std::size_t tile) {
    for (int peer = 0; peer < per_host_ * hosts_; ++peer)
      if (is_here(peer) == here && !ring(peer).has(tile)) return false;
    return true;
  };
  for (; added_here_ < slices_[index(place_)].size() && have(true, added_here_); ++added_here_) add_here(added_here_);
  const Tiling &slice = slices_[index(place_)], &share = shares_[index(host_)];
  for (; added_ < share.size() && have(false, added_); ++added_) {
    if (slice.elements_of(added_here_) < share.whole().first + share.elements_of(added_ + 1)) return;
    add_across(added_);
    final_[index(host_)] = share.elements_of(added_ + 1);
  }
}

/// Where a part of this host's members lies: of this tile of the slice.
const std::byte* HostSumOperation::data_of(const PartsLayout::Part& part, std::size_t tile) {
  if (part.rank < 0) return nullptr;
  const Tiling& slice = slices_[index(place_)];
  if (part.rank != rank_) return rings_[index(part.rank)].tile(tile) + part.before * slice[tile].count;
  return own_[part.index].data + (slice.whole().first + slice[tile].first) * tensor::dtype_size(part.dtype);
}

void HostSumOperation::add_here(std::size_t tile) {
  const Slice elements = slices_[index(place_)][tile];
  for (const HostPart& part : host_parts_) {
    std::vector<tensor::SumPart> members;
    for (const std::size_t i : part.of) {
      const PartsLayout::Part& one = layout_.parts()[i];
      members.push_back({one.leaves, data_of(one, tile), one.dtype, scales_[i]});
    }
    const std::size_t size = tensor::dtype_size(part.sum.dtype);
    std::byte* const to = part.memory.get() + elements.first * size;
    if (part.sum.leaves.count == 1)  // as it is: it is scaled where it is added to others
      std::memcpy(to, members.front().data, elements.count * size);
    else
      tensor::add_parts(part.sum.leaves.count, members, part.sum.dtype, static_cast<std::int64_t>(elements.count), to);
  }
}

void HostSumOperation::add_across(std::size_t tile) {
  const Tiling& share = shares_[index(host_)];
  const std::size_t first = share.whole().first + share[tile].first, count = share[tile].count;
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const PartsLayout::Part& part = host_layout_.parts()[i];
    if (part.rank < 0) continue;
    if (part.leaves.count == 1) {
      const auto leaf = std::ranges::find(layout_.parts(), part.leaves, &PartsLayout::Part::leaves);
      tree_[i].scale = scales_[static_cast<std::size_t>(leaf - layout_.parts().begin())];
    }
    if (part.rank == host_)
      tree_[i].data = host_parts_[part.index].sum.data + first * tensor::dtype_size(part.dtype);
    else
      tree_[i].data = rings_[index(part.rank * per_host_ + place_)].tile(tile) + part.before * count;
  }
  std::byte* const out = out_ + (slices_[index(place_)].whole().first + first) * element_;
  tensor::add_parts(call().replicas, tree_, call().spec.dtype, static_cast<std::int64_t>(count), out);
}

}  // namespace tfd::collective
