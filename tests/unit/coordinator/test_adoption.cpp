// SPDX-License-Identifier: Apache-2.0
//
// Going on with a training whose coordinator is gone.
#include "servers/adoption.hpp"

#include <future>

#include "asking.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::coordinator {
namespace {

using namespace bed;
using Sequences = std::vector<std::uint64_t>;
using History = variable::SequenceHistory;

/// Options to adopt the training "mine" if it has reached step `from`.
CoordinatorOptions adopting(Bed& bed, std::int64_t from = 0) {
  auto options = bed.options();
  options.adopt = Adoption{"mine", from};
  return options;
}

/// Makes `steps` steps and is gone, without a word about it.
void train(Bed& bed, int steps, std::int64_t first_step = 0) {
  const auto coordinator = bed.connect(make_program(), adopting(bed));
  if (!coordinator->adopted()) good(coordinator->record_run(first_step));
  for (int i = 0; i < steps; ++i) schedule(*coordinator, "step");
  good(coordinator->join(soon()));
}

}  // namespace

TEST_CASE("adoption: how far a run has come is put together from what each parameter server has") {
  CHECK(put_together({{}, {}})->next == 0);
  const auto all = put_together({{.low = 7}, {.low = 7}});
  CHECK(all->steps_below(all->next) == 7);
  CHECK(all->next == 7);
  CHECK(all->unfinished.empty());
  // 3 is on one of them only, 4 on none, 5 on both, 6 on the other one.
  const auto some = put_together({{.low = 4, .above = {5}}, {.low = 3, .above = {5, 6}}});
  CHECK(some->next == 7);
  CHECK(some->unfinished == Sequences{3, 4, 6});
  CHECK(some->unused.empty());
  CHECK(some->steps_below(6) == 6);
  // A fenced number came to nothing, unless it was tried again and is done.
  const auto fenced = put_together({{.low = 4, .fenced = {1, 2}}, {.low = 2, .above = {3}, .fenced = {1}}});
  CHECK(fenced->unused == Sequences{1, 2});
  CHECK(fenced->steps_below(2) == 1);
  CHECK(fenced->steps_below(fenced->next) == 2);
  const auto again = put_together({{.low = 4, .fenced = {2}}, {.low = 4}});
  CHECK(again->unused.empty());
  CHECK(again->steps_below(4) == 4);
}

TEST_CASE("adoption: what one parameter server has committed is committed by those that have staged the same attempt") {
  using Attempts = std::vector<variable::Attempt>;
  const History first{.low = 2, .above = {3}, .committed = {{1, 0}, {3, 2}}, .staged = {{2, 0}, {4, 0}}};
  const History second{.low = 1, .committed = {}, .staged = {{1, 0}, {2, 0}, {3, 2}}};
  const History third{.low = 1, .committed = {}, .staged = {{1, 1}, {4, 0}}};  // {1, 1}: of a worker that was late
  const auto all = put_together({first, second, third});
  REQUIRE(all);
  CHECK(all->next == 4);
  CHECK(all->unfinished == Sequences{2});
  REQUIRE(all->commits.size() == 3);
  CHECK(all->commits[0].empty());
  CHECK(all->commits[1] == Attempts{{1, 0}, {3, 2}});
  CHECK(all->commits[2].empty());
  CHECK(all->steps_below(all->next) == 4);
  CHECK_FALSE(put_together({first, {.low = 2, .committed = {{1, 1}}}}));  // two attempts of one closure
}

TEST_CASE("adoption: what is settled counts, whoever has heard of it") {
  const auto out = put_together({{.settled = 100, .unused = 3, .low = 120}, {.settled = 50, .unused = 2, .low = 120}});
  CHECK(out->settled == 100);
  CHECK(out->unused_below == 3);
  CHECK(out->steps_below(120) == 117);
  CHECK(out->next == 120);
  CHECK_FALSE(put_together({{.low = std::uint64_t{1} << 40}}));
  CHECK_FALSE(put_together({{.above = {~std::uint64_t{0}}}}));
}

TEST_CASE("adoption: the record of a run is JSON, and anything else is none") {
  const auto record = parse_run(format_run({"r-1", "abc", 12, {3, ~std::uint64_t{0}}}));
  REQUIRE(record);
  CHECK(record->run == "r-1");
  CHECK(record->program == "abc");
  CHECK(record->first_step == 12);
  CHECK(record->epochs == Sequences{3, ~std::uint64_t{0}});
  for (const char* bad : {"", "{", "[]", "{}", R"({"run": 1, "program": "p", "first_step": 0, "epochs": [1]})",
                          R"({"run": "r", "program": "p", "first_step": "0", "epochs": [1]})",
                          R"({"run": "r", "program": "p", "first_step": 0})",
                          R"({"run": "r", "program": "p", "first_step": 0, "epochs": [-1]})"})
    CHECK_FALSE(parse_run(bad));
}

