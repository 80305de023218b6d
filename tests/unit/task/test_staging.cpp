// SPDX-License-Identifier: Apache-2.0
//
// A parameter server whose updates come in two steps: staged by workers, committed or aborted by a coordinator.
#include "ps_bed.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;
using variable::Attempt;
using variable::Update;
using variable::UpdateKind;

namespace {

Parts two_numbers() {
  return {R"({"v": 1, "variables": {"w": {"shape": [2], "init": {"zeros": {}}},
                                    "big": {"shape": [100000], "init": {"zeros": {}}}}})",
          {},
          {}};
}

Tensor pair_of(float value) {
  Tensor out = Tensor::uninitialized(DType::kF32, {2});
  std::fill_n(out.mutable_as<float>(), 2, value);
  return out;
}

std::vector<Update> adds(float value) { return {{UpdateKind::kAssignAdd, "w", pair_of(value)}}; }

Asked<bool> stage(PsClient& client, const Attempt& attempt, const std::vector<Update>& updates) {
  return client.ask<bool>([&](Deadline deadline, auto done) {
    client.task().update(client.task().stage_message(attempt, updates, true), deadline,
                         [done](Result<UpdateAnswer> answer) {
                           done(std::move(answer).map([](const UpdateAnswer& one) { return one.is_new; }));
                         });
  });
}
Asked<bool> commit(PsClient& client, const Attempt& attempt) {
  return client.ask<bool>([&](Deadline deadline, auto done) {
    client.task().commit(attempt, deadline, [done](Result<UpdateAnswer> answer) {
      done(std::move(answer).map([](const UpdateAnswer& one) { return one.is_new; }));
    });
  });
}
Asked<void> abort(PsClient& client, const Attempt& attempt) {
  return client.ask<void>([&](Deadline deadline, auto done) { client.task().abort(attempt, deadline, done); });
}
float value(PsClient& client) { return client.read({"w"}).get().value().front().as<float>()[0]; }

}  // namespace

TEST_CASE("staging: an update is seen once it is committed, and however often that is asked it is applied once") {
  PsBed bed(two_numbers(), false);
  const auto worker = bed.client("worker:0"), coordinator = bed.client("coordinator");
  CHECK(stage(*worker, {0, 0}, adds(1)).get().value());
  CHECK(value(*coordinator) == 0);
  CHECK(commit(*coordinator, {0, 0}).get().value());
  CHECK(value(*coordinator) == 1);
  CHECK_FALSE(commit(*coordinator, {0, 0}).get().value());
  CHECK_FALSE(stage(*worker, {0, 0}, adds(1)).get().value());  // late
  CHECK_FALSE(stage(*worker, {0, 1}, adds(1)).get().value());
  CHECK(value(*coordinator) == 1);
}

TEST_CASE("staging: whoever has staged something reads what it becomes; others read what is there") {
  PsBed bed(two_numbers(), false);
  const auto worker = bed.client("worker:0"), other = bed.client("worker:1"), coordinator = bed.client("coordinator");
  auto staged = stage(*worker, {0, 0}, adds(1));
  auto again = stage(*worker, {1, 0}, adds(10));
  CHECK(staged.get().value());
  CHECK(again.get().value());
  auto reads = worker->read({"w"});
  (void)worker->status();
  CHECK_FALSE(reads.is_answered());
  CHECK(value(*other) == 0);
  CHECK(commit(*coordinator, {0, 0}).get().value());
  (void)worker->status();
  CHECK_FALSE(reads.is_answered());  // of the other one, too
  CHECK(abort(*coordinator, {1, 0}).get());
  CHECK(reads.get().value().front().as<float>()[0] == 1);
}

TEST_CASE("staging: what doesn't fit is refused when it is staged, and nothing of it is") {
  PsBed bed(two_numbers(), false);
  const auto worker = bed.client("worker:0"), coordinator = bed.client("coordinator");
  auto updates = adds(1);
  updates.push_back({UpdateKind::kAssign, "big", pair_of(1)});
  CHECK(stage(*worker, {0, 0}, updates).get().error().code == Code::kInvalidArgument);
  updates.back().variable = "none";
  CHECK(stage(*worker, {0, 0}, updates).get().error().code == Code::kNotFound);
  CHECK(commit(*coordinator, {0, 0}).get().error().code == Code::kDataLoss);
}

