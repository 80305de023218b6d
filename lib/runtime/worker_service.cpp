// SPDX-License-Identifier: Apache-2.0
#include "worker_service.hpp"

#include <algorithm>

#include "gradients.hpp"
#include "ps_service.hpp"

namespace tfd::runtime {
namespace {

// How long a closure waits for its parameter servers while no byte moves. A dead one is noticed much earlier. One that
// is frozen is waited for: the coordinator, which hears of it too, decides for how long.
constexpr auto kPsTimeout = std::chrono::seconds(60);
constexpr auto kReach = std::chrono::seconds(5);
constexpr auto kPsPatience = std::chrono::minutes(5);
constexpr std::string_view kOwnIterator = "dataset:";  // of the program's own datasets: see own_iterator_id()

Result<void> check_native(const TaskServerOptions& options) {
  if (options.native.allowed) return {};  // and the cluster has a key, which whoever asks has too
  return fail(Code::kPermissionDenied,
              "{} does not run plug-ins or commands: its server was started without --allow-native",
              cluster::format_task(options.task));
}

double learning_rate_of(const program::Program& program, std::int64_t step) {
  return program.rules ? program.rules->learning_rate_of_step(step) : 0.0;
}

/// "cpu"; of several "cpu:0", "cpu:1".
std::vector<std::string> device_names(const function::Engine& engine) {
  if (engine.device_count() == 1) return {engine.plugin().platform};
  std::vector<std::string> names;
  for (int i = 0; i < engine.device_count(); ++i) names.push_back(fmt::format("{}:{}", engine.plugin().platform, i));
  return names;
}

}  // namespace

WorkerService::WorkerService(transport::Endpoint& endpoint, const TaskServerOptions& options)
    : endpoint_(endpoint),
      options_(options),
      replicas_(options.devices),
      stop_commands_(std::make_shared<const function::CommandStop>()),
      executor_([this] { execute(stop_.get_token()); }) {}

void WorkerService::stop() {
  std::deque<Job> left;
  {
    const std::scoped_lock lock(mutex_);
    stop_.request_stop();
    job_stop_.request_stop();
    left.swap(jobs_);
  }
  if (executor_.joinable()) executor_.join();
  variables_.reset();  // while the endpoint is still there
  for (Job& job : left) job.responder.reply(fail(Code::kCancelled, "this task is stopping"));
}

void WorkerService::submit(const transport::Caller& caller, transport::Message request, transport::Responder responder,
                           std::optional<transport::Message> program) {
  std::deque<Job> ended;
  {
    std::unique_lock lock(mutex_);
    if (stop_.stop_requested()) {
      lock.unlock();
      return responder.reply(fail(Code::kCancelled, "this task is stopping"));
    }
    if (static_cast<Kind>(request.kind) == Kind::kLoadProgram) {
      if (request.epoch != newest_) {  // none is older: TaskServer has looked
        newest_ = request.epoch;
        ended = abandon(lock, [&](std::uint64_t connection) { return connection != caller.connection; });
      }
    }
    jobs_.push_back({std::move(request), std::move(responder), caller.connection, std::move(program)});
    wake_.notify_one();
  }
  for (Job& job : ended) job.responder.reply(fail(fenced_off()));
}

void WorkerService::drop(const DropWaiting& drop) {
  std::deque<Job> dropped;
  {
    const std::unique_lock lock(mutex_);
    drop_ = drop;  // for what comes later: a large closure may still be on its way
    dropped = take_calls(lock, jobs_.size(), [&](const ClosureCall& call) { return drop.includes(call); });
  }
  for (Job& job : dropped) job.responder.reply(encode_empty(Kind::kDrop));
}

void WorkerService::give_back(const GiveBack& give_back) {
  std::deque<Job> given;
  {
    const std::unique_lock lock(mutex_);
    given = take_calls(lock, give_back.count, [&](const ClosureCall& call) { return call.epoch == give_back.epoch; });
  }
  for (Job& job : given) job.responder.reply(encode_empty(Kind::kDrop));
}

// At most so many, those that came last; the order stays.
std::deque<WorkerService::Job> WorkerService::take_calls(const std::unique_lock<std::mutex>&, std::size_t most,
                                                         const std::function<bool(const ClosureCall&)>& is_meant) {
  std::deque<Job> kept, taken;
  for (; !jobs_.empty(); jobs_.pop_back()) {
    const bool is_call = taken.size() < most && static_cast<Kind>(jobs_.back().request.kind) == Kind::kRun;
    const auto call = is_call ? decode_call(jobs_.back().request) : fail(Code::kNotFound, "no call");
    (call && is_meant(*call) ? taken : kept).push_front(std::move(jobs_.back()));
  }
  jobs_.swap(kept);
  return taken;
}

void WorkerService::caller_gone(const transport::Caller& caller) {
  std::deque<Job> ended;
  {
    std::unique_lock lock(mutex_);
    ended = abandon(lock, [&](std::uint64_t connection) { return connection == caller.connection; });
  }
  for (Job& job : ended) job.responder.reply(fail(Code::kCancelled, "the client that asked is gone"));
}

std::deque<WorkerService::Job> WorkerService::abandon(const std::unique_lock<std::mutex>&,
                                                      const std::function<bool(std::uint64_t)>& is_theirs) {
  std::deque<Job> kept, ended;
  for (Job& job : jobs_) (is_theirs(job.connection) ? ended : kept).push_back(std::move(job));
  jobs_.swap(kept);
  if (running_ && is_theirs(*running_) && !is_abandoned_) {
    is_abandoned_ = true;
    job_stop_.request_stop();
    stop_commands_->request();
  }
  if (!running_ && served_ && is_theirs(*served_)) {  // kept filters: nobody is there to call them
    served_.reset();
    has_stopped_ = true;
    stop_commands_->request();
  }
  return ended;
}

bool WorkerService::is_abandoned() const {
  const std::scoped_lock lock(mutex_);
  return is_abandoned_;
}

Error WorkerService::fenced_off() const {
  return {Code::kPermissionDenied,
          fmt::format("this worker belongs to a newer coordinator (epoch {})", newest_.load()),
          {}};
}

void WorkerService::fill(TaskStatus& status) const {
  {
    const std::scoped_lock lock(mutex_);
    status.closures_waiting = jobs_.size();
    status.is_abandoned = is_abandoned_;
  }
  status.closures_done = closures_done_;
  status.epoch = epoch_;
  activity_.fill(status);
}

void WorkerService::execute(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); }) && !stop.stop_requested()) {
    if (std::exchange(has_stopped_, false)) {
      lock.unlock();
      forget_stopped();
      lock.lock();
      stop_commands_->clear();
      continue;
    }
    std::optional<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = served_ = job->connection;
    job_stop_ = std::stop_source();
    if (stop.stop_requested()) job_stop_.request_stop();
    dropping_ = drop_;
    lock.unlock();
    auto reply = answer(*job);
    activity_.end();  // before the answer, so that who has it doesn't see it still at work
    if (!reply && is_abandoned()) reply = fail(fenced_off());
    job->responder.reply(std::move(reply));
    job.reset();  // gives its tensors back before the next wait
    lock.lock();
    running_.reset();
    has_stopped_ = std::exchange(is_abandoned_, false) || has_stopped_;
  }
}

