// SPDX-License-Identifier: Apache-2.0
#include "tfd/command/command_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/relay.hpp"

namespace tfd::command {
namespace {

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kMostErrors = 1024;                       // bytes of stderr in a message
constexpr Duration kFarewell = std::chrono::milliseconds(500);  // time to exit for a process that has closed its output
constexpr Duration kGrace = std::chrono::seconds(1);            // from SIGTERM to SIGKILL

int fd_of(const std::shared_ptr<const CommandStop>& stop) { return stop ? stop->fd() : -1; }

void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::string last_words(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > kMostErrors) text.remove_prefix(text.size() - kMostErrors);
  std::string out;
  for (const std::string& line : split(text, '\n')) out += (out.empty() ? "" : " | ") + printable(line);
  return out;
}

}  // namespace

Result<CommandProcess> CommandProcess::start(const CommandDef& command, const CommandPlace& place) {
  // A socket as stdin: writing to one that is closed is an error (MSG_NOSIGNAL), never a signal.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail_errno(errno, "cannot create a pipe");
  process::Fd in(ends[0]), in_child(ends[1]);
  ::shutdown(in_child.get(), SHUT_WR);
  process::Pipe out = TFD_TRY(process::make_pipe());
  process::Pipe err = TFD_TRY(process::make_pipe());
  process::ChildOptions child{.argv = command.argv, .environment = place.environment, .directory = place.directory};
  child.stdin_fd = in_child.get();
  child.stdout_fd = out.write.get();
  child.stderr_fd = err.write.get();
  if (place.guard) child.announce_fd = place.guard->fd();
  auto started = process::Child::start(child);
  // The same code as for exit code 127: the program is missing on this host, the caller's name for it isn't wrong.
  if (!started && started.error().code == Code::kNotFound) started.error().code = Code::kFailedPrecondition;
  CommandProcess made(printable(command.argv[0]), TFD_TRY(std::move(started)), place);
  made.in_ = std::move(in);
  made.out_ = std::move(out.read);
  made.err_ = std::move(err.read);
  for (const int fd : {made.in_.get(), made.out_.get(), made.err_.get()}) make_nonblocking(fd);
  return made;
}

CommandProcess::~CommandProcess() {
  if (child_ && child_->running()) finish();  // else moved from, or finished
}

