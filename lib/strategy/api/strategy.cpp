// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/strategy.hpp"

#include <algorithm>

#include "device/variable_host.hpp"
#include "rendezvous.hpp"
#include "replica_group.hpp"
#include "strategy_context.hpp"
#include "tfd/base/text.hpp"
#include "tfd/step/replica_threads.hpp"
#include "tfd/strategy/loaded_program.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

/// The task in names of devices: "/job:worker/replica:0/task:1".
std::string task_of(const StrategyOptions& options) {
  const bool is_task = options.kind == &kMultiWorkerMirroredKind && options.cluster_resolver &&
                       !options.cluster_resolver->cluster.empty();
  if (!is_task) return "/job:localhost/replica:0/task:0";
  const cluster::TaskId& task = *options.cluster_resolver->task;
  return fmt::format("/job:{}/replica:0/task:{}", task.job, task.index);
}

/// Kind of a platform: "CPU" for "cpu", "GPU" for "cuda" and "rocm".
std::string kind_of(std::string_view platform) {
  for (const std::string_view kind : {"gpu", "tpu"})
    if (function::is_of_kind(platform, kind)) return kind == "gpu" ? "GPU" : "TPU";
  return "CPU";
}

/// Sets the flag during its lifetime.
class Running {
 public:
  explicit Running(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Scope::Scope(Strategy* before, Strategy* strategy) : before_(before) { current_context() = {strategy, nullptr}; }
Scope::~Scope() {
  if (is_open_) current_context() = {before_, nullptr};
}

Strategy::Strategy(StrategyOptions options, std::shared_ptr<ReplicaGroup> group)
    : options_(std::move(options)),
      replicas_(static_cast<std::size_t>(options_.devices.replicas())),
      group_(std::move(group)),
      threads_(std::make_unique<step::ReplicaThreads>(static_cast<int>(replicas_), !options_.cluster_resolver)),
      host_(options_.kind->variables == VariablePlace::kHost ? make_local_variables() : make_device_variables()) {}
Strategy::~Strategy() = default;

int Strategy::num_replicas_in_sync() const { return group_->range().all; }
bool Strategy::should_checkpoint() const { return group_->worker() == 0; }

Result<void> Strategy::check_here(std::string_view what) const {
  const Strategy* here = current_strategy();
  if (here == nullptr || here == this) return {};
  return fail(Code::kFailedPrecondition, "{}: this thread is in the scope of another strategy ({}, not {})", what,
              here->kind().name, kind().name);
}

Result<void> Strategy::check_outside(std::string_view what) const {
  TFD_TRY(check_here(what));
  const ReplicaContext* replica = current_replica();
  if (replica == nullptr) return {};
  return fail(Code::kFailedPrecondition,
              "{} must be called in cross-replica context, and this is replica {}: use its merge_call", what,
              replica->replica_id_in_sync_group());
}

Result<void> Strategy::check_components(const DistributedValue& value) const {
  if (value.is_plain() || value.components().size() == replicas_) return {};
  return fail(Code::kInvalidArgument, "a value with {} for {}", counted(value.components().size(), "component"),
              counted(replicas_, "replica"));
}

Result<void> Strategy::check_replicas(const DistributedValue& value) const {
  return value.components().size() < replicas_ ? Result<void>() : check_components(value);
}

Result<std::shared_ptr<function::Engine>> Strategy::engine() {
  if (engine_) return engine_;
  if (!options_.make_engine) return fail(Code::kFailedPrecondition, "no engine for functions");
  engine_ = TFD_TRY(options_.make_engine());
  return engine_;
}

Result<std::vector<std::string>> Strategy::worker_devices() {
  if (options_.tpu) return options_.tpu->worker_devices();
  std::string kind = options_.devices.kind;
  if (kind.empty() && options_.make_engine) kind = TFD_TRY(engine())->plugin().platform;
  std::vector<std::string> out;
  for (const int position : options_.devices.positions)
    out.push_back(fmt::format("{}/device:{}:{}", task_of(options_), kind_of(kind), position));
  return out;
}

Result<std::vector<std::string>> Strategy::parameter_devices() {
  if (kind().variables == VariablePlace::kHost) return std::vector<std::string>{task_of(options_) + "/device:CPU:0"};
  return worker_devices();
}

Result<Scope> Strategy::scope() {
  TFD_TRY(check_outside("a scope"));
  return Scope(current_strategy(), this);
}

Result<DistributedVariable*> Strategy::create_variable(const std::string& name, const Tensor& initial,
                                                       const VariableOptions& options) {
  TFD_TRY(check_outside("creating a variable"));
  return group_->told(make_variable(name, initial, options));
}

Result<DistributedVariable*> Strategy::make_variable(const std::string& name, const Tensor& initial,
                                                     const VariableOptions& options) {
  const std::string where = fmt::format("variable '{}'", name);
  const auto made = TFD_TRY(
      variable::resolve_kind(initial.dtype(), options.synchronization, options.aggregation, options.trainable), where);
  if (options.colocate_with != nullptr && &options.colocate_with->strategy() != this)
    return fail(Code::kInvalidArgument, "{}: can't be colocated with '{}', a variable of another strategy", where,
                options.colocate_with->name());
  const bool has_one =
      kind().variables == VariablePlace::kHost && made.synchronization != variable::Synchronization::kOnRead;
  std::vector<std::string> entries{name};
  for (std::size_t i = 1; i < replicas_ && !has_one; ++i) entries.push_back(fmt::format("{}/replica_{}", name, i));
  const MutexLock lock(variables_mutex_);
  for (const std::string& entry : entries)
    if (value_container(entry) != nullptr) return fail(Code::kAlreadyExists, "there is a variable '{}' already", entry);
  const Tensor value = TFD_TRY(group_->initial(where, initial));
  for (const std::string& entry : entries) TFD_TRY(host_->create(entry, value));
  auto variable = std::make_unique<DistributedVariable>(*this, *host_, name, initial.spec(), made, std::move(entries));
  return variables_.emplace(name, std::move(variable)).first->second.get();
}

DistributedVariable* Strategy::value_container(std::string_view copy_name) {
  for (const auto& [name, variable] : variables_)
    if (std::ranges::find(variable->copy_names(), copy_name) != variable->copy_names().end()) return variable.get();
  return nullptr;
}

/// Components of the arguments by replica.
Result<std::vector<std::vector<Tensor>>> Strategy::components_of(const std::vector<Argument>& args) const {
  std::vector<std::vector<Tensor>> out(replicas_);
  const auto add = [&](const DistributedValue& value) -> Result<void> {
    TFD_TRY(check_components(value), fmt::format("argument {}", out.front().size()));
    for (std::size_t replica = 0; replica < replicas_; ++replica) out[replica].push_back(value.on(replica));
    return {};
  };
  const auto add_variable = [&](const DistributedVariable& variable) -> Result<void> {
    for (std::size_t replica = 0; replica < replicas_; ++replica)
      out[replica].push_back(TFD_TRY(variable.read_on(replica)));
    return {};
  };
  for (const Argument& arg : args) {
    if (const auto* value = std::get_if<DistributedValue>(&arg))
      TFD_TRY(add(*value));
    else if (const auto* element = std::get_if<DistributedElement>(&arg))
      for (const DistributedValue& field : element->fields) TFD_TRY(add(field));
    else
      TFD_TRY(add_variable(std::get<std::reference_wrapper<const DistributedVariable>>(arg)));
  }
  return out;
}

namespace {

using ReplicaResult = Result<std::vector<Tensor>>;

/// Returns results; if replicas failed, the error of the first that failed by itself (the others were aborted).
Result<std::vector<std::vector<Tensor>>> results_of(std::vector<std::optional<ReplicaResult>> results, int first) {
  const Error* error = nullptr;
  for (const auto& result : results) {
    if (result->has_value()) continue;
    const bool is_cause = result->error().code != Code::kAborted;
    if (error == nullptr || (is_cause && error->code == Code::kAborted)) error = &result->error();
  }
  if (error != nullptr) return fail(Error(*error));
  std::vector<std::vector<Tensor>> out;
  for (auto& result : results) {
    out.push_back(std::move(**result));
    if (out.back().size() != out.front().size())
      return fail(Code::kInvalidArgument, "replica {} returns {}, replica {} returns {}", first,
                  counted(out.front().size(), "value"), first + static_cast<int>(out.size()) - 1, out.back().size());
  }
  return out;
}

}  // namespace

Result<std::vector<DistributedValue>> Strategy::run(const ReplicaFunction& function,
                                                    const std::vector<Argument>& args) {
  TFD_TRY(check_outside("run"));
  TFD_TRY(check_idle());
  const Running running(is_running_);
  const auto own_args = TFD_TRY(components_of(args));
  std::vector<std::optional<ReplicaResult>> results(replicas_);
  Rendezvous rendezvous(replicas_);
  threads_->run(replicas_, [&](std::size_t replica) {
    ReplicaContext context(*this, rendezvous, replica, group_->range().first + static_cast<int>(replica),
                           num_replicas_in_sync());
    const ContextGuard here({this, &context});
    results[replica].emplace(function(context, own_args[replica]));
    rendezvous.leave(replica, !results[replica]->has_value());
  });
  return regroup(TFD_TRY(group_->told(results_of(std::move(results), group_->range().first))), replicas_);
}

/// A merge function runs in cross-replica context while the replicas wait, so it may not call run().
Result<void> Strategy::check_idle() const {
  if (is_running_) return fail(Code::kFailedPrecondition, "run: the strategy is running a function already");
  return {};
}

Result<ReplicaFunction> Strategy::compile(const hlo::Module& module) {
  TFD_TRY(check_outside("compile"));
  auto functions = TFD_TRY(TFD_TRY(engine())->compile_for_devices(module));
  return ReplicaFunction([functions = std::move(functions)](ReplicaContext& context, const std::vector<Tensor>& args) {
    return functions[context.place() % functions.size()]->call_there(args);
  });
}

Result<std::unique_ptr<LoadedProgram>> Strategy::load(const program::Program& program) {
  TFD_TRY(check_outside("load"));
  auto loaded = std::unique_ptr<LoadedProgram>(new LoadedProgram(*this, program));
  TFD_TRY(group_->told(loaded->make()));
  return loaded;
}

Result<Tensor> Strategy::reduce(program::Reduce how, const DistributedValue& value,
                                const std::optional<std::vector<std::int64_t>>& axes, std::string_view name) const {
  TFD_TRY(check_outside("reduce"));
  TFD_TRY(check_replicas(value));
  return group_->reduce(how, value, axes, name);
}

Result<Tensor> Strategy::gather(const DistributedValue& value, std::int64_t axis, std::string_view name) const {
  TFD_TRY(check_outside("gather"));
  TFD_TRY(check_replicas(value));
  return group_->gather(value, axis, name);
}

Result<DistributedValue> Strategy::experimental_distribute_values_from_function(
    const std::function<Result<Tensor>(const ValueContext&)>& value_fn) const {
  TFD_TRY(check_outside("experimental_distribute_values_from_function"));
  std::vector<Tensor> components;
  for (std::size_t replica = 0; replica < replicas_; ++replica)
    components.push_back(
        TFD_TRY(value_fn({group_->range().first + static_cast<int>(replica), num_replicas_in_sync()})));
  return DistributedValue::per_replica(std::move(components));
}

Result<DistributedDataset> Strategy::experimental_distribute_dataset(const data::Plan& plan,
                                                                     data::DatasetContext context) const {
  TFD_TRY(check_outside("experimental_distribute_dataset"));
  context.ahead = static_cast<std::int64_t>(replicas_);
  const auto make = [&](const data::Plan& one) { return data::instantiate(one, context); };
  if (!group_->is_alone()) return group_->told(DistributedDataset::of_plan(plan, make, options_.compat, group_));
  return DistributedDataset::of_plan(plan, make, {.replicas = num_replicas_in_sync(), .compat = options_.compat});
}

Result<DistributedDataset> Strategy::experimental_distribute_dataset(DatasetPtr dataset) const {
  TFD_TRY(check_outside("experimental_distribute_dataset"));
  return DistributedDataset::of_batches(std::move(dataset), static_cast<int>(replicas_), others());
}

Result<DistributedDataset> Strategy::distribute_datasets_from_function(const DatasetFunction& dataset_fn,
                                                                       InputReplicationMode mode) const {
  TFD_TRY(check_outside("distribute_datasets_from_function"));
  const bool is_per_replica = mode == InputReplicationMode::kPerReplica;
  if (is_per_replica && options_.kind != &kMirroredKind)
    return fail(Code::kUnimplemented, "a dataset for each replica is only supported by {}, not by {}",
                kMirroredKind.name, kind().name);
  InputContext context{group_->workers(), group_->worker(), num_replicas_in_sync()};
  if (is_per_replica) context.num_input_pipelines = num_replicas_in_sync();
  std::vector<DatasetPtr> datasets;
  for (std::size_t i = 0; i < (is_per_replica ? replicas_ : 1); ++i, ++context.input_pipeline_id) {
    datasets.push_back(TFD_TRY(group_->told(dataset_fn(context))));
    if (datasets.back()->spec() != datasets.front()->spec())
      return fail(Code::kInvalidArgument, "the datasets of input pipelines 0 and {} have different fields",
                  context.input_pipeline_id);
  }
  return DistributedDataset::of_elements(std::move(datasets), static_cast<int>(replicas_), options_.compat, others());
}

std::shared_ptr<ReplicaGroup> Strategy::others() const { return group_->is_alone() ? nullptr : group_; }

Result<void> Strategy::update(DistributedVariable& variable,
                              const std::function<Result<Tensor>(const Tensor&, const std::vector<Tensor>&)>& make,
                              const std::vector<DistributedValue>& args) {
  if (&variable.strategy() != this)
    return fail(Code::kInvalidArgument, "variable '{}' is another strategy's", variable.name());
  const auto own_args = TFD_TRY(components_of({args.begin(), args.end()}));
  return variable.update([&](std::size_t replica, const Tensor& copy) { return make(copy, own_args[replica]); });
}

}  // namespace tfd::strategy
