// SPDX-License-Identifier: Apache-2.0
//
// Exact passes over a dataset and their parts, without workers or a network.
#include "evaluation.hpp"

#include <doctest/doctest.h>

#include "ready_workers.hpp"

namespace tfd::coordinator {
namespace {

using namespace std::chrono_literals;
using Answer = EvaluationQueue::Answer;
using Metrics = std::vector<step::Metric>;

constexpr Clock::time_point kMoment{1h};

/// Ready workers, and passes over them.
struct Track {
  WorkerPool workers;
  EvaluationQueue queue{workers};

  explicit Track(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      workers.add(fmt::format("worker:{}", i), Window(4));
      bring_up(workers, i, Window(4), kMoment);
    }
  }
  Answer counts(const EvaluationQueue::Part& part, double examples) {
    return queue.answered(part, Metrics{{.name = "examples", .reduce = program::Reduce::kSum, .value = examples}},
                          false, kMoment);
  }
  Answer fails(const EvaluationQueue::Part& part, Code code, bool is_of_server = false) {
    return queue.answered(part, fail(Error{code, "it failed", {}}), is_of_server, kMoment);
  }
};

std::vector<std::size_t> workers_of(const std::vector<EvaluationQueue::Part>& parts) {
  std::vector<std::size_t> out;
  for (const auto& part : parts) out.push_back(part.worker);
  return out;
}

}  // namespace

TEST_CASE("evaluation: a pass has a part for each worker that is up or loading, and adds up what they counted") {
  Track track(3);
  take_down(track.workers, 0, kMoment);
  track.workers.up(0, 2, true, kMoment);  // it is loading
  take_down(track.workers, 1, kMoment);
  CHECK(track.queue.current() == nullptr);
  CHECK(track.queue.take_parts().empty());
  const auto pass = track.queue.begin("eval", 10, 7);
  CHECK(track.queue.current() == pass.get());
  CHECK(pass->pass().parts == 2);
  CHECK(pass->pass().seed == 7);
  const auto first = track.queue.take_parts();
  REQUIRE(workers_of(first) == std::vector<std::size_t>{2});
  CHECK(track.queue.take_parts().empty());  // one part at a time
  track.workers.ready(0, track.workers[0].generation(), Window(4), kMoment);
  const auto second = track.queue.take_parts();
  REQUIRE(workers_of(second) == std::vector<std::size_t>{0});
  CHECK(pass->runs_on(2));
  CHECK(track.counts(first[0], 6) == Answer::kCounted);
  CHECK_FALSE(pass->runs_on(2));
  CHECK(pass->left() == 1);
  CHECK_FALSE(pass->ended());
  CHECK(track.counts(second[0], 4) == Answer::kCounted);
  CHECK(pass->ended());
  CHECK(pass->values() == std::vector<std::pair<std::string, double>>{{"examples", 10}});
  track.queue.leave();
  CHECK(track.queue.current() == nullptr);
}

TEST_CASE("evaluation: without any worker there is one part, for the first to come") {
  Track track(1);
  take_down(track.workers, 0, kMoment);
  CHECK(track.queue.begin("eval", {}, 7)->pass().parts == 1);
  bring_up(track.workers, 0, Window(4), kMoment);
  CHECK(track.queue.take_parts().size() == 1);
}

TEST_CASE("evaluation: the part of a lost worker is done again elsewhere, and its late answer isn't counted") {
  Track track(2);
  const auto pass = track.queue.begin("eval", {}, 7);
  const auto parts = track.queue.take_parts();
  REQUIRE(parts.size() == 2);
  CHECK(track.fails(parts[0], Code::kUnavailable) == Answer::kWorkerLost);
  take_down(track.workers, 0, kMoment);
  track.queue.return_part(0);
  CHECK(track.counts(parts[0], 1) == Answer::kLate);
  CHECK(track.counts(parts[1], 2) == Answer::kCounted);
  const auto again = track.queue.take_parts();
  REQUIRE(workers_of(again) == std::vector<std::size_t>{1});
  CHECK(again[0].index == parts[0].index);
  CHECK(track.counts(again[0], 3) == Answer::kCounted);
  CHECK(pass->values().front().second == 5);
}

