// SPDX-License-Identifier: Apache-2.0
//
// Closures that are staged, until their parameter servers have committed them.
#include "dispatch/commits.hpp"

#include <doctest/doctest.h>

#include "dispatch/closure_table.hpp"

namespace tfd::coordinator {
namespace {

ClosurePtr closure(std::uint64_t sequence, std::uint32_t attempt = 0) {
  auto out = std::make_shared<Closure>();  // with the commits
  out->call.sequence = sequence;
  out->call.attempt = attempt;
  return out;
}

task::ClosureOutcome staged(std::vector<std::uint32_t> servers) {
  task::ClosureOutcome out;
  out.staged_on = std::move(servers);
  return out;
}

using Servers = std::vector<std::uint32_t>;
using Attempts = std::vector<variable::Attempt>;
const Error kGone{Code::kCancelled, "its worker was lost meanwhile", {}};

}  // namespace

TEST_CASE("commits: a closure is done when all its servers have answered, and what it returns was read") {
  Commits commits;
  const ClosurePtr one = closure(5, 2);
  commits.add(one, staged({0, 3}), {"v"});
  const auto orders = commits.take();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].attempt == variable::Attempt{5, 2});
  CHECK(orders[0].servers == Servers{0, 3});
  CHECK(orders[0].returns == std::vector<std::string>{"v"});
  CHECK(commits.take().empty());
  CHECK_FALSE(commits.answered(5, {}).done);
  CHECK_FALSE(commits.answered(5, {}).done);
  commits.find(5)->outcome.results.emplace_back();
  const auto done = commits.answered(5, {}).done;
  REQUIRE(done);
  CHECK(done->closure == one);
  CHECK(done->outcome.results.size() == 1);
  CHECK_FALSE(done->error);
  CHECK_FALSE(commits.answered(5, {}).done);  // no longer known
  CHECK(commits.find(5) == nullptr);
}

TEST_CASE("commits: what a worker did first is committed first, whatever its answers overtake") {
  Commits commits;
  const auto from = [](std::size_t worker, std::uint64_t generation) {
    return Dispatcher::Assignment{worker, generation, closure(0)};
  };
  const auto after = [](std::uint64_t count) {
    auto out = staged({0});
    out.staged_after = count;
    return out;
  };
  CHECK(commits.arrived(from(0, 1), after(1)).empty());
  CHECK(commits.arrived(from(1, 1), after(0)).size() == 1);  // another worker's
  CHECK(commits.arrived(from(0, 1), after(3)).empty());
  const auto both = commits.arrived(from(0, 1), after(0));
  REQUIRE(both.size() == 2);
  CHECK(both[1].outcome.staged_after == 1);
  CHECK(commits.arrived(from(0, 2), after(0)).size() == 1);  // it has loaded the program anew
  CHECK(commits.arrived(from(0, 2), after(1)).size() == 1);
}

TEST_CASE("commits: the first error is the closure's, once all have answered") {
  Commits commits;
  commits.add(closure(1), staged({0, 1, 2}), {});
  (void)commits.take();
  CHECK_FALSE(commits.answered(1, {}).done);
  CHECK_FALSE(commits.answered(1, fail(Code::kInternal, "first")).done);
  const auto done = commits.answered(1, fail(Code::kInternal, "second")).done;
  REQUIRE(done);
  CHECK(done->error->message == "first");
}

TEST_CASE("commits: while they pause those under way end, and others wait") {
  Commits commits;
  commits.add(closure(1), staged({0}), {});
  CHECK_FALSE(commits.is_committing());  // no server has heard of it
  CHECK(commits.take().size() == 1);
  CHECK(commits.is_committing());
  commits.pause();
  commits.pause();
  commits.add(closure(2), staged({0}), {});
  CHECK(commits.take().empty());
  CHECK(commits.answered(1, {}).done);
  CHECK_FALSE(commits.is_committing());
  commits.resume();
  CHECK(commits.take().empty());
  commits.resume();
  const auto orders = commits.take();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].attempt.sequence == 2);
}

TEST_CASE("commits: updates that span servers are made once all have committed, one closure after the other") {
  Commits commits;
  commits.set_sequential();
  for (const std::uint64_t sequence : {1, 2}) commits.add(closure(sequence), staged({0, 1}), {"v"});
  REQUIRE(commits.take().size() == 1);
  CHECK(commits.take().empty());
  commits.found_due(1, 0, false);
  CHECK_FALSE(commits.answered(1, {}).makes_all_due);
  commits.found_due(1, 1, false);
  CHECK(commits.answered(1, {}).makes_all_due == false);  // those that are complete
  const auto made = commits.made_due(1, {});
  CHECK(made.again.servers.empty());
  REQUIRE(made.next.reads);
  CHECK(made.next.reads->returns == std::vector<std::string>{"v"});
  CHECK(commits.answered(1, {}).done);
  REQUIRE(commits.take().size() == 1);
  commits.found_due(2, 1, true);  // it is still due there
  CHECK_FALSE(commits.answered(2, {}).makes_all_due);
  CHECK(commits.answered(2, {}).makes_all_due == true);
  const auto again = commits.made_due(2, {});
  CHECK(again.again.servers == Servers{1});
  CHECK(again.again.attempt == variable::Attempt{2, 0});
  CHECK_FALSE(again.next.reads);
  CHECK(commits.answered(2, {}).reads);
  CHECK(commits.answered(2, fail(Code::kInternal, "no")).done->error);
  commits.add(closure(3), staged({0}), {"v"});
  (void)commits.take();
  commits.found_due(3, 0, false);
  CHECK(commits.answered(3, {}).makes_all_due);
  CHECK(commits.made_due(3, fail(Code::kInternal, "no")).next.done->error);
}

TEST_CASE("commits: after an end nothing is known, and late answers count for nothing") {
  Commits commits;
  commits.add(closure(1), staged({0}), {});
  (void)commits.take();
  commits.add(closure(2), staged({0}), {});
  commits.clear();
  CHECK_FALSE(commits.is_committing());
  CHECK(commits.take().empty());
  CHECK_FALSE(commits.answered(1, {}).done);
}

TEST_CASE("closure table: with staging an attempt that is put back is aborted, if it may have updated anything") {
  ClosureTable table(0, false);
  table.set_servers(2);
  table.set_staging();
  const auto add = [&](bool updates) {
    auto one = std::make_shared<Closure>();  // with the table
    one->updates = updates;
    table.add(one);
    one->value = std::make_shared<RemoteValue::Shared>(one->id, std::make_shared<CoordinatorLink>());
    table.take();
    return one;
  };
  const ClosurePtr reads = add(false), updates = add(true);
  CHECK(table.put_back(reads->id, kGone) == nullptr);
  CHECK_FALSE(table.has_messages());
  CHECK(table.put_back(updates->id, kGone) == nullptr);
  CHECK(table.has_messages());
  CHECK(table.take_aborts() == Attempts{{0, 0}});
  CHECK_FALSE(table.has_messages());
  CHECK(updates->call.attempt == 1);
}

}  // namespace tfd::coordinator
