// SPDX-License-Identifier: Apache-2.0
#include "shared_state.hpp"

#include "tfd/task/epoch.hpp"

namespace tfd::coordinator {

SharedState::SharedState(const program::Program& the_program, CoordinatorOptions the_options)
    : program(the_program),
      options(std::move(the_options)),
      epoch(options.commands ? transport::make_incarnation() : task::make_first_epoch()),
      link(std::make_shared<CoordinatorLink>()),
      closures(options.queue_capacity, options.keep_going),
      dispatcher(closures, workers, {options.max_losses, options.balance_after}),
      resources(program, workers, closures, link),
      evaluations(workers),
      stall(options.stall_after) {}

std::string SharedState::describe() const {
  std::vector<AwayServer> away;
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (const auto since = health.away_since(i)) away.push_back({servers[i].name, *since});
  return describe_waiting(workers, evaluations.current(), closures.queued(), Clock::now(), away);
}

void SharedState::announce_idle() {
  if (!closures.is_over()) return;
  idle.notify_all();
  if (closures.has_error()) room.notify_all();
}

void call_back(const Closure& closure) {
  if (closure.on_done) closure.on_done(RemoteValue(closure.value));
}

void call_back(const ClosurePtrs& closures) {
  for (const ClosurePtr& closure : closures) call_back(*closure);
}

}  // namespace tfd::coordinator
