// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tfd/process/event_loop.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::process;

TEST_CASE("post: the loop's thread does the work of several threads, each thread's in its order") {
  constexpr int kThreads = 4, kEach = 1000;
  EventLoop loop;
  REQUIRE(loop.accept_posts());
  const auto here = std::this_thread::get_id();
  std::vector<std::vector<int>> done(kThreads);
  std::size_t count = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i)
        loop.post([&, thread, i] {
          CHECK(std::this_thread::get_id() == here);
          done[static_cast<std::size_t>(thread)].push_back(i);
          ++count;
        });
    });
  const Deadline deadline = Deadline::after(20s);
  while (count < kThreads * kEach && !deadline.expired()) REQUIRE(loop.turn(deadline));
  for (const std::vector<int>& numbers : done) {
    REQUIRE(numbers.size() == kEach);
    for (int i = 0; i < kEach; ++i) CHECK(numbers[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("post: work may post more, and accepting posts twice changes nothing") {
  EventLoop loop;
  REQUIRE(loop.accept_posts());
  REQUIRE(loop.accept_posts());
  std::string order;
  loop.post([&] {
    order += "a";
    loop.post([&] { order += "c"; });
  });
  loop.post([&] { order += "b"; });
  const Deadline deadline = Deadline::after(20s);
  while (order.size() < 3 && !deadline.expired()) REQUIRE(loop.turn(deadline));
  CHECK(order == "abc");
}

TEST_CASE("post: what the loop hasn't done when it ends is dropped, not done") {
  auto held = std::make_shared<int>(0);
  {
    EventLoop loop;
    REQUIRE(loop.accept_posts());
    loop.post([held] { ++*held; });
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
  CHECK(*held == 0);
}
