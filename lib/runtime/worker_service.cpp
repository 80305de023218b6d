// SPDX-License-Identifier: Apache-2.0
#include "worker_service.hpp"


namespace tfd::runtime {
namespace {

// How long a closure waits for its parameter servers. A dead or frozen one is noticed much earlier, by its heartbeats.
constexpr auto kPsTimeout = std::chrono::seconds(60);

Result<void> check_native(const TaskServerOptions& options) {
  if (options.native.allowed) return {};  // and the cluster has a key, which whoever asks has too
  return fail(Code::kPermissionDenied,
              "{} runs no plug-ins and commands: its server was started without --allow-native",
              cluster::format_task(options.task));
}

double learning_rate_of(const program::Program& program, std::int64_t step) {
  return program.rules ? program.rules->learning_rate_at(step) : 0.0;
}

/// Of updates of rows. Not kOutOfRange, which is the end of the data.
Result<void> check_row_numbers(const program::Program& program, const std::vector<variable::Update>& updates) {
  for (const variable::Update& update : updates) {
    if (!variable::updates_rows(update.kind)) continue;
    const auto read = variable::read_indices(update.indices, program.find_variable(update.variable)->spec.shape.at(0));
    if (!read) return fail(Code::kInvalidArgument, "'{}': {}", update.variable, read.error().message);
  }
  return {};
}

}  // namespace

WorkerService::WorkerService(transport::Endpoint& endpoint, const TaskServerOptions& options)
    : endpoint_(endpoint), options_(options), executor_([this] { execute(stop_.get_token()); }) {}

void WorkerService::stop() {
  std::deque<Job> left;
  {
    const std::scoped_lock lock(mutex_);
    stop_.request_stop();
    left.swap(jobs_);
  }
  if (executor_.joinable()) executor_.join();
  variables_.reset();  // while the endpoint is still there
  for (Job& job : left) job.responder.reply(fail(Code::kCancelled, "this task is stopping"));
}

void WorkerService::submit(transport::Message request, transport::Responder responder) {
  {
    const std::scoped_lock lock(mutex_);
    if (!stop_.stop_requested()) {
      jobs_.push_back({std::move(request), std::move(responder)});
      wake_.notify_one();
      return;
    }
  }
  responder.reply(fail(Code::kCancelled, "this task is stopping"));
}

void WorkerService::fill(TaskStatus& status) const {
  {
    const std::scoped_lock lock(mutex_);
    status.closures_waiting = jobs_.size();
  }
  status.closures_done = closures_done_;
  status.epoch = epoch_;
  activity_.fill(status);
}

void WorkerService::execute(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); }) && !stop.stop_requested()) {
    std::optional<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    auto reply = answer(job->request);
    activity_.end();  // before the answer, so that who has it doesn't see it still at work
    job->responder.reply(std::move(reply));
    job.reset();  // gives its tensors back before the next wait
    lock.lock();
  }
}

Result<transport::Message> WorkerService::answer(const transport::Message& request) {
  switch (static_cast<Kind>(request.kind)) {
    case Kind::kLoadProgram:
      return load_program(TFD_TRY(decode_load_program(request)));
    case Kind::kCreateIterator:
      return create_iterator(TFD_TRY(decode_create_iterator(request)));
    case Kind::kDropIterator:
      for (const std::string& id : TFD_TRY(decode_names(request))) iterators_.erase(id);
      return encode_empty(Kind::kDropIterator);
    case Kind::kRun:
      return run(TFD_TRY(decode_call(request)));
    case Kind::kEvaluate:
      return evaluate(TFD_TRY(decode_evaluate(request)));
    default:
      return fail(Code::kUnimplemented, "a worker doesn't answer requests of kind {}", request.kind);
  }
}

