// SPDX-License-Identifier: Apache-2.0
#include "remote_value.hpp"

#include <cassert>

namespace tfd::coordinator {

void RemoteValue::Shared::publish(ClosureState value) {
  state.store(value);
  // A fetch counts itself before it reads the state, so either it sees this state or it is counted here.
  if (link->waiting.load() == 0) return;
  const MutexLock lock(link->mutex);
  link->changed.notify_all();
}

void RemoteValue::Shared::set_outcome(task::ClosureOutcome value) {
  if (!fetched.load()) outcome = std::move(value);
  publish(ClosureState::kReady);
}

void RemoteValue::Shared::set_error(Error value) {
  error = std::move(value);
  publish(ClosureState::kError);
}

void RemoteValue::Shared::set_cancelled(const Error& because, std::optional<ClosureId> closure) {
  error = Error{Code::kCancelled, "canceled because another closure failed: " + because.message, because.task};
  cause = closure;
  publish(ClosureState::kCancelled);
}

ClosureState RemoteValue::state() const { return shared_->state.load(); }
ClosureId RemoteValue::id() const { return shared_->id; }

const task::ClosureOutcome& RemoteValue::outcome() const {
  assert(state() == ClosureState::kReady);
  return shared_->outcome;
}

const Error& RemoteValue::error() const {
  assert(state() != ClosureState::kNotReady && state() != ClosureState::kReady);
  return shared_->error;
}

std::optional<ClosureId> RemoteValue::cause() const {
  return state() == ClosureState::kCancelled ? shared_->cause : std::nullopt;
}

// A variable's value isn't kept, since it changes.
Result<task::ClosureOutcome> RemoteValue::read_again(Deadline deadline) const {
  CoordinatorLink& link = *shared_->link;
  const std::shared_lock lock(link.read_mutex);
  if (!link.read) return fail(Code::kCancelled, "the coordinator has ended");
  return link.read(shared_->place->worker, shared_->place->variable, deadline);
}

Result<task::ClosureOutcome> RemoteValue::fetch(Deadline deadline) const {
  const auto there = [this] { return state() != ClosureState::kNotReady; };
  CoordinatorLink& link = *shared_->link;
  if (!there()) {
    MutexLock lock(link.mutex);
    ++link.waiting;
    lock.wait(link.changed, deadline, there);
    --link.waiting;
  }
  switch (state()) {
    case ClosureState::kReady:
      if (shared_->place && !shared_->place->variable.empty()) return read_again(deadline);
      shared_->fetched.store(true);
      return shared_->outcome;
    case ClosureState::kError:
    case ClosureState::kCancelled:
    case ClosureState::kAborted:
      return fail(shared_->error);
    case ClosureState::kNotReady:
      break;
  }
  const MutexLock lock(link.describe_mutex);
  return fail(Code::kDeadlineExceeded, "closure {} is not ready: waiting for {}", id(),
              link.describe ? link.describe() : "a coordinator that has ended");
}

Result<std::vector<task::ClosureOutcome>> fetch(const std::vector<RemoteValue>& values, Deadline deadline) {
  std::vector<task::ClosureOutcome> out;
  for (const RemoteValue& value : values) out.push_back(TFD_TRY(value.fetch(deadline)));
  return out;
}

Result<std::map<std::string, task::ClosureOutcome>> fetch(const std::map<std::string, RemoteValue>& values,
                                                          Deadline deadline) {
  std::map<std::string, task::ClosureOutcome> out;
  for (const auto& [name, value] : values) out.emplace(name, TFD_TRY(value.fetch(deadline), name));
  return out;
}

}  // namespace tfd::coordinator
