// SPDX-License-Identifier: Apache-2.0
#include "mpi_operation.hpp"

#include <algorithm>
#include <cstring>

namespace tfd::collective {

using Outside = Operation::Outside;

template <class Begin, class End>
Result<Outside> MpiPieces::move(std::size_t count, std::size_t size, const Begin& begin, const End& end) {
  const std::size_t each = MpiLink::kPieceBytes / size;
  for (; next_ < count;) {
    const std::size_t now = std::min(each, count - next_);
    MpiLink::Piece* const piece = link_.take(now * size);
    if (piece == nullptr) break;
    TFD_TRY(begin(*piece, next_, now));
    flights_.push_back({piece, next_, now});
    next_ += now;
    bytes_ += now * size;
  }
  while (!flights_.empty()) {
    const Flight& oldest = flights_.front();
    if (!TFD_TRY(link_.is_done(*oldest.piece))) break;
    end(*oldest.piece, oldest.first, oldest.count);
    link_.give_back(*oldest.piece);
    flights_.pop_front();
  }
  if (next_ < count) return Outside::kHasMore;
  return flights_.empty() ? Outside::kIsDone : Outside::kIsOnItsWay;
}

namespace {

/// Moves the root's bytes on.
Result<Outside> move_bytes(MpiPieces& pieces, MpiLink& link, int root, bool is_root, std::span<std::byte> data) {
  return pieces.move(
      data.size(), 1,
      [&](MpiLink::Piece& piece, std::size_t first, std::size_t count) {
        if (is_root) std::memcpy(piece.data(), data.data() + first, count);
        return link.begin_broadcast(piece, root, count);
      },
      [&](MpiLink::Piece& piece, std::size_t first, std::size_t count) {
        if (!is_root) std::memcpy(data.data() + first, piece.data(), count);
      });
}

}  // namespace

MpiSumOperation::MpiSumOperation(Call call, std::string encoded, int rank, const PartsLayout& layout,
                                 std::span<const tensor::SumPart> parts, std::byte* out, Slice wanted, MpiLink& link)
    : Operation(std::move(call), std::move(encoded)),
      dtype_(tensor::partial_dtype(this->call().spec.dtype)),
      out_(out),
      wanted_(wanted),
      elements_(static_cast<std::size_t>(tensor::element_count(this->call().spec.shape))),
      link_(link),
      pieces_(link) {
  for (const PartsLayout::Part& part : layout.parts()) {
    const bool is_own = part.rank == rank;
    tree_.push_back(is_own ? parts[part.index] : tensor::SumPart{.leaves = part.leaves, .dtype = part.dtype});
    has_own_ = has_own_ || is_own;
  }
}

void MpiSumOperation::fill(MpiLink::Piece& piece, std::size_t first, std::size_t count) const {
  if (!has_own_) {
    std::memset(piece.data(), 0, count * tensor::dtype_size(dtype_));
    return;
  }
  std::vector<tensor::SumPart> tree = tree_;
  for (tensor::SumPart& part : tree)
    if (part.data != nullptr) part.data += first * tensor::dtype_size(part.dtype);
  tensor::add_parts(call().replicas, tree, dtype_, static_cast<std::int64_t>(count), piece.data());
}

void MpiSumOperation::take(MpiLink::Piece& piece, std::size_t first, std::size_t count) const {
  const std::size_t from = std::max(first, wanted_.first);
  const std::size_t end = std::min(first + count, wanted_.first + wanted_.count);
  if (from >= end) return;
  const tensor::SumPart sum{
      .leaves = {0, 1}, .data = piece.data() + (from - first) * tensor::dtype_size(dtype_), .dtype = dtype_};
  const tensor::DType dtype = call().spec.dtype;
  tensor::add_parts(1, {&sum, 1}, dtype, static_cast<std::int64_t>(end - from),
                    out_ + (from - wanted_.first) * tensor::dtype_size(dtype));
}

Result<Outside> MpiSumOperation::move_outside() {
  return pieces_.move(
      elements_, tensor::dtype_size(dtype_),
      [&](MpiLink::Piece& piece, std::size_t first, std::size_t count) {
        fill(piece, first, count);
        return link_.begin_sum(piece, dtype_, count);
      },
      [&](MpiLink::Piece& piece, std::size_t first, std::size_t count) { take(piece, first, count); });
}

Result<Outside> MpiBroadcastOperation::move_outside() {
  return move_bytes(pieces_, link_, static_cast<int>(call().root), is_root(), data());
}

Result<Outside> MpiGatherOperation::move_outside() {
  Outside out = Outside::kIsDone;
  for (std::size_t root = 0; root < pieces_.size(); ++root) {
    const std::span<std::byte> data = result(static_cast<int>(root));
    if (data.size() <= kMostByStream) continue;
    const bool is_root = static_cast<int>(root) == rank_;
    const Outside one = TFD_TRY(move_bytes(pieces_[root], link_, static_cast<int>(root), is_root, data));
    if (one == Outside::kHasMore) return one;
    if (one == Outside::kIsOnItsWay) out = one;
  }
  return out;
}

std::size_t MpiGatherOperation::bytes_outside() const {
  std::size_t bytes = 0;
  for (const MpiPieces& one : pieces_) bytes += one.bytes();
  return bytes;
}

}  // namespace tfd::collective
