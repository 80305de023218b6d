// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers: they get the program first and hold the variables; the loss of one ends everything.
#include <algorithm>

#include "servers/server_links.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kClaimAnswer = std::chrono::seconds(10);    // the holder is pinged meanwhile
constexpr Duration kShown = std::chrono::seconds(3);           // patience with an answer that nobody waits for
constexpr Duration kHistoryAnswer = std::chrono::seconds(10);  // to requests about an unfinished run

Error gone(const std::string& server, const std::string& reason) {
  return {Code::kUnavailable, fmt::format("parameter server {} is gone: {}", server, reason), server};
}

}  // namespace

// Claims the cluster: there is one coordinator at a time, to which the first parameter server issues epochs.
Result<void> ServerLinks::claim_cluster() {
  task::Claim claim = task::make_claim();
  claim.take_over = state_.options.take_over;
  state_.epoch = TFD_TRY(ps_->claim(claim, Deadline::after(kClaimAnswer)));
  return {};
}

// Continues the training that the parameter servers hold, if it is this one. It is nobody else's from here on: its
// former holder may have died. False: they are to be loaded, under an epoch that none of them has.
Result<bool> ServerLinks::adopt_run() {
  const Deadline soon = Deadline::after(kHistoryAnswer);
  const auto status = ps_->status(soon);
  if (!status) return false;
  RunOwnership::Epochs epochs;
  for (const task::TaskStatus& one : *status) epochs.push_back(one.epoch);
  const auto found = ownership_->find(epochs, soon);
  if (found && !found->is_own)
    state_.options.log.warning(
        "the parameter servers had an unfinished training (run {}): its steps since its last checkpoint are lost",
        printable(found->record.run));
  if (!found || !found->is_own) return false;
  const auto move = [&](const RunOwnership::Epochs& from) {
    auto histories = ps_->adopt(from, state_.epoch, Deadline::after(kHistoryAnswer));
    if (!histories)
      state_.options.log.info("the unfinished run {} can't be adopted: {}", printable(found->record.run),
                              histories.error().message);
    return histories;
  };
  const auto adopted = TFD_TRY(ownership_->adopt(*found, state_.epoch, move));
  if (!adopted) {
    TFD_TRY(claim_cluster());
    return false;
  }
  if (const auto& commits = adopted->continuation.commits; !commits.empty()) {
    const auto resolved = ps_->resolve(commits, soon);
    if (!resolved) {
      state_.options.log.info("the staged updates of the unfinished run can't be committed: {}",
                              resolved.error().message);
      TFD_TRY(claim_cluster());
      return false;
    }
  }
  adopted_ = adopted->run;
  settled_ = adopted->continuation.settled;
  const MutexLock lock(state_.mutex);
  state_.closures.go_on(adopted->continuation);
  return true;
}

std::optional<std::size_t> ServerLinks::find(const std::string& task) const {
  const auto server = std::ranges::find(state_.servers, task, &Server::name);
  if (server == state_.servers.end()) return std::nullopt;
  return static_cast<std::size_t>(server - state_.servers.begin());
}

bool ServerLinks::check_up() {
  for (std::size_t i = 0; i < state_.servers.size(); ++i) {
    if (ps_->is_up(i)) continue;
    lose(i, "it disconnected");
    return false;
  }
  return true;
}

void ServerLinks::on_event(std::size_t index, const transport::PeerEvent& event) {
  if (event.refused || !is_ready_) return;  // refused: its requests have failed
  const Server& server = state_.servers[index];
  switch (event.state) {
    case transport::PeerState::kUp:
      if (event.incarnation != ps_->incarnation(index)) return lose(index, kRestarted);
      return on_back(index);
    case transport::PeerState::kSilent:
      state_.options.log.warning("{} is silent ({}); waiting up to {} for it (--rejoin)", server.name, event.reason,
                                 format_duration(state_.options.rejoin));
      return on_away(index, event);
    case transport::PeerState::kLost:
      if (event.is_gone && !state_.options.transient) return lose(index, event.reason);
      return on_away(index, event);
    case transport::PeerState::kConnecting:
      return;
  }
}

// Handles a server that is silent or disconnected, whose process isn't known to have ended.
void ServerLinks::on_away(std::size_t index, const transport::PeerEvent& event) {
  Clock::time_point since;
  {
    const MutexLock lock(state_.mutex);
    since = state_.health.away(index, Clock::now());
    state_.changed.notify_all();
  }
  if (state_.options.transient) return;  // workers' reports count instead
  if (event.state == transport::PeerState::kLost)
    state_.options.log.info("the connection to {} broke ({}); connecting anew", state_.servers[index].name,
                            event.reason);
  state_.endpoint->post_at(since + std::chrono::duration_cast<Clock::duration>(state_.options.rejoin),
                           [this, index, since, reason = event.reason] {
                             {
                               const MutexLock lock(state_.mutex);
                               if (!state_.health.is_away_since(index, since)) return;
                             }
                             lose(index, reason);
                           });
}

