// SPDX-License-Identifier: Apache-2.0
//
// Resources on workers: iterators, and workers' own variables. Lost with a worker, recreated when it returns.
#include "ask.hpp"
#include "coordinator.hpp"
#include "tfd/task/gather.hpp"

namespace tfd::coordinator {

// A worker that is creating them has them when the message arrives. One that is away recreates live ones only when it
// returns.
void Coordinator::drop_iterators(std::uint64_t number) {
  std::optional<std::string> id;
  std::vector<task::WorkerClient*> clients;
  {
    const MutexLock lock(mutex_);
    if (closing_) return;
    id = resources_.drop(number);
    if (!id) return;
    for (const Worker& worker : workers_)
      if (worker.has_program()) clients.push_back(&worker.client());
  }
  for (task::WorkerClient* client : clients)
    client->drop_iterator(*id, Deadline::never(), [](const Result<void>&) {});  // a lost worker has lost it, too
}

// Shuffle stream of the iterators that the worker creates from now on.
std::uint64_t Coordinator::shuffle_stream_of(const Worker& worker) const {
  return options_.same_shuffles ? 0 : worker.shuffle_stream();
}

Result<std::vector<RemoteValue>> Coordinator::values_on_workers(const std::string& name) {
  const MutexLock lock(mutex_);
  if (fatal_) return fail(*fatal_);
  return resources_.values(name);
}

Result<task::ClosureOutcome> Coordinator::read_on(std::size_t worker, const std::string& variable, Deadline deadline) {
  std::optional<task::WorkerClient> client;
  std::optional<Error> gone;
  {
    const MutexLock lock(mutex_);
    if (fatal_) return fail(*fatal_);
    gone = resources_.aborted(worker, variable);
    if (!resources_.is_there(variable, worker)) return fail(std::move(*gone));
    client.emplace(workers_[worker].client());
  }
  auto values =
      ask<std::vector<tensor::Tensor>>([&](auto done) { client->read({variable}, deadline, std::move(done)); });
  if (values) return task::ClosureOutcome{std::move(*values), {}};
  Error error = std::move(values).error();
  if (error.code == Code::kUnavailable || error.code == Code::kCancelled)
    return fail(std::move(*gone));  // it was lost meanwhile
  if (error.task.empty()) error.task = client->name();
  return fail(std::move(error));
}

Result<void> Coordinator::assign_on_workers(const std::string& variable, const tensor::Tensor& value,
                                            Deadline deadline) {
  TFD_TRY(check_value(program_, variable, value));
  std::vector<task::WorkerClient> clients;
  {
    const MutexLock lock(mutex_);
    if (fatal_) return fail(*fatal_);
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (resources_.is_there(variable, i)) clients.push_back(workers_[i].client());
  }
  auto answers = task::gather<void>(
      clients.size(), [&](std::size_t i, auto done) { clients[i].assign(variable, value, deadline, std::move(done)); });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) continue;
    const Code code = answers[i].error().code;
    if (code == Code::kUnavailable || code == Code::kCancelled) continue;  // it begins anew
    Error error = std::move(answers[i]).error();
    if (error.task.empty()) error.task = clients[i].name();
    return fail(std::move(error));
  }
  return {};
}

}  // namespace tfd::coordinator
