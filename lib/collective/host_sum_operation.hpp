#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A large sum over replicas where several members share each host, in three stages. Within a host each member adds up
// the parts of a slice, into the subtrees that the host has whole. Members with the same place in their hosts exchange
// these, a part of the slice each, and add them up. Within a host each gives the others the sum of its slice. So the
// network carries a tensor twice for each host, not for each of its members; all stages overlap, tile by tile, and the
// bits are those of any other way. Thread rule: as Operation.
#include <cstdint>
#include <memory>
#include <vector>

#include "operation.hpp"
#include "sum_parts.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::collective {

/// How many members each host has, in the order of ranks: the same number, more than one, on more than one host. 0: it
/// isn't so.
int members_of_each_host(const Members& members);

class HostSumOperation : public Operation {
 public:
  /// `parts` and `out` are borrowed. `per_host`: members_of_each_host().
  HostSumOperation(Call call, std::string encoded, int rank, int members, int per_host, const SumLayout& layout,
                   std::span<const tensor::SumPart> parts, std::byte* out);
  std::string own() const override;
  Result<void> hear(int peer, std::string_view own) override;
  std::size_t bytes_to(int peer) const override;
  std::size_t bytes_from(int peer) const override;
  /// Bytes from other hosts wait for the members there.
  std::size_t owed_by(int peer) const override { return is_here(peer) ? ring(peer).bytes() : 0; }
  std::span<const std::byte> ready(int peer, std::size_t at) override;
  std::span<std::byte> room(int peer, std::size_t at) override;
  void arrived(int peer, std::size_t at) override;

 private:
  /// A subtree that this host has whole: the sum of some of its members' parts over this member's slice.
  struct HostPart {
    tensor::SumPart sum;
    std::vector<std::size_t> of;  // among the members' parts
    std::unique_ptr<std::byte[]> memory;
  };

  bool is_here(int peer) const { return peer / per_host_ == host_; }
  /// True if it has the same place on another host.
  bool is_across(int peer) const { return peer % per_host_ == place_ && !is_here(peer); }
  const TileRing& ring(int peer) const { return rings_[static_cast<std::size_t>(peer)]; }
  std::size_t final_elements() const;
  void make_tilings();
  void make_host_parts();
  void add_up();
  void add_here(std::size_t tile);
  void add_across(std::size_t tile);
  const std::byte* data_of(const PartsLayout::Part& part, std::size_t tile);

  const int rank_, per_host_, hosts_, host_, place_;  // the place among the members of its host
  const PartsLayout layout_, host_layout_;            // the members' parts, the hosts'
  const std::span<const tensor::SumPart> own_;
  const std::vector<tensor::SumPart> ordered_;  // the same in the order of the stream
  std::byte* const out_;
  const std::size_t element_;         // bytes of one of the sum
  std::vector<double> scales_;        // of the members' parts
  int unheard_;                       // members that haven't said theirs
  std::vector<Tiling> slices_;        // by place: what its members add up
  std::vector<Tiling> shares_;        // by host: its part of this member's slice, counted from the slice's first
  std::vector<HostPart> host_parts_;  // of this host
  std::vector<tensor::SumPart> ordered_host_parts_;
  std::vector<tensor::SumPart> tree_;       // of the hosts' parts
  std::vector<TileRing> rings_;             // by rank
  std::size_t added_here_ = 0, added_ = 0;  // tiles: of this host's members, of all
  std::vector<std::size_t> final_;          // by host: elements of its share that are the whole sum
};

}  // namespace tfd::collective
