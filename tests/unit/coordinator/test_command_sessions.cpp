// SPDX-License-Identifier: Apache-2.0
#include "workers/command_sessions.hpp"

#include <doctest/doctest.h>

namespace tfd::coordinator {

TEST_CASE("command sessions: a worker holds what it runs at a time, and a few ahead unless told otherwise") {
  const CommandSessions ahead({}, true), strict({}, false);
  CHECK(strict.window(4).size() == 4);
  CHECK(strict.window(4).at_once() == 4);
  CHECK(strict.window(0).at_once() == 1);
  CHECK(ahead.window(4).at_once() == 4);
  Window window = ahead.window(4);
  window.ran(std::chrono::microseconds(10));
  CHECK(window.size() == 4);  // one tells little
  for (int i = 0; i < 10; ++i) window.ran(std::chrono::microseconds(10));
  CHECK(window.size() == 12);  // of short commands
}

TEST_CASE("command sessions: each generation of a worker has one of its own, and leases are renewed in time") {
  CommandSessions sessions({.epoch = 7, .slots = 3, .directory = "/data"}, true);
  const task::CommandSession session = sessions.at(5);
  CHECK(session.epoch == 7);
  CHECK(session.generation == 5);
  CHECK(session.slots == 3);
  CHECK(session.directory == "/data");
  const Clock::time_point begin{std::chrono::hours(1)};
  CHECK(sessions.is_due(begin));
  CHECK_FALSE(sessions.is_due(begin + task::kCommandLease / 6));
  CHECK(sessions.is_due(begin + task::kCommandLease / 5));
  CHECK_FALSE(sessions.is_due(begin + task::kCommandLease / 4));
}

}  // namespace tfd::coordinator