TEST_CASE("adoption: two trainings of one program are the same, however long they are") {
  const auto digest = [](std::vector<std::string> overrides, const char* address = "a:1", int replicas = 1) {
    task::Placement placement;
    placement.ps = {{"ps:0", address}};
    return digest_of(make_program(std::move(overrides)), placement, replicas);
  };
  CHECK(digest({}) == digest({"train.steps=7", "train.log_every=1"}));
  CHECK(digest({}) != digest({"train.function=data_step"}));
  CHECK(digest({}) != digest({"variables.n.init={\"ones\": {}}"}));
  CHECK(digest({}) != digest({}, "b:1"));
  CHECK(digest({}) != digest({}, "a:1", 2));
}

TEST_CASE("adoption: the next coordinator goes on where the last one was, step for step") {
  Bed bed(2, 2);
  train(bed, 300, 1000);
  const auto next = bed.connect(make_program(), adopting(bed, 1000));
  REQUIRE(next->adopted());
  CHECK(next->adopted()->step == 1300);
  CHECK(next->adopted()->unfinished.empty());
  CHECK(read(*next, "v") == 300);
  schedule(*next, "step");  // under a number that nobody has had
  good(next->join(soon()));
  CHECK(read(*next, "v") == 301);
}

TEST_CASE("adoption: of steps that aren't for all parameter servers none counts twice, though they are made again") {
  Bed bed(1, 2);
  {
    const auto first = bed.connect(make_program(), adopting(bed));
    good(first->record_run(0));
    for (int i = 0; i < 20; ++i) schedule(*first, "add", {number(1)});
    good(first->join(soon()));
  }
  const auto next = bed.connect(make_program(), adopting(bed));
  REQUIRE(next->adopted());
  CHECK(next->adopted()->step == 20);
  for (const auto& one : next->adopted()->unfinished)
    good(next->schedule({.function = "add", .args = {number(1)}, .sequence = one.sequence}));
  schedule(*next, "add", {number(1)});
  good(next->join(soon()));
  CHECK(read(*next, "v") == 21);
}

TEST_CASE("adoption: one after the other they count on") {
  Bed bed(2, 2);
  for (int i = 0; i < 3; ++i) train(bed, 200);
  CHECK(read(*bed.connect(make_program(), adopting(bed)), "v") == 600);
}

TEST_CASE("adoption: a step that only one parameter server has is finished under its own number") {
  Bed bed(1, 2);
  task::Placement placement;
  {
    const auto first = bed.connect(make_program(), adopting(bed));
    good(first->record_run(0));
    for (int i = 0; i < 4; ++i) schedule(*first, "step");
    good(first->join(soon()));
    placement = first->strategy().placement;
  }
  // "v" and "n" are on two parameter servers: the fifth step has come to one of them.
  auto servers =
      good(task::ParameterServers::connect(placement, {.name = "late", .make_endpoint = bed.factory()}, soon()));
  servers->set_epoch(good(servers->status(soon())).front().epoch);
  const std::size_t of_v = static_cast<std::size_t>(placement.variables.at("v"));
  REQUIRE(placement.variables.at("n") != placement.variables.at("v"));
  std::promise<Result<task::UpdateAnswer>> applied;
  servers->task(of_v).update(4, {{variable::UpdateKind::kAssignAdd, "v", number(1)}}, soon(),
                             [&](Result<task::UpdateAnswer> answer) { applied.set_value(std::move(answer)); });
  CHECK(good(applied.get_future().get()).is_new);
  const auto next = bed.connect(make_program(), adopting(bed));
  REQUIRE(next->adopted());
  CHECK(next->adopted()->step == 5);
  REQUIRE(next->adopted()->unfinished.size() == 1);
  CHECK(next->adopted()->unfinished[0].sequence == 4);
  CHECK(next->adopted()->unfinished[0].step == 4);
  CHECK(read(*next, "v") == 5);
  CHECK(read(*next, "n") == 4);
  good(next->schedule({.function = "step", .sequence = 4}));
  good(next->join(soon()));
  CHECK(read(*next, "v") == 5);
  CHECK(read(*next, "n") == 5);
  // Whoever belongs to the epoch before is refused.
  std::promise<Result<task::UpdateAnswer>> late;
  servers->task(of_v).update(5, {{variable::UpdateKind::kAssignAdd, "v", number(1)}}, soon(),
                             [&](Result<task::UpdateAnswer> answer) { late.set_value(std::move(answer)); });
  CHECK(late.get_future().get().error().code == Code::kPermissionDenied);
}

