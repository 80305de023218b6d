// SPDX-License-Identifier: Apache-2.0
#include "meeting.hpp"

#include "held_meeting.hpp"
#include "roster.hpp"
#include "stall_line.hpp"
#include "tfd/group/group.hpp"

#include <doctest/doctest.h>

using namespace tfd;
using group::Generation;
using group::JoinRequest;
using group::Meeting;

namespace {

JoinRequest request_of(const std::string& name, std::int64_t pid = 1) {
  return {.name = name,
          .host = "h",
          .address = "127.0.0.1:" + std::to_string(4000 + pid),
          .at = "127.0.0.1:" + std::to_string(7000 + pid),
          .pid = pid,
          .devices = 2,
          .agreement = {{"the program", "abc"}, {"--replicas", "4"}}};
}

JoinRequest member_of(const std::string& name, const Generation& last) {
  JoinRequest out = request_of(name);
  out.last = last;
  return out;
}

std::string names_of(const group::MeetingResult& result) {
  std::string out;
  for (const auto& member : result.members) out += (out.empty() ? "" : " ") + member.name;
  return out;
}

}  // namespace

TEST_CASE("meeting: it is complete when every name has come, in any order") {
  Meeting meeting({"worker:0", "worker:1", "worker:2"});
  CHECK(meeting.join(request_of("worker:2", 3)).value() == 2);
  CHECK(meeting.missing() == std::vector<std::string>{"worker:0", "worker:1"});
  CHECK(meeting.join(request_of("worker:0", 1)).value() == 0);
  CHECK(meeting.join(request_of("worker:1", 2)).value() == 1);
  REQUIRE(meeting.is_complete());
  const auto result = meeting.end({});
  REQUIRE(result.members.size() == 3);
  CHECK(result.members[1].name == "worker:1");
  CHECK(result.members[1].address == "127.0.0.1:4002");
  CHECK(result.devices == std::vector<int>{2, 2, 2});
}

TEST_CASE("meeting: who leaves before it is over is missing again, and may come back as another process") {
  Meeting meeting({"worker:0", "worker:1"});
  REQUIRE(meeting.join(request_of("worker:0", 1)));
  REQUIRE(meeting.join(request_of("worker:1", 2)));
  meeting.forget(1);
  CHECK(meeting.missing() == std::vector<std::string>{"worker:1"});
  CHECK(meeting.join(request_of("worker:1", 3)));
  CHECK(meeting.join(request_of("worker:1", 3)));  // it reconnected
}

TEST_CASE("meeting: strangers, second processes and latecomers are refused") {
  Meeting meeting({"worker:0", "worker:1"});
  CHECK(meeting.join(request_of("worker:7")).error().message == "worker:7 is none of the 2 members of this group");
  REQUIRE(meeting.join(request_of("worker:1", 2)));
  const auto second = meeting.join(request_of("worker:1", 3));
  CHECK(second.error().code == Code::kAlreadyExists);
  CHECK(second.error().message == "worker:1 has joined already, as process 2");
  REQUIRE(meeting.join(request_of("worker:0", 1)));
  static_cast<void>(meeting.end({}));
  CHECK(meeting.join(request_of("worker:1", 9)).error().code == Code::kFailedPrecondition);
}

TEST_CASE("meeting: with a most number, others come, too, up to that, and are behind those that were known") {
  Meeting meeting({"worker:0", "worker:1"}, 1, 3);
  REQUIRE(meeting.join(request_of("worker:0", 1)));
  CHECK(meeting.join(request_of("worker:3", 3)).value() == 2);
  CHECK(meeting.missing() == std::vector<std::string>{"worker:1"});
  REQUIRE(meeting.join(request_of("worker:1", 2)));
  CHECK(meeting.join(request_of("worker:3", 3)).value() == 2);  // it reconnected
  const auto refused = meeting.join(request_of("worker:2", 4));
  CHECK(refused.error().code == Code::kFailedPrecondition);
  CHECK(refused.error().message == "worker:2 is too many: the group has 3 members of at most 3");
  const auto result = meeting.end({});
  CHECK(names_of(result) == "worker:0 worker:1 worker:3");
  CHECK(result.at == std::vector<std::string>{"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"});
}

