// SPDX-License-Identifier: Apache-2.0
//
// Resources on workers: iterators, and workers' own variables. Lost with a worker, recreated when it returns.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"
#include "tfd/task/gather.hpp"

namespace tfd::coordinator {
namespace {

using SharedRemote = std::shared_ptr<RemoteValue::Shared>;  // shared with callers that hold the value

/// Reports that the iterators can't be used any more, on whatever thread the last reference goes, even under the
/// coordinator's lock.
class IteratorsHold {
 public:
  IteratorsHold(std::shared_ptr<CoordinatorLink> link, std::uint64_t number)
      : link_(std::move(link)), number_(number) {}
  IteratorsHold(const IteratorsHold&) = delete;
  IteratorsHold& operator=(const IteratorsHold&) = delete;
  ~IteratorsHold() {
    const std::scoped_lock lock(link_->drop_mutex);
    if (link_->drop) link_->drop(number_);
  }

 private:
  const std::shared_ptr<CoordinatorLink> link_;  // shared with the coordinator, which this may outlive
  const std::uint64_t number_;
};

/// Returns the same value, which keeps the iterators alive; the coordinator's own pointer to it doesn't.
SharedRemote with_hold(const SharedRemote& value, std::shared_ptr<const void> hold) {
  if (hold == nullptr) return value;
  using Both = std::pair<SharedRemote, std::shared_ptr<const void>>;
  return {std::make_shared<const Both>(value, std::move(hold)), value.get()};
}

}  // namespace

bool Coordinator::is_own_variable(const std::string& name) const {
  const program::VariableDef* variable = program_.find_variable(name);
  return variable != nullptr && variable->per_worker;
}

// Ids must differ from those of other coordinators' iterators on the same worker.
PerWorkerDataset Coordinator::add_iterators(const std::string& dataset) {
  const std::uint64_t number = next_iterators_++;
  PerWorkerDataset made{fmt::format("{}#{}.{}", dataset, epoch_, number),
                        std::make_shared<const IteratorsHold>(link_, number)};
  iterators_.emplace(number, IteratorDef{made.id, dataset, made.hold});
  for (std::size_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].has_program) closures_.put_for(i, number);  // other workers get all iterators with the program
  return made;
}

// A worker that is creating them has them when the message arrives. One that is away recreates live ones only when it
// returns.
void Coordinator::drop_iterators(std::uint64_t number) {
  std::string id;
  std::vector<task::WorkerClient*> clients;
  {
    const MutexLock lock(mutex_);
    const auto found = iterators_.find(number);
    if (found == iterators_.end() || closing_) return;
    id = std::move(found->second.id);
    iterators_.erase(found);
    values_on_workers_.erase(id);
    for (const Worker& worker : workers_)
      if (worker.has_program) clients.push_back(worker.client.get());
  }
  for (task::WorkerClient* client : clients)
    client->drop_iterator(id, Deadline::never(), [](const Result<void>&) {});  // a lost worker has lost it, too
}

const IteratorDef* Coordinator::find_iterators(const std::string& id) const {
  const auto found = std::ranges::find_if(iterators_, [&](const auto& one) { return one.second.id == id; });
  return found == iterators_.end() ? nullptr : &found->second;
}

bool Coordinator::is_there(const std::string& name, std::size_t worker) const {
  if (!workers_[worker].is_ready()) return false;
  const IteratorDef* iterators = find_iterators(name);
  return iterators == nullptr || iterators->made_on.contains(worker);  // variables are created with the program
}

// Shuffle stream of the iterators that the worker creates from now on.
std::uint64_t Coordinator::shuffle_stream_of(const Worker& worker) const {
  const auto task = cluster::parse_task(worker.name);
  if (options_.same_shuffles || !task) return 0;
  return data::shuffle_stream(static_cast<std::uint64_t>(task->index), 0, worker.data.returns);
}

Error Coordinator::aborted(const Worker& worker, const std::string& name) const {
  return {Code::kCancelled,
          fmt::format("aborted: '{}' is gone with {}; it is created again when that worker returns", name, worker.name),
          worker.name};
}

Result<std::vector<RemoteValue>> Coordinator::values_on_workers(const std::string& name) {
  const MutexLock lock(mutex_);
  if (fatal_) return fail(*fatal_);
  const bool is_variable = is_own_variable(name);
  const IteratorDef* iterators = find_iterators(name);
  const auto hold = iterators == nullptr ? nullptr : iterators->hold.lock();
  if (!is_variable && hold == nullptr)
    return fail(Code::kNotFound, "no '{}' on the workers: it is neither a per-worker variable nor the id of a dataset",
                printable(name));
  auto& values = values_on_workers_[name];
  for (std::size_t i = values.size(); i < workers_.size(); ++i) {
    values.push_back(std::make_shared<RemoteValue::Shared>(ClosureId{0}, link_));
    values.back()->place = std::make_unique<OnWorker>(OnWorker{i, is_variable ? name : std::string()});
    values.back()->error = aborted(workers_[i], name);  // set once, before it is visible to others
    if (is_there(name, i))
      values.back()->become(ClosureState::kReady);
    else if (workers_[i].was_ready)
      values.back()->become(ClosureState::kAborted);
  }
  std::vector<RemoteValue> out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!workers_[i].has_left) out.emplace_back(with_hold(values[i], hold));
  return out;
}

void Coordinator::refresh_values(std::size_t worker) {
  for (const auto& [name, values] : values_on_workers_) {
    if (worker >= values.size()) continue;
    const bool there = is_there(name, worker);
    const ClosureState before = values[worker]->state.load();
    if (there && before != ClosureState::kReady) values[worker]->become(ClosureState::kReady);
    if (!there && before == ClosureState::kReady) values[worker]->become(ClosureState::kAborted);
  }
}

Result<task::ClosureOutcome> Coordinator::read_on(std::size_t worker, const std::string& variable, Deadline deadline) {
  std::optional<task::WorkerClient> client;
  std::optional<Error> gone;
  {
    const MutexLock lock(mutex_);
    if (fatal_) return fail(*fatal_);
    gone = aborted(workers_[worker], variable);
    if (!is_there(variable, worker)) return fail(std::move(*gone));
    client.emplace(*workers_[worker].client);
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
  const tensor::TensorSpec& spec = program_.find_variable(variable)->spec;
  if (value.spec() != spec)
    return fail(Code::kInvalidArgument, "variable '{}' is {}, but the value is {}", variable, tensor::format_spec(spec),
                tensor::format_spec(value.spec()));
  std::vector<task::WorkerClient> clients;
  {
    const MutexLock lock(mutex_);
    if (fatal_) return fail(*fatal_);
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (is_there(variable, i)) clients.push_back(*workers_[i].client);
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
