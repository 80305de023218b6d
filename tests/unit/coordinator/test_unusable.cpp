// SPDX-License-Identifier: Apache-2.0
//
// Workers that can't load the program: the others do, and where there is none the error says of how many it is.
#include <latch>

#include "asking.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

TEST_CASE("unusable: a worker that can't load the program doesn't keep others from it, however much longer they take") {
  Bed bed(2, 1);
  std::latch failed(1);
  bed.before_engine = [&](const std::string& task) -> Result<void> {
    if (task == "worker:0") {
      if (!failed.try_wait()) failed.count_down();
      return fail(Code::kInternal, "no device");
    }
    failed.wait();
    std::this_thread::sleep_for(200ms);  // it compiles
    return {};
  };
  Lines lines;
  CoordinatorOptions options = bed.options();
  options.log = lines.log();
  const auto coordinator = good(ClusterCoordinator::connect(make_program(), bed.config(), std::move(options)));
  CHECK(fetch(schedule(*coordinator, "double", {number(4)})) == 8);
  const auto said = lines.with("worker:0 can't be used, going on without it: ");
  REQUIRE(said.size() == 1);
  CHECK(said[0].ends_with("no device"));
}

TEST_CASE("unusable: where none can load it the first error is told at once, and of how many it is") {
  Bed bed(3, 1);
  bed.before_engine = [](const std::string& task) -> Result<void> {
    return fail(Code::kInternal, "{}", task == "worker:1" ? "another reason" : "no device");
  };
  const auto begun = Clock::now();
  const auto connected = ClusterCoordinator::connect(make_program(), bed.config(), bed.options());
  CHECK(Clock::now() - begun < 10s);
  REQUIRE_FALSE(connected);
  CHECK(connected.error().code == Code::kInternal);
  const bool is_other = connected.error().message.find("another reason") != std::string::npos;
  CHECK(
      connected.error().message.ends_with(is_other ? "another reason (1 of 3 workers)" : "no device (2 of 3 workers)"));
}

TEST_CASE("unusable: workers that aren't up are waited for a moment, not until the deadline") {
  Bed bed(2, 1);
  bed.kill("worker:1");
  bed.before_engine = [](const std::string&) -> Result<void> { return fail(Code::kInternal, "no device"); };
  const auto begun = Clock::now();
  const auto connected = ClusterCoordinator::connect(make_program(), bed.config(), bed.options());
  CHECK(Clock::now() - begun < 10s);
  REQUIRE_FALSE(connected);
  CHECK(connected.error().message.ends_with("no device (1 of 2 workers)"));
  CHECK(connected.error().task == "worker:0");
}
