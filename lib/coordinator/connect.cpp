// SPDX-License-Identifier: Apache-2.0
//
// Connecting, on the caller's thread: the tasks of the spec, the parameter servers' variables, and the wait for a first
// worker, and a little for the others.
#include <algorithm>

#include "ask.hpp"
#include "coordinator.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/base/doubled.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/task/messages.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kQuiet = std::chrono::seconds(5);
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
  const MutexLock lock(mutex_);
  const auto on_servers = std::ranges::count(program_.variables, false, &program::VariableDef::per_worker);
  if (!config.cluster.has_job("ps") && on_servers > 0)
    return fail(Code::kInvalidArgument, "the cluster spec has no ps, but the program has {}",
                counted(static_cast<std::uint64_t>(on_servers), "variable"));
  for (const cluster::Task& task : config.cluster.tasks()) {
    const std::string name = cluster::format_task(task.id);
    if (task.id.job != "ps" && task.id.job != "worker") continue;
    if (task.id.job == "ps" && sessions_) continue;
    const auto address = cluster::parse_address(task.address);
    if (!address) return fail(Error(address.error()).within("cluster." + name));
    if (address->port == 0)
      return fail(
          Code::kInvalidArgument,
          "cluster.{}: cannot connect to port 0\nhint: nothing serves this spec yet: … | tfd-serve | tfd-coordinate …",
          name);
    if (task.id.job == "ps") {
      servers_.push_back({name, task.address});
    } else {
      const auto data = options_.data.of.find(name);
      workers_.add(name, Window(options_.window), task.address,
                   data == options_.data.of.end() ? DataProgress() : data->second);
    }
  }
  closures_.set_servers(servers_.size());
  if (options_.strict) closures_.set_staging();
  return check_descriptors(servers_.size() + workers_.size());
}

Result<void> Coordinator::open(const cluster::ClusterConfig& config) {
  TFD_TRY(read_spec(config));
  {
    const MutexLock lock(mutex_);
    config_ = config;
    health_.begin(servers_.size(), options_.transient, workers_.size());
  }
  const Deadline deadline = Deadline::after(options_.connect_timeout);
  transport::EndpointOptions endpoint;
  endpoint.name = "coordinator";
  endpoint.on_peer = [this](const transport::PeerEvent& event) { on_peer(event); };
  endpoint.log = options_.log.for_room("transport");
  task::allow_large_messages(endpoint);
  owned_endpoint_ = TFD_TRY(options_.make_endpoint(std::move(endpoint)));
  endpoint_ = owned_endpoint_.get();
  const Error told{Code::kCancelled, "asked to end while connecting", {}};
  {
    const std::stop_callback stopped(options_.stop, [&] { endpoint_->post([this, told] { end_all(told); }); });
    TFD_TRY(reach_tasks(deadline));
  }
  return options_.stop.stop_requested() ? fail(told) : Result<void>();
}

Result<void> Coordinator::reach_tasks(Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < workers_.size(); ++i) connect_worker(i);
  }
  const bool has_copies = std::ranges::find(program_.variables, variable::Synchronization::kOnRead,
                                            &program::VariableDef::synchronization) != program_.variables.end();
  if (has_copies && !sessions_)
    copies_ = TFD_TRY(step::ReplicaCopies::make(program_, TFD_TRY(find_replicas(deadline))));
  TFD_TRY(load_servers(deadline));
  share_steps();
  servers_ready_ = true;
  opened_ = true;
  // Handle workers that are up by now; later ones come as events. On the I/O thread, where workers change.
  endpoint_->post([this] {
    for (std::size_t i = 0; i < servers_.size(); ++i)
      if (!ps_->is_up(i)) return server_lost(servers_[i], "it disconnected");
    for (std::size_t i = 0; i < count_workers(); ++i) {
      const transport::PeerId peer = client_of(i).peer();
      if (endpoint_->state(peer) == transport::PeerState::kUp) on_worker_up(i, endpoint_->incarnation_of(peer));
    }
    watch();
  });
  return wait_for_worker(deadline);
}

// Steps of an earlier coordinator since its last checkpoint: the parameter servers have them, but the workers that made
// them aren't known.
void Coordinator::share_steps() {
  const MutexLock lock(mutex_);
  std::int64_t left = options_.data.shared_steps;
  if (adopted_) left += adopted_->step - static_cast<std::int64_t>(adopted_->unfinished.size()) - options_.adopt->from;
  workers_.share_steps(left);
}

