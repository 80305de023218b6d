// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "child_watch.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/base/exit_code.hpp"
#include "tfd/base/text.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {
namespace {

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";  // execvp's, where PATH is unset
constexpr const char* kShell = "/bin/sh";

/// The child's report through the pipe if it can't execute the program: the step that failed, and errno.
enum class Step : int { kParentGone, kDescriptors, kDirectory, kExec };
struct Failure {
  Step step;
  int error;
};

/// Everything that the child needs, made before the fork: between fork and exec nothing may allocate or lock.
struct Plan {
  std::vector<std::string> candidates;  // paths to try, in order
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> shell_argv;  // for a script without "#!": sh PATH ARG…
  std::vector<char*> envp;
  std::vector<std::pair<int, int>> descriptors;  // (source or -1 for /dev/null, target), ascending targets
  std::vector<int> moved;                        // room for the child: where the sources are moved out of the way
  const char* directory = nullptr;
  bool shares_descriptors = false;
  bool new_group = true;
  int death_signal = 0;
  pid_t parent = 0;
  int report_fd = -1;
  int announce_fd = -1;
};

std::vector<std::string> candidates_of(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> out;
  for (const std::string& directory : split(environment.get("PATH", kDefaultPath), ':'))
    out.push_back(directory.empty() ? "./" + name : directory + "/" + name);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void announce(const Plan& plan, pid_t number) {
  if (plan.announce_fd < 0) return;
  [[maybe_unused]] const auto written = ::write(plan.announce_fd, &number, sizeof number);
}

[[noreturn]] void report(const Plan& plan, Step step, int error) {
  const Failure failure{step, error};
  announce(plan, -::getpid());
  [[maybe_unused]] const auto written = ::write(plan.report_fd, &failure, sizeof failure);
  ::_exit(number_of(ExitCode::kNotFound));
}

/// Handlers are the parent's code and must not run here; ignored signals stay ignored (nohup), except SIGPIPE.
void reset_signals() {
  struct sigaction action {};
  for (int number = 1; number < NSIG; ++number) {
    if (::sigaction(number, nullptr, &action) != 0) continue;
    const bool is_handler = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (!is_handler && number != SIGPIPE) continue;
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
    ::sigaction(number, &action, nullptr);
  }
}

void close_on_exec_range(unsigned first, unsigned last) {
  if (first > last) return;
  if (::syscall(SYS_close_range, first, last, 4U /* CLOSE_RANGE_CLOEXEC */) == 0) return;
  struct rlimit limit {};  // before Linux 5.11, or a sandbox that doesn't know the call
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto most = static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, 1U << 20));
  for (unsigned fd = first; fd < most && fd <= last; ++fd) ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
}

/// Sources are moved above all targets first, so that no target overwrites a source that is still needed.
bool place_descriptors(Plan& plan) {
  const int above = plan.descriptors.back().second + 1;
  plan.report_fd = ::fcntl(plan.report_fd, F_DUPFD_CLOEXEC, above);
  if (plan.announce_fd >= 0) plan.announce_fd = ::fcntl(plan.announce_fd, F_DUPFD_CLOEXEC, above);
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    const int source = plan.descriptors[i].first;
    int from = source;
    if (source < 0) from = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    plan.moved[i] = ::fcntl(from, F_DUPFD_CLOEXEC, above);
    if (plan.moved[i] < 0) return false;
  }
  const auto close_others = [&plan](unsigned first, unsigned last) {
    if (!plan.shares_descriptors) close_on_exec_range(first, last);
  };
  unsigned next = 3;
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    const int target = plan.descriptors[i].second;
    if (::dup2(plan.moved[i], target) < 0) return false;
    if (target < 3) continue;
    close_others(next, static_cast<unsigned>(target) - 1);
    next = static_cast<unsigned>(target) + 1;
  }
  close_others(next, ~0U);
  return true;
}

[[noreturn]] void become(Plan& plan) {
  restore_descriptor_limit();
  if (plan.new_group) ::setpgid(0, 0);
  announce(plan, ::getpid());
  reset_signals();
  if (plan.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
    if (::getppid() != plan.parent) report(plan, Step::kParentGone, ESRCH);  // it died before the line above
  }
  if (!place_descriptors(plan)) report(plan, Step::kDescriptors, errno);
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) report(plan, Step::kDirectory, errno);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (const std::string& path : plan.candidates) {
    ::execve(path.c_str(), plan.argv.data(), plan.envp.data());
    if (errno == ENOEXEC) {
      plan.shell_argv[1] = const_cast<char*>(path.c_str());
      ::execve(kShell, plan.shell_argv.data(), plan.envp.data());
    }
    if (errno == ENOENT || errno == ENOTDIR) continue;
    error = errno;
    if (errno != EACCES) break;  // not runnable here, perhaps further on in PATH
  }
  report(plan, Step::kExec, error);
}

/// vfork: the parent's pages are not copied (a coordinator may be large) and it goes on only when the exec is done or
/// has failed. Signals are blocked meanwhile, for the child shares the parent's memory. A separate function, whose
/// frame holds nothing that the child changes.
[[gnu::noinline]] pid_t fork_and_become(Plan& plan) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  const int saved_errno = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved_errno;
  return pid;
}

/// An ignored SIGCHLD is inherited through exec and makes the kernel reap children before we can.
void keep_exit_statuses() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) return;
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);
}

