// SPDX-License-Identifier: Apache-2.0
//
// The attempts of a closure's updates that a parameter server keeps until one is picked.
#include "ps/staged_updates.hpp"

#include <doctest/doctest.h>

namespace tfd::task {
namespace {

using Taken = StagedUpdates::Taken;
constexpr std::uint64_t kOne = 11, kOther = 12;  // workers

UpdateRequest request(std::uint64_t sequence, std::uint32_t attempt, std::int64_t bytes = 4) {
  UpdateRequest out{.epoch = 1, .sequence = sequence};
  out.attempt = attempt;
  out.updates.push_back({variable::UpdateKind::kAssign, "v", tensor::Tensor::zeros(tensor::DType::kU8, {bytes})});
  return out;
}

variable::SequenceHistory told(const StagedUpdates& staged) {
  variable::SequenceHistory out;
  staged.tell(out);
  return out;
}

using Attempts = std::vector<variable::Attempt>;

}  // namespace

TEST_CASE("staged updates: of a closure's attempts the latest is kept, whichever comes first") {
  StagedUpdates staged;
  CHECK(staged.empty());
  CHECK(staged.stage(kOne, request(3, 1)) == Taken::kStaged);
  CHECK(staged.stage(kOther, request(3, 0)) == Taken::kLate);
  CHECK(staged.find({3, 0}) == nullptr);
  CHECK(staged.stage(kOther, request(3, 2)) == Taken::kStaged);
  CHECK(staged.stage(kOther, request(3, 2)) == Taken::kStaged);  // once more: its answer was lost
  CHECK(staged.find({3, 1}) == nullptr);
  CHECK(staged.find({3, 2}) != nullptr);
  CHECK_FALSE(staged.is_undecided(kOne));
  CHECK(staged.is_undecided(kOther));
  CHECK(told(staged).staged == Attempts{{3, 2}});
}

TEST_CASE("staged updates: what is committed is known until it is settled, and its worker has nothing undecided") {
  StagedUpdates staged;
  CHECK(staged.stage(kOne, request(0, 0)) == Taken::kStaged);
  CHECK(staged.stage(kOne, request(1, 4)) == Taken::kStaged);
  staged.committed({0, 0});
  CHECK(staged.is_undecided(kOne));
  staged.committed({1, 4});
  CHECK_FALSE(staged.is_undecided(kOne));
  CHECK(staged.empty());
  CHECK(staged.find_committed(1) == 4);
  CHECK(told(staged).committed == Attempts{{0, 0}, {1, 4}});
  staged.settle(1);
  CHECK(told(staged).committed == Attempts{{1, 4}});
  CHECK_FALSE(staged.find_committed(0));
}

TEST_CASE("staged updates: an attempt that was aborted isn't staged when it comes late; the next one is") {
  StagedUpdates staged;
  staged.abort({5, 1});
  CHECK(staged.stage(kOne, request(5, 0)) == Taken::kLate);
  CHECK(staged.stage(kOne, request(5, 1)) == Taken::kLate);
  CHECK_FALSE(staged.is_undecided(kOne));
  CHECK(staged.stage(kOne, request(5, 2)) == Taken::kStaged);
  staged.abort({5, 1});  // this one comes late, too
  CHECK(staged.find({5, 2}) != nullptr);
  staged.drop(5);
  CHECK(staged.empty());
  CHECK(staged.stage(kOne, request(6, 0)) == Taken::kStaged);
  staged.settle(7);
  CHECK(staged.empty());
  CHECK_FALSE(staged.is_undecided(kOne));
}

TEST_CASE("staged updates: another coordinator's attempts are counted from 0 again once all are aborted") {
  StagedUpdates staged;
  CHECK(staged.stage(kOne, request(1, 0)) == Taken::kStaged);
  staged.committed({1, 0});
  CHECK(staged.stage(kOne, request(2, 3)) == Taken::kStaged);
  staged.abort({4, 2});
  staged.abort_all();
  CHECK_FALSE(staged.is_undecided(kOne));
  CHECK(told(staged).staged.empty());
  CHECK(told(staged).committed == Attempts{{1, 0}});
  CHECK(staged.stage(kOther, request(4, 0)) == Taken::kStaged);
}

TEST_CASE("staged updates: they are bounded in bytes, but each worker may have one") {
  StagedUpdates staged(100);
  CHECK(staged.stage(kOne, request(0, 0, 80)) == Taken::kStaged);
  CHECK(staged.stage(kOther, request(1, 0, 80)) == Taken::kStaged);
  CHECK(staged.stage(kOne, request(2, 0, 80)) == Taken::kFull);
  CHECK(staged.find({2, 0}) == nullptr);
  CHECK_FALSE(staged.has_room(kOne));
  staged.committed({0, 0});
  CHECK(staged.is_undecided(kOne));  // of what it is to send again
  CHECK(staged.has_room(kOne));
  CHECK(staged.stage(kOne, request(2, 0, 80)) == Taken::kStaged);
  CHECK(staged.find({2, 0}) != nullptr);
  staged.abort({2, 0});
  CHECK_FALSE(staged.is_undecided(kOne));
  CHECK(staged.stage(kOther, request(3, 0, 10)) == Taken::kStaged);
}

}  // namespace tfd::task
