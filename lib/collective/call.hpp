#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A member's description of a collective, sent before any bytes: all members' calls must be the same. Thread rule:
// plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/collective/communicator.hpp"

namespace tfd::collective {

enum class CallKind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kBarrier };
constexpr CallKind last_value(CallKind) { return CallKind::kBarrier; }

struct Call {
  CallKind kind = CallKind::kBarrier;
  std::string name;
  std::int64_t step = 0;
  tensor::TensorSpec spec = {};  // of a sum
  std::int64_t replicas = 0;     // of a sum
  std::uint64_t layout = 0;      // of a sum: digest of the owners of the replicas, and of which have a value
  std::int64_t root = 0;         // of a broadcast
  std::uint64_t size = 0;        // of a broadcast, in bytes
  friend bool operator==(const Call&, const Call&) = default;
};
template <class Io>
void fields(Io& io, Call& call) {
  io(call.kind, call.name, call.step, call.spec, call.replicas, call.layout, call.root, call.size);
}

/// A sum's call. kInvalidArgument: a layout or spec that can't be: shares that aren't the replicas in order, no
/// value.
Result<Call> make_call(const Reduction& what, const SumLayout& layout, int members,
                       CallKind kind = CallKind::kAllReduce);

/// `all_reduce "w", step 7`; `all_reduce "w"` of kNoStep.
std::string format_call(const Call& call);

inline constexpr std::size_t kMostCallBytes = 16 << 10;
/// kInvalidArgument for a name of more than 4 KiB.
Result<std::string> encode_call(const Call& call);
/// kInvalidArgument for bytes that aren't a call.
Result<Call> decode_call(std::string_view bytes);

/// The error of calls that differ, the same in every member: rank 0 against the first that differs from it. nullopt
/// while the calls that came don't tell which one that is. `calls`: encoded, by rank.
std::optional<Error> find_difference(const Members& members, const std::vector<std::optional<std::string>>& calls);

}  // namespace tfd::collective