// An iterator whose map was stopped on its way keeps that as its end: it is made anew for who comes next.
void WorkerService::forget_stopped() {
  if (program_ && program_->program().has_kind(program::FunctionKind::kCommand)) iterators_.clear();
}

// Its epoch was the newest when the request came, behind the load of that program; which may have failed, or another
// one may be there by now.
Result<void> WorkerService::check_epoch(const transport::Message& request) const {
  const bool is_load = static_cast<Kind>(request.kind) == Kind::kLoadProgram;
  if (is_load ? !is_older(request.epoch, epoch_) : request.epoch == epoch_ && program_) return {};
  return fail(Code::kPermissionDenied, "this worker holds another program (epoch {}, the request has {})",
              epoch_.load(), request.epoch);
}

Result<transport::Message> WorkerService::answer(const Job& job) {
  const transport::Message& request = job.request;
  TFD_TRY(check_epoch(request));
  switch (static_cast<Kind>(request.kind)) {
    case Kind::kLoadProgram:
      return finish_load(request.epoch, load_program(job));
    case Kind::kCreateIterator:
      return create_iterator(TFD_TRY(decode_create_iterator(request)));
    case Kind::kDropIterator:
      for (const std::string& id : TFD_TRY(decode_names(request))) iterators_.erase(id);
      return encode_empty(Kind::kDropIterator);
    case Kind::kRun: {
      const ClosureCall call = TFD_TRY(decode_call(request));
      if (dropping_.includes(call)) return encode_empty(Kind::kDrop);
      return run(call);
    }
    case Kind::kEvaluate:
      return evaluate(TFD_TRY(decode_evaluate(request)));
    case Kind::kRead:
      return read(request);
    case Kind::kAssign:
      TFD_TRY(assign(request));
      return encode_empty(Kind::kAssign);
    default:
      return fail(Code::kUnimplemented, "a worker doesn't answer requests of kind {}", request.kind);
  }
}

