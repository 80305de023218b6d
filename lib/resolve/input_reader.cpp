// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "tfd/base/text.hpp"
#include "tfd/resolve/spec_source.hpp"

namespace tfd::resolve {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;
constexpr Duration kSilence = std::chrono::seconds(2);  // a person may wait at a terminal
constexpr Duration kReportEvery = std::chrono::seconds(30);
constexpr std::size_t kLongestDocument = std::size_t{256} << 20;

/// Finds the end of a JSON object without judging what is in it; goes on where it stopped when more bytes have come.
class ObjectScanner {
 public:
  /// The number of bytes up to and with the last brace, if it has come.
  std::optional<std::size_t> scan(std::string_view text) {
    for (; at_ < text.size(); ++at_) {
      const char c = text[at_];
      if (in_string_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_string_ = false;
        }
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && --depth_ == 0) {
        return ++at_;
      }
    }
    return std::nullopt;
  }

 private:
  std::size_t at_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace

Result<bool> InputReader::fill(Deadline deadline) {
  if (ended_) return false;
  if (start_ > kReadSize && start_ * 2 > buffer_.size()) {  // amortized: moves at most as much as was handed out
    buffer_.erase(0, start_);
    start_ = 0;
  }
  while (true) {
    pollfd wanted{fd_, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, deadline.poll_ms());
    if (ready < 0 && errno != EINTR) return fail_errno(errno, fmt::format("cannot wait for {}", name_));
    if (ready <= 0) {
      if (deadline.expired()) return fail(Code::kDeadlineExceeded, "{}: nothing arrived in time", name_);
      continue;
    }
    const std::size_t size = buffer_.size();
    buffer_.resize(size + kReadSize);
    const ssize_t count = ::read(fd_, buffer_.data() + size, kReadSize);
    const int read_errno = errno;
    buffer_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0) return true;
    if (count == 0) {
      ended_ = true;
      return false;
    }
    if (read_errno != EINTR && read_errno != EAGAIN)
      return fail_errno(read_errno, fmt::format("cannot read {}", name_));
  }
}

std::string InputReader::take(std::size_t count) {
  std::string out = buffer_.substr(start_, count);
  start_ += count;
  return out;
}

/// Moves on to the first byte that isn't white space; false where the input ends before it.
Result<bool> InputReader::skip_to_document(Deadline deadline, const std::function<void(const WaitReport&)>& on_wait) {
  WaitReport report(kSilence, kReportEvery);
  while (true) {
    while (start_ < buffer_.size() && is_space(buffer_[start_])) ++start_;
    if (std::string_view(buffer_).substr(start_).starts_with("\xef\xbb\xbf")) start_ += 3;  // a byte order mark
    if (start_ < buffer_.size() && !is_space(buffer_[start_])) return true;
    auto more = fill(deadline.earlier_of(Deadline::at(report.next())));
    if (!more) {
      if (more.error().code != Code::kDeadlineExceeded || deadline.expired()) return fail(std::move(more).error());
      if (report.take_due() && on_wait) on_wait(report);
    } else if (!*more) {
      return false;
    }
  }
}

Result<std::optional<std::string>> InputReader::next_document(Deadline deadline,
                                                              const std::function<void(const WaitReport&)>& on_wait) {
  if (!TFD_TRY(skip_to_document(deadline, on_wait))) return std::nullopt;
  if (buffer_[start_] != '{')
    return fail(Code::kInvalidArgument, "{}: a spec is a JSON object, but this begins with '{}'", name_,
                printable(std::string_view(buffer_).substr(start_, 1)));
  ObjectScanner scanner;
  while (true) {
    if (const auto size = scanner.scan(std::string_view(buffer_).substr(start_))) {
      after_document_ = true;
      return take(*size);
    }
    if (buffer_.size() - start_ > kLongestDocument)
      return fail(Code::kResourceExhausted, "{}: a spec is larger than {} MiB", name_, kLongestDocument >> 20);
    if (!TFD_TRY(fill(deadline))) return fail(Code::kDataLoss, "{}: the spec is cut off", name_);
  }
}

Result<std::optional<std::string>> InputReader::next_line(Deadline deadline) {
  std::size_t searched = start_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end == std::string::npos) {
      const std::size_t pending = buffer_.size() - start_;
      if (TFD_TRY(fill(deadline))) {
        searched = start_ + pending;
        continue;
      }
      if (pending == 0) return std::nullopt;
    }
    std::string line = take((end == std::string::npos ? buffer_.size() : end) - start_);
    if (end != std::string::npos) ++start_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const bool rest_of_document = std::exchange(after_document_, false);
    if (rest_of_document && line.find_first_not_of(" \t") == std::string::npos) {
      searched = start_;
      continue;
    }
    return line;
  }
}

}  // namespace tfd::resolve
