// SPDX-License-Identifier: Apache-2.0
//
// The messages of the coordination service (kCoordinate): which request or answer it is, and its parts.
#include "protocol.hpp"
#include "tfd/transport/message_body.hpp"

namespace tfd::task {
namespace {

// The gaps were a barrier's until 0.2.
constexpr std::array<std::uint8_t, 7> kRequestTags{0, 1, 2, 3, 4, 5, 7};
constexpr std::array<std::uint8_t, 4> kAnswerTags{0, 1, 2, 4};

}  // namespace

template <class Io>
void fields(Io& io, GetKey& get) {
  io(get.key, get.after);
}
template <class Io>
void fields(Io& io, PutKey& put) {
  io(put.key, put.value, put.expected);
}
template <class Io>
void fields(Io& io, AddCounters& add) {
  io(add.deltas);
}
template <class Io>
void fields(Io& io, JoinGroup& join) {
  io(join.group, join.member);
}
template <class Io>
void fields(Io& io, LeaveGroup& leave) {
  io(leave.group, leave.member);
}
template <class Io>
void fields(Io& io, ReadGroup& read) {
  io(read.group, read.after);
}
template <class Io>
void fields(Io& io, TakeNumbers& take) {
  io(take.queue, take.client, take.name, take.end, take.most, take.sharers, take.has_all);
}
template <class Io>
void fields(Io& io, CoordinationRequest& request) {
  io(request.wait_ms);
  io.tagged(request.what, kRequestTags);
}

template <class Io>
void fields(Io& io, KeyState& key) {
  io(key.value, key.version);
}
template <class Io>
void fields(Io& io, CounterValues& counters) {
  io(counters.values);
}
template <class Io>
void fields(Io& io, GroupMember& member) {
  io(member.name, member.state);
}
template <class Io>
void fields(Io& io, GroupState& group) {
  io(group.version, group.members);
}
template <class Io>
void fields(Io& io, NumbersState& numbers) {
  io(numbers.first, numbers.count, numbers.settled, numbers.is_over, numbers.held_by);
}

transport::Message encode(const CoordinationRequest& request, std::uint64_t epoch) {
  return transport::make_message(Kind::kCoordinate, request, epoch);
}

Result<CoordinationRequest> decode_coordination(const transport::Message& message) {
  return transport::read_message<CoordinationRequest>(message, Kind::kCoordinate, "coordination");
}

transport::Message encode(const CoordinationAnswer& answer) {
  transport::BodyWriter out(Kind::kCoordinate);
  out.tagged(answer, kAnswerTags);
  return out.finish();
}

Result<CoordinationAnswer> decode_coordination_answer(const transport::Message& message) {
  transport::BodyReader in(message, Kind::kCoordinate);
  CoordinationAnswer out;
  in.tagged(out, kAnswerTags);
  TFD_TRY(in.end("coordination"));
  return out;
}

}  // namespace tfd::task
