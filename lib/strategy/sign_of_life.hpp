#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// That a worker lives, also while one step takes long: it writes the time to the first parameter server, twice a
// second, over a connection of its own. Workers don't talk to each other, so this is how the chief knows whom to wait
// for. Private to the room. Thread rule: a thread of its own.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tfd/runtime/parameter_servers.hpp"

namespace tfd::strategy {

class SignOfLife {
 public:
  /// `variable` is s64[clients] on the first parameter server of `placement`, of this epoch; this one's is at `index`.
  /// What fails is left to whoever trains: a lost parameter server is its trouble too.
  SignOfLife(runtime::Placement placement, runtime::ParameterServersOptions options, std::uint64_t epoch,
             std::string_view variable, std::int64_t index);

 private:
  void run(const std::stop_token& stop);

  runtime::Placement placement_;
  runtime::ParameterServersOptions options_;
  const std::uint64_t epoch_;
  std::string variable_;
  std::int64_t index_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace tfd::strategy
