// SPDX-License-Identifier: Apache-2.0
//
// Updates of a parameter server's variables in two steps, with --strict: a worker stages them, its coordinator commits
// or aborts them.
#include "ps_service.hpp"

namespace tfd::task {

// Everything that could fail is checked now, so that a commit can't.
Result<void> PsService::stage(const transport::Caller& caller, const transport::Message& request,
                              transport::Responder& responder) {
  UpdateRequest update = TFD_TRY(decode_update(request));
  const variable::VariableStore& store = served_->store();
  const bool is_over = store.applied().contains(update.sequence);
  for (const variable::Update& one : update.updates)
    if (!is_over) TFD_TRY(store.admit(one));
  using Taken = StagedUpdates::Taken;
  const Taken taken = is_over ? Taken::kLate : staged_.stage(caller.incarnation, std::move(update));
  if (taken == Taken::kFull)
    undecided_.push_back({caller, std::nullopt, std::move(responder)});
  else
    responder.reply(encode(UpdateAnswer{.is_new = taken == Taken::kStaged}));
  if (!undecided_.empty()) decided();  // it may have taken the place of another worker's attempt
  return {};
}

Result<void> PsService::commit(const transport::Message& request, transport::Responder& responder) {
  const Commit commit = TFD_TRY(decode_commit(request));
  const auto& [sequence, attempt] = commit.attempt;
  const auto committed = staged_.find_committed(sequence);
  if (served_->store().applied().contains(sequence) && committed.value_or(attempt) == attempt) {
    answer_again(commit, std::move(responder));
    return {};
  }
  UpdateRequest* const staged = committed ? nullptr : staged_.find(commit.attempt);
  if (staged == nullptr)
    return fail(Code::kDataLoss, "{} has no updates of sequence number {}, attempt {}, to commit{}", name_, sequence,
                attempt, committed ? fmt::format(": it has committed attempt {}", *committed) : "");
  ++updates_;
  updated_ = Clock::now();
  if (!TFD_TRY(apply(*staged, responder))) return {};
  staged_.committed(commit.attempt);
  decided();
  return {};
}

// Its variables are no longer known: the answer waits for all that is under way.
void PsService::answer_again(const Commit& commit, transport::Responder responder) {
  VariableQueues::Request wait{
      .targets = served_->all(), .is_small = true, .done = {}, .responder = std::move(responder)};
  wait.done = [served = served_, sequence = commit.attempt.sequence](const Error*) -> Result<transport::Message> {
    if (const auto failed = served->failed().find(0, sequence)) return fail(Error(*failed));
    return encode(UpdateAnswer{});
  };
  served_->start(std::move(wait));
}

Result<void> PsService::abort(const transport::Message& request) {
  const Abort abort = TFD_TRY(decode_abort(request));
  if (abort.is_of_all)
    staged_.abort_all();
  else if (!served_->store().applied().contains(abort.attempt.sequence))
    staged_.abort(abort.attempt);
  decided();
  return {};
}

/// Continues requests whose workers have nothing left undecided, in the order they came.
void PsService::decided() {
  std::deque<Undecided> left, ready;
  for (Undecided& one : undecided_) {
    const std::uint64_t worker = one.caller.incarnation;
    const bool waits = one.request ? staged_.is_undecided(worker) : !staged_.has_room(worker);
    (waits ? left : ready).push_back(std::move(one));
  }
  undecided_.swap(left);
  for (Undecided& one : ready) {
    if (one.request)
      handle(one.caller, *one.request, std::move(one.responder));
    else
      one.responder.reply(encode(UpdateAnswer{.is_busy = true}));
  }
}

}  // namespace tfd::task