TEST_CASE("staging: a commit of what isn't there says so, and changes nothing") {
  PsBed bed(two_numbers(), false);
  const auto worker = bed.client("worker:0"), coordinator = bed.client("coordinator");
  CHECK(commit(*coordinator, {7, 2}).get().error().message ==
        "ps:0 has no updates of sequence number 7, attempt 2, to commit");
  CHECK(stage(*worker, {7, 1}, adds(1)).get().value());
  CHECK(commit(*coordinator, {7, 2}).get().error().code == Code::kDataLoss);
  CHECK(commit(*coordinator, {7, 1}).get().value());
  CHECK(commit(*coordinator, {7, 2}).get().error().message ==
        "ps:0 has no updates of sequence number 7, attempt 2, to commit: it has committed attempt 1");
  CHECK(value(*coordinator) == 1);
}

TEST_CASE("staging: a late attempt of a worker that was thought dead is dropped, and doesn't make it wait") {
  PsBed bed(two_numbers(), false);
  const auto frozen = bed.client("worker:0"), worker = bed.client("worker:1"), coordinator = bed.client("coordinator");
  CHECK(abort(*coordinator, {0, 0}).get());
  CHECK(stage(*worker, {0, 1}, adds(1)).get().value());
  CHECK_FALSE(stage(*frozen, {0, 0}, adds(100)).get().value());
  CHECK(value(*frozen) == 0);
  CHECK(commit(*coordinator, {0, 1}).get().value());
  CHECK(value(*frozen) == 1);
}

TEST_CASE("staging: a fence drops what is staged, and so does a number that is settled") {
  PsBed bed(two_numbers(), false);
  const auto worker = bed.client("worker:0"), coordinator = bed.client("coordinator");
  for (const std::uint64_t sequence : {0, 1}) CHECK(stage(*worker, {sequence, 0}, adds(1)).get().value());
  auto reads = worker->read({"w"});
  CHECK(coordinator
            ->ask<void>([&](Deadline deadline, auto done) { coordinator->task().fence(kPsEpoch, 0, deadline, done); })
            .get());
  CHECK(
      coordinator
          ->ask<void>([&](Deadline deadline, auto done) { coordinator->task().settle(kPsEpoch, 2, 2, deadline, done); })
          .get());
  CHECK(reads.get().value().front().as<float>()[0] == 0);
}

TEST_CASE("staging: large updates are committed once, though the commit is repeated while they are applied") {
  PsBed bed(two_numbers(), true);
  const auto worker = bed.client("worker:0"), coordinator = bed.client("coordinator");
  Tensor ones = Tensor::uninitialized(DType::kF32, {100000});
  std::fill_n(ones.mutable_as<float>(), 100000, 1.0F);
  for (std::uint64_t sequence = 0; sequence < 20; ++sequence) {
    auto updates = adds(1);
    updates.push_back({UpdateKind::kAssignAdd, "big", ones});
    CHECK(stage(*worker, {sequence, 0}, updates).get().value());
    auto once = commit(*coordinator, {sequence, 0}), twice = commit(*coordinator, {sequence, 0});
    CHECK(once.get().value());
    CHECK_FALSE(twice.get().value());
    const auto both = coordinator->read({"w", "big"}).get().value();
    CHECK(both[0].as<float>()[1] == static_cast<float>(sequence + 1));
    CHECK(both[1].as<float>()[99999] == static_cast<float>(sequence + 1));
  }
}

TEST_CASE("staging: a run that another coordinator adopts tells what was committed and what is staged") {
  PsBed bed(two_numbers(), false);
  const auto worker = bed.client("worker:0"), coordinator = bed.client("coordinator");
  CHECK(stage(*worker, {0, 2}, adds(1)).get().value());
  CHECK(commit(*coordinator, {0, 2}).get().value());
  CHECK(stage(*worker, {1, 0}, adds(10)).get().value());
  auto reads = worker->read({"w"});
  (void)worker->status();
  constexpr std::uint64_t kNext = kPsEpoch + 1;
  const auto history = coordinator
                           ->ask<variable::SequenceHistory>([&](Deadline deadline, auto done) {
                             coordinator->task().adopt(kPsEpoch, kNext, deadline, done);
                           })
                           .get()
                           .value();
  CHECK(history.committed == std::vector<Attempt>{{0, 2}});
  CHECK(history.staged == std::vector<Attempt>{{1, 0}});
  CHECK(reads.get().error().code == Code::kPermissionDenied);
  CHECK(commit(*coordinator, {1, 0}).get().error().code == Code::kPermissionDenied);  // of the coordinator before
  coordinator->task().set_epoch(kNext);
  CHECK(commit(*coordinator, {1, 0}).get().value());
  CHECK(value(*coordinator) == 11);
  bed.load(kNext + 1);  // a new run has nothing of it
  coordinator->task().set_epoch(kNext + 1);
  CHECK(commit(*coordinator, {1, 0}).get().error().code == Code::kDataLoss);
  CHECK(value(*coordinator) == 0);
}
