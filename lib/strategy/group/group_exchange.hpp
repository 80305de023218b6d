#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A step's exchange with the other members of a group: before it computes, a member announces what it has (weights of
// its replicas, what the chief decided, an error); after it, the changes are summed. Private to the room. Thread rule:
// one thread.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tfd/collective/communicator.hpp"
#include "tfd/step/replica_exchange.hpp"

namespace tfd::strategy {

/// The next action of all members, as the chief decided.
enum class GroupAct : std::uint8_t {
  kStep,
  kTell,
  kEvaluate,
  kUseAverages,
  kLoad,
  kVerify,
  kSave,
  kAsk,      // nothing: the next notices are newer than this one
  kRegroup,  // interrupted members leave, and the others are a generation of their own; nothing if these were too few
  kEnd
};
constexpr GroupAct last_value(GroupAct) { return GroupAct::kEnd; }

/// A member's notice before each action. The chief's act counts.
struct Notice {
  GroupAct act = GroupAct::kStep;
  std::vector<double> weights = {};  // of its replicas in the next step (kNoData: none); empty: its data have ended
  std::optional<Error> error = {};   // ends the training of all
  bool tells = false;                // the chief's, with kStep: metrics are gathered after it
  bool wants_stop = false;           // it was interrupted; the chief's: it leaves, with kRegroup
  bool is_cancelled = false;         // its data were stopped: the step can't be made
  bool is_interrupted = false;       // the chief's, with kEnd: the training goes on later
  bool has_ended = false;            // its data have
  std::int32_t launch_module = -1;   // of the function, if it would make the step by one program for all devices
  std::uint64_t launch = 0;          // that program's signature
  Duration waited = {};              // how long it waited for others in the step before, each time for one alone
};

/// All members' notices, by rank.
struct Notices {
  std::vector<Notice> all;
  const Notice& chief() const { return all.front(); }
  /// True if that member was interrupted.
  bool wants_stop(int rank) const { return all[static_cast<std::size_t>(rank)].wants_stop; }
  bool wants_stop() const { return std::ranges::any_of(all, &Notice::wants_stop); }
  bool have_ended() const { return std::ranges::all_of(all, &Notice::has_ended); }
  /// True if a step is made, provided that somebody has data.
  bool make_step() const;
  bool is_cancelled() const { return std::ranges::any_of(all, &Notice::is_cancelled); }
  /// True if the step is one program for all members' devices: every replica has as much data, and takes part in it.
  bool are_launch() const;
  /// A launch that would never end, since the members' programs differ. kInvalidArgument names the first that differs
  /// from the chief's, the same in all.
  std::optional<Error> launch_difference(const collective::Members& members, std::int64_t step) const;
  /// The first error in the order of ranks, with its member's name.
  std::optional<Error> first_error(const collective::Members& members) const;
};

/// A variable whose digests differ, and the members that have another one than most.
struct Difference {
  std::size_t variable = 0;
  std::vector<int> ranks;  // ascending; where no digest is most members', those that differ from the first's
};
/// The first variable that differs, of every member's digests: 64 bits for each variable, by rank.
std::optional<Difference> find_difference(const std::vector<std::string>& digests);

/// kInvalidArgument if `members`, present or future ones, have no replica each. `whose`: the replicas' origin,
/// with which the line begins, such as "the training has"; empty: --replicas.
Result<void> check_replicas(int replicas, int members, bool may_come, const std::string& whose);
/// Shares replicas among members in contiguous runs, as equal as can be: the first ones have one more.
std::vector<step::ReplicaRange> share_replicas(int replicas, int members);

/// Bytes of a bucket over a network: a sum has that many at most. Through memory nothing is cut: nobody waits there.
inline constexpr std::int64_t kBucketBytes = 128 << 10;

class GroupExchange final : public step::ReplicaExchange {
 public:
  /// The communicator is borrowed. `shares`: by rank. `bucket_bytes`: the same in all members; 0: nothing is cut;
  /// absent: the default.
  GroupExchange(collective::Communicator& communicator, std::vector<step::ReplicaRange> shares, Duration step_timeout,
                std::optional<std::int64_t> bucket_bytes = std::nullopt);

  /// Sends this member's notice and returns at once; the same `number` in all members.
  Result<void> announce(std::int64_t number, const Notice& notice);
  /// Waits for the others' notices, unless find_weights() has them.
  Result<Notices> notices();

  /// Sets the weights of the step that is made next, from notices().
  void begin_step(const Notices& notices);
  Result<step::ReplicaWeights> weights(std::int64_t step, const std::vector<double>& own) override;
  Result<std::vector<tensor::Tensor>> reduce(std::int64_t step, std::vector<step::ReplicaSum> sums) override;
  /// A sum that fits into a bucket is sent at once, after the last of it.
  bool begins_early(std::int64_t bytes) const override {
    return !communicator_.shares_memory() && communicator_.size() > 1 && bucket_bytes_ > 0 && bytes > bucket_bytes_;
  }
  std::int64_t bucket_bytes() const override { return bucket_bytes_; }
  std::optional<step::ReplicaWeights> find_weights() override;
  void begin(std::int64_t step, step::ReplicaSum sum) override;
  void move_on() override { (void)communicator_.move_on(); }  // an error comes again

  /// Every member's bytes, by rank; of any size.
  Result<std::vector<std::string>> gather(std::string_view name, std::int64_t step, std::string_view own);
  /// Sends a text and named tensors from one member to all; `own` and `text` are the root's.
  Result<tensor::NamedTensors> send_all(std::string_view name, std::int64_t step, tensor::NamedTensors own,
                                        std::string& text, int root = 0);

 private:
  /// Data to which a reduction refers until it is done.
  struct Begun {
    std::vector<tensor::Tensor> kept = {};                 // this member's parts
    std::vector<std::vector<tensor::SumPart>> parts = {};  // the same, of each bucket, for the communicator
    collective::SumLayout layout = {};
    tensor::Tensor out = {};
  };
  Result<void> begin_one(std::int64_t step, step::ReplicaSum& sum);
  Result<void> begin_buckets(std::int64_t step, const std::string& name, tensor::DType dtype, Begun& begun);
  Deadline deadline() const { return Deadline::after(step_timeout_); }

  collective::Communicator& communicator_;
  const std::vector<step::ReplicaRange> shares_;
  const Duration step_timeout_;
  const std::int64_t bucket_bytes_;
  step::ReplicaWeights weights_;
  bool is_announced_ = false;
  std::optional<Notices> heard_;  // of the round that is announced
  std::deque<Begun> begun_;       // sums of the step that is made
  std::optional<Error> failed_;   // of begin()
};

}  // namespace tfd::strategy
