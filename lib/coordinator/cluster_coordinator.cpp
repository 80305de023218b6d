// SPDX-License-Identifier: Apache-2.0
//
// Connecting, and functions on the caller's thread: schedule, join, done.
#include "tfd/coordinator/cluster_coordinator.hpp"

#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/task/message_limits.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kGoodbye = std::chrono::seconds(3);
constexpr Duration kQuiet = std::chrono::seconds(5);
constexpr Duration kLookAgain = std::chrono::milliseconds(100);  // poll interval for workers that are up

/// Bytes of its message's arguments.
std::uint64_t argument_bytes(const Closure& closure) {
  std::uint64_t bytes = closure.command ? closure.command->text.size() : 0;
  const auto add = [&bytes](const step::ArgumentValue& value) {
    if (const auto* tensor = std::get_if<tensor::Tensor>(&value)) bytes += tensor->byte_size();
  };
  for (const auto& value : closure.call.args) add(value);
  for (const auto& [name, value] : closure.call.kwargs) add(value);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<ClusterCoordinator>> ClusterCoordinator::connect(const program::Program& program,
                                                                        const cluster::ClusterConfig& config,
                                                                        CoordinatorOptions options) {
  auto coordinator = std::make_unique<Coordinator>(program, std::move(options));
  TFD_TRY(coordinator->open(config));
  return coordinator;
}

Coordinator::Coordinator(const program::Program& program, CoordinatorOptions options)
    : program_(program),
      options_(std::move(options)),
      epoch_(options_.commands ? transport::make_incarnation() : task::make_first_epoch()),
      link_(std::make_shared<CoordinatorLink>()),
      closures_(options_.queue_capacity, options_.keep_going),
      dispatcher_(closures_, workers_, {options_.max_losses, options_.balance_after}),
      resources_(program_, workers_, closures_, link_),
      stall_(options_.stall_after) {
  if (options_.commands) {
    task::CommandSession session = *options_.commands;
    session.epoch = epoch_;
    sessions_.emplace(std::move(session), options_.commands_ahead);
  }
  link_->describe = [this] {
    const MutexLock lock(mutex_);
    return describe();
  };
  link_->read = [this](std::size_t worker, const std::string& variable, Deadline deadline) {
    return read_on(worker, variable, deadline);
  };
  link_->drop = [this](std::uint64_t number) { endpoint_->post([this, number] { drop_iterators(number); }); };
}

Coordinator::~Coordinator() {
  {
    const std::scoped_lock lock(link_->describe_mutex);
    link_->describe = {};
  }
  {
    const std::scoped_lock lock(link_->read_mutex);
    link_->read = {};
  }
  {
    const std::scoped_lock lock(link_->drop_mutex);
    link_->drop = {};
  }
  bool goodbye = !options_.keep_servers && !sessions_;
  {
    const MutexLock lock(mutex_);
    goodbye = goodbye && workers_.any_was_ready() && !fatal_ && !fenced_ && !closing_;
  }
  if (goodbye) (void)shutdown_tasks(Deadline::after(kGoodbye));
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    workers_.ignore_answers();  // callbacks during the endpoint's destruction are ignored
  }
  if (sessions_ && endpoint_ != nullptr) end_sessions(Deadline::after(kGoodbye));
  owned_endpoint_.reset();  // no callback runs after this
  const Error ended{Code::kCancelled, "the coordinator has ended", {}};
  closures_.abandon(ended);
  resources_.abandon();
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

std::map<std::string, DataProgress> Coordinator::data_progress() const {
  const MutexLock lock(mutex_);
  std::map<std::string, DataProgress> out;
  for (const Worker& worker : workers_)
    if (!worker.has_left()) out.emplace(worker.name(), worker.data());
  return out;
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
    wait_for_others(deadline, [&]() TFD_REQUIRES(mutex_) { return (up = find_up()) != nullptr || are_all_unusable(); });
    if (up == nullptr) {
      const MutexLock lock(mutex_);
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
  Clock::duration quiet = kQuiet;
  while (!ready() && !deadline.expired()) {
    const bool had_some = workers_.any_unusable();
    Deadline look = Deadline::at(begun + quiet).earlier_of(deadline);
    if (had_some) look = look.earlier_of(Deadline::after(kLookAgain));
    lock.wait(changed_, look, [&]() TFD_REQUIRES(mutex_) { return ready() || workers_.any_unusable() != had_some; });
    if (ready() || Clock::now() - begun < quiet) continue;
    quiet *= 2;
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

Result<RemoteValue> Coordinator::schedule(Call call, Deadline deadline) {
  if (!call.command) TFD_TRY(check_call(program_, call));
  auto closure = std::make_shared<Closure>();  // shared with the table and its sender
  closure->call.epoch = epoch_;
  closure->call.step = call.step.value_or(0);
  closure->call.replicas = call.replicas;
  closure->call.most_elements = call.most_elements;
  closure->on_done = std::move(call.on_done);
  const auto to_value = [&closure](Argument& argument) -> step::ArgumentValue {
    if (auto* dataset = std::get_if<PerWorkerDataset>(&argument)) {
      if (dataset->hold) closure->datasets.push_back(std::move(dataset->hold));
      return step::IteratorRef{std::move(dataset->id)};
    }
    if (const auto* variable = std::get_if<PerWorkerVariable>(&argument)) return step::VariableRef{variable->name};
    return std::get<tensor::Tensor>(std::move(argument));
  };
  for (Argument& argument : call.args) closure->call.args.push_back(to_value(argument));
  for (auto& [name, argument] : call.kwargs) closure->call.kwargs.emplace_back(std::move(name), to_value(argument));
  closure->updates = !call.command && program_.find_function(call.function)->has_updates();
  closure->command = std::move(call.command);
  closure->on_moved = std::move(call.on_moved);
  closure->sequenced = call.sequence.has_value();
  closure->call.sequence = call.sequence.value_or(0);
  closure->label = std::move(call.label);
  closure->bytes = argument_bytes(*closure);
  closure->call.function = std::move(call.function);

  MutexLock lock(mutex_);
  const bool decided = lock.wait(room_, deadline, [&]() TFD_REQUIRES(mutex_) {
    return fatal_ || (closures_.has_error() ? closures_.is_over() : !closures_.full());
  });
  if (!decided)
    return fail(Code::kDeadlineExceeded, "the queue is full ({}): waiting for {}",
                counted(closures_.queued(), "closure"), describe());
  TFD_TRY(raise());
  closures_.add(closure);
  if (!call.step) closure->call.closure = closure->id;
  closure->value = std::make_shared<RemoteValue::Shared>(closure->id, link_);
  post_dispatch();
  return RemoteValue(closure->value);
}

Result<void> Coordinator::join(Deadline deadline) {
  MutexLock lock(mutex_);
  const bool decided = lock.wait(idle_, deadline, [&]() TFD_REQUIRES(mutex_) { return fatal_ || closures_.is_over(); });
  if (!decided) {
    const std::size_t left = closures_.in_flight() + closures_.queued();
    return fail(Code::kDeadlineExceeded, "{} {} not finished: waiting for {}", counted(left, "closure"),
                left == 1 ? "has" : "have", describe());
  }
  return raise();
}

Result<bool> Coordinator::done() {
  MutexLock lock(mutex_);
  if (!fatal_ && !closures_.has_error()) return closures_.is_over();
  // Nothing is executing any more when it raises.
  lock.wait(idle_, Deadline::never(), [&]() TFD_REQUIRES(mutex_) { return fatal_ || !closures_.is_executing(); });
  TFD_TRY(raise());
  return true;
}

Result<void> Coordinator::raise() {
  if (fatal_) return fail(*fatal_);
  auto raised = closures_.raise();
  if (!raised) return {};
  room_.notify_all();
  if (!raised->cancelled.empty()) endpoint_->post([cancelled = std::move(raised->cancelled)] { call_back(cancelled); });
  return fail(std::move(raised->error));
}

Result<PerWorkerDataset> Coordinator::create_per_worker_dataset(const std::string& dataset, Deadline deadline) {
  if (!program_.datasets.contains(dataset)) {
    std::vector<std::string> names;
    for (const auto& [name, pipeline] : program_.datasets) names.push_back(name);
    return fail(Code::kInvalidArgument, "no dataset '{}'{}", dataset, did_you_mean(dataset, names));
  }
  PerWorkerDataset made;  // if it isn't returned, iterators made for it are dropped
  MutexLock lock(mutex_);
  if (fatal_) return fail(*fatal_);
  made = resources_.add(dataset, epoch_);
  const WorkerResources::Iterators& iterators = *resources_.find(made.id);  // valid as long as `made`
  endpoint_->post([this] {
    std::vector<std::pair<std::size_t, std::uint64_t>> ready;
    {
      const MutexLock inner(mutex_);
      ready = workers_.ready_ones();
    }
    for (const auto& [index, generation] : ready) make_iterators(index, generation);
  });
  const bool decided = lock.wait(changed_, deadline, [&]() TFD_REQUIRES(mutex_) {
    return fatal_ || iterators.error || resources_.is_made(iterators);
  });
  if (fatal_) return fail(*fatal_);
  if (iterators.error) return fail(*iterators.error);
  if (!decided)
    return fail(Code::kDeadlineExceeded, "dataset '{}' is not on all workers: waiting for {}", dataset, describe());
  return made;
}

std::optional<Error> Coordinator::lost() const {
  const MutexLock lock(mutex_);
  return fatal_;
}

std::size_t Coordinator::queued() const {
  const MutexLock lock(mutex_);
  return closures_.queued();
}

std::size_t Coordinator::in_flight() const {
  const MutexLock lock(mutex_);
  return closures_.in_flight();
}

int Coordinator::workers_up() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(workers_.count(WorkerState::kReady));
}

void Coordinator::drop_queued() {
  ClosurePtrs dropped;
  {
    const MutexLock lock(mutex_);
    dropped = closures_.drop_queued();
    announce_idle();
  }
  room_.notify_all();
  if (!dropped.empty())
    endpoint_->post([this, dropped] {
      send_fences_and_drops();
      call_back(dropped);
    });
}

std::size_t Coordinator::windows() const {
  const MutexLock lock(mutex_);
  std::size_t sum = 0;
  for (const Worker& worker : workers_)
    if (worker.is_ready()) sum += worker.window().size();
  return sum;
}

int Coordinator::num_replicas_in_sync() const {
  const MutexLock lock(mutex_);
  return workers_.replicas();
}

ParameterServerStrategyV2 Coordinator::strategy() const {
  const MutexLock lock(mutex_);
  return {config_, workers_.replicas(), placement_};
}

}  // namespace tfd::coordinator