Result<transport::Message> WorkerService::load_program(const Job& job) {
  const std::uint64_t shuffle_stream = TFD_TRY(decode_load(job.request));
  if (job.request.epoch != epoch_) {
    if (!job.program) return fail(Code::kUnavailable, "this worker was not brought the program");
    const LoadProgram load = TFD_TRY(decode_program(*job.program));
    activity_.begin("(the program)");
    program::Program program = TFD_TRY(parse_loaded(load));
    if (program.has_native()) TFD_TRY(check_native(options_));
    if (!engine_ && program.has_kind(program::FunctionKind::kModule)) {
      if (!options_.make_engine) return fail(Code::kFailedPrecondition, "this worker has no engine for functions");
      engine_ = TFD_TRY(options_.make_engine());
      replicas_ = engine_->device_count();
      activity_.set_devices(device_names(*engine_));
    }
    const std::string directory = options_.data_root.empty() ? load.directory : options_.data_root;
    auto made = TFD_TRY(
        WorkerProgram::make(std::move(program), directory, engine_, options_.native.environment, stop_commands_));
    auto copies = TFD_TRY(make_copies(made->program(), load.placement));
    auto own =
        TFD_TRY(make_own_store(made->program(), copies));  // from here on nothing can fail: all is new, or nothing
    iterators_.clear();                                    // before the program whose functions their maps call
    variables_.reset();
    program_ = std::move(made);
    variables_ = std::make_unique<ParameterServers>(
        endpoint_, load.placement,
        ServerPolicy{.peer = {.patience = kPsPatience, .deadlines_wait_for_bytes = true}, .activity = &activity_});
    variables_->set_epoch(load.epoch);
    copies_ = std::move(copies);
    own_ = std::move(own);
    own_updates_ = 0;
    epoch_ = load.epoch;
    activity_.set_program(load.path);
  } else {  // heard again: who asks makes those anew that somebody can still use
    std::erase_if(iterators_, [](const auto& one) { return !one.first.starts_with(kOwnIterator); });
  }
  TFD_TRY(variables_->reach(Deadline::after(kReach)));  // one that can't would only hold closures up
  shuffle_stream_ = shuffle_stream;
  return encode_empty(Kind::kLoadProgram);
}

// Of a program that couldn't be loaded, what was there before stays.
Result<transport::Message> WorkerService::finish_load(std::uint64_t epoch, Result<transport::Message> loaded) {
  const std::scoped_lock lock(mutex_);
  if (!loaded && newest_ == epoch) newest_ = epoch_.load();
  const bool has_newer = std::ranges::any_of(jobs_, [&](const Job& job) {
    return static_cast<Kind>(job.request.kind) == Kind::kLoadProgram && job.request.epoch == newest_;
  });
  if (loaded && !has_newer) newest_ = epoch;  // another attempt at it had failed
  return loaded;
}

