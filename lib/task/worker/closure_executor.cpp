// SPDX-License-Identifier: Apache-2.0
#include "closure_executor.hpp"

#include <algorithm>

#include "ps/ps_service.hpp"
#include "tfd/data/distribute.hpp"

namespace tfd::task {
namespace {

// Time that a closure waits for its parameter servers while no byte moves. A dead one is noticed much earlier; a
// suspended one is waited for, as long as the coordinator, which sees it too, decides.
constexpr auto kPsTimeout = std::chrono::seconds(60);
constexpr auto kReach = std::chrono::seconds(5);
constexpr auto kPsPatience = std::chrono::minutes(5);
constexpr std::string_view kOwnIterator = "dataset:";  // prefix for the program's own datasets: see own_iterator_id()

Result<void> check_native(const TaskServerOptions& options) {
  if (options.native.allowed) return {};  // and the cluster has a key, which the caller has proved to have
  return fail(Code::kPermissionDenied,
              "{} does not run plug-ins or commands: its server was started without --allow-native",
              cluster::format_task(options.task));
}

/// "cpu" for a single device; "cpu:0", "cpu:1" for several.
std::vector<std::string> device_names(const function::Engine& engine) {
  if (engine.device_count() == 1) return {engine.plugin().platform};
  std::vector<std::string> names;
  for (int i = 0; i < engine.device_count(); ++i) names.push_back(fmt::format("{}:{}", engine.plugin().platform, i));
  return names;
}

}  // namespace

ClosureExecutor::ClosureExecutor(transport::Endpoint& endpoint, const TaskServerOptions& options, Activity& activity)
    : endpoint_(endpoint),
      options_(options),
      activity_(activity),
      stop_commands_(std::make_shared<const command::CommandStop>()),
      replicas_(options.devices) {}

void ClosureExecutor::end() {
  stop_commands_->request();  // commands of elements that are prefetched
  iterators_.clear();
  variables_.reset();
}

void ClosureExecutor::forget_stopped() {
  if (program_ && program_->program().has_commands()) iterators_.clear();
}

Result<transport::Message> ClosureExecutor::load(const transport::Message& request,
                                                 const std::optional<transport::Message>& program,
                                                 const std::stop_token& stop) {
  const WorkerOrders orders = TFD_TRY(decode_load(request));
  if (request.epoch != epoch_) {
    if (!program) return fail(Code::kUnavailable, "this worker did not receive the program");
    TFD_TRY(replace_program(TFD_TRY(decode_program(*program))));
  } else {  // a repeated request: the caller recreates the iterators that are still in use
    const bool begins_anew = orders.shuffle_stream != orders_.shuffle_stream;
    std::erase_if(iterators_, [&](const auto& one) { return begins_anew || !one.first.starts_with(kOwnIterator); });
  }
  TFD_TRY(variables_->reach(Deadline::after(kReach), stop));  // a worker that can't reach them only delays closures
  orders_ = orders;
  return encode_empty(Kind::kLoadProgram);
}

Result<void> ClosureExecutor::replace_program(const LoadProgram& load) {
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
      step::CompiledProgram::make(std::move(program), directory, engine_, options_.native.environment, stop_commands_));
  TFD_TRY(made->compile());
  made->set_log(options_.log.for_room("data"));
  auto copies = TFD_TRY(make_copies(made->program(), load.placement));
  auto own = TFD_TRY(make_own_store(made->program(), copies));
  // Nothing can fail from here on, so that the program is replaced atomically.
  iterators_.clear();  // before the program, whose functions their maps call
  variables_.reset();
  program_ = std::move(made);
  steps_.emplace(*program_, std::move(copies),
                 step::StepOptions{.replicas = step::ReplicaRange::whole(replicas_),
                                   .look_up = [this](const auto& rows) { return look_up(rows); }});
  variables_ = std::make_unique<ParameterServers>(
      endpoint_, load.placement,
      ServerPolicy{.peer = {.patience = kPsPatience, .deadlines_wait_for_bytes = true},
                   .activity = &activity_,
                   .is_driven = true,
                   .reads_for_a_step = true});
  variables_->set_epoch(load.epoch);
  own_ = std::move(own);
  own_updates_ = 0;
  const auto& rules = program_->program().rules;
  accumulates_ = rules && rules->steps_per_update() > 1;
  epoch_ = load.epoch;
  activity_.set_program(load.path);
  return {};
}