TEST_CASE("evaluation: a worker that can't reach a parameter server keeps no part, and gets none while it is paused") {
  Track track(1);
  track.queue.begin("eval", {}, 7);
  const auto parts = track.queue.take_parts();
  CHECK(track.fails(parts.at(0), Code::kUnavailable, true) == Answer::kServerFailed);
  track.workers.server_trouble(0, parts[0].generation, kMoment);
  CHECK(track.queue.take_parts().empty());
  CHECK(track.counts(parts[0], 1) == Answer::kLate);
  track.workers.resume(0, parts[0].generation);
  CHECK(track.queue.take_parts().at(0).index == parts[0].index);
}

TEST_CASE("evaluation: the first error of a part is the pass's, with its worker, and no part follows") {
  Track track(2);
  const auto pass = track.queue.begin("eval", {}, 7);
  const auto parts = track.queue.take_parts();
  CHECK(track.fails(parts.at(1), Code::kInvalidArgument) == Answer::kCounted);
  CHECK(pass->ended());
  CHECK(pass->error()->task == "worker:1");
  CHECK(track.fails(parts[0], Code::kInternal) == Answer::kCounted);
  CHECK(pass->error()->code == Code::kInvalidArgument);
  CHECK(track.queue.take_parts().empty());
}

TEST_CASE("evaluation: answers to a pass whose caller waits no longer don't count for the next one") {
  Track track(1);
  track.queue.begin("eval", {}, 7);
  const auto before = track.queue.take_parts();
  track.queue.leave();
  const auto pass = track.queue.begin("eval", {}, 8);
  const auto after = track.queue.take_parts();
  REQUIRE(after.size() == 1);
  track.counts(before.at(0), 100);
  CHECK(pass->left() == 1);
  track.counts(after[0], 1);
  CHECK(pass->values().front().second == 1);
}

TEST_CASE("evaluation: of many workers each has one part at a time, and lost ones are done by who is free first") {
  constexpr std::size_t kCount = 200;
  Track track(kCount);
  const auto pass = track.queue.begin("eval", {}, 7);
  auto parts = track.queue.take_parts();
  REQUIRE(parts.size() == kCount);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(parts[i].worker == i);
  for (const std::size_t lost : {70, 130}) {
    take_down(track.workers, lost, kMoment);
    track.queue.return_part(lost);
    track.queue.return_part(lost);  // once
  }
  CHECK(track.queue.take_parts().empty());  // all others are busy
  for (const std::size_t free : {199, 5}) {
    CHECK(track.counts(parts[free], 1) == Answer::kCounted);
    const auto again = track.queue.take_parts();
    REQUIRE(workers_of(again) == std::vector<std::size_t>{free});
    CHECK(again[0].index == parts[free == 199 ? 130 : 70].index);  // the one that was lost last comes first
    CHECK(track.counts(parts[free], 1) == Answer::kLate);          // that part is done
    parts[free] = again[0];
  }
  for (std::size_t i = 0; i < kCount; ++i)
    if (i != 70 && i != 130) CHECK(track.counts(parts[i], 1) == Answer::kCounted);
  CHECK(pass->ended());
  CHECK(pass->values().front().second == static_cast<double>(kCount));
}

TEST_CASE("evaluation: closing interrupts the current pass") {
  Track track(1);
  const auto pass = track.queue.begin("eval", {}, 7);
  track.queue.close();
  CHECK(track.queue.is_closed());
  CHECK(pass->error()->code == Code::kCancelled);
  track.queue.leave();
  track.queue.end({Code::kUnavailable, "ps:0 is gone", "ps:0"});  // there is none to end
  CHECK(pass->error()->message == "interrupted");
}

}  // namespace tfd::coordinator
