// SPDX-License-Identifier: Apache-2.0
//
// CoordinatorOptions::strict: of each closure one attempt counts, on all parameter servers.
#include <future>

#include "asking.hpp"
#include "tfd/task/parameter_servers.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

constexpr std::uint16_t kUpdate = 7, kStage = 27, kCommit = 28;

CoordinatorOptions strictly(Bed& bed, bool is_strict = true) {
  auto options = bed.options();
  options.strict = is_strict;
  return options;
}

/// Has one parameter server not take its first request of a kind.
void refuse_once(Bed& bed, const std::string& server, std::uint16_t kind, std::promise<void>& refused) {
  bed.takes = [=, &refused, is_first = std::make_shared<bool>(true)](const std::string& task, std::uint16_t of,
                                                                     transport::Responder& responder) {
    if (task != server || of != kind || !std::exchange(*is_first, false)) return false;
    responder.reply(fail(Code::kUnavailable, "cut off"));
    refused.set_value();
    return true;
  };
}

std::int32_t number_in(const tensor::NamedTensors& state, const std::string& name) {
  for (const auto& [key, value] : state)
    if (key == name) return number(value);
  FAIL("no " << name);
  return -1;
}

}  // namespace

TEST_CASE("strict: closures have the results that they have without it") {
  const auto run = [](bool is_strict) {
    Bed bed(1, 2);
    const auto coordinator = bed.connect(make_program(), strictly(bed, is_strict));
    std::vector<RemoteValue> values;
    for (int i = 0; i < 30; ++i) {
      values.push_back(schedule(*coordinator, "double", {number(i)}));
      values.push_back(schedule(*coordinator, "add_and_read", {number(i)}));
      values.push_back(schedule(*coordinator, "add_own", {number(i)}));
      values.push_back(schedule(*coordinator, "stamp", {number(i)}));
      values.push_back(good(coordinator->schedule({.function = "add_both", .kwargs = {{"b", number(i)}}})));
      values.push_back(good(coordinator->schedule({.function = "step", .step = i})));
    }
    good(coordinator->join(soon()));
    std::vector<std::int32_t> out;
    for (const RemoteValue& value : values) {
      for (const Tensor& one : value.outcome().results) out.push_back(number(one));
      for (const step::Metric& one : value.outcome().metrics) out.push_back(static_cast<std::int32_t>(one.value));
    }
    out.push_back(read(*coordinator, "v"));
    out.push_back(read(*coordinator, "n"));
    return out;
  };
  const auto with = run(true);
  CHECK(with.size() == 30 * 7 + 2);
  CHECK(with == run(false));
}

TEST_CASE("strict: many workers and closures, each once") {
  Bed bed(3, 3);
  const auto coordinator = bed.connect(make_program(), strictly(bed));
  std::vector<RemoteValue> values;
  std::int32_t sum = 0;
  for (int i = 0; i < 2000; ++i) values.push_back(schedule(*coordinator, "stamp", {number(i % 7)}));
  good(coordinator->join(soon()));
  for (const RemoteValue& value : values) sum += number(value.outcome().results[0]);
  CHECK(read(*coordinator, "v") == sum);
  CHECK(read(*coordinator, "n") == sum);
}

// One server gets the update of the first attempt, the other one doesn't, and the worker is gone.
TEST_CASE("strict: with it one attempt counts on all servers; without it each server has one, once") {
  for (const bool is_strict : {false, true}) {
    CAPTURE(is_strict);
    Bed bed(1, 2);
    const auto coordinator = bed.connect(make_program(), strictly(bed, is_strict));
    const std::string second = "ps:" + std::to_string(coordinator->strategy().placement.variables.at("n"));
    std::promise<void> refused;
    refuse_once(bed, second, is_strict ? kStage : kUpdate, refused);
    const RemoteValue value = schedule(*coordinator, "stamp", {number(1)});
    good(coordinator->join(soon()));
    CHECK(bed.runs == 2);
    CHECK(fetch(value) == 1001);
    CHECK(read(*coordinator, "n") == 1001);
    CHECK(read(*coordinator, "v") == (is_strict ? 1001 : 1));
    CHECK(number(value.outcome().results[1]) == 1001);                    // what it returns of n
    CHECK(number(value.outcome().results[2]) == (is_strict ? 1001 : 1));  // and of v
  }
}

