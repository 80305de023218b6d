#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Requests of tests to a coordinator, in one word each: an answer that isn't good fails the test.
#include "bed.hpp"

namespace tfd::bed {

using coordinator::Argument;
using coordinator::ClosureState;
using coordinator::ClusterCoordinator;
using coordinator::RemoteValue;

template <class T>
T good(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return std::move(*result);
}
inline void good(const Result<void>& result) {
  if (!result) FAIL(result.error().message);
}

inline Deadline soon() { return Deadline::after(20s); }

inline RemoteValue schedule(ClusterCoordinator& coordinator, const std::string& function,
                            std::vector<Argument> args = {}) {
  return good(coordinator.schedule({.function = function, .args = std::move(args)}, soon()));
}
inline std::int32_t fetch(const RemoteValue& value) { return number(good(value.fetch(soon())).results.at(0)); }
inline std::int32_t read(ClusterCoordinator& coordinator, const std::string& variable) {
  return number(good(coordinator.read(variable, soon())));
}

/// No worker has more than one closure at a time.
inline coordinator::CoordinatorOptions one_at_a_time(Bed& bed) {
  auto options = bed.options();
  options.window = 1;
  return options;
}

/// Waits without sleeping until something that another thread does has happened.
template <class Happened>
void until(Happened happened) {
  const Deadline deadline = soon();
  while (!happened()) {
    if (deadline.expired()) FAIL("it never happened");
    std::this_thread::yield();
  }
}

/// The log, line by line.
class Lines {
 public:
  Log log() {
    return Log("coordinate", [this](LogLevel, std::string_view, std::string_view text) {
      const std::scoped_lock lock(mutex_);
      lines_.emplace_back(text);
    });
  }
  std::vector<std::string> with(std::string_view part) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> found;
    for (const std::string& line : lines_)
      if (line.find(part) != std::string::npos) found.push_back(line);
    return found;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace tfd::bed
