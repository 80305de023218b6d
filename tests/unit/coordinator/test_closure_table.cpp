// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "dispatch/closure_table.hpp"

namespace tfd::coordinator {
namespace {

ClosurePtr add(ClosureTable& table, bool updates) {
  auto closure = std::make_shared<Closure>();  // with the table
  closure->updates = updates;
  table.add(closure);
  closure->value = std::make_shared<RemoteValue::Shared>(closure->id, std::make_shared<CoordinatorLink>());
  return closure;
}

ClosureState state_of(const ClosurePtr& closure) { return closure->value->state.load(); }

const Error kBroken{Code::kInternal, "broken", {}};
const Error kLost{Code::kCancelled, "its worker was lost meanwhile", {}};

}  // namespace

TEST_CASE("closure table: only closures that update get sequence numbers that parameter servers remember") {
  ClosureTable table(0, false);
  const ClosurePtr reads = add(table, false), first = add(table, true), second = add(table, true);
  for (int i = 0; i < 3; ++i) table.take();
  CHECK(reads->call.sequence == (task::kWithoutUpdates | reads->id));
  CHECK(first->call.sequence == 0);
  CHECK(second->call.sequence == 1);
  table.complete(second, {});
  CHECK(table.over().below == 0);
  table.complete(first, {});
  CHECK(table.over().below == 2);
  CHECK(state_of(first) == ClosureState::kReady);
}

TEST_CASE("closure table: one that ends well after another attempt is fenced: that one may still be on its way") {
  ClosureTable table(0, false);
  table.set_servers(2);
  const ClosurePtr closure = add(table, true);
  table.take();
  CHECK(table.put_back(closure->id, kLost) == nullptr);
  CHECK(closure->call.attempt == 1);
  table.take();
  CHECK(closure->call.sequence == 0);  // the same: parameter servers apply one of the two attempts
  table.complete(closure, {});
  CHECK(table.take_fences() == std::vector<std::uint64_t>{0});
  CHECK_FALSE(table.is_over());  // a join waits until both servers have acknowledged it
  table.fence_acknowledged();
  CHECK_FALSE(table.is_over());
  table.fence_acknowledged();
  CHECK(table.is_over());
}

TEST_CASE("closure table: of the numbers that are over it knows how many came to nothing") {
  ClosureTable table(0, false);
  table.set_servers(1);
  const ClosurePtr first = add(table, true), second = add(table, true), third = add(table, true);
  for (int i = 0; i < 3; ++i) table.take();
  CHECK(table.put_back(second->id, kLost) == nullptr);
  CHECK(table.drop_queued().size() == 1);
  CHECK(table.over().below == 0);
  table.complete(first, {});
  CHECK(table.over().below == 2);
  CHECK(table.over().unused == 1);
  table.complete(third, {});
  CHECK(table.over().below == 3);
  CHECK(table.over().unused == 1);
}

TEST_CASE("closure table: goes on with the numbers of another one, and gives those again that aren't over") {
  ClosureTable table(0, false);
  table.go_on({.next = 8, .unfinished = {5}, .settled = 4, .unused_below = 1, .unused = {6}});
  CHECK(table.over().below == 5);
  CHECK(table.over().unused == 1);
  auto again = std::make_shared<Closure>();  // with the table
  again->updates = again->sequenced = true;
  again->call.sequence = 5;
  table.add(again);
  again->value = std::make_shared<RemoteValue::Shared>(again->id, std::make_shared<CoordinatorLink>());
  const ClosurePtr next = add(table, true);
  table.take();
  table.take();
  CHECK(again->call.sequence == 5);
  CHECK(next->call.sequence == 8);
  table.complete(again, {});
  CHECK(table.over().below == 8);
  CHECK(table.over().unused == 2);
}

TEST_CASE("closure table: a first attempt that ends well needs no fence") {
  ClosureTable table(0, false);
  table.set_servers(2);
  const ClosurePtr closure = add(table, true);
  table.take();
  table.complete(closure, {});
  CHECK(table.is_over());
  CHECK_FALSE(table.has_messages());
}

TEST_CASE("closure table: the first error cancels what comes back, fences it, and has workers drop the rest") {
  ClosureTable table(0, false);
  table.set_servers(1);
  const ClosurePtr failing = add(table, true), other = add(table, true), queued = add(table, true);
  table.take();
  table.take();
  table.fail(failing, kBroken);
  CHECK(table.next() == nullptr);
  const auto drop = table.take_drop();
  REQUIRE(drop);
  CHECK(drop->updates == 2);  // numbers 0 and 1 were given
  CHECK_FALSE(table.take_drop());
  CHECK(table.put_back(other->id, kLost) == other);
  CHECK(state_of(other) == ClosureState::kCancelled);
  CHECK(table.take_fences() == std::vector<std::uint64_t>{0, 1});
  CHECK(table.is_executing());
  table.fence_acknowledged();
  table.fence_acknowledged();
  CHECK(table.is_over());
  const auto raised = table.raise();
  REQUIRE(raised);
  CHECK(raised->error.message == "broken");
  CHECK(raised->cancelled == ClosurePtrs{queued});
  CHECK(queued->value->cause == failing->id);
  CHECK_FALSE(table.raise());
}

TEST_CASE("closure table: what waits for another attempt when one fails is fenced, too") {
  ClosureTable table(0, false);
  table.set_servers(1);
  const ClosurePtr failing = add(table, true), returned = add(table, true);
  table.take();
  table.take();
  table.put_back(returned->id, kLost);
  table.fail(failing, kBroken);
  CHECK(table.take_fences().size() == 2);
}

TEST_CASE(
    "closure table: what is dropped from the queue ends cancelled; of one that was tried before a fence is left") {
  ClosureTable table(0, false);
  table.set_servers(1);
  const ClosurePtr tried = add(table, true), fresh = add(table, true);
  table.take();
  table.put_back(tried->id, kLost);
  const ClosurePtrs dropped = table.drop_queued();
  CHECK(dropped == ClosurePtrs{fresh, tried});
  CHECK(state_of(fresh) == ClosureState::kCancelled);
  CHECK(table.take_fences() == std::vector<std::uint64_t>{0});
}

TEST_CASE("closure table: end() ends all with one error, and nothing is left") {
  ClosureTable table(0, false);
  const ClosurePtr running = add(table, true), queued = add(table, false);
  table.take();
  CHECK(table.end(kBroken).size() == 2);
  CHECK(state_of(running) == ClosureState::kError);
  CHECK(state_of(queued) == ClosureState::kError);
  CHECK(table.idle());
}

}  // namespace tfd::coordinator
