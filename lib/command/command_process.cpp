// SPDX-License-Identifier: Apache-2.0
#include "tfd/command/command_process.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/relay.hpp"

namespace tfd::command {
namespace {

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kMostErrors = 1024;                       // bytes of stderr in a message
constexpr Duration kFarewell = std::chrono::milliseconds(500);  // time to exit for a process that has closed its output

int fd_of(const std::shared_ptr<const CommandStop>& stop) { return stop ? stop->fd() : -1; }

std::string last_words(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > kMostErrors) text.remove_prefix(text.size() - kMostErrors);
  std::string out;
  for (const std::string& line : split(text, '\n')) out += (out.empty() ? "" : " | ") + printable(line);
  return out;
}

}  // namespace

Result<CommandProcess> CommandProcess::start(const CommandDef& command, const CommandPlace& place) {
  process::JobOptions options{
      .child = {.argv = command.argv, .environment = place.environment, .directory = place.directory},
      .pipes_input = true,
      .guard = place.guard};
  auto started = process::Job::start(std::move(options));
  // The same code as for exit code 127: the program is missing on this host, the caller's name for it isn't wrong.
  if (!started && started.error().code == Code::kNotFound) started.error().code = Code::kFailedPrecondition;
  return CommandProcess(printable(command.argv[0]), TFD_TRY(std::move(started)), place.stop);
}

void CommandProcess::read_stderr() {
  if (!job_.err) return;
  if (!process::read_available(job_.err.get(), errors_, kMostErrors + kPiece)) job_.err.reset();
  if (errors_.size() > 2 * kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
}

Result<void> CommandProcess::turn(std::string_view& to_write, std::size_t most, Deadline deadline) {
  TFD_TRY(move_bytes(to_write, most, deadline));
  if (output_.size() > most) return fail(Code::kResourceExhausted, "printed more than {} bytes", most);
  return {};
}

/// Waits for one event and handles it; stops reading after `most` bytes.
Result<void> CommandProcess::move_bytes(std::string_view& to_write, std::size_t most, Deadline deadline) {
  pollfd fds[] = {{to_write.empty() ? -1 : job_.in.get(), POLLOUT, 0},
                  {job_.out.get(), POLLIN, 0},
                  {job_.err.get(), POLLIN, 0},
                  {fd_of(stop_), POLLIN, 0},
                  {fd_of(other_stop_), POLLIN, 0}};
  const int ready = ::poll(fds, std::size(fds), deadline.poll_ms());
  if (ready < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for a command");
  if (ready == 0) return fail(Code::kDeadlineExceeded, "did not answer in time");
  if (ready < 0) return {};
  if (fds[3].revents != 0 || fds[4].revents != 0) return fail(Code::kCancelled, "was stopped");
  if (fds[0].revents != 0) {
    const ssize_t wrote = ::send(job_.in.get(), to_write.data(), to_write.size(), MSG_NOSIGNAL);
    if (wrote >= 0) to_write.remove_prefix(static_cast<std::size_t>(wrote));
    // It closed its stdin without reading everything: its output and exit code decide.
    if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
      to_write = {};
      left_unread_ = true;
    }
  }
  if (fds[2].revents != 0) read_stderr();
  if (fds[1].revents != 0 && !process::read_available(job_.out.get(), output_, most)) job_.out.reset();
  return {};
}

void CommandProcess::stop() {
  job_.in.reset();
  job_.ask_to_end();
  job_.finish();
}

Error CommandProcess::failure(Code code, std::string what) {
  if (code == Code::kCancelled) job_.ask_to_end();
  // A process that has closed its stdout is about to exit: its exit code belongs in the message.
  const bool has_ended_by_itself = job_.has_ended(Deadline::after(job_.out ? Duration::zero() : kFarewell));
  const process::ExitStatus status = job_.finish();
  read_stderr();
  std::string text = fmt::format("command '{}' {}", name_, what);
  if (has_ended_by_itself) text += fmt::format("; it {}", process::describe(status));
  if (const std::string words = last_words(errors_); !words.empty()) text += "; stderr: " + words;
  return Error{code, std::move(text), {}};
}

Result<std::string> CommandProcess::run_once(std::string_view line, std::size_t most, Deadline deadline) {
  std::string_view to_write = line;
  while (job_.out) {
    if (auto done = turn(to_write, most, deadline); !done)
      return fail(failure(done.error().code, done.error().message));
    if (to_write.empty()) job_.in.reset();
  }
  return end_of_output(deadline);
}

Result<std::string> CommandProcess::read_output(std::size_t most) {
  job_.in.reset();
  std::string_view nothing;
  while (job_.out && output_.empty())
    if (auto done = move_bytes(nothing, most, Deadline::never()); !done)
      return fail(failure(done.error().code, done.error().message));
  if (!output_.empty()) return std::exchange(output_, {});
  return end_of_output(Deadline::never());
}

Result<std::string> CommandProcess::end_of_output(Deadline deadline) {
  job_.in.reset();  // it can't answer further lines
  while (!job_.has_ended(Deadline::after(Duration::zero()))) {
    pollfd fds[] = {{job_.end_fd(), POLLIN, 0},
                    {job_.err.get(), POLLIN, 0},
                    {fd_of(stop_), POLLIN, 0},
                    {fd_of(other_stop_), POLLIN, 0}};
    const int ready = ::poll(fds, std::size(fds), deadline.poll_ms());
    if (ready > 0 && (fds[2].revents != 0 || fds[3].revents != 0))
      return fail(failure(Code::kCancelled, "was stopped"));
    if (ready == 0) return fail(failure(Code::kDeadlineExceeded, "closed its output but did not end in time"));
    read_stderr();
  }
  const process::ExitStatus status = job_.finish();
  if (status.code == 0) return std::move(output_);
  read_stderr();
  const std::string words = last_words(errors_);
  return fail(Code::kFailedPrecondition, "command '{}' {}{}{}", name_, process::describe(status),
              words.empty() ? "" : "; stderr: ", words);
}

Result<std::string> CommandProcess::exchange(std::string_view line, std::size_t most, Deadline deadline) {
  std::string_view to_write = line;
  for (;;) {
    if (const std::size_t end = output_.find('\n'); end != std::string::npos) {
      std::string answer = output_.substr(0, end);
      output_.erase(0, end + 1);
      return answer;
    }
    if (!job_.out) {
      // A stream socket reports that its other end was closed with unread data.
      char none = 0;
      if (job_.has_ended(Deadline::after(kFarewell)))
        left_unread_ = left_unread_ || (::recv(job_.in.get(), &none, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET);
      return fail(failure(Code::kFailedPrecondition, "ended without an answer"));
    }
    if (auto done = turn(to_write, most, deadline); !done)
      return fail(failure(done.error().code, done.error().message));
  }
}

bool CommandProcess::is_spoilt() {
  if (job_.out && !process::read_available(job_.out.get(), output_, kPiece)) job_.out.reset();
  read_stderr();
  return !job_.out || !output_.empty() || job_.has_ended(Deadline::after(Duration::zero()));
}

}  // namespace tfd::command