TEST_CASE("strict: a worker that dies once its updates are staged isn't needed any more") {
  Bed bed(1, 2);
  const auto coordinator = bed.connect(make_program(), strictly(bed));
  std::promise<void> refused;
  refuse_once(bed, "ps:1", kCommit, refused);
  const RemoteValue value = schedule(*coordinator, "stamp", {number(5)});
  refused.get_future().wait();
  bed.kill("worker:0");
  CHECK(fetch(value) == 5);  // committed a second later, with no worker there
  CHECK(coordinator->workers_up() == 0);
  CHECK(bed.runs == 1);
  CHECK(read(*coordinator, "v") == 5);
  CHECK(read(*coordinator, "n") == 5);
}

TEST_CASE("strict: a closure of a worker that dies before is another one's, and what was staged is dropped") {
  Bed bed(2, 2);
  auto options = strictly(bed);
  options.window = 1;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.gate.close();
  const RemoteValue value = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  bed.kill("worker:0");
  until([&] { return coordinator->workers_up() == 1; });
  bed.gate.open();
  good(coordinator->join(soon()));
  for (int i = 0; i < 10; ++i) schedule(*coordinator, "stamp", {number(1)});
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == read(*coordinator, "n") + 1);
}

TEST_CASE("strict: what a server says to a commit is the closure's error, and the others go on") {
  Bed bed(1, 2);
  auto options = strictly(bed);
  options.keep_going = true;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.takes = [is_first = std::make_shared<bool>(true)](const std::string& task, std::uint16_t kind,
                                                        transport::Responder& responder) {
    if (task != "ps:1" || kind != kCommit || !std::exchange(*is_first, false)) return false;
    responder.reply(fail(Code::kInternal, "no"));
    return true;
  };
  const RemoteValue bad = schedule(*coordinator, "stamp", {number(1)});
  const RemoteValue next = schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(bad.state() == ClosureState::kError);
  CHECK(bad.error().message == "no");
  CHECK(next.state() == ClosureState::kReady);
}

TEST_CASE("strict: a state is exported between commits") {
  Bed bed(2, 2);
  const auto coordinator = bed.connect(make_program(), strictly(bed));
  std::promise<void> refused;
  refuse_once(bed, "ps:1", kCommit, refused);
  schedule(*coordinator, "stamp", {number(1)});
  refused.get_future().wait();  // one of the servers has it, the other one gets it in a second
  const auto state = good(coordinator->export_state(soon()));
  CHECK(number_in(state, "v") == 1);
  CHECK(number_in(state, "n") == 1);
  for (int i = 0; i < 300; ++i) schedule(*coordinator, "stamp", {number(1)});
  for (int i = 0; i < 5; ++i) {
    const auto next = good(coordinator->export_state(soon()));
    CHECK(number_in(next, "v") == number_in(next, "n"));
  }
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == read(*coordinator, "n"));
}

TEST_CASE("strict: the next coordinator commits what a server has committed, and aborts the rest") {
  for (const bool is_next_strict : {true, false}) {
    CAPTURE(is_next_strict);
    Bed bed(1, 2);
    const auto adopting = [&](bool is_strict) {
      auto options = strictly(bed, is_strict);
      options.adopt = Adoption{"mine", 0};
      return options;
    };
    // The second server doesn't hear of the fourth step's commit, nor any of the fifth's.
    std::promise<void> fourth, fifth, fifth_of_first;
    {
      const auto first = bed.connect(make_program(), adopting(true));
      good(first->record_run(0));
      for (int i = 0; i < 3; ++i) schedule(*first, "step");
      good(first->join(soon()));
      struct Counts {
        std::atomic<int> first{0}, second{0};
      };
      bed.takes = [&, counts = std::make_shared<Counts>()](const std::string& task, std::uint16_t kind,
                                                           transport::Responder& responder) {
        if (kind != kCommit) return false;
        const bool is_first = task == "ps:0";
        const int count = ++(is_first ? counts->first : counts->second);
        if (is_first && count == 1) return false;
        responder.reply(fail(Code::kUnavailable, "cut off"));
        if (!is_first && count == 1) fourth.set_value();
        if (count == 2) (is_first ? fifth_of_first : fifth).set_value();
        return true;
      };
      schedule(*first, "step");
      fourth.get_future().wait();
      schedule(*first, "step");
      fifth.get_future().wait();
      fifth_of_first.get_future().wait();
    }
    bed.takes = {};
    const auto next = bed.connect(make_program(), adopting(is_next_strict));
    REQUIRE(next->adopted());
    CHECK(next->adopted()->step == 4);
    CHECK(next->adopted()->unfinished.empty());
    CHECK(read(*next, "v") == 4);
    CHECK(read(*next, "n") == 4);
    schedule(*next, "step");
    good(next->join(soon()));
    CHECK(read(*next, "v") == 5);
    CHECK(read(*next, "n") == 5);
  }
}