TEST_CASE("directory: who is new stands where the cluster has it, and who comes again elsewhere has another address") {
  group::Directory directory({{"worker:0", "a:1"}, {"worker:2", "c:1"}}, 1);
  directory.learn("worker:10", "k:1");
  directory.learn("worker:1", "b:1");
  directory.learn("chief:0", "z:1");
  CHECK(directory.names() == std::vector<std::string>{"chief:0", "worker:0", "worker:1", "worker:2", "worker:10"});
  directory.learn("worker:1", "b:2");
  CHECK(directory.address_of("worker:1") == "b:2");
  directory.learn("worker:1", "");
  CHECK(directory.address_of("worker:1") == "b:2");
  directory.learn("worker:2", "elsewhere:1");  // itself
  CHECK(directory.address_of("worker:2") == "c:1");
  CHECK(directory.comes_before_own("worker:1"));
  CHECK_FALSE(directory.comes_before_own("worker:10"));
  CHECK_FALSE(directory.comes_before_own("worker:7"));
  CHECK_FALSE(directory.knows("worker:7"));
}

TEST_CASE("meeting: members that differ are refused with what differs") {
  Meeting meeting({"worker:0", "worker:1"});
  REQUIRE(meeting.join(request_of("worker:0", 1)));
  JoinRequest other = request_of("worker:1", 2);
  other.agreement[1].second = "8";
  const std::string difference = "the members differ in --replicas: worker:0 has 4, worker:1 has 8";
  CHECK(meeting.join(other).error().message == difference);
  REQUIRE(meeting.difference());
  CHECK(meeting.difference()->message == difference);
  CHECK(meeting.join(request_of("worker:1", 3)).error().message == difference);  // all end with the first one
  CHECK(meeting.has_seen_all());
  Meeting others({"worker:0", "worker:1"}, 1);
  REQUIRE(others.join(request_of("worker:0", 1)));
  other.agreement.pop_back();
  CHECK(others.join(other).error().message == "worker:0 and worker:1 are of different versions of tfd");
  CHECK_FALSE(others.difference());  // they may go on without it
  CHECK(others.join(request_of("worker:1", 3)));
}

