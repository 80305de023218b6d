#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lines of a text file, gzipped or not. Strips LF or CRLF and a UTF-8 byte order mark.
// Thread rule: lives on one thread at a time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "piece.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

class LineReader {
 public:
  LineReader(ByteReader bytes, std::size_t piece_bytes);

  /// Whole lines; nullopt at the end. kDataLoss for gzip data that is corrupt or cut off: the piece of a line before
  /// the cut is never returned. kInvalidArgument for a line above 64 MiB.
  Result<std::optional<Piece>> next();
  /// How many lines were returned.
  std::int64_t lines() const { return lines_; }
  const OpenFilePtr& file() const { return buffer_.file(); }

 private:
  Piece cut(std::size_t size);

  PieceBuffer buffer_;
  std::int64_t lines_ = 0;
};

/// The next line of a piece, and its number there.
std::optional<std::string_view> next_line(Piece& piece);
/// "FILE:LINE", of the line that was taken last.
std::string place_of_line(const Piece& piece);

}  // namespace tfd::data
