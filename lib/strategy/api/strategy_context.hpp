#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The strategy scope and the replica of a thread (thread-local): code that reads a variable, however deep in the call
// stack, means the copy of the replica that runs it. Private to the room. Thread rule: each thread has its own.
#include <utility>

namespace tfd::strategy {

class ReplicaContext;
class Strategy;

struct ThreadContext {
  Strategy* strategy = nullptr;
  ReplicaContext* replica = nullptr;
};
ThreadContext& current_context();

/// Sets this thread's context for the guard's lifetime.
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
