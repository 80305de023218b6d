// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers: they get the program first and hold the variables; the loss of one ends everything.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kClaimAnswer = std::chrono::seconds(10);    // the holder is pinged meanwhile
constexpr Duration kHistoryAnswer = std::chrono::seconds(10);  // to requests about an unfinished run

Error gone(const std::string& server, const std::string& reason) {
  return {Code::kUnavailable, fmt::format("parameter server {} is gone: {}", server, reason), server};
}

}  // namespace

// Claims the cluster: there is one coordinator at a time, to which the first parameter server issues epochs.
Result<void> Coordinator::claim_cluster() {
  task::Claim claim = task::make_claim();
  claim.take_over = options_.take_over;
  epoch_ = TFD_TRY(ps_->claim(claim, Deadline::after(kClaimAnswer)));
  return {};
}

// Continues the training that the parameter servers hold, if it is this one. It is nobody else's from here on: its
// former holder may have died. False: they are to be loaded, under an epoch that none of them has.
Result<bool> Coordinator::adopt_run() {
  const Deadline soon = Deadline::after(kHistoryAnswer);
  const auto status = ps_->status(soon);
  if (!status) return false;
  RunOwnership::Epochs epochs;
  for (const task::TaskStatus& one : *status) epochs.push_back(one.epoch);
  const auto found = ownership_->find(epochs, soon);
  if (found && !found->is_own)
    options_.log.warning(
        "the parameter servers had an unfinished training (run {}): its steps since its last checkpoint are lost",
        printable(found->record.run));
  if (!found || !found->is_own) return false;
  const auto move = [&](const RunOwnership::Epochs& from) {
    auto histories = ps_->adopt(from, epoch_, Deadline::after(kHistoryAnswer));
    if (!histories)
      options_.log.info("the unfinished run {} can't be adopted: {}", printable(found->record.run),
                        histories.error().message);
    return histories;
  };
  const auto adopted = TFD_TRY(ownership_->adopt(*found, epoch_, move));
  if (!adopted) {
    TFD_TRY(claim_cluster());
    return false;
  }
  if (const auto& commits = adopted->continuation.commits; !commits.empty()) {
    const auto resolved = ps_->resolve(commits, soon);
    if (!resolved) {
      options_.log.info("the staged updates of the unfinished run can't be committed: {}", resolved.error().message);
      TFD_TRY(claim_cluster());
      return false;
    }
  }
  adopted_ = adopted->run;
  settled_ = adopted->continuation.settled;
  const MutexLock lock(mutex_);
  closures_.go_on(adopted->continuation);
  return true;
}

void Coordinator::server_event(std::size_t index, const transport::PeerEvent& event) {
  const Server& server = servers_[index];
  switch (event.state) {
    case transport::PeerState::kUp:
      if (event.incarnation != ps_->incarnation(index)) return server_lost(server, kRestarted);
      return server_back(index);
    case transport::PeerState::kSilent:
      options_.log.warning("{} is silent ({}); waiting up to {} for it (--rejoin)", server.name, event.reason,
                           format_duration(options_.rejoin));
      return server_away(index, event);
    case transport::PeerState::kLost:
      if (event.is_gone && !options_.transient) return server_lost(server, event.reason);
      return server_away(index, event);
    case transport::PeerState::kConnecting:
      return;
  }
}

// Handles a server that is silent or disconnected, whose process isn't known to have ended.
void Coordinator::server_away(std::size_t index, const transport::PeerEvent& event) {
  Clock::time_point since;
  {
    const MutexLock lock(mutex_);
    since = health_.away(index, Clock::now());
    changed_.notify_all();
  }
  if (options_.transient) return;  // workers' reports count instead
  if (event.state == transport::PeerState::kLost)
    options_.log.info("the connection to {} broke ({}); connecting anew", servers_[index].name, event.reason);
  endpoint_->post_at(since + std::chrono::duration_cast<Clock::duration>(options_.rejoin),
                     [this, index, since, reason = event.reason] {
                       {
                         const MutexLock lock(mutex_);
                         if (!health_.is_away_since(index, since)) return;
                       }
                       server_lost(servers_[index], reason);
                     });
}

void Coordinator::server_back(std::size_t index) {
  {
    const MutexLock lock(mutex_);
    if (!health_.back(index)) return;
    changed_.notify_all();
  }
  options_.log.info("{} answers again", servers_[index].name);
  if (index == 0) confirm_claim();
}

// Other coordinators' claims are refused as long as the claiming connection answers: after it was cut off for a while,
// this one may be a new connection, or the cluster another coordinator's.
void Coordinator::confirm_claim() {
  if (servers_.empty()) return;
  task::Claim claim = task::make_claim();
  claim.held = epoch_;
  ps_->task(0).claim(claim, Deadline::after(kClaimAnswer), [this](const Result<std::uint64_t>& kept) {
    if (!kept && kept.error().code == Code::kPermissionDenied) fenced_off(kept.error());
  });
}

