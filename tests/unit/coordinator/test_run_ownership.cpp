// SPDX-License-Identifier: Apache-2.0
//
// The ownership of trainings, over records in memory.
#include "servers/run_ownership.hpp"

#include <doctest/doctest.h>

namespace tfd::coordinator {
namespace {

using Histories = std::vector<variable::SequenceHistory>;

/// The coordination service with its one key. Answers to puts can be lost.
struct MemoryRecords {
  task::KeyState kept;
  bool loses_answer = false;  // of the next put

  task::CoordinationClient client() {
    return task::CoordinationClient([this](const task::CoordinationRequest& request, Deadline,
                                           const std::stop_token&) -> Result<task::CoordinationAnswer> {
      if (std::holds_alternative<task::GetKey>(request.what)) return kept;
      const auto& put = std::get<task::PutKey>(request.what);
      if (put.expected && *put.expected != kept.version) return fail(Code::kFailedPrecondition, "it has changed");
      kept = {put.value, kept.version + 1};
      if (!std::exchange(loses_answer, false)) return task::KeyState{{}, kept.version};
      return fail(Code::kFailedPrecondition, "the request was sent twice");  // as the second one is answered
    });
  }
  RunOwner record() const { return parse_run(kept.value).value(); }
};

RunOwnership owner_of(MemoryRecords& records, std::string run = "mine", std::int64_t from = 0,
                      std::string program = "digest") {
  return {records.client(), Adoption{std::move(run), from}, std::move(program)};
}

std::optional<RunOwnership::Found> find_in(RunOwnership& ownership, const RunOwnership::Epochs& epochs) {
  return ownership.find(epochs, Deadline::never());
}

/// A move of servers that have made `steps` steps.
RunOwnership::Move moved_at(std::uint64_t steps) {
  return [steps](const RunOwnership::Epochs& from) { return Histories(from.size(), {.low = steps}); };
}

}  // namespace

TEST_CASE("run ownership: the next coordinator adopts what the last one recorded, and the record has its epoch alone") {
  MemoryRecords records;
  REQUIRE(owner_of(records).record(1000, 3));
  CHECK(records.record().epochs == RunOwnership::Epochs{3});
  RunOwnership next = owner_of(records);
  const auto found = find_in(next, {3, 3});
  REQUIRE(found);
  CHECK(found->is_own);
  const auto adopted = next.adopt(*found, 4, [&](const RunOwnership::Epochs& from) -> Result<Histories> {
    CHECK(from == RunOwnership::Epochs{3, 3});
    CHECK(records.record().epochs == RunOwnership::Epochs{3, 4});  // whoever adopts it after a death now finds both
    return Histories{{.low = 8}, {.low = 6}};
  });
  REQUIRE(adopted);
  REQUIRE(*adopted);
  CHECK((*adopted)->run.step == 1008);
  REQUIRE((*adopted)->run.unfinished.size() == 2);
  CHECK((*adopted)->run.unfinished[0].sequence == 6);
  CHECK((*adopted)->run.unfinished[0].step == 1006);
  CHECK((*adopted)->continuation.next == 8);
  CHECK(records.record().epochs == RunOwnership::Epochs{4});
  CHECK(records.record().first_step == 1000);
}

TEST_CASE("run ownership: a run is found if every parameter server has one of its epochs") {
  MemoryRecords records;
  RunOwnership first = owner_of(records);
  CHECK_FALSE(find_in(first, {0, 0}));
  REQUIRE(first.record(0, 3));
  records.kept.value = format_run({"mine", "digest", 0, {3, 4}});
  RunOwnership next = owner_of(records);
  CHECK(find_in(next, {4, 3})->epochs == RunOwnership::Epochs{4, 3});
  CHECK_FALSE(find_in(next, {3, 5}));
  CHECK_FALSE(find_in(next, {3, 0}));
  records.kept.value = "nonsense";
  CHECK_FALSE(find_in(next, {3, 3}));
}

TEST_CASE("run ownership: a run of another name or program is found, but isn't this one") {
  MemoryRecords records;
  REQUIRE(owner_of(records).record(0, 3));
  const auto is_own = [&](RunOwnership ownership) { return find_in(ownership, {3})->is_own; };
  CHECK(is_own(owner_of(records)));
  CHECK_FALSE(is_own(owner_of(records, "another")));
  CHECK_FALSE(is_own(owner_of(records, "mine", 0, "another digest")));
  CHECK_FALSE(is_own(RunOwnership(records.client(), std::nullopt, "digest")));
}

TEST_CASE("run ownership: what isn't far enough, or can't be moved or put together, isn't adopted") {
  const auto is_adopted = [](std::int64_t from, const RunOwnership::Move& move) {
    MemoryRecords records;
    REQUIRE(owner_of(records).record(100, 3));
    RunOwnership next = owner_of(records, "mine", from);
    const auto adopted = next.adopt(*find_in(next, {3}), 4, move);
    REQUIRE(adopted);
    CHECK(records.record().epochs == (*adopted ? RunOwnership::Epochs{4} : RunOwnership::Epochs{3, 4}));
    return adopted->has_value();
  };
  CHECK(is_adopted(120, moved_at(20)));
  CHECK_FALSE(is_adopted(121, moved_at(20)));
  CHECK_FALSE(is_adopted(0, moved_at(std::uint64_t{1} << 40)));
  CHECK_FALSE(is_adopted(0, [](const auto&) -> Result<Histories> { return fail(Code::kUnavailable, "it is gone"); }));
}

TEST_CASE("run ownership: a record that another coordinator has written meanwhile is left alone") {
  MemoryRecords records;
  RunOwnership frozen = owner_of(records);
  REQUIRE(frozen.record(0, 3));
  RunOwnership second = owner_of(records);
  REQUIRE(second.adopt(*find_in(second, {3}), 4, moved_at(5)));
  const auto forgotten = frozen.forget();
  REQUIRE_FALSE(forgotten);
  CHECK(forgotten.error().code == Code::kPermissionDenied);
  CHECK(records.record().epochs == RunOwnership::Epochs{4});
}

TEST_CASE("run ownership: a put whose answer is lost has been made") {
  MemoryRecords records;
  RunOwnership ownership = owner_of(records);
  REQUIRE_FALSE(find_in(ownership, {0}));
  records.loses_answer = true;
  REQUIRE(ownership.record(0, 3));
  CHECK(records.record().run == "mine");
  REQUIRE(ownership.forget());
  CHECK(records.kept.value.empty());
}

TEST_CASE("run ownership: without a training to adopt nothing is recorded, and nothing forgotten") {
  MemoryRecords records;
  RunOwnership ownership(records.client(), std::nullopt, "");
  CHECK(ownership.record(0, 3));
  CHECK(ownership.forget());
  CHECK(records.kept.version == 0);
}

}  // namespace tfd::coordinator
