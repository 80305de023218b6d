// SPDX-License-Identifier: Apache-2.0
//
// Workers of the cluster spec: connects to those of the first one, and to those that join or move. The others leave.
#include "workers/worker_links.hpp"

namespace tfd::coordinator {

WorkerLinks::WorkerLinks(SharedState& state, ServerLinks& server_links, LinkCallbacks callbacks)
    : state_(state), server_links_(server_links), callbacks_(callbacks) {
  if (!state_.options.commands) return;
  task::CommandSession session = *state_.options.commands;
  session.epoch = state_.epoch;
  sessions_.emplace(std::move(session), state_.options.commands_ahead);
}

void WorkerLinks::connect_all() {
  const MutexLock lock(state_.mutex);
  for (std::size_t i = 0; i < state_.workers.size(); ++i) connect(i);
}

void WorkerLinks::connect(std::size_t index) {
  const std::string& name = state_.workers[index].name();
  state_.workers.connect(index,
                         std::make_unique<task::WorkerClient>(
                             *state_.endpoint, state_.endpoint->add_peer(name, state_.workers[index].address()), name));
}

MembershipChange WorkerLinks::change(const std::map<std::string, std::string>& addresses) {
  MembershipDifference difference;
  {
    const MutexLock lock(state_.mutex);
    difference = compare_members(state_.workers, addresses);
    for (const std::size_t index : difference.left) state_.workers.leave(index);
  }
  MembershipChange change;
  for (const std::size_t index : difference.moved) {
    const std::string& name = change.moved.emplace_back(name_of(index));
    lose(index, std::nullopt, "it moved to " + addresses.at(name), false);
    const MutexLock lock(state_.mutex);
    state_.workers.move_to(index, addresses.at(name), Clock::now());
    connect(index);
  }
  for (const std::size_t index : difference.left) {
    change.left.push_back(name_of(index));
    lose(index, std::nullopt, "it left the cluster", false);
    state_.endpoint->remove_peer(client_of(index).peer());
  }
  for (const std::string& name : difference.joined) {
    const MutexLock lock(state_.mutex);
    const std::size_t index = state_.workers.join(name, Window(state_.options.window));
    state_.workers.move_to(index, addresses.at(name), Clock::now());
    connect(index);
  }
  change.joined = std::move(difference.joined);
  return change;
}

}  // namespace tfd::coordinator
