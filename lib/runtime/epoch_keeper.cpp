// SPDX-License-Identifier: Apache-2.0
#include "epoch_keeper.hpp"

#include <unistd.h>

#include <memory>
#include <random>

#include "tfd/base/environment.hpp"
#include "tfd/base/units.hpp"

namespace tfd::runtime {
namespace {

constexpr int kReignShift = 32;
constexpr std::uint64_t kMostReign = (std::uint64_t{1} << 20) - 1;  // an epoch is exact as a JSON number

}  // namespace

std::uint64_t make_first_epoch() {
  std::random_device random;
  return (std::uniform_int_distribution<std::uint64_t>(1, kMostReign)(random) << kReignShift) | 1;
}

bool is_older(std::uint64_t epoch, std::uint64_t than) {
  return epoch >> kReignShift == than >> kReignShift && epoch < than;
}

Claim make_claim() { return {.host = host_name(), .pid = ::getpid()}; }

EpochKeeper::EpochKeeper(std::string name, Ping ping)
    : name_(std::move(name)), ping_(std::move(ping)), next_(make_first_epoch()) {}

void EpochKeeper::claim(const transport::Caller& caller, Claim claim, std::uint64_t loaded,
                        transport::Responder responder) {
  if (claim.held != 0 && holder_ && holder_->epoch != claim.held) return responder.reply(fail(refusal(*holder_)));
  const bool is_mine = holder_ && (holder_->connection == caller.connection || holder_->epoch == claim.held);
  if (!holder_ || is_mine || claim.take_over) return grant(caller, claim, loaded, std::move(responder));
  const std::uint64_t connection = holder_->connection;
  auto kept = std::make_shared<transport::Responder>(std::move(responder));  // with the callback
  ping_(connection, [this, caller, claim = std::move(claim), loaded, connection, kept](bool answers) {
    if (answers && holder_ && holder_->connection == connection) return kept->reply(fail(refusal(*holder_)));
    if (holder_ && holder_->connection == connection) holder_.reset();
    this->claim(caller, claim, loaded, std::move(*kept));
  });
}

void EpochKeeper::grant(const transport::Caller& caller, const Claim& claim, std::uint64_t loaded,
                        transport::Responder responder) {
  std::uint64_t epoch = claim.held;
  if (epoch == 0) epoch = claim.adopt && loaded != 0 ? loaded : next_++;
  const auto since = holder_ && holder_->epoch == epoch ? holder_->since : Clock::now();
  holder_ = Holder{caller.connection, caller.name, claim.host, claim.pid, since, epoch};
  responder.reply(encode_epoch(epoch));
}

Error EpochKeeper::refusal(const Holder& holder) const {
  const auto held_for = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - holder.since);
  return {Code::kPermissionDenied,
          fmt::format("{} is in use by {} on {} (process {}), for {}; --take-over takes the cluster from it", name_,
                      holder.name, holder.host, holder.pid,
                      held_for.count() == 0 ? "less than a second" : format_duration(held_for)),
          {}};
}

}  // namespace tfd::runtime
