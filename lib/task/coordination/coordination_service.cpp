// SPDX-License-Identifier: Apache-2.0
#include "coordination_service.hpp"

#include <algorithm>

namespace tfd::task {
namespace {

constexpr std::uint32_t kLongestWaitMs = 60'000;  // clients that wait longer ask again

}  // namespace

CoordinationService::CoordinationService(std::string name, Ping ping, PostAt post_at, IsApplied is_applied)
    : name_(std::move(name)),
      ping_(std::move(ping)),
      post_at_(std::move(post_at)),
      is_applied_(std::move(is_applied)),
      epochs_(name_),
      run_(is_applied_) {}

void CoordinationService::handle(const transport::Caller& caller, const transport::Message& request,
                                 transport::Responder responder) {
  const auto decoded = decode_coordination(request);
  if (!decoded) return responder.reply(fail(decoded.error()));
  CoordinationState& state = request.epoch == 0 ? process_ : run_;
  if (const auto* put = std::get_if<PutKey>(&decoded->what); put != nullptr && &state == &run_)
    if (put->key == kStandingKey) standing_put_ = Clock::now();
  const Ticket ticket = next_ticket_++;
  const auto until = Clock::now() + std::chrono::milliseconds(std::min(decoded->wait_ms, kLongestWaitMs));
  unanswered_.emplace(ticket, Waiting{std::move(responder), &state, until});
  ends_.emplace(until, ticket);
  reply(state.apply(caller.connection, ticket, *decoded));
  wake_for_next();
}

void CoordinationService::reply(CoordinationState::Replies replies) {
  for (CoordinationState::Reply& one : replies) {
    const auto found = unanswered_.find(one.ticket);
    if (found == unanswered_.end()) continue;
    transport::Responder responder = std::move(found->second.responder);
    forget(found);
    if (one.answer)
      responder.reply(encode(*one.answer));
    else
      responder.reply(fail(std::move(one.answer).error()));
  }
}

void CoordinationService::forget(std::map<Ticket, Waiting>::iterator waiting) {
  ends_.erase({waiting->second.until, waiting->first});
  unanswered_.erase(waiting);
}

// Most waits are answered long before they time out, and a timer can't be canceled: there is one for the earliest
// timeout, not one for each wait.
void CoordinationService::wake_for_next() {
  if (ends_.empty()) return;
  const Clock::time_point next = ends_.begin()->first;
  if (!wakes_.empty() && *wakes_.begin() <= next) return;
  wakes_.insert(next);
  post_at_(next, [this, next] {
    wakes_.erase(next);
    end_waits();
    wake_for_next();
  });
}

void CoordinationService::end_waits() {
  const Clock::time_point now = Clock::now();
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const Ticket ticket = ends_.begin()->second;
    auto replies = unanswered_.at(ticket).state->wait_over(ticket);
    if (replies.empty()) forget(unanswered_.find(ticket));
    reply(std::move(replies));
  }
}

void CoordinationService::claim(const transport::Caller& caller, Claim claim, std::uint64_t loaded,
                                transport::Responder responder, std::optional<std::uint64_t> answered) {
  auto decision = epochs_.claim({caller.connection, caller.name}, claim, loaded, Clock::now(), answered);
  if (const auto* epoch = std::get_if<std::uint64_t>(&decision)) return responder.reply(encode_epoch(*epoch));
  if (auto* refusal = std::get_if<Error>(&decision)) return responder.reply(fail(std::move(*refusal)));
  const std::uint64_t holder = std::get<EpochClaims::Ping>(decision).connection;
  auto kept = std::make_shared<transport::Responder>(std::move(responder));  // with the callback
  ping_(holder, [this, caller, claim = std::move(claim), loaded, holder, kept](bool answers) {
    if (!answers) epochs_.is_silent(holder);
    this->claim(caller, claim, loaded, std::move(*kept), answers ? std::optional(holder) : std::nullopt);
  });
}

void CoordinationService::caller_gone(const transport::Caller& caller) {
  for (CoordinationState* state : {&process_, &run_}) {
    for (const Ticket ticket : state->waiting_of(caller.connection)) forget(unanswered_.find(ticket));
    reply(state->connection_gone(caller.connection));
  }
}

void CoordinationService::updated() { reply(run_.updated()); }

void CoordinationService::run_is(std::uint64_t epoch) {
  if (epoch == epoch_) return;
  reply(run_.end({Code::kPermissionDenied, fmt::format("{} has another run by now (epoch {})", name_, epoch), {}}));
  run_ = CoordinationState(is_applied_);
  epoch_ = epoch;
  reply(process_.put_own(kEpochKey, std::to_string(epoch)));
}

}  // namespace tfd::task
