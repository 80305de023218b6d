// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "tfd/base/text.hpp"

namespace tfd::strategy {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 16;  // bytes

double microseconds(Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

std::string name_of_lane(int lane) { return lane == 0 ? "training" : fmt::format("replica {}", lane - 1); }

}  // namespace

Result<std::unique_ptr<Trace>> Trace::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail_errno(errno, "cannot write " + printable(path));
  std::unique_ptr<Trace> trace(new Trace(fd));
  trace->text_ = "[";
  return trace;
}

Trace::~Trace() {
  text_ += "\n]\n";
  flush();
  ::close(fd_);
}

void Trace::add(const Span& span) {
  const auto end = Clock::now();
  const std::scoped_lock lock(mutex_);
  for (; lanes_ <= span.lane_; ++lanes_)
    text_ += fmt::format(R"({}{{"name":"thread_name","ph":"M","pid":0,"tid":{},"args":{{"name":"{}"}}}})",
                         lanes_ == 0 ? "\n" : ",\n", lanes_, name_of_lane(lanes_));
  text_ += fmt::format(R"(,{}{{"name":"{}","ph":"X","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"step":{}}}}})",
                       "\n", span.name_, span.lane_, microseconds(span.begun_ - start_),
                       microseconds(end - span.begun_), span.step_);
  if (text_.size() >= kFlushAt) flush();
}

// What can't be written is left out: a timeline isn't worth a training.
void Trace::flush() {
  for (std::size_t done = 0; done < text_.size();) {
    const ssize_t n = ::write(fd_, text_.data() + done, text_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    done += static_cast<std::size_t>(n);
  }
  text_.clear();
}

}  // namespace tfd::strategy