TEST_CASE("adoption: who adopts a run and dies of it leaves what the next one adopts") {
  for (const std::size_t last : {0, 1}) {  // has the epoch of the one that died; the other one wasn't asked yet
    Bed bed(1, 2);
    train(bed, 20);
    const auto placement = bed.connect(make_program(), adopting(bed))->strategy().placement;
    const auto connect = [&] {
      return good(task::ParameterServers::connect(placement, {.name = "dies", .make_endpoint = bed.factory()}, soon()));
    };
    {
      const auto servers = connect();
      const auto records = servers->coordination(task::CoordinationScope::kProcess);
      auto record = *parse_run(good(records.get(kRunKey, soon())).value);
      const auto from = record.epochs.front(), epoch = good(servers->claim(task::make_claim(), soon()));
      record.epochs.push_back(epoch);
      good(records.put(kRunKey, format_run(record), soon()));
      std::promise<Result<History>> asked;
      servers->task(last).adopt(from, epoch, soon(), [&](auto answer) { asked.set_value(std::move(answer)); });
      good(asked.get_future().get());
    }
    {
      const auto next = bed.connect(make_program(), adopting(bed, 20));
      REQUIRE(next->adopted());
      CHECK(next->adopted()->step == 20);
      CHECK(read(*next, "v") == 20);
    }
    {  // values that one of them got anew since aren't the run's
      const auto servers = connect();
      const auto packed = task::PackedProgram::pack(make_program(), placement);
      std::promise<Result<void>> loaded;
      servers->task(last).load_program(packed, good(servers->claim(task::make_claim(), soon())), soon(),
                                       [&](auto answer) { loaded.set_value(std::move(answer)); });
      good(loaded.get_future().get());
    }
    CHECK_FALSE(bed.connect(make_program(), adopting(bed))->adopted());
  }
}

TEST_CASE("adoption: whoever was frozen meanwhile doesn't touch what another one keeps") {
  Bed bed(1, 2);
  const auto frozen = bed.connect(make_program(), adopting(bed));
  good(frozen->record_run(0));
  auto options = adopting(bed);
  options.take_over = true;
  {
    const auto second = bed.connect(make_program(), std::move(options));
    CHECK(second->adopted());
    CHECK(frozen->forget_run().error().code == Code::kPermissionDenied);
  }
  CHECK(bed.connect(make_program(), adopting(bed))->adopted());
}

TEST_CASE("adoption: only of the same run and program, as far as what is known, and unfinished") {
  const auto has_adopted = [](Bed& bed, CoordinatorOptions with, std::vector<std::string> overrides = {}) {
    const auto next = bed.connect(make_program(std::move(overrides)), std::move(with));
    CHECK(read(*next, "v") == (next->adopted() ? 20 : 0));
    return next->adopted().has_value();
  };
  const auto trained = [] {
    auto bed = std::make_unique<Bed>(1, 2);
    train(*bed, 20);
    return bed;
  };
  auto bed = trained();
  CHECK(has_adopted(*bed, adopting(*bed, 20)));
  bed = trained();
  CHECK_FALSE(has_adopted(*bed, adopting(*bed, 21)));
  bed = trained();
  auto other = adopting(*bed);
  other.adopt->run = "another";
  CHECK_FALSE(has_adopted(*bed, other));
  bed = trained();
  CHECK_FALSE(has_adopted(*bed, bed->options()));
  bed = trained();
  CHECK_FALSE(has_adopted(*bed, adopting(*bed), {"variables.n.init={\"ones\": {}}"}));
  bed = trained();
  good(bed->connect(make_program(), adopting(*bed))->forget_run());
  CHECK_FALSE(has_adopted(*bed, adopting(*bed)));
  bed = trained();
  bed->kill("ps:1");
  bed->start("ps:1");
  CHECK_FALSE(has_adopted(*bed, adopting(*bed)));
}

TEST_CASE("adoption: a run that begins while parameter servers of the one before end waits for their successors") {
  Bed bed(1, 2);
  auto servers = good(task::ParameterServers::connect(bed.connect()->strategy().placement,
                                                      {.name = "next", .make_endpoint = bed.factory()}, soon()));
  int calls = 0, deaths = 0;
  std::vector<std::string> waited;
  const auto begin = [&](bool may_wait) {
    calls = 0;
    return servers->begin(
        soon(), [&](const Error& why) { return waited.push_back(why.task), may_wait; },
        [&]() -> Result<void> {
          if (++calls <= deaths) {
            bed.kill("ps:1");
            bed.start("ps:1");
          }
          return servers->status(soon()).map([](const auto&) {});
        });
  };
  good(begin(true));
  CHECK(calls == 1);
  deaths = 2;
  good(begin(true));
  CHECK(calls == 3);
  CHECK(waited == std::vector<std::string>{"ps:1", "ps:1"});
  deaths = 100;  // of what it is given, perhaps
  CHECK(begin(true).error().task == "ps:1");
  CHECK(calls == 4);
  CHECK(begin(false).error().task == "ps:1");
  CHECK(calls == 1);
}

}  // namespace tfd::coordinator
