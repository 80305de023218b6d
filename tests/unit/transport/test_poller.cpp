// SPDX-License-Identifier: Apache-2.0
//
// Sources that an I/O thread waits for: their notifications, and the ends of a wait.
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "bed.hpp"
#include "poller.hpp"
#include "tfd/process/local_socket.hpp"

namespace tfd::transport {
namespace {

struct Told final : Poller::Watcher {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> events;
  void on_ready(std::uint64_t whose, std::uint32_t what) override { events.emplace_back(whose, what); }
};

struct Line {
  process::LocalPair ends = process::make_local_pair().value();
  process::Fd& own = ends.one;
  void ring() const { process::ring_bell(ends.other.get()); }
};

const Clock::time_point kNow{};

}  // namespace

TEST_CASE("poller: each descriptor's owner is told, and nobody of one that was removed or closed") {
  const auto poller = make_poller();
  Told told, others;
  Line first, second;
  REQUIRE(poller->add(first.own.get(), EPOLLIN, &told, 7).has_value());
  REQUIRE(poller->add(second.own.get(), EPOLLIN, &others, 8).has_value());
  first.ring();
  second.ring();
  poller->wait(Clock::time_point::max());
  poller->wait(kNow);  // nobody has read
  using Events = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  CHECK(told.events == Events(2, {7, EPOLLIN}));
  CHECK(others.events == Events(2, {8, EPOLLIN}));
  poller->change(first.own.get(), EPOLLOUT);
  SUBCASE("removed") { poller->remove(second.own.get()); }
  SUBCASE("closed") { second.own.reset(); }
  poller->wait(kNow);
  CHECK(told.events.back() == std::pair<std::uint64_t, std::uint32_t>{7, EPOLLOUT});
  CHECK(others.events.size() == 2);
}

TEST_CASE("poller: who is closed while others are told isn't, nor is who has got its number") {
  const auto poller = make_poller();
  struct Closer final : Poller::Watcher {
    Line lines[2];
    Line fresh;
    Poller* poller = nullptr;
    int told = 0;
    Told heir;
    void on_ready(std::uint64_t whose, std::uint32_t) override {
      ++told;
      poller->remove(lines[whose].own.get());
      Line& later = lines[1 - whose];
      const int number = later.own.get();
      later.own.reset();
      REQUIRE(::dup3(fresh.own.get(), number, O_CLOEXEC) == number);
      later.own = process::Fd(number);
      const Result<void> added = poller->add(number, EPOLLIN, &heir, 9);
      CHECK_MESSAGE(added.has_value(), (added ? "" : added.error().message));
    }
  } closer;
  closer.poller = poller.get();
  for (std::uint64_t i : {0, 1}) {
    REQUIRE(poller->add(closer.lines[i].own.get(), EPOLLIN, &closer, i).has_value());
    closer.lines[i].ring();
  }
  poller->wait(Clock::time_point::max());
  CHECK(closer.told == 1);
  CHECK(closer.heir.events.empty());
  closer.fresh.ring();
  poller->wait(Clock::time_point::max());
  CHECK(!closer.heir.events.empty());
}

TEST_CASE("poller: a wait ends at its time and not before, and with each wake, however many there were") {
  const auto waker = std::make_shared<Waker>();
  const auto poller = Poller::make(waker).value();
  for (const Duration time : {Duration(50us), Duration(3ms), Duration(20ms)}) {
    const Clock::time_point until = Clock::now() + time;
    poller->wait(until);
    CHECK(Clock::now() >= until);
  }
  std::thread other;
  for (int i = 0; i < 300; ++i) {
    waker->prepare_to_sleep();
    if (i % 100 == 0) {
      other = std::thread([&] { waker->wake(); });
    } else {
      waker->wake();
    }
    poller->wait(Clock::time_point::max());  // hangs if a wake is missed
    waker->awake();
    if (other.joinable()) other.join();
  }
  const Clock::time_point until = Clock::now() + 1ms;
  poller->wait(until);
  CHECK(Clock::now() >= until);  // no wake is left over
}

}  // namespace tfd::transport
