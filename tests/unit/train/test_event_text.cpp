// SPDX-License-Identifier: Apache-2.0
//
// Events as lines for people.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tfd/train/event_text.hpp"

namespace tfd::train {
namespace {

TEST_CASE("event text: a training from its start to its end") {
  EventText text({});
  CHECK(text.line_of(
            R"({"event":"start","task":"local","program":"p.json","step":0,"steps":300,"workers":1,"replicas":2})"
            "\n") == "step   0/300  training p.json, 1 worker, 2 replicas\n");
  CHECK(text.line_of(R"({"event":"step","task":"local","step":100,"metrics":{"loss":1.56592,"accuracy":0.9},)"
                     R"("rates":{"steps_per_second":306.79}})") == "step 100/300  loss 1.566, accuracy 0.9  306.8/s\n");
  CHECK(text.line_of(R"({"event":"eval","step":100,"metrics":{"loss":"NaN"},"seconds":0.25})") ==
        "step 100/300  evaluation: loss nan  0.25s\n");
  CHECK(text.line_of(
            R"({"event":"epoch","epoch":2,"epochs":6,"step":100,"metrics":{"loss":0.5},"eval":{"accuracy":0.75},)"
            R"("learning_rate":0.001,"seconds":2.5})") ==
        "step 100/300  epoch 2/6: loss 0.5; evaluation: accuracy 0.75; learning rate 0.001  2.50s\n");
  CHECK(text.line_of(R"({"event":"checkpoint","step":100,"path":"ck/best/a","best":true})") ==
        "step 100/300  best so far: saved ck/best/a\n");
  CHECK(text.line_of(R"({"event":"worker","task":"worker:1","state":"lost","step":120,"reason":"silent"})") ==
        "step 120/300  worker:1 lost: silent\n");
  CHECK(
      text.line_of(
          R"({"event":"server","task":"ps:1","state":"lost","step":130,"reason":"ps:1 is gone","failure":1,"max_failures":3})") ==
      "step 130/300  ps:1 is gone; failure 1, at most 3\n");
  CHECK(text.line_of(
            R"({"event":"end","reason":"done","step":300,"metrics":{"loss":0.5},"eval":{"loss":0.25},"seconds":2})") ==
        "step 300/300  done: loss 0.5; evaluation: loss 0.25  2.00s\n");
  CHECK(text.line_of(R"({"event":"end","reason":"error","step":7,"metrics":{},"error":{"message":"gone"}})") ==
        "step   7/300  ended by an error: gone\n");
}

TEST_CASE("event text: a checkpoint that is saved again, with the best variables, is said once") {
  EventText text({});
  const auto saved = [&](int step, const char* path, const char* more = "") {
    return text.line_of(fmt::format(R"({{"event":"checkpoint","step":{},"path":"{}"{}}})", step, path, more));
  };
  CHECK(saved(10, "ck/a") == "step 10  saved ck/a\n");
  CHECK(saved(10, "ck/best/a", R"(,"best":true)") == "step 10  best so far: saved ck/best/a\n");
  CHECK(saved(10, "ck/a").empty());
  CHECK(saved(20, "ck/b") == "step 20  saved ck/b\n");
  CHECK(saved(30, "ck/a") == "step 30  saved ck/a\n");
}

TEST_CASE("event text: workers that aren't up yet") {
  EventText text({});
  CHECK(
      text.line_of(R"({"event":"start","program":"p.json","step":0,"workers":1,"expected_workers":3,"replicas":1})") ==
      "step 0  training p.json, 1 of 3 workers, 1 replica\n");
  CHECK(
      text.line_of(R"({"event":"start","program":"p.json","step":0,"workers":3,"expected_workers":3,"replicas":1})") ==
      "step 0  training p.json, 3 workers, 1 replica\n");
}

TEST_CASE("event text: names of tasks, unknown ends, and what somebody else says") {
  EventText named({.names_tasks = true, .says_news = false});
  CHECK(named.line_of(R"({"event":"step","task":"worker:1","step":5,"metrics":{},"rates":{"steps_per_second":2}})") ==
        "worker:1  step 5  2/s\n");
  CHECK(named.line_of(R"({"event":"worker","task":"worker:1","state":"back","step":5})").empty());
  CHECK(named.line_of(R"({"event":"end","reason":"done","step":5,"metrics":{}})").empty());
  EventText plain({.names_tasks = false});
  CHECK(plain.line_of(R"({"event":"step","task":"worker:1","step":5,"metrics":{"loss":1}})") == "step 5  loss 1\n");
  CHECK(plain.line_of(R"({"event":"step","step":5,"metrics":{},"rates":{"steps_per_second":13810.4}})") ==
        "step 5  13 810/s\n");
  CHECK(plain.line_of(R"({"event":"end","reason":"nothing_left","step":5})") == "step 5  nothing is left to do\n");
  CHECK(plain.line_of(R"({"event":"end","reason":"end_of_data","step":5})") == "step 5  the data ended\n");
}

TEST_CASE("event text: what isn't an event stays as it is, and no control characters reach the terminal") {
  EventText text({});
  CHECK(text.line_of("[1, 2]\n") == "[1, 2]\n");
  CHECK(text.line_of("not JSON\n") == "not JSON\n");
  CHECK(text.line_of(R"({"event":"other","x":1})") == R"({"event":"other","x":1})");
  const std::string hostile = text.line_of("{\"event\":\"checkpoint\",\"step\":1,\"path\":\"\\u001b[2Jx\"}");
  CHECK(hostile.find('\x1b') == std::string::npos);
  // Wrong types are no reason to stop a training.
  CHECK(!text.line_of(R"({"event":"step","step":"x","metrics":[1],"rates":3})").empty());
  CHECK(!text.line_of(R"({"event":"end","reason":5,"error":"text"})").empty());
}

}  // namespace
}  // namespace tfd::train
