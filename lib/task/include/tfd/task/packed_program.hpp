#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The program and the placement of a run as TaskClient sends them: encoded once, whoever gets them; all requests share
// the bytes. Few tasks receive it at a time, so that the first of thousands begin to compile while the network is still
// busy with others. Thread rule: immutable, and thread-safe.
#include <memory>

#include "tfd/program/program.hpp"

namespace tfd::task {

struct Placement;

class PackedProgram {
 public:
  PackedProgram() = default;  // nothing, until another one is assigned
  static PackedProgram pack(const program::Program& program, const Placement& placement);

 private:
  friend class TaskClient;
  struct State;
  std::shared_ptr<const State> state_;  // of all copies
};

}  // namespace tfd::task