Error start_error(const Failure& failure, const ChildOptions& options) {
  const std::string& name = options.program.empty() ? options.argv[0] : options.program;
  if (failure.step == Step::kDescriptors)
    return fail_errno(failure.error, fmt::format("cannot hand descriptors to {}", name)).value();
  if (failure.step == Step::kDirectory)
    return fail_errno(failure.error, fmt::format("cannot change to directory {}", options.directory)).value();
  if (failure.step == Step::kParentGone) return Error{Code::kCancelled, "the parent process is gone", {}};
  if (failure.error == ENOENT && name.find('/') == std::string::npos)
    return Error{Code::kNotFound, fmt::format("cannot run {}: command not found", name), {}};
  Error error = fail_errno(failure.error, fmt::format("cannot run {}", name)).value();
  if (failure.error == ENOTDIR) error.code = Code::kNotFound;
  if (failure.error == ENOEXEC || failure.error == EISDIR) error.code = Code::kPermissionDenied;
  return error;
}

Result<Plan> make_plan(const ChildOptions& options) {
  if (options.argv.empty() || options.argv[0].empty()) return fail(Code::kInvalidArgument, "no command to run");
  Plan plan;
  plan.candidates = options.program.empty() ? candidates_of(options.argv[0], options.environment)
                                            : std::vector<std::string>{options.program};
  for (const auto& [name, value] : options.environment.values()) plan.environment.push_back(name + "=" + value);
  plan.descriptors = {{options.stdin_fd, 0}, {options.stdout_fd, 1}, {options.stderr_fd, 2}};
  plan.descriptors.insert(plan.descriptors.end(), options.keep.begin(), options.keep.end());
  std::sort(plan.descriptors.begin(), plan.descriptors.end(), [](auto a, auto b) { return a.second < b.second; });
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    const auto [source, target] = plan.descriptors[i];
    if (i > 0 && target == plan.descriptors[i - 1].second)
      return fail(Code::kInvalidArgument, "descriptor {} is given twice", target);
    if ((source < 0 && target > 2) || (source >= 0 && ::fcntl(source, F_GETFD) < 0))
      return fail(Code::kInvalidArgument, "descriptor {} is not open", source);
  }
  plan.moved.assign(plan.descriptors.size(), -1);
  plan.directory = options.directory.empty() ? nullptr : options.directory.c_str();
  plan.shares_descriptors = options.shares_descriptors;
  plan.new_group = options.new_group;
  plan.death_signal = options.death_signal;
  plan.parent = ::getpid();
  plan.announce_fd = options.announce_fd;
  return plan;
}

}  // namespace

Result<Child> Child::start(const ChildOptions& options) {
  Plan plan = TFD_TRY(make_plan(options));
  std::vector<std::string> arguments = options.argv;
  plan.argv = pointers(arguments);
  plan.envp = pointers(plan.environment);
  plan.shell_argv = plan.argv;
  plan.shell_argv.insert(plan.shell_argv.begin(), const_cast<char*>("sh"));
  keep_exit_statuses();

  Pipe failures = TFD_TRY(make_pipe());
  plan.report_fd = failures.write.get();
  Child child;
  child.pid_ = fork_and_become(plan);
  if (child.pid_ < 0) return fail_errno(errno, fmt::format("cannot start a process for {}", options.argv[0]));
  failures.write.reset();
  Failure failure{};
  ssize_t got = 0;
  do {
    got = ::read(failures.read.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof failure)) {
    ::waitpid(child.pid_, nullptr, 0);
    child.pid_ = -1;
    return fail(start_error(failure, options));
  }
  child.ended_ = TFD_TRY(watch_child(child.pid_));  // ~Child ends it where that fails
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(std::move(other.ended_)), status_(other.status_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  ended_ = std::move(other.ended_);
  status_ = other.status_;
  return *this;
}

Child::~Child() { end(); }

void Child::end() {
  if (running()) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void Child::signal(int number) const {
  if (running()) ::kill(pid_, number);  // not reaped yet, so the number is still this child's
}

std::optional<ExitStatus> Child::poll() {
  if (status_ || pid_ <= 0) return status_;
  int raw = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid_, &raw, WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  if (got < 0)
    status_ = ExitStatus::unknown();
  else if (WIFSIGNALED(raw))
    status_ = ExitStatus{128 + WTERMSIG(raw), WTERMSIG(raw)};
  else
    status_ = ExitStatus{WEXITSTATUS(raw), 0};
  return status_;
}

Result<ExitStatus> Child::wait(Deadline deadline) {
  for (;;) {
    if (const auto status = poll()) return *status;
    if (deadline.expired()) return fail(Code::kDeadlineExceeded, "process {} is still running", pid_);
    struct pollfd ended {
      ended_.get(), POLLIN, 0
    };
    if (::poll(&ended, 1, deadline.poll_ms()) < 0 && errno != EINTR)
      return fail_errno(errno, "cannot wait for a child");
  }
}

int exit_code_of_start_error(const Error& error) {
  if (error.code == Code::kNotFound) return number_of(ExitCode::kNotFound);
  return number_of(error.code == Code::kPermissionDenied ? ExitCode::kNotRunnable : ExitCode::kSystem);
}

std::string describe(const ExitStatus& status) {
  if (!status.is_known) return "ended, and its exit code is lost";
  if (status.signal == 0) return fmt::format("exited with {}", status.code);
  const char* name = ::sigdescr_np(status.signal);
  std::string text = name == nullptr ? "unknown" : name;
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return fmt::format("died of signal {} ({}{})", status.signal, text, status.is_oom ? ": out of memory" : "");
}

}  // namespace tfd::process