TEST_CASE("meeting: of values with parts the first part is named that differs, or that only one has") {
  const auto difference = [](const group::AgreementParts& one, const group::AgreementParts& other) {
    JoinRequest first = request_of("worker:0", 1), second = request_of("worker:1", 2);
    first.agreement = {{"the program", group::format_parts(one, "aa")}};
    second.agreement = {{"the program", group::format_parts(other, "bb")}};
    return group::check_agreement(first, second).error().message;
  };
  const group::AgreementParts parts{{"datasets.train[0].range", "1000"}, {"step.mlir", "12 bytes, SHA-256 0af3"}};
  CHECK(difference(parts, {parts[0], {"step.mlir", "13 bytes, SHA-256 9b00"}}) ==
        "the members differ in the program: step.mlir: worker:0 has 12 bytes, SHA-256 0af3, worker:1 has 13 bytes, "
        "SHA-256 9b00");
  CHECK(difference({parts[0]}, parts) ==
        "the members differ in the program: step.mlir: worker:0 has none, worker:1 has 12 bytes, SHA-256 0af3");
  CHECK(difference(parts, parts) == "the members differ in the program: worker:0 has aa, worker:1 has bb");
  const group::AgreementParts many(10'000, parts[0]);
  CHECK(difference(parts, many) == "the members differ in the program: worker:0 has aa, worker:1 has bb");
  CHECK(difference({{"a", std::string(500, 'x')}}, {{"a", "y"}}) ==
        fmt::format("the members differ in the program: a: worker:0 has {}…, worker:1 has y", std::string(100, 'x')));
}

TEST_CASE("meeting: with a least number, a first generation may begin without the rest") {
  Meeting meeting({"worker:0", "worker:1", "worker:2"}, 2);
  REQUIRE(meeting.join(request_of("worker:2", 3)));
  CHECK_FALSE(meeting.is_enough());
  REQUIRE(meeting.join(request_of("worker:0", 1)));
  CHECK(meeting.is_enough());
  CHECK(meeting.missing() == std::vector<std::string>{"worker:1"});
  const auto result = meeting.end({});
  CHECK(result.generation == 1);
  CHECK(names_of(result) == "worker:0 worker:2");
}

TEST_CASE("meeting: members that are left keep their order, and newcomers come after them") {
  const Generation last{3, {"worker:2", "worker:0", "worker:1"}};
  Meeting meeting({"worker:0", "worker:1", "worker:2", "worker:3"}, 1);
  REQUIRE(meeting.join(member_of("worker:0", last)));
  REQUIRE(meeting.join(request_of("worker:1", 9)));  // another process of this name
  REQUIRE(meeting.join(request_of("worker:3", 4)));
  CHECK(meeting.missing() == std::vector<std::string>{"worker:2"});
  CHECK_FALSE(meeting.is_enough());  // that is for first generations
  REQUIRE(meeting.join(member_of("worker:2", last)));
  CHECK(meeting.is_complete());
  const auto result = meeting.end({});
  CHECK(result.generation == 4);
  CHECK(names_of(result) == "worker:2 worker:0 worker:1 worker:3");
}

TEST_CASE("meeting: who is lost isn't waited for, if those who are here may go on") {
  const Generation last{1, {"worker:0", "worker:1", "worker:2", "worker:3"}};
  const std::vector<std::string> names = last.members;
  {
    Meeting meeting(names, 1);
    REQUIRE(meeting.join(member_of("worker:0", last)));
    for (const char* const name : {"worker:1", "worker:2", "worker:3"}) meeting.set_lost(name, true);
    // One of four that doesn't know that the others have ended.
    CHECK(meeting.missing() == std::vector<std::string>{"worker:1", "worker:2", "worker:3"});
    REQUIRE(meeting.join(member_of("worker:3", last)));  // half, with the first
    CHECK(meeting.is_complete());
  }
  {
    Meeting meeting(names, 1);
    REQUIRE(meeting.join(member_of("worker:1", last)));
    REQUIRE(meeting.join(member_of("worker:2", last)));
    meeting.set_lost("worker:0", true);
    meeting.set_lost("worker:3", true);
    CHECK_FALSE(meeting.is_complete());  // half, without the first
    auto informed = member_of("worker:2", last);
    informed.ended = {"worker:0", "worker:3"};
    REQUIRE(meeting.join(informed));
    CHECK(meeting.is_complete());
  }
  {
    Meeting meeting(names, 3);
    REQUIRE(meeting.join(member_of("worker:0", last)));
    REQUIRE(meeting.join(member_of("worker:1", last)));
    meeting.set_lost("worker:2", true);
    meeting.set_lost("worker:3", true);
    CHECK_FALSE(meeting.is_complete());  // too few
    meeting.set_lost("worker:3", false);
    CHECK(meeting.missing() == std::vector<std::string>{"worker:3"});
    REQUIRE(meeting.join(request_of("worker:3", 7)));
    CHECK(meeting.is_complete());
  }
}

TEST_CASE("meeting: of two members that don't reach each other the later one is left out") {
  const Generation last{2, {"worker:0", "worker:1", "worker:2"}};
  Meeting meeting(last.members, 1);
  for (const std::string& name : last.members) {
    auto request = member_of(name, last);
    request.incarnation = 10;
    if (name == "worker:1") request.unreached = {{"worker:2", 10}};
    REQUIRE(meeting.join(request));
  }
  CHECK(meeting.left_out() == std::vector<std::string>{"worker:2"});
  CHECK(meeting.apart_from("worker:2") == std::vector<std::string>{"worker:1"});
  CHECK(meeting.is_complete());
  SUBCASE("and told whom it has to reach") {
    const auto result = meeting.end({});
    CHECK(result.generation == 3);
    CHECK(names_of(result) == "worker:0 worker:1");
    const auto referral = group::referral_apart(meeting, result, "worker:2");
    CHECK(referral.to == "worker:0");
    CHECK(referral.generation == 3);
    CHECK(referral.members == std::vector<std::string>{"worker:0", "worker:1"});
    CHECK(referral.apart == std::vector<std::string>{"worker:1"});
  }
  SUBCASE("unless it is another process that wasn't reached") {
    auto again = member_of("worker:2", last);
    again.incarnation = 11;
    REQUIRE(meeting.join(again));
    CHECK(meeting.left_out().empty());
  }
  SUBCASE("or who says so isn't a member any more") {
    auto old = request_of("worker:1");
    old.incarnation = 10;
    old.unreached = {{"worker:2", 10}};
    REQUIRE(meeting.join(old));
    CHECK(meeting.left_out().empty());
  }
}

TEST_CASE("meeting: who reaches fewest is left out first, and those that are left need the quorum") {
  const Generation last{2, {"worker:0", "worker:1", "worker:2", "worker:3"}};
  const auto joins = [&](Meeting& meeting, const std::string& name, std::vector<std::string> unreached = {}) {
    auto request = member_of(name, last);
    request.incarnation = 10;
    for (const std::string& one : unreached) request.unreached.emplace_back(one, 10);
    REQUIRE(meeting.join(request));
  };
  {
    Meeting meeting(last.members, 1);
    joins(meeting, "worker:0", {"worker:1"});
    joins(meeting, "worker:1", {"worker:3"});
    joins(meeting, "worker:2");
    joins(meeting, "worker:3");
    CHECK(meeting.left_out() == std::vector<std::string>{"worker:1"});
    CHECK(names_of(meeting.end({})) == "worker:0 worker:2 worker:3");
  }
  {
    Meeting meeting(last.members, 4);
    joins(meeting, "worker:0");
    joins(meeting, "worker:1", {"worker:3"});
    joins(meeting, "worker:2");
    joins(meeting, "worker:3");
    CHECK(meeting.missing() == std::vector<std::string>{"worker:3"});  // four are needed
  }
}

TEST_CASE("roster: a member that is lost in silence isn't reached, nor is one that the collectives didn't connect to") {
  group::Roster roster;
  const group::MeetingResult met{.generation = 1,
                                 .members = {{"worker:0", "h", "a"}, {"worker:1", "h", "a"}, {"worker:2", "h", "a"}},
                                 .devices = {1, 1, 1},
                                 .incarnations = {10, 11, 12},
                                 .at = {"h:1", "h:2", "h:3"}};
  roster.adopt(met);
  CHECK(roster.unreached().empty());
  using Names = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(roster.lost("worker:1", 11, false, "no heartbeat for 4s", true));
  CHECK(roster.lost("worker:2", 12, false, "its connection has ended"));  // it may be up again at once
  CHECK(roster.unreached() == Names{{"worker:1", 11}});
  roster.up("worker:1", 11);
  CHECK(roster.unreached().empty());
  roster.set_unconnected({"worker:2"});
  roster.up("worker:2", 12);
  CHECK(roster.unreached() == Names{{"worker:2", 12}});
  roster.set_unconnected({});
  CHECK(roster.unreached().empty());
}

TEST_CASE("meeting: what counts is the newest generation that somebody was a member of") {
  const Generation older{3, {"worker:0", "worker:1", "worker:2"}}, newer{4, {"worker:1", "worker:2"}};
  Meeting meeting({"worker:0", "worker:1", "worker:2"}, 1);
  REQUIRE(meeting.join(member_of("worker:0", older)));
  REQUIRE(meeting.join(member_of("worker:1", newer)));
  CHECK(meeting.missing() == std::vector<std::string>{"worker:2"});
  REQUIRE(meeting.join(member_of("worker:2", newer)));
  const auto result = meeting.end({});
  CHECK(result.generation == 5);
  CHECK(names_of(result) == "worker:1 worker:2 worker:0");
}

TEST_CASE("meeting: of two sides of a cut one has the quorum at most") {
  const Generation last{1, {"a", "b", "c", "d", "e"}};
  for (std::size_t count = 1; count <= last.members.size(); ++count) {
    const Generation of{1, {last.members.begin(), last.members.begin() + static_cast<std::ptrdiff_t>(count)}};
    for (std::size_t side = 0; side < (std::size_t{1} << count); ++side) {
      std::vector<std::string> here, there;
      for (std::size_t i = 0; i < count; ++i) ((side >> i) % 2 == 1 ? here : there).push_back(of.members[i]);
      CHECK_FALSE((group::has_quorum(of, here, {}) && group::has_quorum(of, there, {})));
      CHECK(group::has_quorum(of, here, there) == !here.empty());
    }
  }
}

TEST_CASE("roster: the first member that isn't lost holds the next meeting; who is replaced has ended") {
  group::Roster roster;
  CHECK(roster.holder().empty());
  const group::MeetingResult met{.generation = 2,
                                 .members = {{"worker:1", "h", "a"}, {"worker:0", "h", "b"}},
                                 .devices = {1, 1},
                                 .incarnations = {11, 10},
                                 .at = {"h1:7000", "h0:7000"}};
  roster.adopt(met);
  CHECK(roster.holder() == "worker:1");
  CHECK(roster.lost("worker:1", 11, false));
  CHECK(roster.holder() == "worker:0");
  CHECK(roster.ended().empty());
  roster.up("worker:1", 11);  // it was only silent
  CHECK(roster.holder() == "worker:1");
  CHECK(roster.lost("worker:1", 11, true));
  CHECK(roster.ended() == std::vector<std::string>{"worker:1"});
  roster.up("worker:1", 12);  // another process
  CHECK(roster.ended() == std::vector<std::string>{"worker:1"});
  CHECK(roster.holder() == "worker:0");
  roster.adopt({.generation = 3, .members = met.members, .devices = {1, 1}, .incarnations = {12, 10}, .at = met.at});
  CHECK(roster.ended().empty());
  CHECK_FALSE(roster.lost("worker:1", 11, true));  // known late of the process that was replaced
  CHECK(roster.holder() == "worker:1");
}

TEST_CASE("meeting: messages are parsed back, and malformed ones are refused") {
  JoinRequest request = request_of("worker:1", 7);
  request.unreached = {{"worker:2", 8}};
  const auto parsed = group::parse_join(group::format_join(request));
  REQUIRE(parsed);
  CHECK(parsed->agreement == request.agreement);
  CHECK(parsed->pid == 7);
  CHECK(parsed->at == "127.0.0.1:7007");
  CHECK(parsed->unreached == request.unreached);
  group::MeetingResult result{.generation = 3,
                              .members = {{"worker:0", "h", "127.0.0.1:1"}},
                              .devices = {2},
                              .incarnations = {7},
                              .at = {"h:7000"}};
  result.secret[31] = std::byte{0xab};
  const auto told = group::parse_result(group::format_result(result));
  REQUIRE(told);
  CHECK(told->generation == 3);
  CHECK(told->secret == result.secret);
  CHECK(told->at == result.at);
  const auto referral = group::parse_referral(
      group::format_referral({"worker:2", 4, "h2:7000", {"worker:1"}, {"worker:3"}, {"worker:4"}}));
  REQUIRE(referral);
  CHECK(referral->to == "worker:2");
  CHECK(referral->generation == 4);
  CHECK(referral->at == "h2:7000");
  CHECK(referral->missing == std::vector<std::string>{"worker:1"});
  CHECK(referral->members == std::vector<std::string>{"worker:3"});
  CHECK(referral->apart == std::vector<std::string>{"worker:4"});
  CHECK(group::parse_referral(group::format_referral({.to = "worker:2", .at = "nowhere"}))->at.empty());
  CHECK_FALSE(group::parse_referral(group::format_result(result)));  // each answer says which one it is
  CHECK_FALSE(group::parse_result(group::format_referral({.to = "worker:2"})));
}

TEST_CASE("meeting: messages that are cut off, or say what can't be, are refused") {
  JoinRequest request = request_of("worker:1", 7);
  request.unreached = {{"worker:2", 8}};
  const group::MeetingResult result{.generation = 3,
                                    .members = {{"worker:0", "h", "127.0.0.1:1"}},
                                    .devices = {2},
                                    .incarnations = {7},
                                    .at = {"h:7000"}};
  const std::string join = group::format_join(request), answer = group::format_result(result);
  for (std::size_t size = 0; size < join.size(); ++size)
    CHECK(group::parse_join(join.substr(0, size)).error().code == Code::kInvalidArgument);
  for (std::size_t size = 0; size < answer.size(); ++size)
    CHECK(group::parse_result(answer.substr(0, size)).error().code == Code::kInvalidArgument);
  CHECK_FALSE(group::parse_join(join + "x"));
  CHECK_FALSE(group::parse_result(answer + "x"));
  const auto joins = [&](auto change) {
    JoinRequest one = request;
    change(one);
    return group::parse_join(group::format_join(one)).has_value();
  };
  CHECK(joins([](JoinRequest&) {}));
  CHECK_FALSE(joins([](JoinRequest& one) { one.name = ""; }));
  CHECK_FALSE(joins([](JoinRequest& one) { one.at = "nowhere"; }));
  CHECK_FALSE(joins([](JoinRequest& one) { one.devices = 0; }));
  CHECK_FALSE(joins([](JoinRequest& one) { one.last = {.number = 2}; }));
  CHECK_FALSE(joins([](JoinRequest& one) { one.last = {.number = 0, .members = {"w"}}; }));
  CHECK_FALSE(joins([](JoinRequest& one) { one.ended.resize(5000); }));
  const auto results = [&](auto change) {
    group::MeetingResult one = result;
    change(one);
    return group::parse_result(group::format_result(one)).has_value();
  };
  CHECK(results([](group::MeetingResult&) {}));
  CHECK_FALSE(results([](group::MeetingResult& one) { one.members[0].host = ""; }));
  CHECK_FALSE(results([](group::MeetingResult& one) { one.devices = {}; }));
  CHECK_FALSE(results([](group::MeetingResult& one) { one.devices = {0}; }));
  CHECK_FALSE(results([](group::MeetingResult& one) { one.at = {"nowhere"}; }));
}

TEST_CASE("stall line: it says what those do for whom a member waits, as they say themselves") {
  const std::vector<std::string> members{"worker:0", "worker:1", "worker:2"};
  task::TaskStatus own, other;
  own.doing = "step 23";
  group::StallLine line(own, {"all_gather", std::chrono::seconds(10), {1, 2}, "worker:1, worker:2"}, members);
  CHECK(line.asked() == std::vector<std::string>{"worker:1", "worker:2"});
  other.doing = "step 23";
  other.doing_ms = 9400;
  other.waits_for = "its data (cat a.csv)";
  line.answered("worker:1", other);
  CHECK_FALSE(line.is_complete());
  line.answered("worker:2", fail(Code::kDeadlineExceeded, "no answer"));
  REQUIRE(line.is_complete());
  CHECK(
      line.text() ==
      "step 23 has waited 10s for worker:1, which has waited for its data (cat a.csv) for 9s, and for worker:2, which "
      "doesn't answer");
  const group::StallLine of_mpi(own, {"all_reduce", std::chrono::seconds(10), {}, "an end of MPI"}, members);
  CHECK(of_mpi.asked().empty());
  CHECK(of_mpi.text() == "step 23 has waited 10s for an end of MPI");
}

TEST_CASE("stall line: it is due after a while, then every three times as long, and anew in another wait") {
  using std::chrono::seconds;
  group::StallTimer timer(seconds(10));
  CHECK_FALSE(timer.is_due(seconds(9)));
  CHECK(timer.is_due(seconds(10)));
  CHECK_FALSE(timer.is_due(seconds(39)));
  CHECK(timer.is_due(seconds(40)));
  CHECK_FALSE(timer.is_due(seconds(1)));
  CHECK(timer.is_due(seconds(10)));
}
