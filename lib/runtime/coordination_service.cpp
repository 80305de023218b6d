// SPDX-License-Identifier: Apache-2.0
#include "coordination_service.hpp"

#include <algorithm>

namespace tfd::runtime {
namespace {

constexpr std::uint32_t kLongestWaitMs = 60'000;  // who wants to wait longer asks again

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
  const Ticket ticket = next_ticket_++;
  unanswered_.emplace(ticket, std::pair(caller.connection, std::move(responder)));
  reply(state.apply(caller.connection, ticket, *decoded));
  if (!unanswered_.contains(ticket)) return;
  post_at_(Clock::now() + std::chrono::milliseconds(std::min(decoded->wait_ms, kLongestWaitMs)),
           [this, ticket, &state] { reply(state.wait_over(ticket)); });
}

void CoordinationService::reply(CoordinationState::Replies replies) {
  for (CoordinationState::Reply& one : replies) {
    auto found = unanswered_.extract(one.ticket);
    if (!found) continue;
    if (one.answer)
      found.mapped().second.reply(encode(*one.answer));
    else
      found.mapped().second.reply(fail(std::move(one.answer).error()));
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
  std::erase_if(unanswered_, [&](const auto& one) { return one.second.first == caller.connection; });
  reply(process_.connection_gone(caller.connection));
  reply(run_.connection_gone(caller.connection));
}

void CoordinationService::run_is(std::uint64_t epoch) {
  if (epoch == epoch_) return;
  reply(run_.end({Code::kPermissionDenied, fmt::format("{} has another run by now (epoch {})", name_, epoch), {}}));
  run_ = CoordinationState(is_applied_);
  epoch_ = epoch;
  reply(process_.put_own(kEpochKey, std::to_string(epoch)));
}

}  // namespace tfd::runtime