Result<transport::Message> WorkerService::load_program(const LoadProgram& load) {
  if (load.epoch < epoch_)
    return fail(Code::kPermissionDenied, "this worker belongs to a newer coordinator (epoch {}, this one has {})",
                epoch_.load(), load.epoch);
  if (load.epoch != epoch_) {
    activity_.begin("(the program)");
    program::Program program = TFD_TRY(parse_loaded(load));
    if (program.has_native()) TFD_TRY(check_native(options_));
    if (!engine_ && program.has_kind(program::FunctionKind::kModule)) {
      if (!options_.make_engine) return fail(Code::kFailedPrecondition, "this worker has no engine for functions");
      engine_ = TFD_TRY(options_.make_engine());
      activity_.set_devices({engine_->plugin().platform});
    }
    const std::string directory = options_.data_root.empty() ? load.directory : options_.data_root;
    auto made = TFD_TRY(WorkerProgram::make(std::move(program), directory, engine_, options_.native.environment));
    iterators_.clear();  // before the program whose functions their maps call
    variables_.reset();
    program_ = std::move(made);
    variables_ = std::make_unique<RemoteVariables>(endpoint_, load.placement, stop_.get_token(), &activity_);
    epoch_ = load.epoch;
    activity_.set_program(load.path);
  }
  return encode_empty(Kind::kLoadProgram);
}

Result<void> WorkerService::check_epoch(std::uint64_t epoch) const {
  if (epoch == epoch_ && program_) return {};
  return fail(Code::kPermissionDenied, "this worker holds another program (epoch {}, the request has {})",
              epoch_.load(), epoch);
}

Result<transport::Message> WorkerService::create_iterator(const CreateIterator& create) {
  if (!program_) return fail(Code::kFailedPrecondition, "this worker has no program yet");
  activity_.begin("(dataset " + create.dataset + ")");
  const auto dataset = TFD_TRY(program_->find_dataset(create.dataset));
  auto iterator = TFD_TRY(dataset->iterate());
  iterators_.insert_or_assign(create.id, WorkerIterator{create.dataset, dataset->spec(), std::move(iterator)});
  return encode_empty(Kind::kCreateIterator);
}

Result<WorkerIterator*> WorkerService::find_iterator(const std::string& id) {
  constexpr std::string_view kOwn = "dataset:";  // see own_iterator_id()
  if (!iterators_.contains(id) && id.starts_with(kOwn)) TFD_TRY(create_iterator({id, id.substr(kOwn.size())}));
  const auto found = iterators_.find(id);
  if (found == iterators_.end()) return fail(Code::kNotFound, "this worker has no iterator '{}'", id);
  return &found->second;
}

Result<void> WorkerService::take_elements(const std::vector<std::string>& iterators, ElementTable& elements) {
  for (const std::string& id : iterators) {
    WorkerIterator* iterator = TFD_TRY(find_iterator(id));
    auto element = TFD_TRY(iterator->iterator->next(), "dataset '" + iterator->dataset + "'");
    if (!element) return fail(Code::kOutOfRange, "end of dataset '{}'", iterator->dataset);
    elements.put(id, iterator->spec, std::move(*element));
  }
  return {};
}

Result<std::map<std::string, tensor::Tensor>> WorkerService::read_variables(const std::vector<std::string>& names) {
  std::map<std::string, tensor::Tensor> out;
  if (names.empty()) return out;
  const Deadline deadline = Deadline::after(kPsTimeout);
  auto values = TFD_TRY(variables_->start_read(names, deadline).wait(deadline, stop_.get_token()));
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(names[i], std::move(values[i]));
  return out;
}

Result<std::vector<tensor::Tensor>> WorkerService::look_up(const program::FunctionDef& function,
                                                           const CallContext& context) {
  const auto lookups = TFD_TRY(lookups_of(function, context));
  if (lookups.empty()) return std::vector<tensor::Tensor>();
  const Deadline deadline = Deadline::after(kPsTimeout);
  return variables_->start_lookup(lookups, deadline).wait(deadline, stop_.get_token());
}

