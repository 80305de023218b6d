// SPDX-License-Identifier: Apache-2.0
#include "logs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "tfd/base/environment.hpp"
#include "tfd/base/text.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::status {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(200);  // for further lines: polling sees them on any file system
constexpr Duration kAskAgain = std::chrono::seconds(2);
constexpr Duration kGone = std::chrono::seconds(5);  // a task that died is started again sooner

/// Writes the file's bytes from the last position on.
Result<void> pass_on(int fd, const std::string& path, cli::Io& io) {
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read " + printable(path));
    if (got == 0) return {};
    TFD_TRY(io.out.write(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
  }
}

/// Follows until the task hasn't answered for a while.
Result<void> follow(Tasks& tasks, Duration patience, int fd, const std::string& path, cli::Io& io) {
  Deadline ask = Deadline::after(kAskAgain);
  Deadline gone = Deadline::never();
  for (;;) {
    TFD_TRY(pass_on(fd, path, io));
    tasks.wait_for_change(Deadline::after(kLook));
    if (!ask.expired()) continue;
    const bool answers = tasks.ask(patience).front().status.has_value();
    ask = Deadline::after(kAskAgain);
    if (answers)
      gone = Deadline::never();
    else if (gone.is_never())
      gone = Deadline::after(kGone);
    if (gone.expired()) return pass_on(fd, path, io);
  }
}

}  // namespace

Result<cli::ExitCode> print_log(Tasks& tasks, Duration patience, bool follows, cli::Io& io) {
  const TaskReport report = tasks.ask(patience).front();
  const std::string name = cluster::format_task(report.task.id);
  if (!report.status)
    return fail(Error{Code::kUnavailable, fmt::format("{} can't say where its log is: {}", name, report.reason), name});
  const std::string& path = report.status->log;
  if (path.empty()) {
    TFD_TRY(io.err.write(
        fmt::format("tfd-status: {} keeps no log: tfd-serve --log-dir DIR keeps one of each task\n", name)));
    return cli::ExitCode::kNo;
  }
  if (report.status->host != host_name())
    return fail(Code::kUnavailable, "the log of {} is on {}: {}", name, printable(report.status->host),
                printable(path));
  const process::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about {};
  if (file && ::fstat(file.get(), &about) == 0 && !S_ISREG(about.st_mode))
    return fail(Code::kInvalidArgument, "the log of {}: {} is not a regular file", name, printable(path));
  if (!file) return fail_errno(errno, fmt::format("the log of {}: cannot open {}", name, printable(path)));
  TFD_TRY(follows ? follow(tasks, patience, file.get(), path, io) : pass_on(file.get(), path, io));
  return cli::ExitCode::kDone;
}

}  // namespace tfd::status