void ServerLinks::on_back(std::size_t index) {
  {
    const MutexLock lock(state_.mutex);
    if (!state_.health.back(index)) return;
    state_.changed.notify_all();
  }
  state_.options.log.info("{} answers again", state_.servers[index].name);
  if (index == 0) confirm_claim();
}

// Other coordinators' claims are refused as long as the claiming connection answers: after it was cut off for a while,
// this one may be a new connection, or the cluster another coordinator's.
void ServerLinks::confirm_claim() {
  if (state_.servers.empty()) return;
  task::Claim claim = task::make_claim();
  claim.held = state_.epoch;
  ps_->task(0).claim(claim, Deadline::after(kClaimAnswer), [this](const Result<std::uint64_t>& kept) {
    if (!kept && kept.error().code == Code::kPermissionDenied) fenced_off(kept.error());
  });
}

Result<void> ServerLinks::wait_for_servers(const std::vector<std::size_t>& indices, const Error& why) {
  MutexLock lock(state_.mutex);
  const auto all_up = [&] { return std::ranges::all_of(indices, [this](std::size_t i) { return ps_->is_up(i); }); };
  const bool decided = lock.wait(state_.changed, Deadline::after(2 * state_.options.rejoin + kClaimAnswer),
                                 [&]() TFD_REQUIRES(state_.mutex) { return state_.fatal.has_value() || all_up(); });
  if (state_.fatal) return fail(*state_.fatal);
  return decided ? Result<void>() : fail(why);
}

Result<void> ServerLinks::load(step::ReplicaCopies copies, Deadline deadline) {
  copies_ = std::move(copies);
  std::vector<std::pair<std::string, std::string>> ps;
  for (const Server& server : state_.servers) ps.emplace_back(server.name, server.address);
  placement_ = task::place_variables(state_.program, std::move(ps), copies_);
  packed_ = task::PackedProgram::pack(state_.program, placement_);
  task::ServerPolicy policy{.peer = {.patience = state_.options.rejoin}, .leaves_peers = true};
  // Requests may be sent twice, since it may have died, or its connection broken, after the first.
  policy.on_cut = [this](const std::vector<std::size_t>& cut, const Error& why, int) -> Result<void> {
    const Error lost = gone(state_.servers[cut.front()].name, why.message);
    return !is_ready_ || state_.options.transient ? fail(lost) : wait_for_servers(cut, lost);
  };
  ps_ = std::make_unique<task::ParameterServers>(*state_.endpoint, placement_, std::move(policy));
  if (state_.options.strict && state_.program.rules && ps_->shares_norms(*state_.program.rules)) {
    const MutexLock lock(state_.mutex);
    state_.commits.set_sequential();
  }
  variables_.emplace(state_.program, placement_, copies_, *ps_,
                     [this](const Error& refusal) { state_.endpoint->post([this, refusal] { fenced_off(refusal); }); });
  if (!state_.servers.empty())
    ownership_.emplace(
        ps_->coordination(task::CoordinationScope::kProcess), state_.options.adopt,
        state_.options.adopt ? digest_of(state_.program, placement_, copies_.replicas()) : std::string());
  const auto may_wait = [this](const Error& why) {
    state_.options.log.info("{}: waiting for its successor", why.message);
    return true;
  };
  TFD_TRY(ps_->begin(
      deadline, may_wait, [this] { return begin_run(); }, state_.options.stop));
  is_ready_ = true;
  return {};
}

Result<void> ServerLinks::begin_run() {
  if (!state_.servers.empty()) {
    TFD_TRY(claim_cluster());
    if (TFD_TRY(adopt_run())) return {};
  }
  return ps_->load(packed_, state_.epoch, Deadline::after(kLoadTimeout));
}

void ServerLinks::lose(std::size_t server, const std::string& reason) {
  callbacks_.end_all(gone(state_.servers[server].name, reason));
}

void ServerLinks::fenced_off(const Error& error) {
  {
    const MutexLock lock(state_.mutex);
    state_.fenced = true;
  }
  callbacks_.end_all(
      {Code::kPermissionDenied, "another coordinator has taken the cluster over: " + error.message, error.task});
}

Result<void> ServerLinks::record_run(std::int64_t first_step) {
  return ownership_ ? ownership_->record(first_step, state_.epoch) : Result<void>();
}

Result<void> ServerLinks::forget_run() { return ownership_ ? ownership_->forget() : Result<void>(); }

void ServerLinks::show(const std::string& standing) {
  if (state_.servers.empty()) return;
  const auto answered = std::make_shared<std::promise<void>>();  // shared: std::function copies
  shown_ = answered->get_future();
  ps_->task(0).coordinate({task::PutKey{.key = task::kStandingKey, .value = standing}}, Deadline::after(kShown),
                          [answered](const Result<task::CoordinationAnswer>&) { answered->set_value(); });
}

void ServerLinks::wait_until_shown(Duration patience) {
  if (shown_.valid()) (void)shown_.wait_for(patience);
}

}  // namespace tfd::coordinator
