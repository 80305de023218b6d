// SPDX-License-Identifier: Apache-2.0
//
// The rules of the queue: by hand, and by random programs against a slower model. TensorFlow's own traces are a golden
// set: tests/vectors/coordinator_sets.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <random>

#include "tfd/coordinator/closure_queue.hpp"

using namespace tfd;
using coordinator::ClosureId;
using coordinator::ClosureQueue;

namespace {

Error error(const std::string& message) { return {Code::kInvalidArgument, message, {}}; }

/// Everything that can be seen of a queue, done the slow way.
struct Model {
  std::size_t capacity;
  bool keep_going;
  std::list<ClosureId> queued, in_flight;
  std::optional<std::string> pending;

  std::optional<ClosureId> take() {
    if (queued.empty()) return std::nullopt;
    in_flight.splice(in_flight.end(), queued, queued.begin());
    return in_flight.back();
  }
  bool remove(ClosureId id) {
    const auto before = in_flight.size();
    in_flight.remove(id);
    return in_flight.size() != before;
  }
  bool failed(ClosureId id, const std::string& message) {
    if (!remove(id)) return false;
    if (!keep_going && !pending) pending = message;
    return true;
  }
  bool put_back(ClosureId id) {
    if (!remove(id)) return false;
    if (pending) return true;
    queued.push_back(id);
    return false;
  }
  std::optional<std::string> raise(std::vector<ClosureId>* cancelled) {
    if (!pending || !in_flight.empty()) return std::nullopt;
    cancelled->assign(queued.begin(), queued.end());
    queued.clear();
    return std::exchange(pending, std::nullopt);
  }
};

}  // namespace

TEST_CASE("queue: what makes a worker's resources is that worker's alone, comes first and is never in flight") {
  ClosureQueue queue;
  queue.put(1);
  queue.put_for(0, 10);
  queue.put_for(0, 11);
  queue.put_for(1, 20);
  CHECK(queue.queued() == 1);
  CHECK(queue.take(0) == 10);
  CHECK_FALSE(queue.is_in_flight(10));
  CHECK(queue.take(1) == 20);
  CHECK(queue.take(1) == 1);
  CHECK(queue.in_flight() == 1);
  CHECK_FALSE(queue.take_for(1));
  // An error cancels what is queued for all, and neither cancels nor holds back what is one worker's.
  queue.put(2);
  CHECK(queue.failed(1, error("x")));
  CHECK(queue.take(0) == 11);
  queue.put_for(0, 12);
  std::vector<ClosureId> cancelled;
  CHECK(queue.raise(&cancelled));
  CHECK(cancelled == std::vector<ClosureId>{2});
  CHECK(queue.take(0) == 12);
  CHECK(queue.idle());
  // A worker that is gone gets them all anew.
  queue.put_for(0, 13);
  queue.forget(0);
  CHECK_FALSE(queue.take(0));
}

TEST_CASE("queue: closures come out in the order they went in, and it is idle when the last has finished") {
  ClosureQueue queue;
  queue.put(1);
  queue.put(2);
  CHECK_FALSE(queue.idle());
  CHECK(queue.take() == 1);
  CHECK(queue.take() == 2);
  CHECK_FALSE(queue.take());
  CHECK(queue.finished(2));
  CHECK_FALSE(queue.idle());
  CHECK(queue.finished(1));
  CHECK(queue.idle());
}

TEST_CASE("queue: the first error wins, cancels what has not run, and is raised once") {
  ClosureQueue queue;
  for (ClosureId id : {1, 2, 3, 4}) queue.put(id);
  queue.take();
  queue.take();
  CHECK(queue.failed(1, error("first")));
  std::vector<ClosureId> cancelled;
  CHECK_FALSE(queue.raise(&cancelled));  // 2 is still executing
  CHECK(queue.failed(2, error("second")));
  const auto raised = queue.raise(&cancelled);
  REQUIRE(raised);
  CHECK(raised->message == "first");
  CHECK(cancelled == std::vector<ClosureId>{3, 4});
  CHECK_FALSE(queue.raise(&cancelled));
  CHECK(queue.idle());
}

