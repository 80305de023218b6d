// SPDX-License-Identifier: Apache-2.0
#include "piece.hpp"

#include <algorithm>
#include <cstring>

namespace tfd::data {

void PieceBuffer::reserve(std::size_t bytes) {
  auto larger = std::make_unique_for_overwrite<char[]>(bytes);
  std::memcpy(larger.get(), buffer_.get(), end_);
  buffer_ = std::move(larger);
  capacity_ = bytes;
}

Result<bool> PieceBuffer::fill(std::string_view unit, std::int64_t units) {
  if (end_ == capacity_) return true;
  const std::size_t got = TFD_TRY(bytes_.read({buffer_.get() + end_, capacity_ - end_}, unit, units));
  end_ += got;
  return got > 0;
}

Piece PieceBuffer::cut(std::size_t size) {
  const std::size_t left = end_ - size;
  capacity_ = std::max(piece_bytes_, left);
  auto next = std::make_unique_for_overwrite<char[]>(capacity_);
  std::memcpy(next.get(), buffer_.get() + size, left);
  end_ = left;
  return Piece{.file = bytes_.file(), .bytes = std::exchange(buffer_, std::move(next)), .end = size};
}

}  // namespace tfd::data