// The parameter servers made as many copies as the coordinator expects of every worker.
Result<step::ReplicaCopies> ClosureExecutor::make_copies(const program::Program& program,
                                                         const Placement& placement) const {
  auto copies = TFD_TRY(step::ReplicaCopies::make(program, replicas_));
  for (const program::VariableDef& variable : program.variables)
    if (variable.synchronization == variable::Synchronization::kOnRead && !variable.per_worker &&
        !placement.placed.contains(copies.names_of(variable.name).front()))
      return fail(Code::kInvalidArgument,
                  "variable '{}', which is synchronized on read, was not created for the {} replicas of this worker",
                  variable.name, replicas_);
  return copies;
}

Result<transport::Message> ClosureExecutor::answer(const transport::Message& request, const std::stop_token& stop) {
  stop_ = stop;
  switch (static_cast<Kind>(request.kind)) {
    case Kind::kCreateIterator:
      TFD_TRY(create_iterator(TFD_TRY(decode_create_iterator(request))));
      return encode_empty(Kind::kCreateIterator);
    case Kind::kDropIterator:
      for (const std::string& id : TFD_TRY(decode_names(request))) iterators_.erase(id);
      return encode_empty(Kind::kDropIterator);
    case Kind::kEvaluate: {
      ClosureOutcome outcome;
      outcome.metrics = TFD_TRY(evaluate(TFD_TRY(decode_evaluate(request))));
      return encode(outcome);
    }
    case Kind::kRead:
      return read(request);
    case Kind::kAssign:
      TFD_TRY(assign(request));
      return encode_empty(Kind::kAssign);
    default:
      return fail(Code::kUnimplemented, "a worker doesn't answer requests of kind {}", request.kind);
  }
}

Result<void> ClosureExecutor::create_iterator(const CreateIterator& create) {
  activity_.begin("(dataset " + create.dataset + ")");
  data::Order order{.stream = create.shuffle_stream};
  const std::uint64_t seed = orders_.data_seed;
  if (create.id.starts_with(kOwnIterator) && is_dynamic(create.dataset))
    order = {.seeds = data::ShuffleSeeds{seed, seed}};
  else if (create.id.starts_with(kOwnIterator) && seed != 0)
    order.seeds = data::ShuffleSeeds{seed, seed ^ create.shuffle_stream};
  auto opened = TFD_TRY(steps_->open(create.dataset, {}, order));
  iterators_.insert_or_assign(create.id, std::move(opened));
  return {};
}

Result<step::WorkerIterator*> ClosureExecutor::find_iterator(const std::string& id) {
  if (!iterators_.contains(id) && id.starts_with(kOwnIterator))
    TFD_TRY(create_iterator({id, id.substr(kOwnIterator.size()), orders_.shuffle_stream}));
  const auto found = iterators_.find(id);
  if (found == iterators_.end()) return fail(Code::kNotFound, "this worker has no iterator '{}'", id);
  return &found->second;
}

bool ClosureExecutor::is_dynamic(const std::string& dataset) const {
  const auto& datasets = program_->program().datasets;
  const auto found = datasets.find(dataset);
  return found != datasets.end() && data::is_dynamic(found->second);
}

// With dynamic sharding, a step's elements are determined by its number, whichever worker runs it and however often;
// all workers have the same number of replicas then. Datasets of each worker's own continue after the steps that it had
// made when the training was saved.
Result<void> ClosureExecutor::position_iterators(const program::FunctionDef& def, const step::FunctionCall& call) {
  if (call.closure) return {};
  const std::int64_t each = call.replicas == program::Replicas::kEach ? replicas_ : 1;
  for (const std::string& id : TFD_TRY(step::iterators_of(def, call))) {
    if (!id.starts_with(kOwnIterator)) continue;
    const bool is_shared = is_dynamic(id.substr(kOwnIterator.size()));
    if (!is_shared && iterators_.contains(id)) continue;
    const auto find = [this](const std::string& own) { return find_iterator(own); };
    TFD_TRY(step::go_to(iterators_, find, id, (is_shared ? call.step : orders_.steps_taken) * each));
  }
  return {};
}

