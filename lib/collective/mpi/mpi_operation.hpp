#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Collectives whose bytes go by MPI. Over streams go the calls alone, and gathered bytes that are few, so that members
// know that they make the same call before MPI is asked for anything, because MPI would silently match two different
// calls. MPI sums in an order of its own; this member's replicas are added up before, half types in f32.
// Thread rule: as Operation.
#include <deque>
#include <vector>

#include "mpi/mpi_plugin.hpp"
#include "operation.hpp"
#include "sum_operation.hpp"

namespace tfd::collective {

/// Bytes that a member gathers over streams: in one hop, rather than two.
inline constexpr std::size_t kMostByStream = std::size_t{64} << 10;

/// The pieces that a transfer has given to MPI, in order.
class MpiPieces {
 public:
  explicit MpiPieces(MpiLink& link) : link_(link) {}
  /// Begins what fits of `count` elements of `size` bytes. `begin(piece, first, count)` fills a piece and hands it
  /// over; `end(piece, first, count)` takes the received bytes.
  template <class Begin, class End>
  Result<Operation::Outside> move(std::size_t count, std::size_t size, const Begin& begin, const End& end);
  /// Bytes that were given to MPI.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Flight {
    MpiLink::Piece* piece;  // the link's
    std::size_t first, count;
  };
  MpiLink& link_;
  std::size_t next_ = 0, bytes_ = 0;
  std::deque<Flight> flights_;
};

/// A sum over replicas, of which `out` takes the elements `wanted`. `parts` and `out` are borrowed.
class MpiSumOperation final : public Operation {
 public:
  MpiSumOperation(Call call, std::string encoded, int rank, const PartsLayout& layout,
                  std::span<const tensor::SumPart> parts, std::byte* out, Slice wanted, MpiLink& link);
  std::size_t bytes_to(int) const override { return 0; }
  std::size_t bytes_from(int) const override { return 0; }
  std::span<const std::byte> ready(int, std::size_t) override { return {}; }
  std::span<std::byte> room(int, std::size_t) override { return {}; }
  Result<Outside> move_outside() override;
  std::size_t bytes_outside() const override { return pieces_.bytes(); }

 private:
  void fill(MpiLink::Piece& piece, std::size_t first, std::size_t count) const;
  void take(MpiLink::Piece& piece, std::size_t first, std::size_t count) const;

  const tensor::DType dtype_;          // in which MPI adds up
  std::vector<tensor::SumPart> tree_;  // this member's parts; those of others have no data
  bool has_own_ = false;
  std::byte* const out_;
  const Slice wanted_;
  const std::size_t elements_;
  MpiLink& link_;
  MpiPieces pieces_;
};

/// One member's bytes for every member. `data` is borrowed.
class MpiBroadcastOperation final : public BroadcastOperation {
 public:
  MpiBroadcastOperation(Call call, std::string encoded, int rank, std::span<std::byte> data, MpiLink& link)
      : BroadcastOperation(std::move(call), std::move(encoded), rank, data), link_(link), pieces_(link) {}
  std::size_t bytes_to(int) const override { return 0; }
  std::size_t bytes_from(int) const override { return 0; }
  Result<Outside> move_outside() override;
  std::size_t bytes_outside() const override { return pieces_.bytes(); }

 private:
  MpiLink& link_;
  MpiPieces pieces_;
};

/// Every member's bytes for every member: those of a member that has many, by a broadcast of its own.
class MpiGatherOperation final : public GatherOperation {
 public:
  MpiGatherOperation(Call call, std::string encoded, int rank, int members, std::string_view own, std::size_t most,
                     MpiLink& link)
      : GatherOperation(std::move(call), std::move(encoded), rank, members, own, most), rank_(rank), link_(link) {
    for (int i = 0; i < members; ++i) pieces_.emplace_back(link);
  }
  std::size_t bytes_to(int peer) const override { return by_stream(GatherOperation::bytes_to(peer)); }
  std::size_t bytes_from(int peer) const override { return by_stream(GatherOperation::bytes_from(peer)); }
  Result<Outside> move_outside() override;
  std::size_t bytes_outside() const override;

 private:
  static std::size_t by_stream(std::size_t bytes) { return bytes <= kMostByStream ? bytes : 0; }

  const int rank_;
  MpiLink& link_;
  std::vector<MpiPieces> pieces_;  // by rank
};

}  // namespace tfd::collective
