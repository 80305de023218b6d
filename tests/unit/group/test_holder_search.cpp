// SPDX-License-Identifier: Apache-2.0
#include "holder_search.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace tfd;
using namespace std::chrono_literals;

namespace {

/// The knowledge of one task of four, worker:0 to worker:3.
struct Bed {
  explicit Bed(int own)
      : directory({{"worker:0", "a:1"}, {"worker:1", "b:1"}, {"worker:2", "c:1"}, {"worker:3", "d:1"}}, own) {}
  std::optional<std::string> next(bool may_begin = false) { return search.next(is_up(), may_begin); }
  std::vector<std::string> due(Clock::time_point now) { return search.due(is_up(), now); }
  group::HolderSearch::IsUp is_up() const {
    return [this](const std::string& name) { return up.contains(name); };
  }
  /// A generation of these, each as process 1.
  void adopt(std::uint64_t number, const std::vector<std::string>& members) {
    group::MeetingResult met{.generation = number};
    for (const std::string& name : members) {
      met.members.push_back({name, "h", "127.0.0.1:4000"});
      met.incarnations.push_back(1);
    }
    static_cast<void>(roster.adopt(met));
  }

  group::Directory directory;
  group::Roster roster;
  group::HolderSearch search{directory, roster, true};
  std::set<std::string> up;
};

}  // namespace

TEST_CASE("holder search: the first task holds the first meeting, whoever is up") {
  Bed bed(0);
  bed.up = {"worker:1"};
  CHECK(bed.next() == "worker:0");
}

TEST_CASE("holder search: a newcomer asks whoever is up, in turns") {
  Bed bed(2);
  CHECK_FALSE(bed.next());
  bed.up = {"worker:1", "worker:3"};
  CHECK(bed.next() == "worker:1");
  CHECK(bed.next() == "worker:3");
  CHECK(bed.next() == "worker:1");
}

TEST_CASE("holder search: a newcomer begins when it may, unless one that stands before it is up") {
  Bed bed(1);
  CHECK_FALSE(bed.next());
  CHECK(bed.next(true) == "worker:1");
  bed.up = {"worker:3"};
  std::set<std::string> asked{*bed.next(true), *bed.next(true)};
  CHECK(asked == std::set<std::string>{"worker:1", "worker:3"});
  bed.up = {"worker:0", "worker:3"};
  asked = {*bed.next(true), *bed.next(true), *bed.next(true)};
  CHECK(asked == std::set<std::string>{"worker:0", "worker:3"});
}

TEST_CASE("holder search: members know who holds the next meeting, the first that isn't lost") {
  Bed bed(3);
  bed.adopt(2, {"worker:1", "worker:3", "worker:0"});
  CHECK(bed.next() == "worker:1");
  CHECK(bed.search.refer().to == "worker:1");
  CHECK(bed.search.refer().generation == 2);
  CHECK(bed.search.refer().at == "b:1");
  bed.roster.lost("worker:1", 1, false);
  CHECK(bed.next() == "worker:3");
}

TEST_CASE("holder search: whom somebody names is asked next, once, unless it is lost, refuses, or is nobody's") {
  Bed bed(2);
  bed.search.follow({.to = "worker:3"});
  CHECK(bed.next() == "worker:3");
  CHECK_FALSE(bed.next());
  bed.roster.lost("worker:3", 1, false);
  bed.roster.refused("worker:1", {Code::kPermissionDenied, "uses a different key", "worker:1"});
  for (const char* const name : {"worker:1", "worker:2", "worker:3", "worker:9", ""}) {
    bed.search.follow({.to = name});
    CHECK_FALSE(bed.next());
  }
  bed.roster.up("worker:1", 2);
  bed.search.follow({.to = "worker:1"});
  CHECK(bed.next() == "worker:1");
  bed.search.follow({.to = "worker:9", .at = "127.0.0.1:9"});  // a new host's
  CHECK(bed.next() == "worker:9");
}

TEST_CASE("holder search: who asks a task that asks another one is sent there") {
  Bed bed(2);
  CHECK(bed.search.refer().to.empty());
  bed.search.begin_asking("worker:1");
  CHECK(bed.search.is_asking());
  CHECK(bed.search.refer().to == "worker:1");
  CHECK(bed.search.refer().at == "b:1");
  bed.search.end_asking();
  CHECK(bed.search.refer().to.empty());
}

TEST_CASE("holder search: a holder asks each that is up again after a while, and at once if it was away") {
  Bed bed(1);
  bed.search.begin_holding();
  bed.up = {"worker:0", "worker:1", "worker:3"};
  const auto now = Clock::now();
  CHECK(bed.due(now) == std::vector<std::string>{"worker:0", "worker:3"});
  CHECK(bed.due(now + 900ms).empty());
  bed.up.erase("worker:3");
  CHECK(bed.due(now + 1s) == std::vector<std::string>{"worker:0"});
  bed.up.insert("worker:3");
  CHECK(bed.due(now + 1100ms) == std::vector<std::string>{"worker:3"});
  bed.search.begin_holding();
  CHECK(bed.due(now + 1100ms).size() == 2);
}

TEST_CASE("holder search: a first meeting gives way to one of who stands before, and to any generation") {
  Bed bed(1);
  bed.search.begin_holding();
  CHECK_FALSE(bed.search.heard({.to = "worker:1"}));
  CHECK_FALSE(bed.search.heard({.to = "worker:3"}));
  CHECK_FALSE(bed.search.gives_way());
  CHECK(bed.search.heard({.to = "worker:0"}));
  CHECK(bed.search.gives_way());
  CHECK(bed.search.referred().to == "worker:0");
  bed.search.begin_holding();
  CHECK_FALSE(bed.search.gives_way());
  CHECK(bed.search.heard({.to = "worker:3", .generation = 1}));
  CHECK(bed.search.gives_way());
}

TEST_CASE(
    "holder search: a member's meeting gives way to a newer generation, and to who stands before it and is back") {
  Bed bed(3);
  bed.adopt(2, {"worker:1", "worker:3"});
  bed.roster.lost("worker:1", 1, false);
  bed.search.begin_holding();
  CHECK_FALSE(bed.search.heard({.to = "worker:0", .generation = 1}));
  CHECK_FALSE(bed.search.heard({.to = "worker:0", .generation = 2}));
  CHECK_FALSE(bed.search.gives_way());
  CHECK(bed.search.heard({.to = "worker:0", .generation = 3}));
  bed.search.begin_holding();
  bed.roster.up("worker:1", 1);
  CHECK(bed.search.gives_way());
  CHECK(bed.search.referred().to == "worker:1");
  bed.roster.lost("worker:1", 1, false);
  CHECK(bed.search.gives_way());  // the decision stands until the next meeting
}