bool ClosureExecutor::is_own(std::string_view variable) const {
  return program_->is_per_worker(step::original_name(variable));
}

Result<step::VariableValues> ClosureExecutor::read_own(std::vector<std::string>& names) const {
  step::VariableValues out;
  if (own_.size() == 0) return out;
  for (const std::string& name : names)
    if (is_own(name)) out.emplace(name, TFD_TRY(own_.read(name)));
  std::erase_if(names, [&](const std::string& name) { return out.contains(name); });
  return out;
}

Result<std::vector<std::string>> ClosureExecutor::variables_of(const step::CompiledFunction& function,
                                                               const step::FunctionCall& call) const {
  auto names = function.variables_read;
  const auto add = [&](const step::ArgumentValue& value) -> Result<void> {
    const auto* variable = std::get_if<step::VariableRef>(&value);
    if (variable == nullptr) return {};
    if (!is_own(variable->name)) return fail(Code::kNotFound, "no per-worker variable '{}'", variable->name);
    if (std::ranges::find(names, variable->name) == names.end()) names.push_back(variable->name);
    return {};
  };
  for (const step::ArgumentValue& value : call.args) TFD_TRY(add(value));
  for (const auto& [name, value] : call.kwargs) TFD_TRY(add(value));
  return names;
}

Result<step::VariableValues> ClosureExecutor::read_variables(std::vector<std::string> names,
                                                             const std::function<Result<void>()>& meanwhile) {
  names = steps_->copies().stored_names(names);
  step::VariableValues out = TFD_TRY(read_own(names));
  auto reading = variables_->start_read(names, Deadline::after(kPsTimeout));
  if (meanwhile) TFD_TRY(meanwhile());
  auto values = TFD_TRY(reading.wait(stop_));
  if (!names.empty()) driven_ = Clock::now();
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace(std::move(names[i]), std::move(values[i]));
  return out;
}

Result<std::vector<tensor::Tensor>> ClosureExecutor::look_up(const std::vector<step::RowLookup>& lookups) {
  return variables_->start_lookup(lookups, Deadline::after(kPsTimeout)).wait(stop_);
}

// Applies updates on parameter servers first, since these may fail and be retried elsewhere; the worker's own variables
// are updated only by closures that it finished. For a skipped step, parameter servers still get its sequence number,
// so that they needn't remember a gap.
Result<std::optional<ParameterServers::PendingUpdate>> ClosureExecutor::apply_updates(
    const step::FunctionCall& call, std::vector<variable::Update> updates, bool is_skipped) {
  const std::vector<variable::Update> mine = take_own(updates);
  if (!updates.empty() || is_skipped) {
    const Deadline deadline = Deadline::after(kPsTimeout);
    if (mine.empty() && !accumulates_)
      if (auto pending = TFD_TRY(variables_->start_update(call.sequence, updates, deadline))) return pending;
    TFD_TRY(variables_->update(call.sequence, updates, deadline, stop_));
  }
  if (!mine.empty()) TFD_TRY(own_.apply(own_updates_++, mine));
  return std::nullopt;
}

Result<std::optional<ParameterServers::PendingUpdate>> ClosureExecutor::stage_updates(
    const step::FunctionCall& call, std::vector<variable::Update> updates, bool is_skipped,
    std::vector<std::uint32_t>& staged_on) {
  const std::vector<variable::Update> mine = take_own(updates);
  std::optional<ParameterServers::PendingUpdate> pending;
  if (!updates.empty() || is_skipped) {
    const variable::Attempt attempt{call.sequence, call.attempt};
    auto staging = TFD_TRY(variables_->start_stage(attempt, updates, Deadline::after(kPsTimeout)));
    staged_on = std::move(staging.servers);
    if (mine.empty() && staging.is_whole)
      pending = std::move(staging.pending);
    else
      TFD_TRY(staging.pending.wait(stop_));
  }
  if (!mine.empty()) TFD_TRY(own_.apply(own_updates_++, mine));
  return pending;
}

