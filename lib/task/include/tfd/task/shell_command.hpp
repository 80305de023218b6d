#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shell commands on workers: the closures of tfd-exec. A session sets the owner of commands, their working directory
// and their number at a time on a worker; it must be renewed, and when its owner is gone its commands are killed.
// Thread rule: plain values.
#include <cstdint>
#include <memory>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::task {

struct CommandSession {
  std::uint64_t epoch = 0;       // identifies the owner: unique to a coordinator
  std::uint64_t generation = 0;  // a higher one than the worker has seen kills the session's running commands
  int slots = 0;                 // commands at a time; 0: the worker's share of its host's processors
  std::string directory;         // working directory; must exist on the worker
};

/// Lease of a session: its commands are killed if it isn't renewed by then.
inline constexpr Duration kCommandLease = std::chrono::seconds(15);

struct ShellCommand {
  std::string text;          // for /bin/sh -c
  std::uint64_t number = 0;  // the command's number, from 1: TFD_SEQ
  Duration timeout{};        // zero: none
};

/// Outcome of a command. `code` is as a shell reports it: 128 + signal; 126 and 127 if it couldn't be started.
struct CommandOutcome {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  bool overflowed = false;      // it was killed because it printed too much
  std::int64_t started_us = 0;  // microseconds since 1970
  std::int64_t duration_us = 0;
  std::string host;         // where
  tensor::Tensor output;    // u8: all of its stdout
  tensor::Tensor errors;    // u8: all of its stderr
  std::string task;         // "worker:1"
  bool given_back = false;  // returned by give_back() before it started; other fields are unset
};

}  // namespace tfd::task
