// SPDX-License-Identifier: Apache-2.0
//
// The life of a worker in WorkerPool: members, coming up, loading, failing.
#include "tfd/base/text.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kMostBackoff = std::chrono::seconds(30);
constexpr Duration kServerTrouble = std::chrono::seconds(15);  // for one worker that can't reach a parameter server

/// Returns the pause before a retry, doubling each time.
Duration take_backoff(Duration& backoff) {
  return std::exchange(backoff, std::min<Duration>(backoff * 2, kMostBackoff));
}

}  // namespace

void WorkerPool::add(std::string name, Window window, std::string address, DataProgress data) {
  by_name_.emplace(name, workers_.size());
  Worker& worker = workers_.emplace_back();
  ++counts_[static_cast<std::size_t>(worker.state_)];
  worker.name_ = std::move(name);
  worker.address_ = std::move(address);
  worker.window_ = window;
  worker.data_ = data;
}

std::size_t WorkerPool::join(const std::string& name, Window window) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  add(name, window);
  workers_.back().joined_later_ = true;
  return workers_.size() - 1;
}

void WorkerPool::move_to(std::size_t index, const std::string& address, Clock::time_point now) {
  Worker& worker = workers_[index];
  worker.address_ = address;
  worker.has_left_ = false;
  worker.since_ = now;
  worker.reason_ = "not reached yet";
}

void WorkerPool::connect(std::size_t index, std::unique_ptr<task::WorkerClient> client) {
  workers_[index].client_ = std::move(client);
}

void WorkerPool::share_steps(std::int64_t steps) {
  const auto count = static_cast<std::int64_t>(workers_.size());
  for (std::int64_t i = 0; i < count; ++i)
    workers_[static_cast<std::size_t>(i)].data_.steps += steps / count + (i < steps % count ? 1 : 0);
}

bool WorkerPool::was_replaced(std::size_t index, transport::Incarnation incarnation) const {
  const Worker& worker = workers_[index];
  return worker.state_ != WorkerState::kAway && worker.incarnation_ != incarnation;
}

std::optional<std::uint64_t> WorkerPool::up(std::size_t index, transport::Incarnation incarnation,
                                            bool are_servers_ready, Clock::time_point now) {
  Worker& worker = workers_[index];
  if (worker.has_left_) return std::nullopt;
  const bool has_waited = worker.state_ == WorkerState::kWaiting && are_servers_ready;
  if (worker.state_ != WorkerState::kAway && !has_waited) return std::nullopt;
  if (worker.incarnation_ != incarnation && worker.load_error_) {  // another process may be usable
    worker.load_error_.reset();
    std::erase(unusable_, index);
  }
  worker.incarnation_ = incarnation;
  become(index, are_servers_ready ? WorkerState::kLoading : WorkerState::kWaiting, now);
  ++worker.generation_;
  return are_servers_ready ? std::optional(worker.generation_) : std::nullopt;
}

bool WorkerPool::is_loading_program(std::size_t index, std::uint64_t generation) const {
  const Worker& worker = workers_[index];
  return worker.generation_ == generation && worker.state_ == WorkerState::kLoading && !worker.has_program_;
}

bool WorkerPool::occupied(std::size_t index, std::uint64_t generation, std::string what) {
  if (!is_loading_program(index, generation)) return false;
  workers_[index].occupied_ = std::move(what);
  return true;
}

std::optional<WorkerPool::Mismatch> WorkerPool::replicas_known(std::size_t index, std::uint64_t generation,
                                                               int replicas, int copies) {
  Worker& worker = workers_[index];
  if (worker.generation_ != generation) return std::nullopt;
  set_replicas(index, replicas);
  auto error = check_replicas(worker, copies);
  if (!error) {
    replicas_ = replicas;
    return std::nullopt;
  }
  set_replicas(index, 0);
  return Mismatch{std::move(*error), !worker.was_ready_ && !worker.joined_later_};
}

std::optional<Error> WorkerPool::check_replicas(const Worker& worker, int copies) const {
  const auto devices = [](const Worker& one) {
    return fmt::format("{} has {}", one.name_, counted(static_cast<std::uint64_t>(one.replicas_), "device"));
  };
  if (copies != 0 && copies != worker.replicas_)
    return Error{Code::kInvalidArgument,
                 fmt::format("{}, but variables that are synchronized on read were created for {}: all workers need "
                             "the same number (tfd-serve --devices)",
                             devices(worker), copies),
                 worker.name_};
  const auto other = find_other_replicas(worker.replicas_);
  if (!other) return std::nullopt;
  return Error{Code::kInvalidArgument,
               fmt::format("{} and {}: all workers need the same number of devices (tfd-serve --devices)",
                           devices(workers_[*other]), devices(worker)),
               worker.name_};
}

/// The first worker that has told another number of replicas.
std::optional<std::size_t> WorkerPool::find_other_replicas(int replicas) const {
  std::optional<std::size_t> found;
  for (const auto& [number, workers] : by_replicas_) {
    const auto first = number == replicas ? std::nullopt : workers.next(0);
    if (first && (!found || *first < *found)) found = first;
  }
  return found;
}

