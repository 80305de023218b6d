// SPDX-License-Identifier: Apache-2.0
//
// Connecting, on the caller's thread: the tasks of the spec, the parameter servers' variables, and the wait for a first
// worker, and a little for the others.
#include <algorithm>

#include "ask.hpp"
#include "coordinator.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/task/messages.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(100);  // poll interval for workers that are up

}  // namespace

Result<std::unique_ptr<ClusterCoordinator>> ClusterCoordinator::connect(const program::Program& program,
                                                                        const cluster::ClusterConfig& config,
                                                                        CoordinatorOptions options) {
  auto coordinator = std::make_unique<Coordinator>(program, std::move(options));
  TFD_TRY(coordinator->open(config));
  return coordinator;
}

Result<void> Coordinator::read_spec(const cluster::ClusterConfig& config) {
  TFD_TRY(check_cluster(config, false));
  const MutexLock lock(state_.mutex);
  const auto on_servers = std::ranges::count(state_.program.variables, false, &program::VariableDef::per_worker);
  if (!config.cluster.has_job("ps") && on_servers > 0)
    return fail(Code::kInvalidArgument, "the cluster spec has no ps, but the program has {}",
                counted(static_cast<std::uint64_t>(on_servers), "variable"));
  for (const cluster::Task& task : config.cluster.tasks()) {
    const std::string name = cluster::format_task(task.id);
    if (task.id.job != "ps" && task.id.job != "worker") continue;
    if (task.id.job == "ps" && state_.options.commands) continue;
    const auto address = cluster::parse_address(task.address);
    if (!address) return fail(Error(address.error()).within("cluster." + name));
    if (address->port == 0)
      return fail(
          Code::kInvalidArgument,
          "cluster.{}: cannot connect to port 0\nhint: nothing serves this spec yet: … | tfd-serve | tfd-coordinate …",
          name);
    if (task.id.job == "ps") {
      state_.servers.push_back({name, task.address});
    } else {
      const auto data = state_.options.data.of.find(name);
      state_.workers.add(name, Window(state_.options.window), task.address,
                         data == state_.options.data.of.end() ? DataProgress() : data->second);
    }
  }
  state_.closures.set_servers(state_.servers.size());
  if (state_.options.strict) state_.closures.set_staging();
  return check_descriptors(state_.servers.size() + state_.workers.size());
}

Result<void> Coordinator::open(const cluster::ClusterConfig& config) {
  TFD_TRY(read_spec(config));
  {
    const MutexLock lock(state_.mutex);
    config_ = config;
    state_.health.begin(state_.servers.size(), state_.options.transient, state_.workers.size());
  }
  const Deadline deadline = Deadline::after(state_.options.connect_timeout);
  transport::EndpointOptions endpoint;
  endpoint.name = "coordinator";
  endpoint.on_peer = [this](const transport::PeerEvent& event) { on_peer(event); };
  endpoint.log = state_.options.log.for_room("transport");
  task::allow_large_messages(endpoint);
  owned_endpoint_ = TFD_TRY(state_.options.make_endpoint(std::move(endpoint)));
  state_.endpoint = owned_endpoint_.get();
  const Error told{Code::kCancelled, "asked to end while connecting", {}};
  {
    const std::stop_callback stopped(state_.options.stop,
                                     [&] { state_.endpoint->post([this, told] { end_all(told); }); });
    TFD_TRY(reach_tasks(deadline));
  }
  return state_.options.stop.stop_requested() ? fail(told) : Result<void>();
}

Result<void> Coordinator::reach_tasks(Deadline deadline) {
  worker_links_.connect_all();
  step::ReplicaCopies copies;
  const bool has_copies = std::ranges::find(state_.program.variables, variable::Synchronization::kOnRead,
                                            &program::VariableDef::synchronization) != state_.program.variables.end();
  if (has_copies && !state_.options.commands)
    copies = TFD_TRY(step::ReplicaCopies::make(state_.program, TFD_TRY(find_replicas(deadline))));
  TFD_TRY(server_links_.load(std::move(copies), deadline));
  share_steps();
  opened_ = true;
  // Handle workers that are up by now; later ones come as events. On the I/O thread, where workers change.
  state_.endpoint->post([this] {
    if (!server_links_.check_up()) return;
    worker_links_.load_those_up();
    watch();
  });
  return wait_for_worker(deadline);
}

// Steps of an earlier coordinator since its last checkpoint: the parameter servers have them, but the workers that made
// them aren't known.
void Coordinator::share_steps() {
  const MutexLock lock(state_.mutex);
  std::int64_t left = state_.options.data.shared_steps;
  const std::optional<AdoptedRun>& adopted = server_links_.adopted();
  if (adopted)
    left += adopted->step - static_cast<std::int64_t>(adopted->unfinished.size()) - state_.options.adopt->from;
  state_.workers.share_steps(left);
}