bool CommandProcess::has_ended(Deadline deadline) const {
  pollfd ended{child_->end_fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, deadline.poll_ms());
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

process::ExitStatus CommandProcess::finish() {
  ::kill(-child_->pid(), SIGKILL);
  if (guard_) guard_->remove(child_->pid());
  return child_->wait(Deadline::never()).value_or(process::ExitStatus::unknown());
}

void CommandProcess::read_stderr() {
  if (!err_) return;
  if (!process::read_available(err_.get(), errors_, kMostErrors + kPiece)) err_.reset();
  if (errors_.size() > 2 * kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
}

Result<void> CommandProcess::turn(std::string_view& to_write, std::size_t most, Deadline deadline) {
  TFD_TRY(move_bytes(to_write, most, deadline));
  if (output_.size() > most) return fail(Code::kResourceExhausted, "printed more than {} bytes", most);
  return {};
}

/// Waits for one event and handles it; stops reading after `most` bytes.
Result<void> CommandProcess::move_bytes(std::string_view& to_write, std::size_t most, Deadline deadline) {
  pollfd fds[] = {{to_write.empty() ? -1 : in_.get(), POLLOUT, 0},
                  {out_.get(), POLLIN, 0},
                  {err_.get(), POLLIN, 0},
                  {fd_of(stop_), POLLIN, 0},
                  {fd_of(other_stop_), POLLIN, 0}};
  const int ready = ::poll(fds, std::size(fds), deadline.poll_ms());
  if (ready < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for a command");
  if (ready == 0) return fail(Code::kDeadlineExceeded, "did not answer in time");
  if (ready < 0) return {};
  if (fds[3].revents != 0 || fds[4].revents != 0) return fail(Code::kCancelled, "was stopped");
  if (fds[0].revents != 0) {
    const ssize_t wrote = ::send(in_.get(), to_write.data(), to_write.size(), MSG_NOSIGNAL);
    if (wrote >= 0) to_write.remove_prefix(static_cast<std::size_t>(wrote));
    // It closed its stdin without reading everything: its output and exit code decide.
    if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
      to_write = {};
      left_unread_ = true;
    }
  }
  if (fds[2].revents != 0) read_stderr();
  if (fds[1].revents != 0 && !process::read_available(out_.get(), output_, most)) out_.reset();
  return {};
}

/// Asks the group to end with SIGTERM, so that it can clean up.
void CommandProcess::ask_to_end() {
  ::kill(-child_->pid(), SIGTERM);
  has_ended(Deadline::after(kGrace));
}

void CommandProcess::stop() {
  in_.reset();
  ask_to_end();
  finish();
}

Error CommandProcess::failure(Code code, std::string what) {
  if (code == Code::kCancelled) ask_to_end();
  // A process that has closed its stdout is about to exit: its exit code belongs in the message.
  const bool has_ended_by_itself = has_ended(Deadline::after(out_ ? Duration::zero() : kFarewell));
  const process::ExitStatus status = finish();
  read_stderr();
  std::string text = fmt::format("command '{}' {}", name_, what);
  if (has_ended_by_itself) text += fmt::format("; it {}", process::describe(status));
  if (const std::string words = last_words(errors_); !words.empty()) text += "; stderr: " + words;
  return Error{code, std::move(text), {}};
}

Result<std::string> CommandProcess::run_once(std::string_view line, std::size_t most, Deadline deadline) {
  std::string_view to_write = line;
  while (out_) {
    if (auto done = turn(to_write, most, deadline); !done)
      return fail(failure(done.error().code, done.error().message));
    if (to_write.empty()) in_.reset();
  }
  return end_of_output(deadline);
}

Result<std::string> CommandProcess::read_output(std::size_t most) {
  in_.reset();
  std::string_view nothing;
  while (out_ && output_.empty())
    if (auto done = move_bytes(nothing, most, Deadline::never()); !done)
      return fail(failure(done.error().code, done.error().message));
  if (!output_.empty()) return std::exchange(output_, {});
  return end_of_output(Deadline::never());
}

Result<std::string> CommandProcess::end_of_output(Deadline deadline) {
  in_.reset();  // it can't answer further lines
  while (!has_ended(Deadline::after(Duration::zero()))) {
    pollfd fds[] = {{child_->end_fd(), POLLIN, 0},
                    {err_.get(), POLLIN, 0},
                    {fd_of(stop_), POLLIN, 0},
                    {fd_of(other_stop_), POLLIN, 0}};
    const int ready = ::poll(fds, std::size(fds), deadline.poll_ms());
    if (ready > 0 && (fds[2].revents != 0 || fds[3].revents != 0))
      return fail(failure(Code::kCancelled, "was stopped"));
    if (ready == 0) return fail(failure(Code::kDeadlineExceeded, "closed its output but did not end in time"));
    read_stderr();
  }
  const process::ExitStatus status = finish();
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
    if (!out_) {
      // A stream socket reports that its other end was closed with unread data.
      char none = 0;
      if (has_ended(Deadline::after(kFarewell)))
        left_unread_ = left_unread_ || (::recv(in_.get(), &none, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET);
      return fail(failure(Code::kFailedPrecondition, "ended without an answer"));
    }
    if (auto done = turn(to_write, most, deadline); !done)
      return fail(failure(done.error().code, done.error().message));
  }
}

bool CommandProcess::is_spoilt() {
  if (out_ && !process::read_available(out_.get(), output_, kPiece)) out_.reset();
  read_stderr();
  return !out_ || !output_.empty() || has_ended(Deadline::after(Duration::zero()));
}

}  // namespace tfd::command
