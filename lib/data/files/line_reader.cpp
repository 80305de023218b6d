// SPDX-License-Identifier: Apache-2.0
#include "line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace tfd::data {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;

std::int64_t count_lines(std::string_view text) {
  std::int64_t lines = 0;
  while (!text.empty()) {
    const void* found = std::memchr(text.data(), '\n', text.size());
    ++lines;
    if (found == nullptr) break;
    text.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1);
  }
  return lines;
}

// Position after the quote that closes what began before `at`; npos if there is none.
std::size_t find_close(std::string_view text, std::size_t at) {
  while (true) {
    at = text.find('"', at);
    if (at == std::string_view::npos) return at;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    at += 2;
  }
}

// The end of the line that position `at` is in, with its line break.
std::size_t line_end(std::string_view text, std::size_t at) {
  const std::size_t found = text.find('\n', at);
  return found == std::string_view::npos ? text.size() : found + 1;
}

}  // namespace

RowEnd find_row_end(std::string_view text, char delimiter) {
  std::size_t at = 0;
  while (true) {
    const std::size_t newline = text.find('\n', at);
    const std::string_view line = text.substr(0, newline);
    std::size_t quote = line.find('"', at);
    while (quote != std::string_view::npos && quote > 0 && line[quote - 1] != delimiter)
      quote = line.find('"', quote + 1);
    if (quote == std::string_view::npos)
      return {newline == std::string_view::npos ? newline : newline + 1, std::string_view::npos};
    at = find_close(text, quote + 1);
    if (at == std::string_view::npos) return {std::string_view::npos, quote};
  }
}

LineReader::LineReader(ByteReader bytes, std::size_t piece_bytes, std::optional<char> quoted)
    : buffer_(std::move(bytes), piece_bytes), quoted_(quoted) {}

Result<std::optional<Piece>> LineReader::next() {
  while (true) {
    const bool is_more = TFD_TRY(buffer_.fill("line", lines_));
    const std::string_view text = buffer_.rest();
    if (!is_more && text.empty()) return std::optional<Piece>();
    const std::size_t end = find_end(text, !is_more, text.size() >= kLongestLine);
    if (end > 0 && (end < text.size() || !is_more || text.ends_with('\n'))) return cut(end);
    if (text.size() < buffer_.capacity()) continue;
    if (text.size() >= kLongestLine)
      return fail(Code::kInvalidArgument, "{}:{}: the line is longer than {} bytes", file()->path(), lines_ + 1,
                  kLongestLine);
    buffer_.reserve(std::min(2 * text.size(), kLongestLine));
  }
}

// Where the rows end that are there as a whole. `is_all`: nothing more comes. `is_long`: a quote is waited for no more.
std::size_t LineReader::find_end(std::string_view text, bool is_all, bool is_long) {
  const bool has_quotes = quoted_ && text.find('"', rows_end_) != std::string_view::npos;
  if (!has_quotes) {
    const std::size_t last = text.rfind('\n');
    return is_all ? text.size() : last == std::string_view::npos ? 0 : last + 1;
  }
  while (rows_end_ < text.size()) {
    std::string_view rest = text.substr(rows_end_);
    const bool is_first = lines_ == 0 && rows_end_ == 0;
    const std::size_t mark = is_first && rest.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    const RowEnd end = find_row_end(rest.substr(mark), *quoted_);
    if (end.size != std::string_view::npos) {
      rows_end_ += mark + end.size;
      continue;
    }
    if (end.open == std::string_view::npos) return is_all ? text.size() : rows_end_;
    if (!is_all && !is_long) return rows_end_;
    return rows_end_ > 0 ? rows_end_ : line_end(text, mark + end.open);
  }
  return rows_end_;
}

Piece LineReader::cut(std::size_t size) {
  rows_end_ = 0;
  Piece piece = buffer_.cut(size);
  piece.number = lines_;
  piece.rows = count_lines(piece.rest());
  lines_ += piece.rows;
  return piece;
}

std::optional<std::string_view> next_line(Piece& piece) {
  std::string_view text = piece.rest();
  if (text.empty()) return std::nullopt;
  const void* found = std::memchr(text.data(), '\n', text.size());
  if (found != nullptr) text = text.substr(0, static_cast<std::size_t>(static_cast<const char*>(found) - text.data()));
  piece.at = std::min(piece.end, piece.at + text.size() + 1);
  if (++piece.number == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string place_of_line(const Piece& piece) { return fmt::format("{}:{}", piece.file->path(), piece.number); }

}  // namespace tfd::data
