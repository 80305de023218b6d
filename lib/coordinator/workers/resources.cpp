// SPDX-License-Identifier: Apache-2.0
//
// Resources on workers: iterators, and workers' own variables. Lost with a worker, recreated when it returns.
#include "ask.hpp"
#include "tfd/task/gather.hpp"
#include "workers/worker_links.hpp"

namespace tfd::coordinator {

// A worker that is creating them has them when the message arrives. One that is away recreates live ones only when it
// returns.
void WorkerLinks::drop_iterators(std::uint64_t number) {
  std::optional<std::string> id;
  std::vector<task::WorkerClient*> clients;
  {
    const MutexLock lock(state_.mutex);
    if (state_.closing) return;
    id = state_.resources.drop(number);
    if (!id) return;
    for (const Worker& worker : state_.workers)
      if (worker.has_program()) clients.push_back(&worker.client());
  }
  for (task::WorkerClient* client : clients)
    client->drop_iterator(*id, Deadline::never(), [](const Result<void>&) {});  // a lost worker has lost it, too
}

// Shuffle stream of the iterators that the worker creates from now on.
std::uint64_t WorkerLinks::shuffle_stream_of(const Worker& worker) const {
  return state_.options.same_shuffles ? 0 : worker.shuffle_stream();
}

Result<task::ClosureOutcome> WorkerLinks::read_on(std::size_t worker, const std::string& variable, Deadline deadline) {
  std::optional<task::WorkerClient> client;
  std::optional<Error> gone;
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal) return fail(*state_.fatal);
    gone = state_.resources.aborted(worker, variable);
    if (!state_.resources.is_there(variable, worker)) return fail(std::move(*gone));
    client.emplace(state_.workers[worker].client());
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

Result<void> WorkerLinks::assign_on_all(const std::string& variable, const tensor::Tensor& value, Deadline deadline) {
  TFD_TRY(check_value(state_.program, variable, value));
  std::vector<task::WorkerClient> clients;
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal) return fail(*state_.fatal);
    for (std::size_t i = 0; i < state_.workers.size(); ++i)
      if (state_.resources.is_there(variable, i)) clients.push_back(state_.workers[i].client());
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