std::vector<variable::Update> ClosureExecutor::take_own(std::vector<variable::Update>& updates) const {
  const auto own = std::stable_partition(updates.begin(), updates.end(),
                                         [this](const variable::Update& update) { return !is_own(update.variable); });
  std::vector<variable::Update> mine(std::make_move_iterator(own), std::make_move_iterator(updates.end()));
  updates.erase(own, updates.end());
  return mine;
}

Result<ClosureExecutor::Run> ClosureExecutor::run(const step::FunctionCall& call, const std::stop_token& stop,
                                                  const std::function<bool()>& has_next) {
  stop_ = stop;
  const auto began = Clock::now();
  activity_.begin(call.function);
  const step::CompiledFunction* function = TFD_TRY(program_->find_function(call.function));
  const program::FunctionDef& def = *function->def;
  const auto find = [this](const std::string& id) { return find_iterator(id); };
  std::vector<step::ReplicaShare> shares;
  const auto take = [&]() -> Result<void> {
    TFD_TRY(position_iterators(def, call));
    shares = TFD_TRY(steps_->take(def, call, find));
    return {};
  };
  auto names = TFD_TRY(variables_of(*function, call), def.name);
  const step::VariableValues variables = TFD_TRY(read_variables(std::move(names), take), def.name);
  step::StepResult step = TFD_TRY(steps_->run(*function, call, std::move(shares), variables));
  Run out;
  ClosureOutcome& outcome = out.outcome;
  outcome.metrics = std::move(step.metrics);
  if (call.replicas == program::Replicas::kOne)
    outcome.results = std::move(step.results.front());
  else
    outcome.results = TFD_TRY(step::stack_results(step.results), def.name);
  if (orders_.stages && call.sequence < kWithoutUpdates)
    out.update = TFD_TRY(stage_updates(call, std::move(step.updates), step.is_skipped, outcome.staged_on), def.name);
  else
    out.update = TFD_TRY(apply_updates(call, std::move(step.updates), step.is_skipped), def.name);
  const auto finish_update = [&]() -> Result<void> {
    return out.update ? std::exchange(out.update, std::nullopt)->wait(stop_) : Result<void>();
  };
  std::vector<std::string> returns = def.returns;
  if (!outcome.staged_on.empty())  // the coordinator reads the others once it has committed
    std::erase_if(returns, [this](const std::string& name) { return !is_own(name); });
  if (!returns.empty()) {  // asked behind the update, which they see
    step::VariableValues returned = TFD_TRY(read_variables(returns, finish_update), def.name);
    TFD_TRY(steps_->copies().aggregate(returned), def.name);
    for (const std::string& name : returns) outcome.results.push_back(returned.at(name));
  } else if (!has_next()) {
    TFD_TRY(finish_update(), def.name);
  }
  outcome.ran = Clock::now() - began;
  return out;
}

// All parts use one order, wherever and however often they are run: the epoch is the same on all workers.
Result<std::vector<step::Metric>> ClosureExecutor::evaluate(const Evaluate& part) {
  activity_.begin(part.function);
  const step::CompiledFunction* function = TFD_TRY(program_->find_function(part.function));
  const auto variables = TFD_TRY(read_variables(function->variables_read, {}), function->def->name);
  const data::Order order{.seeds = data::ShuffleSeeds{part.seed, part.epoch}};
  return steps_->evaluate(part.function, {part.count, part.index}, part.steps, order, variables,
                          [this] { return stop_.stop_requested(); });
}

Result<transport::Message> ClosureExecutor::read(const transport::Message& request) const {
  const step::ReplicaCopies& copies = steps_->copies();
  transport::Message out = encode_empty(Kind::kRead);
  for (const std::string& name : TFD_TRY(decode_names(request))) {
    std::vector<tensor::Tensor> values;
    for (const std::string& one : copies.names_of(name)) values.push_back(TFD_TRY(own_.read(one)));
    out.tensors.push_back(copies.has(name) ? TFD_TRY(copies.read_across(name, std::move(values))) : values.front());
  }
  return out;
}

Result<void> ClosureExecutor::assign(const transport::Message& request) {
  for (const auto& [name, value] : TFD_TRY(decode_named(request)))
    for (const auto& [one, its] : TFD_TRY(steps_->copies().assign_across(name, value)))
      TFD_TRY(own_.assign({variable::UpdateKind::kAssign, one, its}));
  return {};
}

}  // namespace tfd::task
