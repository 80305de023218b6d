// SPDX-License-Identifier: Apache-2.0
#include "workers/worker_resources.hpp"

#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

/// Reports that the iterators are no longer usable, on whatever thread the last reference goes, even under the
/// coordinator's lock.
class IteratorsHold {
 public:
  IteratorsHold(std::shared_ptr<CoordinatorLink> link, std::uint64_t number)
      : link_(std::move(link)), number_(number) {}
  IteratorsHold(const IteratorsHold&) = delete;
  IteratorsHold& operator=(const IteratorsHold&) = delete;
  ~IteratorsHold() {
    const MutexLock lock(link_->drop_mutex);
    if (link_->drop) link_->drop(number_);
  }

 private:
  const std::shared_ptr<CoordinatorLink> link_;  // shared with the coordinator, which this may outlive
  const std::uint64_t number_;
};

/// Returns the same value, which keeps the iterators alive; the coordinator's own pointer to it doesn't.
std::shared_ptr<RemoteValue::Shared> with_hold(const std::shared_ptr<RemoteValue::Shared>& value,
                                               std::shared_ptr<const void> hold) {
  if (hold == nullptr) return value;
  using Both = std::pair<std::shared_ptr<RemoteValue::Shared>, std::shared_ptr<const void>>;
  return {std::make_shared<const Both>(value, std::move(hold)), value.get()};
}

}  // namespace

PerWorkerDataset WorkerResources::add(const std::string& dataset, std::uint64_t epoch) {
  const std::uint64_t number = next_++;
  PerWorkerDataset made{fmt::format("{}#{}.{}", dataset, epoch, number),
                        std::make_shared<const IteratorsHold>(link_, number)};
  iterators_.emplace(number, Iterators{number, made.id, dataset, made.hold});
  by_id_.emplace(made.id, number);
  for (std::size_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].has_program()) requests_.put_for(i, number);  // other workers get all iterators with the program
  return made;
}

const WorkerResources::Iterators* WorkerResources::find(std::uint64_t number) const {
  const auto found = iterators_.find(number);
  return found == iterators_.end() ? nullptr : &found->second;
}

const WorkerResources::Iterators* WorkerResources::find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : find(found->second);
}

std::optional<std::string> WorkerResources::drop(std::uint64_t number) {
  const auto found = iterators_.find(number);
  if (found == iterators_.end()) return std::nullopt;
  std::string id = std::move(found->second.id);
  iterators_.erase(found);
  by_id_.erase(id);
  values_.erase(id);
  return id;
}

bool WorkerResources::is_made(const Iterators& iterators) const {
  return workers_.ready().size() > 0 && workers_.ready().is_within(iterators.made_on);
}

void WorkerResources::begin(std::size_t worker) {
  requests_.forget(worker);
  for (const auto& [number, iterators] : iterators_) requests_.put_for(worker, number);
}

const WorkerResources::Iterators* WorkerResources::take_next(std::size_t worker) {
  while (const auto number = requests_.take_for(worker)) {
    const Iterators* next = find(*number);
    if (next != nullptr && !next->error) return next;  // else they were dropped, or are unused because of an error
  }
  return nullptr;
}

WorkerResources::Creation WorkerResources::created(std::uint64_t number, std::size_t worker,
                                                   const Result<void>& answer) {
  const auto found = iterators_.find(number);
  if (answer || answer.error().code == Code::kAlreadyExists) {
    if (found != iterators_.end()) found->second.made_on.set(worker, true);
    refresh(worker);
    return Creation::kMade;
  }
  if (answer.error().code == Code::kUnavailable) return Creation::kWorkerLost;
  if (found == iterators_.end()) return Creation::kFailed;
  if (!workers_[worker].is_ready()) return Creation::kWorkerUnfit;
  Error error = answer.error();
  if (error.task.empty()) error.task = workers_[worker].name();
  found->second.error = std::move(error);
  return Creation::kFailed;
}

void WorkerResources::lose(std::size_t worker) {
  requests_.forget(worker);
  for (auto& [number, iterators] : iterators_) iterators.made_on.set(worker, false);
  refresh(worker);
}

bool WorkerResources::is_there(const std::string& name, std::size_t worker) const {
  if (!workers_[worker].is_ready()) return false;
  const Iterators* iterators = find(name);
  return iterators == nullptr || iterators->made_on.contains(worker);  // variables are created with the program
}

Error WorkerResources::aborted(std::size_t worker, const std::string& name) const {
  const std::string& task = workers_[worker].name();
  return {Code::kCancelled,
          fmt::format("aborted: '{}' is gone with {}; it is created again when that worker returns", name, task), task};
}

Result<std::vector<RemoteValue>> WorkerResources::values(const std::string& name) {
  const bool has_variable = is_per_worker(program_, name);
  const Iterators* iterators = find(name);
  const auto hold = iterators == nullptr ? nullptr : iterators->hold.lock();
  if (!has_variable && hold == nullptr)
    return tfd::fail(Code::kNotFound,
                     "no '{}' on the workers: it is neither a per-worker variable nor the id of a dataset",
                     printable(name));
  auto& values = values_[name];
  for (std::size_t i = values.size(); i < workers_.size(); ++i) {
    values.push_back(std::make_shared<RemoteValue::Shared>(ClosureId{0}, link_));
    values.back()->place = std::make_unique<OnWorker>(OnWorker{i, has_variable ? name : std::string()});
    values.back()->error = aborted(i, name);  // set once, before it is visible to others
    if (is_there(name, i))
      values.back()->become(ClosureState::kReady);
    else if (workers_[i].was_ready())
      values.back()->become(ClosureState::kAborted);
  }
  std::vector<RemoteValue> out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!workers_[i].has_left()) out.emplace_back(with_hold(values[i], hold));
  return out;
}

void WorkerResources::refresh(std::size_t worker) {
  for (const auto& [name, values] : values_) {
    if (worker >= values.size()) continue;
    const bool there = is_there(name, worker);
    const ClosureState before = values[worker]->state.load();
    if (there && before != ClosureState::kReady) values[worker]->become(ClosureState::kReady);
    if (!there && before == ClosureState::kReady) values[worker]->become(ClosureState::kAborted);
  }
}

void WorkerResources::abandon() {
  for (const auto& [name, values] : values_)
    for (const SharedValue& value : values) value->become(ClosureState::kAborted);
}

}  // namespace tfd::coordinator
