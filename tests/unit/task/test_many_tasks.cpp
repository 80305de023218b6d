// SPDX-License-Identifier: Apache-2.0
//
// The coordination service of thousands of tasks: what it does for each doesn't grow with their number, and its indexes
// say what a look at everything would say.
#include <algorithm>
#include <random>

#include "coordinated.hpp"

namespace tfd::task::test {
namespace {

using Names = std::vector<std::string>;

std::string name_of(std::uint64_t i) { return "worker:" + std::to_string(i); }

TakeNumbers take_of(std::uint64_t client, std::optional<std::int64_t> end = {}, std::uint32_t most = 4) {
  return {.queue = "q", .client = client, .name = name_of(client), .end = end, .most = most, .has_all = true};
}

TEST_CASE("many tasks: who watches a group hears of each change once") {
  constexpr std::uint64_t kCount = 1000;
  Coordinated all;
  std::map<std::string, MemberState> known;
  std::uint64_t version = 0, waits = all.ask(0, {ReadGroup{"g", version}, kWaits});
  std::size_t told = 0;
  const auto hear = [&] {
    const auto group = all.answer<GroupState>(waits).value();
    told += group.members.size();
    for (const GroupMember& member : group.members) known[member.name] = member.state;
    version = group.version;
    waits = all.ask(0, {ReadGroup{"g", version}, kWaits});
  };
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    REQUIRE(all.now<GroupState>(i, {JoinGroup{"g", name_of(i)}}));
    if (all.is_answered(waits)) hear();
  }
  CHECK(told == kCount);
  for (std::uint64_t i = 1; i <= kCount; ++i) all.keep(all.state.connection_gone(i));
  while (all.is_answered(waits)) hear();
  CHECK(told == kCount + kCount);
  CHECK(std::ranges::all_of(known, [](const auto& one) { return one.second == MemberState::kGone; }));
  CHECK(known.size() == kCount);
}

TEST_CASE("many tasks: who finds no numbers doesn't have all looked at that others hold") {
  constexpr std::uint64_t kCount = 1000;
  constexpr std::int64_t kEnd = 4 * kCount;
  std::int64_t done = 0;
  std::size_t looks = 0;
  Coordinated all([&](std::int64_t number) {
    ++looks;
    return number < done;
  });
  for (std::uint64_t i = 1; i <= kCount; ++i) REQUIRE(all.now<NumbersState>(i, {take_of(i), kWaits})->count == 4);
  std::vector<std::uint64_t> waiting;
  for (std::uint64_t i = 1; i <= kCount; ++i)
    waiting.push_back(all.ask(kCount + i, {take_of(kCount + i, kEnd), kWaits}));
  CHECK(looks <= 3 * kCount);
  const auto held = all.now<NumbersState>(9999, {take_of(9999, kEnd), 0})->held_by;
  REQUIRE(held.size() == 9);
  CHECK(held.front() == "worker:1");
  CHECK(held.back() == "992 others");
  looks = 0;
  for (done = 1; done < kEnd; ++done) all.keep(all.state.updated());
  for (const auto ticket : waiting) CHECK_FALSE(all.is_answered(ticket));
  CHECK(looks <= 3 * kEnd);
  all.keep(all.state.updated());  // the last one is applied: nobody has anything left, whoever asks for more
  for (const auto ticket : waiting) CHECK(all.answer<NumbersState>(ticket)->is_over);
}

TEST_CASE("many tasks: numbers that come back go to as many as there are for, in the order in which they came") {
  Coordinated all;
  for (const std::uint64_t client : {1, 2})
    REQUIRE(all.now<NumbersState>(client, {take_of(client, {}, 1)})->count == 1);
  std::vector<std::uint64_t> waiting;
  for (std::uint64_t client = 3; client < 6; ++client) waiting.push_back(all.ask(client, {take_of(client, 2), kWaits}));
  all.keep(all.state.connection_gone(2));
  CHECK(all.answer<NumbersState>(waiting[0])->first == 1);
  CHECK_FALSE(all.is_answered(waiting[1]));
  all.keep(all.state.connection_gone(4));  // it no longer waits
  all.keep(all.state.connection_gone(1));
  CHECK_FALSE(all.is_answered(waiting[1]));
  CHECK(all.answer<NumbersState>(waiting[2])->first == 0);
}

TEST_CASE("many tasks: an update says that the queue is finished only where all parts of it are known") {
  bool is_done = false;
  Coordinated all([&](std::int64_t) { return is_done; });
  TakeNumbers take = take_of(1, 1);
  take.has_all = false;
  REQUIRE(all.now<NumbersState>(1, {take})->count == 1);
  take.client = 2;
  const auto waits = all.ask(2, {take, kWaits});
  is_done = true;
  all.keep(all.state.updated());
  CHECK_FALSE(all.is_answered(waits));  // another parameter server may not have its part yet
  all.keep(all.state.wait_over(waits));
  CHECK(all.now<NumbersState>(2, {take})->is_over);
}

/// Members of one group, by the connection that has each; every one looked at.
struct Model {
  struct Member {
    MemberState state;
    std::uint64_t connection;
  };
  std::map<std::string, Member> members;
  std::map<std::uint64_t, std::uint64_t> waiting;  // ticket -> connection

  void gone(std::uint64_t connection) {
    for (auto& [name, member] : members)
      if (member.state == MemberState::kHere && member.connection == connection) member.state = MemberState::kGone;
    std::erase_if(waiting, [&](const auto& one) { return one.second == connection; });
  }
};

TEST_CASE("many tasks: the end of a connection takes along what it had, as a look at everything would") {
  constexpr std::uint64_t kConnections = 12;
  const auto names = [] {
    Names out;
    for (std::uint64_t i = 0; i < 20; ++i) out.push_back(name_of(i));
    return out;
  }();
  std::mt19937 random(7);
  Coordinated all;
  Model model;
  const auto any = [&](std::size_t most) { return random() % most; };
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t connection = 1 + any(kConnections);
    const std::string& name = names[any(names.size())];
    switch (any(4)) {
      case 0:
        REQUIRE(all.now<GroupState>(connection, {JoinGroup{"g", name}}));
        model.members[name] = {MemberState::kHere, connection};
        break;
      case 1:
        if (all.now<GroupState>(connection, {LeaveGroup{"g", name}})) model.members.at(name).state = MemberState::kLeft;
        break;
      case 2: {
        const auto ticket = all.ask(connection, {GetKey{"k", 1'000'000'000}, kWaits});
        if (!all.is_answered(ticket)) model.waiting[ticket] = connection;
        break;
      }
      default:
        all.keep(all.state.connection_gone(connection));
        model.gone(connection);
    }
    if (step % 50 != 0) continue;
    std::string members;
    for (const auto& [member, its] : model.members)
      members += member + (its.state == MemberState::kHere ? "+ " : its.state == MemberState::kLeft ? "- " : "! ");
    REQUIRE(members_of(all.now<GroupState>(0, {ReadGroup{"g", {}}}).value()) == members);
    std::size_t waiting = 0;
    for (std::uint64_t one = 1; one <= kConnections; ++one) {
      for (const auto ticket : all.state.waiting_of(one)) REQUIRE(model.waiting.at(ticket) == one);
      waiting += all.state.waiting_of(one).size();
    }
    REQUIRE(waiting == model.waiting.size());
  }
}

}  // namespace
}  // namespace tfd::task::test
