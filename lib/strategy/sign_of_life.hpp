#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// That a worker lives, also while one step takes long: it adds to its counter on the first parameter server, twice a
// second, over a connection of its own. Workers don't talk to each other, so this is how the chief knows whom to wait
// for. Private to the room. Thread rule: a thread of its own.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tfd/runtime/parameter_servers.hpp"

namespace tfd::strategy {

class SignOfLife {
 public:
  /// `beat` is of a variable on the first parameter server of `placement`, in this epoch. What fails is left to whoever
  /// trains: a lost parameter server is its trouble too.
  SignOfLife(runtime::Placement placement, runtime::ParameterServersOptions options, std::uint64_t epoch,
             variable::Update beat);

 private:
  void run(const std::stop_token& stop);

  runtime::Placement placement_;
  runtime::ParameterServersOptions options_;
  std::uint64_t epoch_;
  variable::Update beat_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace tfd::strategy
