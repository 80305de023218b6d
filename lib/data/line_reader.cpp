// SPDX-License-Identifier: Apache-2.0
#include "line_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {
constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
}  // namespace

Result<LineReader> LineReader::open(const std::string& path) {
  LineReader reader;
  reader.path_ = path;
  // Not to be caught waiting for a FIFO's writer.
  reader.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (reader.fd_ < 0) return fail_errno(errno, "cannot open " + path);
  reader.file_.reset(gzdopen(reader.fd_, "rb"));
  if (!reader.file_) {
    ::close(reader.fd_);
    return fail(Code::kResourceExhausted, "cannot open {}: out of memory", path);
  }
  reader.stamp_ = TFD_TRY(load_stamp(reader.fd_, path));
  gzbuffer(reader.file_.get(), kPiece);
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
      return fail(Code::kInvalidArgument, "{}:{}: the line is longer than {} bytes", path_, line_ + 1, kLongestLine);
    buffer_.resize(buffer_.size() * 2);
  }
  const int got = gzread(file_.get(), buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  if (got > 0) {
    end_ += static_cast<std::size_t>(got);
    return true;
  }
  int code = Z_OK;
  const int saved_errno = errno;
  const std::string why = gzerror(file_.get(), &code);
  if (code == Z_ERRNO) return fail_errno(saved_errno, "cannot read " + path_);
  if (code == Z_BUF_ERROR) return fail(Code::kDataLoss, "{} is cut off after line {}", path_, line_);
  if (got < 0) return fail(Code::kDataLoss, "{} is corrupt after line {}: {}", path_, line_, printable(why));
  return false;
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