// The parameter servers' are as many as the coordinator took to be right.
Result<ReplicaCopies> WorkerService::make_copies(const program::Program& program, const Placement& placement) const {
  auto copies = TFD_TRY(ReplicaCopies::make(program, replicas_));
  for (const program::VariableDef& variable : program.variables)
    if (variable.synchronization == variable::Synchronization::kOnRead && !variable.per_worker &&
        !placement.placed.contains(copies.names_of(variable.name).front()))
      return fail(Code::kInvalidArgument,
                  "variable '{}', which is synchronized on read, was not created for the {} replicas of this worker",
                  variable.name, replicas_);
  return copies;
}

Result<transport::Message> WorkerService::create_iterator(const CreateIterator& create) {
  activity_.begin("(dataset " + create.dataset + ")");
  const auto dataset = TFD_TRY(program_->find_dataset(create.dataset));
  auto iterator = TFD_TRY(dataset->iterate({.stream = create.shuffle_stream}));
  iterators_.insert_or_assign(create.id, WorkerIterator{create.dataset, dataset->spec(), std::move(iterator)});
  return encode_empty(Kind::kCreateIterator);
}

Result<WorkerIterator*> WorkerService::find_iterator(const std::string& id) {
  if (!iterators_.contains(id) && id.starts_with(kOwnIterator))
    TFD_TRY(create_iterator({id, id.substr(kOwnIterator.size()), shuffle_stream_}));
  const auto found = iterators_.find(id);
  if (found == iterators_.end()) return fail(Code::kNotFound, "this worker has no iterator '{}'", id);
  return &found->second;
}

bool WorkerService::is_own(std::string_view variable) const {
  const program::VariableDef* definition = program_->program().find_variable(original_name(variable));
  return definition != nullptr && definition->per_worker;
}

Result<std::map<std::string, tensor::Tensor>> WorkerService::read_own(std::vector<std::string>& names) const {
  std::map<std::string, tensor::Tensor> out;
  for (const std::string& name : names)
    if (is_own(name)) out.emplace(name, TFD_TRY(own_.read(name)));
  std::erase_if(names, [&](const std::string& name) { return out.contains(name); });
  return out;
}

Result<std::vector<std::string>> WorkerService::variables_of(const program::FunctionDef& function,
                                                             const ClosureCall& call) const {
  auto names = function.variables_read();
  const auto add = [&](const ArgumentValue& value) -> Result<void> {
    const auto* variable = std::get_if<VariableRef>(&value);
    if (variable == nullptr) return {};
    if (!is_own(variable->name)) return fail(Code::kNotFound, "no per-worker variable '{}'", variable->name);
    if (std::ranges::find(names, variable->name) == names.end()) names.push_back(variable->name);
    return {};
  };
  for (const ArgumentValue& value : call.args) TFD_TRY(add(value));
  for (const auto& [name, value] : call.kwargs) TFD_TRY(add(value));
  return names;
}

// First those of parameter servers, which may fail and be tried again elsewhere: the worker's own are of closures that
// it finished.
Result<void> WorkerService::apply_updates(const ClosureCall& call, std::vector<variable::Update> updates) {
  const auto own = std::stable_partition(updates.begin(), updates.end(),
                                         [this](const variable::Update& update) { return !is_own(update.variable); });
  const std::vector<variable::Update> mine(std::make_move_iterator(own), std::make_move_iterator(updates.end()));
  updates.erase(own, updates.end());
  if (!updates.empty())
    TFD_TRY(variables_->update(call.sequence, updates, Deadline::after(kPsTimeout), job_stop_.get_token()));
  if (!mine.empty()) TFD_TRY(own_.apply(own_updates_++, mine));
  return {};
}

