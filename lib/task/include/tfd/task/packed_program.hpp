#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run's program and placement, encoded once for TaskClient; all requests share the bytes. Few tasks receive it at a
// time, so that the first of thousands compile while it is still being sent to others. Thread rule: immutable, and
// thread-safe.
#include <memory>

#include "tfd/program/program.hpp"

namespace tfd::task {

struct Placement;

class PackedProgram {
 public:
  PackedProgram() = default;  // empty, until another one is assigned
  static PackedProgram pack(const program::Program& program, const Placement& placement);

 private:
  friend class TaskClient;
  struct State;
  std::shared_ptr<const State> state_;  // of all copies
};

}  // namespace tfd::task
