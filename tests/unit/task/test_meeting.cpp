// SPDX-License-Identifier: Apache-2.0
#include "group/meeting.hpp"

#include <doctest/doctest.h>

using namespace tfd;
using task::JoinRequest;
using task::Meeting;

namespace {

JoinRequest request_of(const std::string& name, std::int64_t pid = 1) {
  return {.name = name,
          .host = "h",
          .address = "127.0.0.1:" + std::to_string(4000 + pid),
          .pid = pid,
          .devices = 2,
          .agreement = {{"the program", "abc"}, {"--replicas", "4"}}};
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

TEST_CASE("meeting: members that differ are refused with what differs") {
  Meeting meeting({"worker:0", "worker:1"});
  REQUIRE(meeting.join(request_of("worker:0", 1)));
  JoinRequest other = request_of("worker:1", 2);
  other.agreement[1].second = "8";
  CHECK(meeting.join(other).error().message == "the members differ in --replicas: worker:0 has 4, worker:1 has 8");
  other.agreement.pop_back();
  CHECK(meeting.join(other).error().message == "worker:0 and worker:1 are of different versions of tfd");
}

TEST_CASE("meeting: messages are parsed back, and malformed ones are refused") {
  const JoinRequest request = request_of("worker:1", 7);
  const auto parsed = task::parse_join(task::format_join(request));
  REQUIRE(parsed);
  CHECK(parsed->agreement == request.agreement);
  CHECK(parsed->pid == 7);
  task::MeetingResult result{
      .generation = 3, .members = {{"worker:0", "h", "127.0.0.1:1"}}, .devices = {2}, .incarnations = {7}};
  result.secret[31] = std::byte{0xab};
  const auto told = task::parse_result(task::format_result(result));
  REQUIRE(told);
  CHECK(told->generation == 3);
  CHECK(told->secret == result.secret);
  for (const std::string text :
       {"", "[]", "{}", R"({"name": 1})", R"({"name": "w", "host": "h", "address": "a", "devices": 0})",
        R"({"name": "w", "host": "h", "address": "a", "devices": 1, "agreement": [1]})"})
    CHECK(task::parse_join(text).error().code == Code::kInvalidArgument);
  for (const std::string text : {"{}", R"({"generation": -1})", R"({"generation": 1, "members": [], "secret": "zz"})",
                                 R"({"generation": 1, "members": [{"name": "w"}], "secret": ""})"})
    CHECK(task::parse_result(text).error().code == Code::kInvalidArgument);
}
