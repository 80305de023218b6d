// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/output_relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "tfd/base/text.hpp"

namespace tfd::launch {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
constexpr std::size_t kFull = std::size_t{256} << 10;        // unread bytes above which tasks have to wait
constexpr std::size_t kLongestLine = std::size_t{16} << 20;  // a longer one is passed on in pieces
constexpr auto kStrayHolder = std::chrono::seconds(1);

}  // namespace

struct OutputRelay::Sink {
  explicit Sink(int fd) : queue(fd, std::numeric_limits<std::size_t>::max()) {}
  bool is_full() const { return queue.pending_bytes() >= kFull; }

  process::QueuedOutput queue;
  const bool is_terminal = ::isatty(queue.fd()) == 1;
  bool is_closed = false;  // a terminal that is gone: tasks go on, and what they write is dropped
  bool is_lost = false;    // its reader has gone, or the disk is full
};

struct OutputRelay::Source {
  std::string task;
  std::string prefix;
  Sink* sink;
  process::Fd fd;
  std::string rest;  // the beginning of a line
  bool is_paused = false;
  process::EventLoop::TimerId timer = 0;  // when it is left to whoever holds it
};

OutputRelay::OutputRelay(process::EventLoop& loop, OutputRelayOptions options)
    : loop_(loop), options_(std::move(options)) {
  sinks_ = {std::make_unique<Sink>(options_.out_fd), std::make_unique<Sink>(options_.err_fd)};
  for (const auto& sink : sinks_) settle(*sink);
}

OutputRelay::~OutputRelay() {
  for (const auto& source : sources_) close(*source);
  for (const auto& sink : sinks_) loop_.forget(sink->queue.fd());
}

Result<OutputRelay::TaskEnds> OutputRelay::open(const std::string& task) {
  TaskEnds ends;
  ends.out = TFD_TRY(open_source(task, *sinks_[0]));
  ends.err = TFD_TRY(open_source(task, *sinks_[1]));
  return ends;
}

Result<process::Fd> OutputRelay::open_source(const std::string& task, Sink& sink) {
  process::Pipe pipe = TFD_TRY(process::make_pipe());
  if (sink.is_lost) return std::move(pipe.write);  // without a reader
  ::fcntl(pipe.read.get(), F_SETFL, ::fcntl(pipe.read.get(), F_GETFL) | O_NONBLOCK);
  auto source = std::make_unique<Source>();
  source->task = task;
  if (options_.prefixed) source->prefix = printable(task) + ": ";
  source->sink = &sink;
  source->fd = std::move(pipe.read);
  loop_.watch(source->fd.get(), POLLIN, [this, it = source.get()](short) { read(*it); });
  sources_.push_back(std::move(source));
  return std::move(pipe.write);
}

void OutputRelay::read(Source& source) {
  source.is_paused = source.sink->is_full();
  if (source.is_paused) return loop_.forget(source.fd.get());
  std::string fresh;
  const bool goes_on = process::read_available(source.fd.get(), fresh, kReadAtOnce);
  pass_on(source, fresh);
  if (!goes_on) close(source);
  settle(*source.sink);
}

void OutputRelay::pass_on(Source& source, std::string_view fresh) {
  if (options_.as_is) return source.sink->queue.add(fresh);
  std::string lines;
  while (!fresh.empty()) {
    const std::size_t end = fresh.find('\n');
    const bool is_whole = end != std::string_view::npos;
    source.rest += fresh.substr(0, end);
    fresh.remove_prefix(is_whole ? end + 1 : fresh.size());
    if (!is_whole && source.rest.size() < kLongestLine) break;
    const auto edited = options_.edit ? options_.edit(source.task, source.rest) : std::optional(source.rest);
    if (edited) lines += source.prefix + *edited + '\n';
    source.rest.clear();
  }
  source.sink->queue.add(lines);
}

void OutputRelay::close(Source& source) {
  if (!source.fd) return;
  loop_.cancel(source.timer);
  loop_.forget(source.fd.get());
  source.fd.reset();
  if (!source.rest.empty()) pass_on(source, "\n");  // a last line without its newline
}

void OutputRelay::task_ended(const std::string& task) {
  for (const auto& source : sources_) {
    if (source->task != task || !source->fd || source->timer != 0) continue;
    const auto drain = [this, it = source.get()] {
      std::string left;  // no more than a pipe holds
      const bool goes_on = process::read_available(it->fd.get(), left, std::numeric_limits<std::size_t>::max());
      pass_on(*it, left);
      return goes_on;
    };
    if (drain())
      source->timer = loop_.at(Clock::now() + kStrayHolder, [this, drain, it = source.get()] {
        drain();
        close(*it);
        settle(*it->sink);
      });
    else
      close(*source);
    settle(*source->sink);
  }
}

void OutputRelay::say(std::string_view line) {
  sinks_[1]->queue.add(printable(line) + '\n');
  settle(*sinks_[1]);
}

bool OutputRelay::is_idle() {
  std::erase_if(sources_, [](const auto& source) { return !source->fd; });
  return sources_.empty() && !sinks_[0]->queue.has_pending() && !sinks_[1]->queue.has_pending();
}

bool OutputRelay::has_lost_reader() const { return sinks_[0]->is_lost || sinks_[1]->is_lost; }

/// Watches what the sink waits for, and lets its sources go on.
void OutputRelay::settle(Sink& sink) {
  if (sink.is_lost) return;
  const int error = sink.queue.saved_errno();
  if (error != 0 && sink.is_terminal) sink.is_closed = true;
  if (sink.is_closed) {
    loop_.forget(sink.queue.fd());
    sink.queue.flush();  // fails, and forgets what is pending
    return resume(sink);
  }
  if (error != 0) {
    lose(sink);
    const bool is_out = &sink == sinks_[0].get();
    if (options_.on_failure)
      options_.on_failure(fail_errno(error, fmt::format("cannot write to {}", is_out ? "stdout" : "stderr")).value());
    return;
  }
  if (process::reader_is_gone(sink.queue.fd())) return lose(sink);
  loop_.watch(sink.queue.fd(), sink.queue.has_pending() ? POLLOUT : 0, [this, &sink](short revents) {
    const bool is_gone = (revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    if (is_gone && !sink.is_terminal) return lose(sink);
    sink.is_closed = is_gone;
    sink.queue.flush();
    settle(sink);
  });
  resume(sink);
}

void OutputRelay::resume(const Sink& sink) {
  if (sink.is_full()) return;
  for (const auto& source : sources_) {
    if (source->sink != &sink || !source->is_paused || !source->fd) continue;
    source->is_paused = false;
    loop_.watch(source->fd.get(), POLLIN, [this, it = source.get()](short) { read(*it); });
  }
}

void OutputRelay::lose(Sink& sink) {
  sink.is_lost = true;
  loop_.forget(sink.queue.fd());
  for (const auto& source : sources_)
    if (source->sink == &sink) close(*source);
  sink.queue.flush();  // forgets what is pending
}

}  // namespace tfd::launch
