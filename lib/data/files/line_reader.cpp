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

}  // namespace

LineReader::LineReader(ByteReader bytes, std::size_t piece_bytes) : buffer_(std::move(bytes), piece_bytes) {}

Result<std::optional<Piece>> LineReader::next() {
  while (true) {
    const bool is_more = TFD_TRY(buffer_.fill("line", lines_));
    const std::string_view text = buffer_.rest();
    const std::size_t last = text.rfind('\n');
    if (last != std::string_view::npos) return cut(last + 1);
    if (!is_more && text.empty()) return std::optional<Piece>();
    if (!is_more) return cut(text.size());
    if (text.size() < buffer_.capacity()) continue;
    if (text.size() >= kLongestLine)
      return fail(Code::kInvalidArgument, "{}:{}: the line is longer than {} bytes", file()->path(), lines_ + 1,
                  kLongestLine);
    buffer_.reserve(std::min(2 * text.size(), kLongestLine));
  }
}

Piece LineReader::cut(std::size_t size) {
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
  if (++piece.number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string place_of_line(const Piece& piece) { return fmt::format("{}:{}", piece.file->path(), piece.number); }

}  // namespace tfd::data
