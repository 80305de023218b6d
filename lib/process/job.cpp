// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

namespace tfd::process {
namespace {

/// A socket that carries bytes from `write` to `read` only.
Result<Pipe> make_input() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail_errno(errno, "cannot create a pipe");
  ::shutdown(ends[0], SHUT_WR);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

void make_nonblocking(const Fd& fd) {
  if (fd) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<Job> Job::start(JobOptions options) {
  Pipe in, err;
  if (options.pipes_input) in = TFD_TRY(make_input());
  Pipe out = TFD_TRY(make_pipe());
  if (options.pipes_errors) err = TFD_TRY(make_pipe());
  if (in.read) options.child.stdin_fd = in.read.get();
  options.child.stdout_fd = out.write.get();
  if (err.write) options.child.stderr_fd = err.write.get();
  options.child.new_group = true;
  if (options.guard) options.child.announce_fd = options.guard->fd();
  Job job(TFD_TRY(Child::start(options.child)), std::move(options.guard));
  job.in = std::move(in.write);
  job.out = std::move(out.read);
  job.err = std::move(err.read);
  for (const Fd* fd : {&job.in, &job.out, &job.err}) make_nonblocking(*fd);
  return job;
}

Job::~Job() {
  if (child_.running()) finish();  // else moved from, or reaped
}

bool Job::has_ended(Deadline deadline) const {
  pollfd ended{end_fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, deadline.poll_ms());
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

void Job::terminate() const { ::kill(-child_.pid(), SIGTERM); }

void Job::kill() const { ::kill(-child_.pid(), SIGKILL); }

void Job::ask_to_end() const {
  terminate();
  has_ended(Deadline::after(kGrace));
}

ExitStatus Job::finish() {
  kill();
  if (guard_) guard_->remove(child_.pid());
  return child_.wait(Deadline::never()).value_or(ExitStatus::unknown());
}

Result<ExitStatus> Job::wait(Deadline deadline) {
  if (!has_ended(deadline)) return fail(Code::kDeadlineExceeded, "process {} is still running", child_.pid());
  if (guard_) guard_->remove(child_.pid());  // while its number can't be reused
  return child_.wait(Deadline::never());
}

}  // namespace tfd::process
