// SPDX-License-Identifier: Apache-2.0
//
// Shutdown: tasks are told to stop, and do unless they belong to another coordinator.
#include "coordinator.hpp"
#include "tfd/base/text.hpp"
#include "tfd/task/gather.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kAskAgain = std::chrono::milliseconds(20);  // poll interval for tasks that are lost

using Goodbyes = std::vector<Result<void>>;

/// Tells all tasks to stop; returns when each has answered, or is gone, or at the deadline.
Goodbyes dismiss(std::vector<task::TaskClient>& tasks, std::uint64_t epoch, Deadline deadline) {
  return task::gather<void>(tasks.size(),
                            [&](std::size_t i, auto done) { tasks[i].shutdown(epoch, deadline, std::move(done)); });
}

void add_silent(std::vector<std::string>& silent, const std::vector<task::TaskClient>& tasks, const Goodbyes& answers) {
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!answers[i] && answers[i].error().code == Code::kDeadlineExceeded) silent.push_back(tasks[i].name());
}

Result<void> check_silent(const std::vector<std::string>& silent) {
  if (silent.empty()) return {};
  return fail(Code::kDeadlineExceeded, "{} did not answer the goodbye", join_words(silent));
}

}  // namespace

// Asks the tasks that know the cluster's holder first: if there is one, all tasks continue.
Result<void> say_goodbye(const cluster::ClusterConfig& config, const transport::EndpointFactory& make_endpoint,
                         Deadline deadline) {
  transport::EndpointOptions options;
  options.name = "coordinator";
  const auto endpoint = TFD_TRY(make_endpoint(std::move(options)));
  std::vector<task::TaskClient> servers, workers;
  for (const cluster::Task& task : config.cluster.tasks()) {
    if (task.id.job != "ps" && task.id.job != "worker") continue;
    const std::string name = cluster::format_task(task.id);
    (task.id.job == "ps" ? servers : workers).emplace_back(*endpoint, endpoint->add_peer(name, task.address), name);
  }
  std::vector<std::string> silent;
  const Deadline half = Deadline::after(deadline.remaining() / 2);  // leaves time for the others if one is down
  for (auto* tasks : {&servers, &workers}) {
    const Goodbyes answers = dismiss(*tasks, 0, tasks == &servers ? half : deadline);
    for (const Result<void>& answer : answers)
      if (!answer && answer.error().code == Code::kPermissionDenied)
        return fail(Code::kFailedPrecondition, "{}", answer.error().message);
    add_silent(silent, *tasks, answers);
  }
  return check_silent(silent);
}

Result<void> Coordinator::shutdown_tasks(Deadline deadline) {
  std::vector<task::TaskClient> tasks;
  {
    const MutexLock lock(state_.mutex);
    state_.closing = true;
    for (const Worker& worker : state_.workers)
      if (!worker.has_left()) tasks.push_back(worker.client());
  }
  for (std::size_t i = 0; i < state_.servers.size(); ++i) tasks.push_back(server_links_.client_of(i));
  const Goodbyes answers = task::gather<void>(
      tasks.size(), [&](std::size_t i, auto done) { dismiss_once_up(tasks[i], deadline, std::move(done)); });
  std::vector<std::string> silent;
  add_silent(silent, tasks, answers);
  return check_silent(silent);
}

// A task that is still connecting, or is being restarted after its death, would otherwise wait for a coordinator
// forever: it is told as soon as it has connected.
void Coordinator::dismiss_once_up(task::TaskClient task, Deadline deadline, std::function<void(Result<void>)> done) {
  task.shutdown(state_.epoch, deadline, [this, task, deadline, done = std::move(done)](const Result<void>& answer) {
    if (answer || answer.error().code != Code::kUnavailable) return done(answer);
    if (deadline.expired()) return done(fail(Code::kDeadlineExceeded, "{} hasn't come back", task.name()));
    state_.endpoint->post_at(Clock::now() + kAskAgain,
                             [this, task, deadline, done] { dismiss_once_up(task, deadline, done); });
  });
}

}  // namespace tfd::coordinator