Result<transport::Message> WorkerService::read(const transport::Message& request) const {
  transport::Message out = encode_empty(Kind::kRead);
  for (const std::string& name : TFD_TRY(decode_names(request))) {
    std::vector<tensor::Tensor> values;
    for (const std::string& one : copies_.names_of(name)) values.push_back(TFD_TRY(own_.read(one)));
    out.tensors.push_back(copies_.has(name) ? TFD_TRY(copies_.read_across(name, std::move(values))) : values.front());
  }
  return out;
}

Result<void> WorkerService::assign(const transport::Message& request) {
  for (const auto& [name, value] : TFD_TRY(decode_named(request)))
    for (const auto& [one, its] : TFD_TRY(copies_.assign_across(name, value)))
      TFD_TRY(own_.assign({variable::UpdateKind::kAssign, one, its}));
  return {};
}

Result<std::map<std::string, tensor::Tensor>> WorkerService::read_variables(const std::vector<std::string>& wanted) {
  std::vector<std::string> names = copies_.stored_names(wanted);
  auto out = TFD_TRY(read_own(names));
  if (!names.empty()) {
    const Deadline deadline = Deadline::after(kPsTimeout);
    auto values = TFD_TRY(variables_->start_read(names, deadline).wait(job_stop_.get_token()));
    for (std::size_t i = 0; i < names.size(); ++i) out.emplace(names[i], std::move(values[i]));
  }
  TFD_TRY(copies_.aggregate(out));
  return out;
}

