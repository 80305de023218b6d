// SPDX-License-Identifier: Apache-2.0
#include "variable_queues.hpp"

#include <algorithm>
#include <new>
#include <numeric>

namespace tfd::task {
namespace {

constexpr std::size_t kMostVersions = 2;   // versions besides the current one that answers may keep alive
constexpr std::size_t kPinnedFrom = 4096;  // bytes; smaller values are mostly copied into the answer's frame

}  // namespace

void FailedUpdates::add(std::uint64_t client, std::uint64_t sequence, const Error& error) {
  const MutexLock lock(mutex_);
  if (errors_.size() < kMost) errors_.emplace(std::pair(client, sequence), error);
}

std::optional<Error> FailedUpdates::find(std::uint64_t client, std::uint64_t sequence) const {
  const MutexLock lock(mutex_);
  const auto found = errors_.find({client, sequence});
  return found == errors_.end() ? std::nullopt : std::optional(found->second);
}

/// One request in its variables' queues.
class VariableQueues::Job final : public VariableExecutor::Task {
 public:
  Job(std::shared_ptr<VariableQueues> variables, Request request)
      : variables_(std::move(variables)), request_(std::move(request)), left_(request_.targets.size()) {}
  ~Job() override {
    if (left_.load() > 0) request_.responder.reply(fail(Code::kCancelled, "this task is stopping"));
  }

  void run(std::size_t part) override {
    Result<void> done;
    try {
      if (request_.at) done = request_.at(part);
    } catch (const std::bad_alloc&) {
      done = fail(Code::kResourceExhausted, "no memory for a new value");
    }
    if (!done) {
      const MutexLock lock(mutex_);
      if (!error_ || part < error_->first) error_ = {part, std::move(done).error()};
    }
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) answer();
  }

  /// Unchecked: all parts are done, so that nobody else uses the error.
  void answer() TFD_UNCHECKED_THREADS {
    const Error* const error = error_ ? &error_->second : nullptr;
    if (request_.then) return request_.then(error, std::move(request_.responder));
    request_.responder.reply(request_.done(error));
  }

 private:
  std::shared_ptr<VariableQueues> variables_;  // their program may have been replaced by now
  Request request_;
  std::atomic<std::size_t> left_;
  Mutex mutex_;
  std::optional<std::pair<std::size_t, Error>> error_ TFD_GUARDED_BY(mutex_);
};

VariableQueues::VariableQueues(variable::VariableStore store, VariableExecutor& executor)
    : store_(std::move(store)), executor_(executor), versions_(store_.size()) {
  for (std::size_t i = 0; i < store_.size(); ++i) queues_.push_back(VariableExecutor::make_queue());
}

void VariableQueues::start(Request request) {
  const std::vector<std::size_t> targets = request.targets;
  if (request.changes)
    for (const std::size_t target : targets) versions_[target].changed();
  const bool at_once =
      request.is_small &&
      std::ranges::all_of(targets, [this](std::size_t target) { return executor_.is_idle(*queues_[target]); }) &&
      (!request.is_fast || request.is_fast());
  const auto job = std::make_shared<Job>(shared_from_this(), std::move(request));
  if (targets.empty()) return job->answer();
  if (at_once) {
    for (std::size_t part = 0; part < targets.size(); ++part) job->run(part);
    return;
  }
  std::vector<VariableExecutor::Entry> entries;
  entries.reserve(targets.size());
  for (std::size_t part = 0; part < targets.size(); ++part) entries.push_back({queues_[targets[part]], job, part});
  executor_.add(std::move(entries));
}

std::optional<std::vector<std::shared_ptr<Pin>>> VariableQueues::pin(const std::vector<std::size_t>& targets,
                                                                     const std::vector<bool>* claims, bool is_patient,
                                                                     const std::shared_ptr<PinWatch>& watch) {
  const auto is_large = [&](std::size_t target) { return store_.value_bytes(target) >= kPinnedFrom; };
  std::vector<std::shared_ptr<Pin>> pins(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!is_large(targets[i])) continue;
    pins[i] = versions_[targets[i]].find();
    if (pins[i] != nullptr || is_patient) continue;
    const bool is_claimed = claims != nullptr && (*claims)[targets[i]];
    if (is_claimed || versions_[targets[i]].held() >= kMostVersions) return std::nullopt;
  }
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (pins[i] == nullptr && is_large(targets[i])) pins[i] = versions_[targets[i]].pin(watch);
  return pins;
}

std::vector<std::size_t> VariableQueues::all() const {
  std::vector<std::size_t> out(store_.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace tfd::task
