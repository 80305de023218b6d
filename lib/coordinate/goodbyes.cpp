// SPDX-License-Identifier: Apache-2.0
//
// The end: tasks are told to stop, if they are nobody else's.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"
#include "tfd/runtime/gather.hpp"

namespace tfd::coordinate {
namespace {

constexpr auto kAtWork = std::chrono::milliseconds(300);  // a task that does nothing for so long isn't at work

/// Tells them all to stop; done when each has answered, or is gone. Those that belong to a newer coordinator than
/// `epoch` go on; 0: of nobody in particular.
Result<void> dismiss(std::vector<runtime::TaskClient>& tasks, std::uint64_t epoch, Deadline deadline) {
  struct Goodbyes {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t left = 0;
    std::vector<std::string> silent;
  };
  const auto goodbyes = std::make_shared<Goodbyes>();  // with the callbacks
  goodbyes->left = tasks.size();
  for (runtime::TaskClient& task : tasks)
    task.shutdown(epoch, deadline, [goodbyes, name = task.name()](const Result<void>& answer) {
      const std::scoped_lock lock(goodbyes->mutex);
      if (!answer && answer.error().code == Code::kDeadlineExceeded) goodbyes->silent.push_back(name);
      if (--goodbyes->left == 0) goodbyes->changed.notify_all();
    });
  std::unique_lock lock(goodbyes->mutex);
  goodbyes->changed.wait(lock, [&] { return goodbyes->left == 0; });
  if (goodbyes->silent.empty()) return {};
  return fail(Code::kDeadlineExceeded, "{} did not answer the goodbye", join_words(goodbyes->silent));
}

/// What they say of themselves; each is asked once it is time.
std::vector<Result<runtime::TaskStatus>> ask_how_they_are(transport::Endpoint& endpoint,
                                                          std::vector<runtime::TaskClient>& tasks,
                                                          const std::vector<Clock::time_point>& times,
                                                          Duration patience) {
  return runtime::gather<runtime::TaskStatus>(tasks.size(), [&](std::size_t i, auto done) {
    endpoint.post_at(times[i], [task = tasks[i], patience, done = std::move(done)]() mutable {
      task.status(Deadline::after(patience), std::move(done));
    });
  });
}

/// One that belongs to a coordinator and does something. One that has just ended something is asked a second time,
/// when that is kAtWork ago: whether it was the last of its run.
std::optional<std::string> find_busy(transport::Endpoint& endpoint, std::vector<runtime::TaskClient>& tasks,
                                     Deadline deadline) {
  std::vector<runtime::TaskClient> recent;
  std::vector<runtime::TaskStatus> first;
  std::vector<Clock::time_point> again;
  const auto is_busy = [](const runtime::TaskStatus& one) { return !one.doing.empty() || one.closures_waiting > 0; };
  const auto answers = ask_how_they_are(endpoint, tasks, std::vector(tasks.size(), Clock::now()), deadline.remaining());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!answers[i] || answers[i]->epoch == 0) continue;
    if (is_busy(*answers[i])) return tasks[i].name();
    const std::chrono::milliseconds idle(answers[i]->idle_ms);
    if (idle >= kAtWork) continue;
    recent.push_back(tasks[i]);
    first.push_back(*answers[i]);
    again.push_back(Clock::now() + (kAtWork - idle));
  }
  const auto second = ask_how_they_are(endpoint, recent, again, kAtWork);  // who is down by now takes all of that
  for (std::size_t i = 0; i < recent.size(); ++i) {
    if (!second[i]) continue;
    const bool moved = second[i]->closures_done != first[i].closures_done || second[i]->epoch != first[i].epoch ||
                       second[i]->idle_ms < first[i].idle_ms;
    if (moved || is_busy(*second[i])) return recent[i].name();
  }
  return std::nullopt;
}

}  // namespace

Result<void> say_goodbye(const cluster::ClusterConfig& config, const runtime::EndpointFactory& make_endpoint,
                         Deadline deadline) {
  transport::EndpointOptions options;
  options.name = "coordinator";
  const auto endpoint = TFD_TRY(make_endpoint(std::move(options)));
  std::vector<runtime::TaskClient> tasks;
  for (const cluster::Task& task : config.cluster.tasks()) {
    if (task.id.job != "ps" && task.id.job != "worker") continue;
    const std::string name = cluster::format_task(task.id);
    tasks.emplace_back(*endpoint, endpoint->add_peer(name, task.address), name);
  }
  // Who is down answers neither: the others are to have their goodbye in what is left.
  if (const auto busy = find_busy(*endpoint, tasks, Deadline::after(deadline.remaining() / 2)))
    return fail(Code::kFailedPrecondition, "{} is busy with another run", *busy);
  return dismiss(tasks, 0, deadline);
}

Result<void> Coordinator::shutdown_tasks(Deadline deadline) {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  std::vector<runtime::TaskClient> tasks;
  const auto add_if_up = [&](const runtime::TaskClient& task) {
    if (endpoint_->state(task.peer()) == transport::PeerState::kUp) tasks.push_back(task);
  };
  {
    const Lock lock(mutex_);
    for (const Worker& worker : workers_)
      if (!worker.has_left) add_if_up(*worker.client);
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) add_if_up(ps_->task(i));
  return dismiss(tasks, epoch_, deadline);
}

}  // namespace tfd::coordinate
