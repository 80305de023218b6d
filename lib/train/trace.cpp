// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/trace.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"

namespace tfd::train {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 16;  // bytes

double microseconds(Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

std::string name_of_lane(std::size_t lane) { return lane == 0 ? "training" : fmt::format("replica {}", lane - 1); }

}  // namespace

Result<std::unique_ptr<Trace>> Trace::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO would wait for its reader.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return fail(Code::kSystem, "{}", fail_errno(errno, "cannot write " + printable(path)).value().message);
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return fail(Code::kInvalidArgument, "{} is no regular file", printable(path));
  }
  return std::unique_ptr<Trace>(new Trace(fd));
}

Trace::~Trace() {
  text_ += "\n]\n";
  flush();
  ::close(fd_);
}

int Trace::lane_of(const std::string& name) {
  const MutexLock lock(mutex_);
  if (lanes_.empty()) add_lane(name_of_lane(0));
  const auto found = std::ranges::find(lanes_, name);
  const auto lane = static_cast<int>(found - lanes_.begin());
  if (found == lanes_.end()) add_lane(name);
  return lane;
}

void Trace::add_lane(std::string name) {
  text_ += fmt::format(R"({}{{"name":"thread_name","ph":"M","pid":0,"tid":{},"args":{{"name":)",
                       lanes_.empty() ? "\n" : ",\n", lanes_.size());
  append_json_string(name, text_);
  text_ += "}}";
  lanes_.push_back(std::move(name));
}

void Trace::add(std::string_view name, int lane, std::int64_t step, Clock::time_point begun, Clock::time_point ended) {
  const MutexLock lock(mutex_);
  while (lanes_.size() <= static_cast<std::size_t>(lane)) add_lane(name_of_lane(lanes_.size()));
  text_ += ",\n{\"name\":";
  append_json_string(name, text_);
  text_ += fmt::format(R"(,"ph":"X","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"step":{}}}}})", lane,
                       microseconds(begun - start_), microseconds(ended - begun), step);
  if (text_.size() >= kFlushAt) flush();
}

// After a failed write the rest is dropped: a timeline must not end a training.
void Trace::flush() {
  for (std::size_t done = 0; done < text_.size() && !is_broken_;) {
    const ssize_t n = ::write(fd_, text_.data() + done, text_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    is_broken_ = is_broken_ || n < 0;
    if (is_broken_) break;
    done += static_cast<std::size_t>(n);
  }
  text_.clear();
}

}  // namespace tfd::train
