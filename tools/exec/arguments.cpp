// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tfd::exec {
namespace {

constexpr std::size_t kMostArgument = std::size_t{1} << 20;  // longer than any command line allows
constexpr std::string_view kSeparator = ":::";

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

CommandLine split_command(const std::vector<std::string>& command) {
  CommandLine out;
  for (const std::string& word : command) {
    if (word == kSeparator) {
      out.has_lists = true;
      out.lists.emplace_back();
    } else if (out.has_lists) {
      out.lists.back().push_back(word);
    } else {
      out.words.push_back(word);
    }
  }
  return out;
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (&word == &words.front() ? "" : " ") + word;
  return out;
}

Arguments::Arguments(std::vector<std::vector<std::string>> lists) : lists_(std::move(lists)), at_(lists_.size(), 0) {
  ended_ = lists_.empty() || std::any_of(lists_.begin(), lists_.end(), [](const auto& list) { return list.empty(); });
}

Arguments::Arguments(process::Fd file, std::string name, char separator)
    : owned_(std::move(file)), fd_(owned_.get()), name_(std::move(name)), separator_(separator) {}

Arguments::Arguments(int fd, std::string name, char separator)
    : fd_(fd), name_(std::move(name)), separator_(separator) {}

int Arguments::fd() const { return file_ended_ || buffer_.find(separator_, start_) != std::string::npos ? -1 : fd_; }

/// Reads once; never blocks.
Result<void> Arguments::fill() {
  if (!is_readable(fd_)) return {};
  buffer_.erase(0, std::exchange(start_, 0));
  char piece[64 * 1024];
  const ssize_t got = ::read(fd_, piece, sizeof piece);
  if (got < 0 && errno != EINTR && errno != EAGAIN) return fail_errno(errno, "cannot read " + name_);
  if (got == 0) file_ended_ = true;
  if (got > 0) buffer_.append(piece, static_cast<std::size_t>(got));
  return {};
}

Result<std::uint64_t> Arguments::count_all() {
  if (fd_ < 0) {
    std::uint64_t product = ended_ ? 0 : 1;
    for (const auto& list : lists_) product *= list.size();
    return product;
  }
  while (!file_ended_) {
    pollfd more{fd_, POLLIN, 0};
    ::poll(&more, 1, -1);
    TFD_TRY(fill());
  }
  const auto ends = static_cast<std::uint64_t>(std::count(buffer_.begin(), buffer_.end(), separator_));
  return ends + (!buffer_.empty() && buffer_.back() != separator_ ? 1 : 0);
}

Result<std::optional<std::vector<std::string>>> Arguments::next() {
  if (ended_) return std::nullopt;
  if (fd_ < 0) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < lists_.size(); ++i) out.push_back(lists_[i][at_[i]]);
    std::size_t i = lists_.size();
    while (i > 0 && ++at_[i - 1] == lists_[i - 1].size()) at_[--i] = 0;
    ended_ = i == 0;
    return out;
  }
  std::size_t end = buffer_.find(separator_, start_);
  if (end == std::string::npos && !file_ended_) {
    TFD_TRY(fill());
    end = buffer_.find(separator_, start_);
  }
  if (end == std::string::npos && buffer_.size() - start_ > kMostArgument)
    return fail(Code::kInvalidArgument, "{}: an argument is longer than {} bytes", name_, kMostArgument);
  if (end == std::string::npos && !file_ended_) return std::nullopt;
  if (end == std::string::npos && start_ == buffer_.size()) {
    ended_ = true;
    return std::nullopt;
  }
  if (end == std::string::npos) end = buffer_.size();  // the last one needs no separator
  std::vector<std::string> out{buffer_.substr(start_, end - start_)};
  start_ = std::min(end + 1, buffer_.size());
  return out;
}

}  // namespace tfd::exec
