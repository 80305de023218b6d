// SPDX-License-Identifier: Apache-2.0
//
// Functions on the caller's thread: schedule, join, done. Connecting: connect.cpp.
#include "tfd/coordinator/cluster_coordinator.hpp"

#include "coordinator.hpp"
#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kGoodbye = std::chrono::seconds(3);
constexpr Duration kShown = std::chrono::seconds(3);  // patience with an answer that nobody waits for

}  // namespace

Coordinator::Coordinator(const program::Program& program, CoordinatorOptions options)
    : program_(program),
      options_(std::move(options)),
      epoch_(options_.commands ? transport::make_incarnation() : task::make_first_epoch()),
      link_(std::make_shared<CoordinatorLink>()),
      closures_(options_.queue_capacity, options_.keep_going),
      dispatcher_(closures_, workers_, {options_.max_losses, options_.balance_after}),
      resources_(program_, workers_, closures_, link_),
      evaluations_(workers_),
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
    const MutexLock lock(link_->describe_mutex);
    link_->describe = {};
  }
  {
    const std::scoped_lock lock(link_->read_mutex);
    link_->read = {};
  }
  {
    const MutexLock lock(link_->drop_mutex);
    link_->drop = {};
  }
  bool goodbye = !options_.keep_servers && !sessions_;
  {
    const MutexLock lock(mutex_);
    goodbye = goodbye && workers_.any_was_ready() && !fatal_ && !fenced_ && !closing_;
  }
  if (goodbye) {
    const auto told = shutdown_tasks(Deadline::after(kGoodbye));
    if (!told) options_.log.warning("{}", told.error().message);
  }
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    workers_.ignore_answers();  // callbacks during the endpoint's destruction are ignored
  }
  if (sessions_ && endpoint_ != nullptr) end_sessions(Deadline::after(kGoodbye));
  if (!goodbye && shown_.valid()) (void)shown_.wait_for(kGoodbye);  // or the last one might not leave
  owned_endpoint_.reset();                                          // no callback runs after this
  const Error ended{Code::kCancelled, "the coordinator has ended", {}};
  closures_.abandon(ended);
  resources_.abandon();
}

void Coordinator::show_training(const std::string& standing) {
  if (servers_.empty()) return;
  const auto answered = std::make_shared<std::promise<void>>();  // shared: std::function copies
  shown_ = answered->get_future();
  ps_->task(0).coordinate({task::PutKey{.key = task::kStandingKey, .value = standing}}, Deadline::after(kShown),
                          [answered](const Result<task::CoordinationAnswer>&) { answered->set_value(); });
}

std::map<std::string, DataProgress> Coordinator::data_progress() const {
  const MutexLock lock(mutex_);
  std::map<std::string, DataProgress> out;
  for (const Worker& worker : workers_)
    if (!worker.has_left()) out.emplace(worker.name(), worker.data());
  return out;
}

Result<RemoteValue> Coordinator::schedule(Call call, Deadline deadline) {
  if (!call.command) TFD_TRY(check_call(program_, call));
  const bool has_step = call.step.has_value();
  const ClosurePtr closure = make_closure(program_, epoch_, std::move(call));
  MutexLock lock(mutex_);
  const bool decided = lock.wait(room_, deadline, [&]() TFD_REQUIRES(mutex_) {
    return fatal_ || (closures_.has_error() ? closures_.is_over() : !closures_.full());
  });
  if (!decided)
    return fail(Code::kDeadlineExceeded, "the queue is full ({}): waiting for {}",
                counted(closures_.queued(), "closure"), describe());
  TFD_TRY(raise());
  closures_.add(closure);
  if (!has_step) closure->call.closure = closure->id;
  closure->value = std::make_shared<RemoteValue::Shared>(closure->id, link_);
  if (workers_.has_room()) post_dispatch();  // whoever makes room dispatches
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
  // Nothing is executing when it raises.
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

int Coordinator::workers_expected() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(std::ranges::count_if(workers_, [](const Worker& one) { return !one.has_left(); }));
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
  return workers_.windows();
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