TEST_CASE("queue: one that is put back goes to the end, or is cancelled while an error is pending") {
  ClosureQueue queue;
  for (ClosureId id : {1, 2, 3}) queue.put(id);
  queue.take();
  CHECK_FALSE(queue.put_back(1));
  CHECK(queue.take() == 2);
  CHECK(queue.take() == 3);
  CHECK(queue.take() == 1);
  CHECK(queue.failed(2, error("x")));
  CHECK(queue.put_back(3));
  CHECK(queue.in_flight() == 1);
}

TEST_CASE("queue: hands out what is queued until an error that is pending is raised") {
  ClosureQueue queue;
  for (ClosureId id : {1, 2, 3}) queue.put(id);
  queue.take();
  CHECK(queue.failed(1, error("x")));
  CHECK(queue.take() == 2);
  std::vector<ClosureId> cancelled;
  CHECK_FALSE(queue.raise(&cancelled));
  CHECK(queue.finished(2));
  CHECK(queue.raise(&cancelled));
  CHECK(cancelled == std::vector<ClosureId>{3});
}

TEST_CASE("queue: with keep_going an error cancels nothing and is not raised") {
  ClosureQueue queue(0, true);
  queue.put(1);
  queue.put(2);
  queue.take();
  CHECK(queue.failed(1, error("x")));
  CHECK_FALSE(queue.has_error());
  CHECK(queue.take() == 2);
}

TEST_CASE("queue: what is not in flight can't finish, fail or be put back") {
  ClosureQueue queue;
  queue.put(1);
  CHECK_FALSE(queue.finished(1));
  CHECK_FALSE(queue.failed(1, error("x")));
  CHECK_FALSE(queue.put_back(1));
  CHECK_FALSE(queue.has_error());
  CHECK(queue.queued() == 1);
}

TEST_CASE("queue: is full at its capacity, and never with capacity 0") {
  ClosureQueue two(2), unbounded(0);
  for (ClosureId id : {1, 2}) {
    two.put(id);
    unbounded.put(id);
  }
  CHECK(two.full());
  CHECK_FALSE(unbounded.full());
  two.take();
  CHECK_FALSE(two.full());
}

TEST_CASE("queue: clear() ends everything, an error that is pending too") {
  ClosureQueue queue;
  for (ClosureId id : {1, 2, 3}) queue.put(id);
  queue.take();
  queue.take();
  queue.failed(1, error("x"));
  auto all = queue.clear();
  std::ranges::sort(all);
  CHECK(all == std::vector<ClosureId>{2, 3});
  CHECK(queue.idle());
  CHECK_FALSE(queue.has_error());
}

TEST_CASE("queue: random programs do what the rules say") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t capacity = random() % 4 == 0 ? 0 : 1 + random() % 8;
    const bool keep_going = random() % 5 == 0;
    ClosureQueue queue(capacity, keep_going);
    Model model{capacity, keep_going, {}, {}, {}};
    ClosureId next = 1;
    for (int step = 0; step < 400; ++step) {
      const ClosureId some = 1 + random() % next;
      switch (random() % 6) {
        case 0:
          if (!queue.full()) {
            queue.put(next);
            model.queued.push_back(next++);
          }
          break;
        case 1:
          REQUIRE(queue.take() == model.take());
          break;
        case 2:
          REQUIRE(queue.finished(some) == model.remove(some));
          break;
        case 3: {
          const std::string message = "error " + std::to_string(step);
          REQUIRE(queue.failed(some, error(message)) == model.failed(some, message));
          break;
        }
        case 4:
          REQUIRE(queue.put_back(some) == model.put_back(some));
          break;
        default: {
          std::vector<ClosureId> cancelled, expected;
          const auto raised = queue.raise(&cancelled);
          const auto wanted = model.raise(&expected);
          REQUIRE(raised.has_value() == wanted.has_value());
          if (raised) REQUIRE(raised->message == *wanted);
          REQUIRE(cancelled == expected);
        }
      }
      REQUIRE(queue.queued() == model.queued.size());
      REQUIRE(queue.in_flight() == model.in_flight.size());
      REQUIRE(queue.idle() == (model.queued.empty() && model.in_flight.empty()));
      REQUIRE(queue.full() == (capacity > 0 && model.queued.size() >= capacity));
    }
  }
}