Result<void> WorkerService::look_up(const program::FunctionDef& function, CallContext context,
                                    std::vector<ReplicaShare>& shares) {
  std::vector<RowLookup> lookups;  // of all shares, one after the other
  for (const ReplicaShare& share : shares) {
    context.elements = &share.elements;
    auto own = TFD_TRY(lookups_of(function, context));
    lookups.insert(lookups.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  if (lookups.empty()) return {};
  const Deadline deadline = Deadline::after(kPsTimeout);
  auto rows = TFD_TRY(variables_->start_lookup(lookups, deadline).wait(job_stop_.get_token()));
  const std::size_t each = rows.size() / shares.size();
  for (std::size_t i = 0; i < rows.size(); ++i) shares[i / each].rows.push_back(std::move(rows[i]));
  return {};
}

Result<transport::Message> WorkerService::run(const ClosureCall& call) {
  activity_.begin(call.function);
  const CompiledFunction* function = TFD_TRY(program_->find_function(call.function));
  const program::FunctionDef& def = *function->def;
  const auto iterators = TFD_TRY(iterators_of(def, call), def.name);
  auto names = copies_.stored_names(TFD_TRY(variables_of(def, call), def.name));
  auto variables = TFD_TRY(read_own(names), def.name);
  const Deadline deadline = Deadline::after(kPsTimeout);
  auto reading = variables_->start_read(names, deadline);  // on its way while the next element is made
  // The last step of the data is run by those replicas for which there are data: nothing is lost.
  const auto find = [this](const std::string& id) { return find_iterator(id); };
  auto shares = TFD_TRY(take_shares(iterators, find, replicas_, call.replicas, call.most_elements), def.name);
  auto values = TFD_TRY(reading.wait(job_stop_.get_token()), def.name);
  for (std::size_t i = 0; i < names.size(); ++i) variables.emplace(names[i], std::move(values[i]));
  const bool is_replica = call.replicas != program::Replicas::kOne;
  if (!is_replica) TFD_TRY(copies_.aggregate(variables), def.name);

  const program::Program& program = program_->program();
  CallContext context{&call, &shares.front().elements, &variables};
  context.learning_rate = learning_rate_of(program, call.step);
  TFD_TRY(look_up(def, context, shares), def.name);
  context.rows = &shares.front().rows;
  BoundOutputs bound;
  if (is_replica) {
    context.num_replicas = replicas_;
    context.copies = &copies_;
    auto outputs = TFD_TRY(run_on_replicas(*function, context, shares));
    bound = TFD_TRY(reduce_outputs(program, def, context, std::move(outputs)));
  } else {
    bound = TFD_TRY(run_function(*function, context));
    TFD_TRY(take_differences(def, variables, bound.updates), def.name);
    bound.updates = TFD_TRY(copies_.update_across(std::move(bound.updates)), def.name);
  }
  TFD_TRY(check_row_numbers(program, bound.updates), def.name);
  const bool updates_something = !bound.updates.empty();
  TFD_TRY(settle_gradients(program, def, variables, call.step, bound));
  if (updates_something && bound.updates.empty())  // skipped: parameter servers needn't remember a hole in the numbers
    TFD_TRY(variables_->update(call.sequence, {}, Deadline::after(kPsTimeout), job_stop_.get_token()), def.name);
  TFD_TRY(apply_updates(call, std::move(bound.updates)), def.name);
  if (!def.returns.empty()) {
    auto returned = TFD_TRY(read_variables(def.returns), def.name);
    for (const std::string& name : def.returns) bound.outcome.results.push_back(returned.at(name));
  }
  ++closures_done_;
  return encode(bound.outcome);
}

Result<transport::Message> WorkerService::evaluate(const Evaluate& part) {
  activity_.begin(part.function);
  const CompiledFunction* function = TFD_TRY(program_->find_function(part.function));
  const program::FunctionDef& def = *function->def;
  const ClosureCall call{part.epoch, 0, 0, part.function, {}, {}, 0};
  // One order for all parts, wherever and however often they are run: the epoch is the same on all workers.
  const data::Order order{.seeds = data::ShuffleSeeds{part.seed, part.epoch}};
  std::map<std::string, WorkerIterator> iterators;
  for (const std::string& id : TFD_TRY(iterators_of(def, call), def.name)) {
    const std::string name = id.substr(own_iterator_id("").size());
    const auto dataset = TFD_TRY(program_->find_dataset(name, {part.count, part.index}));
    auto iterator = TFD_TRY(dataset->iterate(order));
    iterators.emplace(id, WorkerIterator{name, dataset->spec(), std::move(iterator)});
  }
  const auto variables = TFD_TRY(read_variables(def.variables_read()), def.name);
  const auto take = [&](ElementTable& elements) -> Result<bool> {
    for (auto& [id, iterator] : iterators) {
      auto element = TFD_TRY(iterator.iterator->next(), "dataset '" + iterator.dataset + "'");
      if (!element) return false;
      elements.put(id, iterator.spec, std::move(*element));
    }
    return true;
  };
  CallContext context{&call, nullptr, &variables};
  context.learning_rate = learning_rate_of(program_->program(), call.step);
  MetricAccumulator metrics;
  const int most = iterators.empty() ? 1 : replicas_;  // batches at a time, one on each device
  bool more = !iterators.empty() || part.index == 0;
  for (std::int64_t step = part.index; more && !stop_.stop_requested() && !is_abandoned();) {
    std::vector<ReplicaShare> shares;
    while (more && static_cast<int>(shares.size()) < most) {
      ReplicaShare share{.elements = {}, .batch = step};
      more = (!part.steps || step < *part.steps) && TFD_TRY(take(share.elements));
      if (more) shares.push_back(std::move(share));
      step += part.count;
    }
    if (shares.empty()) break;
    TFD_TRY(look_up(def, context, shares), def.name);
    context.rows = &shares.front().rows;
    const auto outputs = TFD_TRY(run_on_replicas(*function, context, shares));
    for (const BoundOutputs& one : outputs.outputs) metrics.add(one.outcome.metrics);
    more = more && !iterators.empty();
  }
  if (stop_.stop_requested()) return fail(Code::kCancelled, "this task is stopping");
  if (is_abandoned()) return fail(Code::kCancelled, "the client that asked is gone");
  return encode(ClosureOutcome{{}, metrics.parts()});
}

}  // namespace tfd::runtime
