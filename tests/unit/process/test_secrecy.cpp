// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/prctl.h>

#include <array>
#include <chrono>

#include "tfd/process/child.hpp"
#include "tfd/process/secrecy.hpp"

using namespace tfd;
using namespace tfd::process;
using namespace std::chrono_literals;

TEST_CASE("secrecy: this process leaves no core dump, a child may") {
  REQUIRE(::prctl(PR_SET_DUMPABLE, 1) == 0);
  REQUIRE(forbid_core_dumps());
  REQUIRE(forbid_core_dumps());
  CHECK(::prctl(PR_GET_DUMPABLE) == 0);
  // A process is dumpable again after exec: /proc/PID/mem of one that isn't belongs to root, so ask by prctl.
  const char* const script = "import ctypes, sys; sys.exit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))";
  auto child = Child::start({.argv = {"python3", "-c", script}, .environment = Environment::of_process()});
  REQUIRE(child);
  CHECK(child->wait(Deadline::after(20s))->code == 1);
  ::prctl(PR_SET_DUMPABLE, 1);
}
