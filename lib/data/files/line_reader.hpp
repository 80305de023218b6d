#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lines of a text file, gzipped or not, or the rows of a csv file, whose quoted fields may hold line breaks. Strips LF
// or CRLF and a UTF-8 byte order mark.
// Thread rule: lives on one thread at a time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "piece.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

/// Where a row of a csv file ends.
struct RowEnd {
  std::size_t size = std::string_view::npos;  // of the row with its line break; npos: it isn't all there
  std::size_t open = std::string_view::npos;  // where a quote opens that isn't closed
};
/// The end of the row that `text` begins with. A quote opens at the beginning of a field only, and two quotes within
/// quotes are one. Source: RFC 4180 and Python's csv module.
RowEnd find_row_end(std::string_view text, char delimiter);

class LineReader {
 public:
  /// `quoted`: the delimiter of a csv file with quotes. Pieces then end where rows end. A row whose quote is never
  /// closed, or not within 64 MiB, ends with the line in which it opens, and is the last one of its piece.
  LineReader(ByteReader bytes, std::size_t piece_bytes, std::optional<char> quoted = {});

  /// Whole lines; nullopt at the end. kDataLoss for gzip data that is corrupt or cut off: the piece of a line before
  /// the cut is never returned. kInvalidArgument for a line above 64 MiB.
  Result<std::optional<Piece>> next();
  /// How many lines were returned.
  std::int64_t lines() const { return lines_; }
  const OpenFilePtr& file() const { return buffer_.file(); }

 private:
  Piece cut(std::size_t size);
  std::size_t find_end(std::string_view text, bool is_all, bool is_long);

  PieceBuffer buffer_;
  const std::optional<char> quoted_;
  std::size_t rows_end_ = 0;  // within the buffer, of the rows found so far
  std::int64_t lines_ = 0;
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
/// The next line of a piece, and its number there.
std::optional<std::string_view> next_line(Piece& piece);
/// "FILE:LINE", of the line that was taken last.
std::string place_of_line(const Piece& piece);

}  // namespace tfd::data
