// SPDX-License-Identifier: Apache-2.0
#include "tfd/cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::cli {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// "[#####.....] " of `width` cells.
std::string bar(std::int64_t done, std::int64_t total, std::size_t width) {
  if (total <= 0) return "";
  const double part = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
  return fmt::format("[{}{}] ", std::string(full, '#'), std::string(width - full, '.'));
}

}  // namespace

Progress::Progress(Io& io, std::string what, std::int64_t total)
    : io_(io), what_(std::move(what)), total_(total), terminal_(io.err.is_terminal()) {}

Progress::~Progress() { finish(); }

void Progress::update(std::int64_t done, const std::string& note) {
  if (!terminal_ || io_.quiet) return;
  const auto now = std::chrono::steady_clock::now();
  const bool last = total_ > 0 && done >= total_;
  if (drawn_ && !last && now - last_ < kBetweenDraws) return;
  const std::string counter = total_ > 0 ? fmt::format("{}/{}", done, total_) : fmt::format("{}", done);
  std::string line = fmt::format("{} {}{}  {}", what_, bar(done, total_, 20), counter, printable(note));
  line.resize(std::min(line.size(), columns_of(io_.err.fd()) - 1));  // a wrapped line couldn't be rewritten
  (void)io_.err.write(fmt::format("\r{}\x1b[K", line));
  drawn_ = true;
  last_ = now;
}

void Progress::say(const std::string& line) {
  if (io_.quiet) return;
  (void)io_.err.write(fmt::format("{}{}: {}\n", drawn_ ? "\r\x1b[K" : "", what_, printable(line)));
  drawn_ = false;
}

void Progress::finish() {
  if (!drawn_) return;
  (void)io_.err.write("\n");
  drawn_ = false;
}

}  // namespace tfd::cli