Result<transport::Message> WorkerService::run(const ClosureCall& call) {
  TFD_TRY(check_epoch(call.epoch));
  activity_.begin(call.function);
  const CompiledFunction* function = TFD_TRY(program_->find_function(call.function));
  const program::FunctionDef& def = *function->def;
  const auto iterators = TFD_TRY(iterators_of(def, call), def.name);
  const auto names = def.variables_read();
  const Deadline deadline = Deadline::after(kPsTimeout);
  auto reading = variables_->start_read(names, deadline);  // on its way while the next element is made
  ElementTable elements;
  TFD_TRY(take_elements(iterators, elements), def.name);
  auto values = TFD_TRY(reading.wait(deadline, stop_.get_token()), def.name);
  std::map<std::string, tensor::Tensor> variables;
  for (std::size_t i = 0; i < names.size(); ++i) variables.emplace(names[i], std::move(values[i]));

  const program::Program& program = program_->program();
  const double rate = learning_rate_of(program, call.step);
  CallContext context{&call, &elements, &variables};
  context.learning_rate = rate;
  const auto rows = TFD_TRY(look_up(def, context), def.name);
  context.rows = &rows;
  BoundOutputs bound = TFD_TRY(run_function(*function, context));
  TFD_TRY(check_row_numbers(program, bound.updates), def.name);
  // Clipped here and not where the variables are: only the worker sees all gradients, and each of them whole.
  if (program.rules) TFD_TRY(variable::prepare_gradients(*program.rules, bound.updates), def.name);
  if (!bound.updates.empty())
    TFD_TRY(variables_->update(call.epoch, call.sequence, bound.updates, Deadline::after(kPsTimeout)), def.name);
  if (!def.returns.empty()) {
    auto returned = TFD_TRY(read_variables(def.returns), def.name);
    for (const std::string& name : def.returns) bound.outcome.results.push_back(returned.at(name));
  }
  ++closures_done_;
  return encode(bound.outcome);
}

Result<transport::Message> WorkerService::evaluate(const Evaluate& part) {
  TFD_TRY(check_epoch(part.epoch));
  activity_.begin(part.function);
  const CompiledFunction* function = TFD_TRY(program_->find_function(part.function));
  const program::FunctionDef& def = *function->def;
  const ClosureCall call{part.epoch, 0, 0, part.function, {}, {}, 0};
  std::map<std::string, WorkerIterator> iterators;
  for (const std::string& id : TFD_TRY(iterators_of(def, call), def.name)) {
    const std::string name = id.substr(own_iterator_id("").size());
    const auto dataset = data::make_shard(TFD_TRY(program_->find_dataset(name)), part.count, part.index);
    auto iterator = TFD_TRY(dataset->iterate());
    iterators.emplace(id, WorkerIterator{name, dataset->spec(), std::move(iterator)});
  }
  const auto variables = TFD_TRY(read_variables(def.variables_read()), def.name);
  const double rate = learning_rate_of(program_->program(), call.step);
  MetricAccumulator metrics;
  for (std::int64_t step = part.index; (!part.steps || step < *part.steps) && !stop_.stop_requested();
       step += part.count) {
    ElementTable elements;
    for (auto& [id, iterator] : iterators) {
      auto element = TFD_TRY(iterator.iterator->next(), "dataset '" + iterator.dataset + "'");
      if (!element) return encode(ClosureOutcome{{}, metrics.parts()});
      elements.put(id, iterator.spec, std::move(*element));
    }
    CallContext context{&call, &elements, &variables};
    context.learning_rate = rate;
    const auto rows = TFD_TRY(look_up(def, context), def.name);
    context.rows = &rows;
    metrics.add(TFD_TRY(run_function(*function, context)).outcome.metrics);
    if (iterators.empty()) break;
  }
  if (stop_.stop_requested()) return fail(Code::kCancelled, "this task is stopping");
  return encode(ClosureOutcome{{}, metrics.parts()});
}

}  // namespace tfd::runtime
