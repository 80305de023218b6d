// SPDX-License-Identifier: Apache-2.0
#include "line_reader.hpp"

#include <cstring>

namespace tfd::data {
namespace {
constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
}  // namespace

Result<LineReader> LineReader::open(const std::string& path) {
  LineReader reader(TFD_TRY(ByteReader::open(path)));
  reader.buffer_.resize(kPiece);
  return reader;
}

Result<bool> LineReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLongestLine)
      return fail(Code::kInvalidArgument, "{}:{}: the line is longer than {} bytes", path(), line_ + 1, kLongestLine);
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t got = TFD_TRY(bytes_.read(std::span(buffer_).subspan(end_), "line", line_));
  end_ += got;
  return got > 0;
}

Result<std::optional<std::string_view>> LineReader::next() {
  std::size_t searched = 0;
  while (true) {
    const char* from = buffer_.data() + begin_;
    const void* found =
        end_ > begin_ + searched ? std::memchr(from + searched, '\n', end_ - begin_ - searched) : nullptr;
    std::string_view text;
    if (found != nullptr) {
      text = {from, static_cast<std::size_t>(static_cast<const char*>(found) - from)};
      begin_ += text.size() + 1;
    } else if (!at_end_) {
      searched = end_ - begin_;
      at_end_ = !TFD_TRY(refill());
      continue;
    } else if (begin_ == end_) {
      return std::optional<std::string_view>();
    } else {
      text = {from, end_ - begin_};
      begin_ = end_;
    }
    if (++line_ == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
  }
}

}  // namespace tfd::data
