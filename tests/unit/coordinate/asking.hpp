#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What tests ask of a coordinator, in one word each: an answer that isn't good fails the test.
#include "bed.hpp"

namespace tfd::bed {

using coordinate::Argument;
using coordinate::ClosureState;
using coordinate::ClusterCoordinator;
using coordinate::RemoteValue;

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
inline coordinate::CoordinatorOptions one_at_a_time(Bed& bed) {
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

}  // namespace tfd::bed
