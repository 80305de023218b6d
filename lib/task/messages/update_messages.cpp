// SPDX-License-Identifier: Apache-2.0
//
// Messages of updates, and of fencing and settling their sequence numbers.
#include <algorithm>

#include "protocol.hpp"
#include "tfd/transport/message_body.hpp"

namespace tfd::variable {
namespace {

bool is_ascending(const std::vector<std::uint64_t>& numbers) {
  return std::ranges::adjacent_find(numbers, std::ranges::greater_equal()) == numbers.end();
}
bool is_ascending(const std::vector<Attempt>& attempts) {
  return std::ranges::adjacent_find(attempts, std::ranges::greater_equal(), &Attempt::sequence) == attempts.end();
}

}  // namespace

template <class Io>
void fields(Io& io, SequenceHistory& history) {
  io(history.settled, history.unused, history.low);
  io(history.above, history.fenced, history.committed, history.staged);
  if constexpr (!Io::kReads) return;
  io.require(is_ascending(history.above) && is_ascending(history.fenced));
  io.require(is_ascending(history.committed) && is_ascending(history.staged));
  io.require(history.settled <= history.low && history.unused <= history.settled);
}
template <class Io>
void fields(Io& io, DueUpdate& due) {
  io(due.variable, due.norm, due.is_due, due.round, due.square_sum);
}

}  // namespace tfd::variable

namespace tfd::task {

using transport::make_message;
using transport::Message;
using transport::read_message;

template <class Io>
void fields(Io& io, Settle& settle) {
  io.epoch(settle.epoch);
  io(settle.below, settle.unused);
}
template <class Io>
void fields(Io& io, UpdateRequest& request) {
  io.epoch(request.epoch);
  io(request.sequence, request.client, request.is_fence, request.is_alone);
  if (io.is(Kind::kStage)) io(request.attempt);
  io(request.updates);
  io.require(!request.is_fence || request.updates.empty());
}
template <class Io>
void fields(Io& io, Commit& commit) {
  io.epoch(commit.epoch);
  io(commit.attempt);
}
template <class Io>
void fields(Io& io, Abort& abort) {
  io.epoch(abort.epoch);
  io(abort.attempt, abort.is_of_all);
}
template <class Io>
void fields(Io& io, UpdateAnswer& answer) {
  io(answer.is_new, answer.is_busy, answer.is_due);
}
template <class Io>
void fields(Io& io, Adopt& adopt) {
  io.epoch(adopt.epoch);
  io(adopt.from);
}

Message encode(const Settle& settle) { return make_message(Kind::kSettle, settle); }

Result<Settle> decode_settle(const Message& message) { return read_message<Settle>(message, Kind::kSettle, "settle"); }

Message encode(UpdateRequest request, Kind kind) {
  transport::BodyWriter out(kind, request.epoch, true);
  out.reserve_tensors(request.updates.size());
  out(request);
  return out.finish();
}

Result<UpdateRequest> decode_update(const Message& message) { return read_message<UpdateRequest>(message, "update"); }

Message encode(const Commit& commit) { return make_message(Kind::kCommit, commit); }

Result<Commit> decode_commit(const Message& message) { return read_message<Commit>(message, Kind::kCommit, "commit"); }

Message encode(const Abort& abort) { return make_message(Kind::kAbort, abort); }

Result<Abort> decode_abort(const Message& message) { return read_message<Abort>(message, Kind::kAbort, "abort"); }

Message encode(const UpdateAnswer& answer) { return make_message(Kind::kUpdate, answer); }

Result<UpdateAnswer> decode_update_answer(const Message& message) {
  return read_message<UpdateAnswer>(message, Kind::kUpdate, "answer to an update");
}

Message encode_due(Kind kind, const std::vector<variable::DueUpdate>& updates, std::uint64_t epoch) {
  return make_message(kind, updates, epoch);
}

Result<std::vector<variable::DueUpdate>> decode_due(const Message& message) {
  return read_message<std::vector<variable::DueUpdate>>(message, "due updates");
}

Message encode(const Adopt& adopt) { return make_message(Kind::kAdopt, adopt); }

Result<Adopt> decode_adopt(const Message& message) { return read_message<Adopt>(message, Kind::kAdopt, "adoption"); }

Message encode_history(const variable::SequenceHistory& history) { return make_message(Kind::kAdopt, history); }

Result<variable::SequenceHistory> decode_history(const Message& message) {
  return read_message<variable::SequenceHistory>(message, Kind::kAdopt, "history");
}

}  // namespace tfd::task