Result<void> Coordinator::wait_for_servers(const std::vector<std::size_t>& indices, const Error& why) {
  MutexLock lock(mutex_);
  const auto all_up = [&] { return std::ranges::all_of(indices, [this](std::size_t i) { return ps_->is_up(i); }); };
  const bool decided = lock.wait(changed_, Deadline::after(2 * options_.rejoin + kClaimAnswer),
                                 [&]() TFD_REQUIRES(mutex_) { return fatal_.has_value() || all_up(); });
  if (fatal_) return fail(*fatal_);
  return decided ? Result<void>() : fail(why);
}

Result<void> Coordinator::load_servers(Deadline deadline) {
  std::vector<std::pair<std::string, std::string>> ps;
  for (const Server& server : servers_) ps.emplace_back(server.name, server.address);
  placement_ = task::place_variables(program_, std::move(ps), copies_);
  packed_ = task::PackedProgram::pack(program_, placement_);
  task::ServerPolicy policy{.peer = {.patience = options_.rejoin}, .leaves_peers = true};
  // Requests may be sent twice, since it may have died, or its connection broken, after the first.
  policy.on_cut = [this](const std::vector<std::size_t>& cut, const Error& why, int) -> Result<void> {
    const Error lost = gone(servers_[cut.front()].name, why.message);
    return !servers_ready_ || options_.transient ? fail(lost) : wait_for_servers(cut, lost);
  };
  ps_ = std::make_unique<task::ParameterServers>(*endpoint_, placement_, std::move(policy));
  if (options_.strict && program_.rules && ps_->shares_norms(*program_.rules)) {
    const MutexLock lock(mutex_);
    commits_.set_sequential();
  }
  variables_.emplace(program_, placement_, copies_, *ps_,
                     [this](const Error& refusal) { endpoint_->post([this, refusal] { fenced_off(refusal); }); });
  if (!servers_.empty())
    ownership_.emplace(ps_->coordination(task::CoordinationScope::kProcess), options_.adopt,
                       options_.adopt ? digest_of(program_, placement_, copies_.replicas()) : std::string());
  const auto may_wait = [this](const Error& why) {
    options_.log.info("{}: waiting for its successor", why.message);
    return true;
  };
  return ps_->begin(
      deadline, may_wait, [this] { return begin_run(); }, options_.stop);
}

Result<void> Coordinator::begin_run() {
  if (!servers_.empty()) {
    TFD_TRY(claim_cluster());
    if (TFD_TRY(adopt_run())) return {};
  }
  return ps_->load(packed_, epoch_, Deadline::after(kLoadTimeout));
}

void Coordinator::server_lost(const Server& server, const std::string& reason) { end_all(gone(server.name, reason)); }

void Coordinator::end_all(Error error) {
  settle_finished();
  ClosurePtrs ended;
  {
    const MutexLock lock(mutex_);
    if (fatal_ || closing_) return;
    fatal_ = std::move(error);
    ended = closures_.end(*fatal_);
    commits_.clear();
    workers_.end_all();
    evaluations_.end(*fatal_);
    idle_.notify_all();
    room_.notify_all();
    changed_.notify_all();
  }
  call_back(ended);
}

Result<tensor::Tensor> Coordinator::read(const std::string& variable, Deadline deadline) {
  return variables_->read(variable, deadline);
}

Result<tensor::Tensor> Coordinator::read_rows(const std::string& variable, const tensor::Tensor& rows,
                                              Deadline deadline) {
  return variables_->read_rows(variable, rows, deadline);
}

Result<void> Coordinator::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) {
  if (is_per_worker(program_, variable)) return assign_on_workers(variable, value, deadline);
  return variables_->assign(variable, value, deadline);
}

Result<void> Coordinator::assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                      const tensor::Tensor& values, Deadline deadline) {
  return variables_->assign_rows(variable, rows, values, deadline);
}

Result<tensor::NamedTensors> Coordinator::export_state(Deadline deadline) {
  return between_commits(deadline, [&] { return variables_->export_state(deadline); });
}

Result<variable::WriteParts> Coordinator::begin_writing(const std::string& directory, const std::string& run,
                                                        Deadline deadline) {
  if (servers_.empty()) return fail(Code::kUnimplemented, "there is no parameter server");
  return between_commits(deadline, [&] { return variables_->begin_writing(directory, run, deadline); });
}

Result<void> Coordinator::import_state(const tensor::NamedTensors& state, Deadline deadline) {
  return between_commits(deadline, [&] { return variables_->import_state(state, deadline); });
}

Result<void> Coordinator::use_averages(Deadline deadline) {
  return between_commits(deadline, [&] { return variables_->use_averages(deadline); });
}

}  // namespace tfd::coordinator
