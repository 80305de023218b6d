// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/supervisor.hpp"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::launch {
namespace {

/// Maps a task's exit code to the reason it couldn't start; the codes of tfd-exit(7) keep their meaning.
Code code_of_exit(const process::ExitStatus& status) {
  switch (status.code) {
    case 65:
      return Code::kInvalidArgument;
    case 70:
      return Code::kInternal;
    case 71:
      return Code::kSystem;
    case 77:
      return Code::kPermissionDenied;
    case 78:
      return Code::kFailedPrecondition;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace

struct Supervisor::Task {
  explicit Task(TaskCommand given) : command(std::move(given)), name(cluster::format_task(command.id)) {}

  TaskCommand command;
  std::string name;
  std::optional<process::Child> child;
  std::optional<process::LineReader> output;
  std::optional<process::LineReader> readiness;
  int starts = 0;
  bool ready = false;         // this start of it
  bool said_goodbye = false;  // a coordinator ended it: not restarted
  bool late = false;          // killed because it didn't become ready
  Clock::time_point started{};
  process::EventLoop::TimerId timer = 0;  // deadline for becoming ready, or time of the restart
  Backoff backoff;
};

Supervisor::Supervisor(process::EventLoop& loop, SupervisorOptions options, std::vector<TaskCommand> tasks)
    : loop_(loop), options_(std::move(options)) {
  for (TaskCommand& task : tasks) tasks_.push_back(std::make_unique<Task>(std::move(task)));
}

Supervisor::~Supervisor() {
  loop_.cancel(kill_timer_);
  for (const auto& task : tasks_) {
    loop_.cancel(task->timer);
    if (task->child) loop_.forget(task->child->end_fd());
    close_pipes(*task);
  }
}

Result<void> Supervisor::start() {
  lifeline_ = TFD_TRY(process::make_pipe());
  for (const auto& task : tasks_) TFD_TRY(start_task(*task), task->name);
  return {};
}

Result<void> Supervisor::start_task(Task& task) {
  process::Pipe output = TFD_TRY(process::make_pipe());
  process::Pipe readiness = TFD_TRY(process::make_pipe());
  process::ChildOptions child{.argv = task.command.argv, .environment = options_.environment};
  child.program = options_.program;
  child.stderr_fd = output.write.get();
  child.keep = {
      {task.command.listener.get(), kListenFd}, {readiness.write.get(), kReadyFd}, {lifeline_.read.get(), kLifelineFd}};
  task.child = TFD_TRY(process::Child::start(child));
  task.started = Clock::now();
  ++task.starts;
  task.late = false;
  task.output.emplace(std::move(output.read));
  task.readiness.emplace(std::move(readiness.read));

  Task* const it = &task;  // lives as long as this supervisor, which forgets all watches first
  loop_.watch(task.child->end_fd(), POLLIN, [this, it](short) { on_exit(*it); });
  loop_.watch(task.output->fd(), POLLIN, [this, it](short) { read_pipes(*it); });
  loop_.watch(task.readiness->fd(), POLLIN, [this, it](short) { read_pipes(*it); });
  task.timer = loop_.at(task.started + options_.ready_timeout, [this, it] { on_late(*it); });
  return {};
}

/// Reads both pipes, which are made and closed together; neither blocks.
void Supervisor::read_pipes(Task& task) {
  const auto pass_on = [&](std::string_view line) {
    if (options_.on_output) options_.on_output(task.name, line);
  };
  bool said = false;
  if (!task.output->read(pass_on)) loop_.forget(task.output->fd());
  if (!task.readiness->read([&](std::string_view) { said = true; })) loop_.forget(task.readiness->fd());
  if (said && !task.ready) on_ready_line(task);
}

void Supervisor::on_ready_line(Task& task) {
  loop_.cancel(task.timer);
  if (task.starts > 1) options_.log.info("{} is ready again, process {}", task.name, task.child->pid());
  task.ready = true;
  if (all_ready_ || failed_ || stopping_) return;
  all_ready_ =
      std::all_of(tasks_.begin(), tasks_.end(), [](const auto& one) { return one->ready || one->said_goodbye; });
  if (all_ready_ && options_.on_ready) options_.on_ready();
}

void Supervisor::on_late(Task& task) {
  task.late = true;
  if (all_ready_) return task.child->signal(SIGKILL);  // and start it again
  std::vector<std::string> names;
  for (const auto& one : tasks_)
    if (!one->ready) names.push_back(one->name);
  fail_start({Code::kDeadlineExceeded,
              fmt::format("{} not ready after {}", join_words(names), format_duration(options_.ready_timeout)),
              names[0]});
}

void Supervisor::on_exit(Task& task) {
  auto status = task.child->poll();
  if (!status) return;
  status = oom_kills_.explain(*status);
  read_pipes(task);  // its last lines come before messages about it
  const bool was_ready = std::exchange(task.ready, false);
  loop_.forget(task.child->end_fd());
  loop_.cancel(task.timer);
  close_pipes(task);
  task.child.reset();
  if (stopping_) return end_task(task);
  if (!was_ready && !all_ready_)
    return fail_start(
        {code_of_exit(*status), fmt::format("{} {} before it was ready", task.name, describe(*status)), task.name});
  if (was_ready && status->code == 0) {
    task.said_goodbye = options_.once;
    if (options_.once) return end_task(task);
    options_.log.info("{} was told to end; restarting in {}", task.name, format_duration(restart_later(task)));
  } else {
    const std::string what =
        task.late ? fmt::format("was not ready after {}", format_duration(options_.ready_timeout)) : describe(*status);
    options_.log.warning("{} {}; restarting in {}", task.name, what, format_duration(restart_later(task)));
  }
}

Duration Supervisor::restart_later(Task& task) {
  const Duration wait = task.backoff.next(Clock::now() - task.started);
  Task* const it = &task;
  task.timer = loop_.at(Clock::now() + wait, [this, it] {
    const auto started = start_task(*it);
    if (started) return;
    it->started = Clock::now();
    options_.log.warning("{}: {}; trying again in {}", it->name, started.error().message,
                         format_duration(restart_later(*it)));
  });
  return wait;
}

/// Ends the task for good: its listening socket is closed, too.
void Supervisor::end_task(Task& task) {
  task.command.listener.reset();
  const bool all = std::all_of(tasks_.begin(), tasks_.end(),
                               [&](const auto& one) { return !one->child && (stopping_ || one->said_goodbye); });
  if (!all || ended_) return;
  ended_ = true;
  loop_.cancel(kill_timer_);
  if (options_.on_end) options_.on_end();
}

void Supervisor::fail_start(Error error) {
  if (failed_ || stopping_) return;
  failed_ = true;
  if (options_.on_failure) options_.on_failure(std::move(error));
}

void Supervisor::stop(Duration grace) {
  if (stopping_) return;
  stopping_ = true;
  for (const auto& task : tasks_) {
    loop_.cancel(task->timer);
    if (task->child) task->child->signal(SIGTERM);
  }
  kill_timer_ = loop_.at(Clock::now() + grace, [this] { kill(); });
  for (const auto& task : tasks_)
    if (!task->child) end_task(*task);
}

void Supervisor::kill() {
  for (const auto& task : tasks_)
    if (task->child) task->child->signal(SIGKILL);
}

bool Supervisor::has_process(pid_t process) const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](const auto& task) { return task->child && task->child->pid() == process; });
}

void Supervisor::close_pipes(Task& task) {
  if (task.output) loop_.forget(task.output->fd());
  if (task.readiness) loop_.forget(task.readiness->fd());
  task.output.reset();
  task.readiness.reset();
}

}  // namespace tfd::launch
