// SPDX-License-Identifier: Apache-2.0
#include "tfd/group/group.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <future>

#include <fmt/format.h>

#include "tfd/base/thread_annotations.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

/// Lines that a member says, on its own thread.
class Lines {
 public:
  void add(const std::string& line) {
    const MutexLock lock(mutex_);
    lines_.push_back(line);
    changed_.notify_all();
  }
  /// Waits for a line with this in it.
  bool have(const std::string& text) {
    MutexLock lock(mutex_);
    return lock.wait(changed_, Deadline::after(30s), [&]() TFD_REQUIRES(mutex_) {
      return std::ranges::any_of(lines_, [&](const auto& line) { return line.find(text) != std::string::npos; });
    });
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_ TFD_GUARDED_BY(mutex_);
};

/// Members that join by threads of their own.
class JoinBed {
 public:
  explicit JoinBed(int count, int least = 0) : least_(least), lines_(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i)
      members_.emplace_back(fmt::format("worker:{}", i), fmt::format("127.0.0.1:{}", i + 1));
  }
  std::future<Result<std::unique_ptr<group::Group>>> join(int rank, Duration within = 60s) {
    return std::async(std::launch::async, [this, rank, within] {
      group::GroupOptions options{.members = members_, .rank = rank, .min_members = least_};
      options.make_endpoint = [this](transport::EndpointOptions with) {
        return network_->make_endpoint(std::move(with));
      };
      options.stall_report = 20ms;
      options.say = [this, rank](const std::string& line) { lines(rank).add(line); };
      options.interruption = interruption_.get_token();
      return group::Group::form(std::move(options), Deadline::after(within));
    });
  }
  Lines& lines(int rank) { return lines_[static_cast<std::size_t>(rank)]; }
  void interrupt() { interruption_.request_stop(); }

 private:
  const std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  const int least_;
  std::vector<std::pair<std::string, std::string>> members_;
  std::vector<Lines> lines_;
  std::stop_source interruption_;
};

}  // namespace

TEST_CASE("group: who has asked to join says for whom the holder waits, and so does the holder") {
  for (const int least : {0, 3}) {
    JoinBed bed(3, least);
    auto first = bed.join(0), second = bed.join(1);
    CHECK(bed.lines(0).have("waiting for worker:2 to join"));
    CHECK(bed.lines(1).have("waiting for worker:2 to join"));
    auto third = bed.join(2);
    const auto one = first.get(), two = second.get(), three = third.get();
    CHECK(one);
    CHECK(two);
    CHECK(three);
    CHECK(bed.lines(0).have("worker:2 has joined after "));
    CHECK(bed.lines(1).have("worker:2 has joined after "));
  }
}

TEST_CASE("group: each whose time is over names all who are missing, with the same words") {
  JoinBed bed(4);
  auto first = bed.join(0, 5s), second = bed.join(1, 60s);
  for (auto* const one : {&first, &second}) {
    const auto ended = one->get();
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == Code::kDeadlineExceeded);
    CHECK(ended.error().message.starts_with("waited "));
    CHECK(ended.error().message.ends_with(" for worker:2, worker:3 to join"));
  }
  auto third = bed.join(2, 100ms);
  CHECK(third.get().error().message.ends_with(" for worker:0 to join"));
}

TEST_CASE("group: one whose time is over before the holder's names those that the holder waits for") {
  JoinBed bed(3);
  auto first = bed.join(0, 60s), second = bed.join(1, 5s);
  const auto ended = second.get();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kDeadlineExceeded);
  CHECK(ended.error().message.ends_with(" for worker:2 to join"));
  bed.interrupt();
  CHECK_FALSE(first.get());
}

TEST_CASE("group: an interruption ends the wait for others, whom it names") {
  JoinBed bed(3);
  auto first = bed.join(0), second = bed.join(1);
  CHECK(bed.lines(1).have("waiting for worker:2 to join"));
  bed.interrupt();
  for (auto* const one : {&first, &second}) {
    const auto ended = one->get();
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == Code::kCancelled);
    CHECK(ended.error().message.starts_with("interrupted while waiting for worker:"));
  }
}