// Asks one worker for its number of replicas, before variables are created, which may have a copy per replica. The
// others are compared with it later.
Result<int> Coordinator::find_replicas(Deadline deadline) {
  const auto find_up = [this]() TFD_REQUIRES(state_.mutex) -> const Worker* {
    const auto found = std::ranges::find_if(state_.workers, [this](const Worker& worker) { return is_up(worker); });
    return found == state_.workers.end() ? nullptr : &*found;
  };
  for (;;) {
    const Worker* up = nullptr;
    wait_for_others(deadline, [&]() TFD_REQUIRES(state_.mutex) {
      return (up = find_up()) != nullptr || state_.fatal || are_all_unusable();
    });
    if (up == nullptr) {
      const MutexLock lock(state_.mutex);
      if (state_.fatal) return fail(*state_.fatal);
      if (state_.workers.any_unusable()) return fail(state_.workers.describe_unusable());
    }
    if (up == nullptr) return fail(no_worker("a worker"));
    const auto status = ask<task::TaskStatus>([&](auto done) { up->client().status(deadline, std::move(done)); });
    if (status) return status->replicas;
    if (status.error().code != Code::kUnavailable || deadline.expired()) return fail(status.error());
  }
}

Result<void> Coordinator::wait_for_worker(Deadline deadline) {
  const auto decided = [this]() TFD_REQUIRES(state_.mutex) {
    return state_.workers.any_was_ready() || state_.fatal || are_all_unusable();
  };
  const auto is_loading = [this]()
                              TFD_REQUIRES(state_.mutex) { return state_.workers.count(WorkerState::kLoading) > 0; };
  const auto begun = Clock::now();
  MutexLock lock(state_.mutex);
  // The deadline is for reaching a worker; compiling may take longer.
  while (!decided() && !(deadline.expired() && !is_loading())) {
    const bool reached = is_loading();
    lock.unlock();
    wait_for_others(reached ? Deadline::after(kLoadTimeout) : deadline,
                    [&]() TFD_REQUIRES(state_.mutex) { return decided() || is_loading() != reached; });
    lock.lock();
  }
  if (state_.fatal) return fail(*state_.fatal);
  if (state_.workers.any_was_ready()) {
    // The others' numbers of replicas, which must be equal, are known before they have compiled.
    if (!state_.options.commands)
      lock.wait(state_.changed, Deadline::after(WorkerPool::kForOthers),
                [this]() TFD_REQUIRES(state_.mutex) { return state_.fatal || state_.workers.are_replicas_known(); });
    // The others are expected soon, unless they take much longer than the first one.
    const auto all_ready = [this]() TFD_REQUIRES(state_.mutex) {
      return state_.workers.count(WorkerState::kReady) == state_.workers.size();
    };
    lock.wait(state_.changed, Deadline::after(std::min<Duration>((Clock::now() - begun) / 2, WorkerPool::kForOthers)),
              [&]() TFD_REQUIRES(state_.mutex) { return state_.fatal || all_ready(); });
    if (state_.fatal) return fail(*state_.fatal);
    for (const Worker& worker : state_.workers)
      if (worker.load_error())
        state_.options.log.warning("{} can't be used, going on without it: {}", worker.name(),
                                   worker.load_error()->message);
    return {};
  }
  if (state_.workers.any_unusable()) return fail(state_.workers.describe_unusable());
  const std::string waiting = state_.describe();
  lock.unlock();
  return fail(no_worker(waiting));
}

// Waits for `state_.changed` until `ready()`, which is called under the lock, or the deadline. If some workers are
// unusable, whether others still come also depends on time. A long wait is logged, with the missing ones.
template <class Ready>
void Coordinator::wait_for_others(Deadline deadline, const Ready& ready) {
  WaitReport report;
  MutexLock lock(state_.mutex);
  while (!ready() && !deadline.expired()) {
    const bool had_some = state_.workers.any_unusable();
    Deadline look = Deadline::at(report.next()).earlier_of(deadline);
    if (had_some) look = look.earlier_of(Deadline::after(kLookAgain));
    lock.wait(state_.changed, look,
              [&]() TFD_REQUIRES(state_.mutex) { return ready() || state_.workers.any_unusable() != had_some; });
    if (ready() || !report.take_due()) continue;
    const std::string waiting = state_.describe();
    lock.unlock();
    state_.options.log.warning("{} ({} so far)", whom_it_waits_for(waiting), report.waited());
    lock.lock();
  }
}

bool Coordinator::is_up(const Worker& worker) const {
  return state_.endpoint->state(worker.client().peer()) == transport::PeerState::kUp;
}

bool Coordinator::are_all_unusable() const {
  return state_.workers.are_all_unusable(Clock::now(), [this](const Worker& worker) { return is_up(worker); });
}

std::string Coordinator::whom_it_waits_for(const std::string& waiting) const {
  std::vector<transport::PeerId> peers;
  {
    const MutexLock lock(state_.mutex);
    for (const Worker& worker : state_.workers) peers.push_back(worker.client().peer());
  }
  auto up = state_.endpoint->wait_up(peers, Deadline::after(Duration::zero()));  // names each one's reason
  return up ? "waiting for " + waiting : up.error().message;
}

Error Coordinator::no_worker(const std::string& waiting) const {
  return {Code::kDeadlineExceeded,
          fmt::format("no worker within {}: {}", format_duration(state_.options.connect_timeout),
                      whom_it_waits_for(waiting)),
          {}};
}

}  // namespace tfd::coordinator