// Asks one worker for its number of replicas, before variables are created, which may have a copy per replica. The
// others are compared with it later.
Result<int> Coordinator::find_replicas(Deadline deadline) {
  const auto find_up = [this]() TFD_REQUIRES(mutex_) -> const Worker* {
    const auto found = std::ranges::find_if(workers_, [this](const Worker& worker) { return is_up(worker); });
    return found == workers_.end() ? nullptr : &*found;
  };
  for (;;) {
    const Worker* up = nullptr;
    wait_for_others(deadline,
                    [&]() TFD_REQUIRES(mutex_) { return (up = find_up()) != nullptr || fatal_ || are_all_unusable(); });
    if (up == nullptr) {
      const MutexLock lock(mutex_);
      if (fatal_) return fail(*fatal_);
      if (workers_.any_unusable()) return fail(workers_.describe_unusable());
    }
    if (up == nullptr) return fail(no_worker("a worker"));
    const auto status = ask<task::TaskStatus>([&](auto done) { up->client().status(deadline, std::move(done)); });
    if (status) return status->replicas;
    if (status.error().code != Code::kUnavailable || deadline.expired()) return fail(status.error());
  }
}

Result<void> Coordinator::wait_for_worker(Deadline deadline) {
  const auto decided = [this]()
                           TFD_REQUIRES(mutex_) { return workers_.any_was_ready() || fatal_ || are_all_unusable(); };
  const auto is_loading = [this]() TFD_REQUIRES(mutex_) { return workers_.count(WorkerState::kLoading) > 0; };
  const auto begun = Clock::now();
  MutexLock lock(mutex_);
  // The deadline is for reaching a worker; compiling may take longer.
  while (!decided() && !(deadline.expired() && !is_loading())) {
    const bool reached = is_loading();
    lock.unlock();
    wait_for_others(reached ? Deadline::after(kLoadTimeout) : deadline,
                    [&]() TFD_REQUIRES(mutex_) { return decided() || is_loading() != reached; });
    lock.lock();
  }
  if (fatal_) return fail(*fatal_);
  if (workers_.any_was_ready()) {
    // The others' numbers of replicas, which must be equal, are known before they have compiled.
    if (!sessions_)
      lock.wait(changed_, Deadline::after(WorkerPool::kForOthers),
                [this]() TFD_REQUIRES(mutex_) { return fatal_ || workers_.are_replicas_known(); });
    // The others are expected soon, unless they take much longer than the first one.
    const auto all_ready = [this]()
                               TFD_REQUIRES(mutex_) { return workers_.count(WorkerState::kReady) == workers_.size(); };
    lock.wait(changed_, Deadline::after(std::min<Duration>((Clock::now() - begun) / 2, WorkerPool::kForOthers)),
              [&]() TFD_REQUIRES(mutex_) { return fatal_ || all_ready(); });
    if (fatal_) return fail(*fatal_);
    for (const Worker& worker : workers_)
      if (worker.load_error())
        options_.log.warning("{} can't be used, going on without it: {}", worker.name(), worker.load_error()->message);
    return {};
  }
  if (workers_.any_unusable()) return fail(workers_.describe_unusable());
  const std::string waiting = describe();
  lock.unlock();
  return fail(no_worker(waiting));
}

// Waits for `changed_` until `ready()`, which is called under the lock, or the deadline. If some workers are unusable,
// whether others still come also depends on time. A long wait is logged, with the missing ones, after 5, 10, 20 …
// seconds.
template <class Ready>
void Coordinator::wait_for_others(Deadline deadline, const Ready& ready) {
  const auto begun = Clock::now();
  MutexLock lock(mutex_);
  Duration quiet = kQuiet;
  while (!ready() && !deadline.expired()) {
    const bool had_some = workers_.any_unusable();
    Deadline look = Deadline::at(begun + quiet).earlier_of(deadline);
    if (had_some) look = look.earlier_of(Deadline::after(kLookAgain));
    lock.wait(changed_, look, [&]() TFD_REQUIRES(mutex_) { return ready() || workers_.any_unusable() != had_some; });
    const Duration waited = Clock::now() - begun;
    if (ready() || waited < quiet) continue;
    quiet = doubled_beyond(quiet, waited);
    const std::string waiting = describe();
    lock.unlock();
    options_.log.warning("{}", whom_it_waits_for(waiting));
    lock.lock();
  }
}

bool Coordinator::is_up(const Worker& worker) const {
  return endpoint_->state(worker.client().peer()) == transport::PeerState::kUp;
}

bool Coordinator::are_all_unusable() const {
  return workers_.are_all_unusable(Clock::now(), [this](const Worker& worker) { return is_up(worker); });
}

std::string Coordinator::whom_it_waits_for(const std::string& waiting) const {
  std::vector<transport::PeerId> peers;
  {
    const MutexLock lock(mutex_);
    for (const Worker& worker : workers_) peers.push_back(worker.client().peer());
  }
  auto up = endpoint_->wait_up(peers, Deadline::after(Duration::zero()));  // names each one's reason
  return up ? "waiting for " + waiting : up.error().message;
}

Error Coordinator::no_worker(const std::string& waiting) const {
  return {Code::kDeadlineExceeded,
          fmt::format("no worker within {}: {}", format_duration(options_.connect_timeout), whom_it_waits_for(waiting)),
          {}};
}

}  // namespace tfd::coordinator
