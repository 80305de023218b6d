#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The strategy scope and the replica of a thread. They are thread-local, for code that reads a variable several layers
// down means the copy of the replica that runs it. Private to the room.
// Thread rule: each thread has its own.
#include <utility>

namespace tfd::strategy {

class ReplicaContext;
class Strategy;

struct ThreadContext {
  Strategy* strategy = nullptr;
  ReplicaContext* replica = nullptr;
};
ThreadContext& current_context();

/// Gives this thread a context until the guard goes.
class ContextGuard {
 public:
  explicit ContextGuard(ThreadContext context) : before_(std::exchange(current_context(), context)) {}
  ~ContextGuard() { current_context() = before_; }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  ThreadContext before_;
};

}  // namespace tfd::strategy
