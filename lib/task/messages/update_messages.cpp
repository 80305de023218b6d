// SPDX-License-Identifier: Apache-2.0
//
// Messages of updates, and of fencing and settling their sequence numbers.
#include "protocol.hpp"
#include "wire_format.hpp"

namespace tfd::task {

using transport::Message;

namespace {

constexpr std::size_t kAttemptBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);

void put_all(Writer& out, const std::vector<std::uint64_t>& numbers) {
  out.count(numbers.size());
  for (const std::uint64_t number : numbers) out.put(number);
}

std::vector<std::uint64_t> take_all(Reader& in) {
  std::vector<std::uint64_t> out;
  for (std::size_t left = in.count(sizeof(std::uint64_t)); left > 0 && in.is_good(); --left) {
    out.push_back(in.number<std::uint64_t>());
    in.require(out.size() < 2 || out[out.size() - 2] < out.back());
  }
  return out;
}

void put_all(Writer& out, const std::vector<variable::Attempt>& attempts) {
  out.count(attempts.size());
  for (const variable::Attempt& one : attempts) {
    out.put(one.sequence);
    out.put(one.number);
  }
}

variable::Attempt take_attempt(Reader& in) {
  variable::Attempt out{in.number<std::uint64_t>()};
  out.number = in.number<std::uint32_t>();
  return out;
}

std::vector<variable::Attempt> take_attempts(Reader& in) {
  std::vector<variable::Attempt> out;
  for (std::size_t left = in.count(kAttemptBytes); left > 0 && in.is_good(); --left) {
    out.push_back(take_attempt(in));
    in.require(out.size() < 2 || out[out.size() - 2].sequence < out.back().sequence);
  }
  return out;
}

}  // namespace

Message encode(const Settle& settle) {
  Writer out;
  out.put(settle.below);
  out.put(settle.unused);
  return make_message(Kind::kSettle, out, {}, settle.epoch);
}

Result<Settle> decode_settle(const Message& message) {
  Reader in(message, Kind::kSettle);
  Settle out;
  out.epoch = message.epoch;
  out.below = in.number<std::uint64_t>();
  out.unused = in.number<std::uint64_t>();
  TFD_TRY(in.end("settle"));
  return out;
}

Message encode(UpdateRequest request, Kind kind) {
  Writer out;
  out.put(request.sequence);
  out.put(request.client);
  out.put(request.is_fence);
  out.put(request.is_alone);
  if (kind == Kind::kStage) out.put(request.attempt);
  std::vector<tensor::Tensor> tensors;
  tensors.reserve(request.updates.size());
  out.count(request.updates.size());
  for (variable::Update& update : request.updates) {
    out.put(update.kind);
    out.put(update.variable);
    tensors.push_back(std::move(update.value));
    if (variable::updates_rows(update.kind)) tensors.push_back(std::move(update.indices));
  }
  return make_message(kind, out, std::move(tensors), request.epoch);
}

Result<UpdateRequest> decode_update(const Message& message) {
  Reader in(message);
  UpdateRequest out;
  out.epoch = message.epoch;
  out.sequence = in.number<std::uint64_t>();
  out.client = in.number<std::uint64_t>();
  out.is_fence = in.flag();
  out.is_alone = in.flag();
  if (static_cast<Kind>(message.kind) == Kind::kStage) out.attempt = in.number<std::uint32_t>();
  for (std::size_t left = in.count(1 + kLeastText); left > 0 && in.is_good(); --left) {
    variable::Update& update = out.updates.emplace_back();
    update.kind = in.choice(variable::UpdateKind::kNonfiniteScale);
    update.variable = in.text();
    update.value = in.tensor();
    if (variable::updates_rows(update.kind)) update.indices = in.tensor();
  }
  in.require(!out.is_fence || out.updates.empty());
  TFD_TRY(in.end("update"));
  return out;
}

Message encode(const Commit& commit) {
  Writer out;
  out.put(commit.attempt.sequence);
  out.put(commit.attempt.number);
  return make_message(Kind::kCommit, out, {}, commit.epoch);
}

Result<Commit> decode_commit(const Message& message) {
  Reader in(message, Kind::kCommit);
  const Commit out{message.epoch, take_attempt(in)};
  TFD_TRY(in.end("commit"));
  return out;
}

Message encode(const Abort& abort) {
  Writer out;
  out.put(abort.attempt.sequence);
  out.put(abort.attempt.number);
  out.put(abort.is_of_all);
  return make_message(Kind::kAbort, out, {}, abort.epoch);
}

Result<Abort> decode_abort(const Message& message) {
  Reader in(message, Kind::kAbort);
  Abort out{message.epoch, take_attempt(in)};
  out.is_of_all = in.flag();
  TFD_TRY(in.end("abort"));
  return out;
}

Message encode(const UpdateAnswer& answer) {
  Writer out;
  out.put(answer.is_new);
  out.put(answer.is_busy);
  out.put(answer.is_due);
  return make_message(Kind::kUpdate, out);
}

Result<UpdateAnswer> decode_update_answer(const Message& message) {
  Reader in(message, Kind::kUpdate);
  UpdateAnswer out;
  out.is_new = in.flag();
  out.is_busy = in.flag();
  out.is_due = in.flag();
  TFD_TRY(in.end("answer to an update"));
  return out;
}

Message encode_due(Kind kind, const std::vector<variable::DueUpdate>& updates, std::uint64_t epoch) {
  Writer out;
  out.count(updates.size());
  for (const variable::DueUpdate& one : updates) {
    out.put(one.variable);
    out.put(one.norm);
    out.put(one.is_due);
    out.put(one.round);
    out.put(one.square_sum);
  }
  return make_message(kind, out, {}, epoch);
}

Result<std::vector<variable::DueUpdate>> decode_due(const Message& message) {
  Reader in(message);
  std::vector<variable::DueUpdate> out;
  for (std::size_t left = in.count(2 * kLeastText + 17); left > 0 && in.is_good(); --left) {
    variable::DueUpdate& one = out.emplace_back();
    one.variable = in.text();
    one.norm = in.text();
    one.is_due = in.flag();
    one.round = in.number<std::uint64_t>();
    one.square_sum = in.real();
  }
  TFD_TRY(in.end("due updates"));
  return out;
}

Message encode(const Adopt& adopt) {
  Writer out;
  out.put(adopt.from);
  return make_message(Kind::kAdopt, out, {}, adopt.epoch);
}

Result<Adopt> decode_adopt(const Message& message) {
  Reader in(message, Kind::kAdopt);
  const Adopt out{message.epoch, in.number<std::uint64_t>()};
  TFD_TRY(in.end("adoption"));
  return out;
}

Message encode_history(const variable::SequenceHistory& history) {
  Writer out;
  out.put(history.settled);
  out.put(history.unused);
  out.put(history.low);
  put_all(out, history.above);
  put_all(out, history.fenced);
  put_all(out, history.committed);
  put_all(out, history.staged);
  return make_message(Kind::kAdopt, out);
}

Result<variable::SequenceHistory> decode_history(const Message& message) {
  Reader in(message, Kind::kAdopt);
  variable::SequenceHistory out;
  out.settled = in.number<std::uint64_t>();
  out.unused = in.number<std::uint64_t>();
  out.low = in.number<std::uint64_t>();
  out.above = take_all(in);
  out.fenced = take_all(in);
  out.committed = take_attempts(in);
  out.staged = take_attempts(in);
  in.require(out.settled <= out.low && out.unused <= out.settled);
  TFD_TRY(in.end("history"));
  return out;
}

}  // namespace tfd::task
