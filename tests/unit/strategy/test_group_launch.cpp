// SPDX-License-Identifier: Apache-2.0
//
// Steps over the devices of all members: whether they are one system, the agreement before a launch, and the end of one
// that can't end by itself.
#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "group/group_devices.hpp"
#include "group/group_exchange.hpp"
#include "group/launch_watch.hpp"

namespace tfd::strategy {
namespace {

using namespace std::chrono_literals;

MemberDevices gpus(std::vector<int> ids, int hosts = 2) { return {"cuda", hosts, std::move(ids)}; }
using Ids = std::vector<std::vector<int>>;

TEST_CASE("group devices: of all members in one system, by rank and replica") {
  std::string why;
  CHECK(join_devices({gpus({2, 3}), gpus({0, 1})}, 1, why) == Ids{{2}, {3}, {0}, {1}});
  CHECK(join_devices({gpus({0, 1}), gpus({2, 3})}, 2, why) == Ids{{0, 1}, {2, 3}});
  CHECK(join_devices({gpus({0}), gpus({2, 3})}, 1, why) == Ids{{0}, {2}, {3}});  // as many as each has
  CHECK(why.empty());
}

TEST_CASE("group devices: those that are no system are said to be none, but for CPUs") {
  std::string why;
  const auto refused = [&](const std::vector<MemberDevices>& members) {
    CHECK(join_devices(members, 1, why).empty());
    return why;
  };
  CHECK(refused({{"cpu", 1, {0}}, {"cpu", 1, {0}}}).empty());
  CHECK(refused({gpus({0}, 1), gpus({0}, 1)}).starts_with("the plug-in for cuda sees those of 1 of the 2 processes"));
  CHECK(refused({gpus({0}), {"tpu", 2, {1}}}) == "some are of cuda, others of tpu");
  CHECK(refused({gpus({0, 1}), gpus({1, 2})}) == "two processes have device 1");
}

TEST_CASE("group devices: what members tell each other is parsed, and nothing else") {
  const MemberDevices one = gpus({4, 7}, 3);
  CHECK(parse_devices(format_devices(one)) == one);
  const std::string bytes = format_devices(one);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(parse_devices(bytes.substr(0, size)).error().message == "malformed devices");
  CHECK_FALSE(parse_devices(bytes + "x"));
}

Notice offer(std::vector<double> weights, std::int32_t module = 0, std::uint64_t launch = 5) {
  return {.weights = std::move(weights), .launch_module = module, .launch = launch};
}

TEST_CASE("notices: a step is launched on all devices only if every replica has the same to do") {
  const auto is_launch = [](Notice one, Notice other) {
    return Notices{{std::move(one), std::move(other)}}.are_launch();
  };
  CHECK(is_launch(offer({4, 4}), offer({4, 4})));
  CHECK(is_launch(offer({4, 4}), offer({4})));                       // more replicas here than there
  CHECK_FALSE(is_launch(offer({4, 4}), offer({4, step::kNoData})));  // the data end
  CHECK_FALSE(is_launch(offer({4, 4}), offer({})));
  CHECK_FALSE(is_launch(offer({4, 4}), offer({4, 3})));         // batches of two sizes
  CHECK_FALSE(is_launch(offer({4, 4}), offer({4, 4}, 1)));      // modules of two sizes
  CHECK_FALSE(is_launch(offer({4, 4}), offer({4, 4}, -1, 0)));  // it can't be one there
}

TEST_CASE("notices: members that would launch different programs are named before anything is launched") {
  collective::Members members;
  for (const char* name : {"worker:0", "worker:1", "worker:2"}) members.all.push_back({name, "", ""});
  const Notices same{{offer({1}), offer({1}), offer({1})}};
  CHECK_FALSE(same.launch_difference(members, 7));
  const Notices others{{offer({1}), offer({1}), offer({1}, 0, 0xabc)}};
  CHECK(others.are_launch());
  const auto error = others.launch_difference(members, 7);
  REQUIRE(error);
  CHECK(error->code == Code::kInvalidArgument);
  CHECK(error->task == "worker:2");
  CHECK(error->message.starts_with(
      "step 7: worker:0 would launch program 0000000000000005, worker:2 0000000000000abc: "));
}

/// A launch that ends when the process would have ended, and why it would have.
Error end_of_launch(LaunchWatchOptions options) {
  std::promise<Error> why;
  std::promise<void> is_over;
  std::atomic<bool> has_ended = false;
  options.end_process = [&](const Error& error) {
    if (has_ended.exchange(true)) return;
    why.set_value(error);
    is_over.set_value();
  };
  LaunchWatch watch(std::move(options));
  watch.during(12, [&] {
    is_over.get_future().wait();
    return 0;
  });
  return why.get_future().get();
}

TEST_CASE("launch watch: a launch that waits for a lost member ends the process, with its name") {
  std::atomic<int> looks = 0;
  const Error why = end_of_launch({.find_lost = [&]() -> std::optional<Error> {
    if (++looks < 3) return std::nullopt;  // it dies meanwhile
    return Error{Code::kUnavailable, "worker:1 is lost (connection reset)", "worker:1"};
  }});
  CHECK(why.code == Code::kUnavailable);
  CHECK(why.task == "worker:1");
  CHECK(why.message.starts_with("step 12 can't end without worker:1: worker:1 is lost (connection reset); "));
}

TEST_CASE("launch watch: a launch that doesn't end in time is said to wait, and then ends the process") {
  std::vector<std::string> lines;
  const Error why = end_of_launch({.find_lost = [] { return std::optional<Error>(); },
                                   .say = [&](const std::string& line) { lines.push_back(line); },
                                   .stall_report = 1ms,
                                   .timeout = 500ms});
  CHECK(why.code == Code::kDeadlineExceeded);
  CHECK(why.message.find("though all members answer") != std::string::npos);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.front().starts_with("step 12 has been on the devices for "));
}

TEST_CASE("launch watch: one that fails waits for the news of a lost member, which end the process") {
  std::promise<Error> why;
  std::atomic<bool> has_ended = false, has_failed = false;
  LaunchWatch watch({.find_lost = [&]() -> std::optional<Error> {
                       if (!has_failed) return std::nullopt;
                       return Error{Code::kUnavailable, "worker:2 is lost", "worker:2"};
                     },
                     .end_process =
                         [&](const Error& error) {
                           if (!has_ended.exchange(true)) why.set_value(error);
                         }});
  watch.during(3, [&] {
    has_failed = true;  // the plug-in saw it first
    watch.failed();
    return 0;
  });
  CHECK(why.get_future().get().task == "worker:2");
}

TEST_CASE("launch watch: one that ends is nobody's business, whoever is lost between launches") {
  LaunchWatch watch({.find_lost = [] { return std::optional<Error>(); },
                     .end_process = [](const Error& error) { FAIL_CHECK(error.message); }});
  for (int step = 0; step < 100; ++step) CHECK(watch.during(step, [&] { return step; }) == step);
}

}  // namespace
}  // namespace tfd::strategy