void WorkerPool::set_replicas(std::size_t index, int replicas) {
  const int before = std::exchange(workers_[index].replicas_, replicas);
  if (const auto former = by_replicas_.find(before); former != by_replicas_.end()) {
    former->second.set(index, false);
    if (former->second.size() == 0) by_replicas_.erase(former);
  }
  if (replicas > 0) by_replicas_[replicas].set(index, true);
  list(index);
}

bool WorkerPool::program_loaded(std::size_t index, std::uint64_t generation) {
  Worker& worker = workers_[index];
  if (worker.generation_ != generation) return false;
  worker.has_program_ = true;
  worker.occupied_.clear();
  return true;
}

bool WorkerPool::may_create(std::size_t index, std::uint64_t generation) const {
  return workers_[index].generation_ == generation && !workers_[index].is_creating_;
}

bool WorkerPool::created(std::size_t index, std::uint64_t generation) {
  if (workers_[index].generation_ != generation) return false;
  workers_[index].is_creating_ = false;
  return true;
}

std::optional<WorkerPool::Ready> WorkerPool::ready(std::size_t index, std::uint64_t generation, Window window,
                                                   Clock::time_point now) {
  Worker& worker = workers_[index];
  if (worker.generation_ != generation || worker.state_ != WorkerState::kLoading) return std::nullopt;
  const bool is_back = std::exchange(worker.was_ready_, true);
  worker.server_trouble_since_ = {};
  worker.window_ = window;
  worker.is_paused_ = false;
  worker.load_error_.reset();
  any_was_ready_ = true;
  become(index, WorkerState::kReady, now);
  return Ready{is_back};
}

std::optional<WorkerPool::Retry> WorkerPool::load_failed(std::size_t index, std::uint64_t generation, Error error,
                                                         Clock::time_point now) {
  Worker& worker = workers_[index];
  if (worker.generation_ != generation) return std::nullopt;
  ++worker.generation_;
  set_replicas(index, 0);
  worker.has_program_ = false;
  worker.reason_ = error.message;
  become(index, WorkerState::kAway, now);
  const bool may_pass =
      error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded || error.code == Code::kCancelled;
  if (error.task.empty()) error.task = worker.name_;
  if (!may_pass) cannot_use(index, std::move(error), now);
  return Retry{take_backoff(worker.backoff_), may_pass};
}

void WorkerPool::refused(const std::string& name, const Error& error, Clock::time_point now) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) cannot_use(found->second, error, now);
}

std::optional<WorkerPool::Lost> WorkerPool::lose(std::size_t index, std::optional<std::uint64_t> generation,
                                                 const std::string& reason, bool is_unfit, Clock::time_point now) {
  Worker& worker = workers_[index];
  if (worker.state_ == WorkerState::kAway || (generation && worker.generation_ != *generation)) return std::nullopt;
  const Lost lost{worker.is_ready(), is_unfit ? take_backoff(worker.backoff_) : kReconnectPause};
  ++worker.generation_;
  worker.gives_back_ = false;
  set_replicas(index, 0);
  if (std::exchange(worker.has_program_, false)) worker.data_ = {0, worker.data_.returns + 1};
  worker.is_creating_ = false;
  worker.reason_ = reason;
  worker.occupied_.clear();
  become(index, WorkerState::kAway, now);
  return lost;
}

bool WorkerPool::server_trouble(std::size_t index, std::uint64_t generation, Clock::time_point now) {
  Worker& worker = workers_[index];
  if (worker.generation_ != generation || worker.is_paused_) return false;
  worker.is_paused_ = true;
  list(index);
  if (worker.server_trouble_since_ == Clock::time_point{}) worker.server_trouble_since_ = now;
  return true;
}

bool WorkerPool::is_its_own_trouble(std::size_t index, std::uint64_t generation, Clock::time_point now) const {
  const Worker& worker = workers_[index];
  return worker.generation_ == generation && now - worker.server_trouble_since_ > kServerTrouble;
}

bool WorkerPool::resume(std::size_t index, std::uint64_t generation) {
  Worker& worker = workers_[index];
  if (worker.generation_ != generation) return false;
  worker.is_paused_ = false;
  list(index);
  return true;
}

void WorkerPool::cannot_use(std::size_t index, Error error, Clock::time_point now) {
  if (any_was_ready_) return;
  if (unusable_.empty()) unusable_since_ = now;
  if (!workers_[index].load_error_) unusable_.push_back(index);
  workers_[index].load_error_ = std::move(error);
}

Error WorkerPool::describe_unusable() const {
  const auto without_name = [](const Worker& worker) {
    std::string text = worker.load_error_->message;
    for (std::size_t at = 0; (at = text.find(worker.name_, at)) != std::string::npos;)
      text.erase(at, worker.name_.size());
    return text;
  };
  const Worker& first = workers_[unusable_.front()];
  const auto same = std::ranges::count_if(unusable_, [&](std::size_t index) {
    return workers_[index].load_error_->code == first.load_error_->code &&
           without_name(workers_[index]) == without_name(first);
  });
  Error error = *first.load_error_;
  if (workers_.size() == 1) return error;
  const std::string of = fmt::format(" ({} of {} workers)", same, workers_.size());
  error.message.insert(std::min(error.message.find('\n'), error.message.size()), of);  // a hint follows
  return error;
}

}  // namespace tfd::coordinator
