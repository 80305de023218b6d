#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shell commands on workers: the closures of tfd-exec. A session tells a worker whose commands they are, where they run
// and how many at a time; it has to be renewed, and when its owner is gone its commands are killed.
// Thread rule: plain values.
#include <cstdint>
#include <memory>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::task {

struct CommandSession {
  std::uint64_t epoch = 0;       // whose: unique to a coordinator
  std::uint64_t generation = 0;  // a higher one than the worker knows kills what the session still has running
  int slots = 0;                 // commands at a time; 0: the worker's share of its host's processors
  std::string directory;         // where they run; must be there on the worker
};

/// How long a worker keeps the commands of a session that isn't renewed.
inline constexpr Duration kCommandLease = std::chrono::seconds(15);

struct ShellCommand {
  std::string text;          // for /bin/sh -c
  std::uint64_t number = 0;  // of the command, from 1: TFD_SEQ
  Duration timeout{};        // zero: none
};

/// How a command ended. `code` is a shell's: 128 + signal; 126 and 127 where it could not be started.
struct CommandOutcome {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  bool overflowed = false;      // it was ended because it printed too much
  std::int64_t started_us = 0;  // microseconds since 1970
  std::int64_t duration_us = 0;
  std::string host;         // where
  tensor::Tensor output;    // u8: all of its stdout
  tensor::Tensor errors;    // u8: all of its stderr
  std::string task;         // "worker:1"
  bool given_back = false;  // give_back() came before it was begun: there is nothing else
};

}  // namespace tfd::task
