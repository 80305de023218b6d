// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/loaded_program.hpp"

#include <algorithm>
#include <cstdint>

#include "replica_group.hpp"
#include "replicated_program.hpp"
#include "tfd/base/units.hpp"
#include "tfd/train/checkpoint_manager.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

namespace {

using tensor::Tensor;

/// The newest checkpoint that a process sees, and whose training's it is; -1: none.
struct Saved {
  std::int64_t step = -1;
  std::string run = {};
};

/// The process whose checkpoint counts: the chief, unless another one has a newer one of its run, or it has none.
int keeper_of_newest(const std::vector<Saved>& all) {
  const Saved& chief = all.front();
  std::size_t out = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].step > all[out].step && (chief.step < 0 || all[i].run == chief.run)) out = i;
  return static_cast<int>(out);
}

}  // namespace

LoadedProgram::LoadedProgram(Strategy& strategy, const program::Program& program)
    : strategy_(strategy), program_(program) {}
LoadedProgram::~LoadedProgram() = default;

Result<void> LoadedProgram::make() {
  const StrategyOptions& options = strategy_.options_;
  step::ReplicaOptions with;
  const auto group = strategy_.others();
  const int all = strategy_.num_replicas_in_sync();
  with.replicas = static_cast<int>(strategy_.local_replicas());
  with.data_root = options.data_root;
  with.command_environment = options.command_environment;
  with.stop_data = stop_data_;
  with.results_stay = true;
  with.make_engine = [this] { return strategy_.engine(); };
  with.look_up = [this](const auto& lookups) { return host_->look_up(lookups); };
  with.run_at_once = [this](std::size_t count, const auto& work) { strategy_.threads_->run(count, work); };
  copies_ = TFD_TRY(step::ReplicaCopies::make(program_, all));
  const bool on_devices =
      strategy_.kind().variables == VariablePlace::kDevices && program_.has_kind(program::FunctionKind::kModule);
  if (on_devices)
    host_ = TFD_TRY(make_device_host(program_, options.make_engine, copies_, TFD_TRY(strategy_.engine()),
                                     options.devices.logical_devices));
  else
    host_ = TFD_TRY(make_local_host(program_, options.make_engine, copies_));
  replicas_ = TFD_TRY(group ? ReplicatedProgram::make(program_, *host_, copies_, with, options.compat, group)
                            : ReplicatedProgram::make(program_, *host_, copies_, with, options.compat));
  if (group) TFD_TRY(take_initial_values(*group));
  for (const program::VariableDef& one : program_.variables) {
    const variable::ReplicationKind kind{one.synchronization, one.aggregation, one.trainable};
    auto names = copies_.names_of(one.name);
    if (group && copies_.has(one.name)) {
      const auto& own = group->range();
      names = {names.begin() + own.first, names.begin() + own.first + own.count};
    }
    variables_.emplace(
        one.name, std::make_unique<DistributedVariable>(strategy_, *host_, one.name, one.spec, kind, std::move(names)));
  }
  return {};
}

/// The chief's initial values count, which may be drawn.
Result<void> LoadedProgram::take_initial_values(ReplicaGroup& group) {
  for (const program::VariableDef& one : program_.variables) {
    const std::string where = fmt::format("variable '{}'", one.name);
    const auto names = copies_.names_of(one.name);
    const Tensor own = TFD_TRY(host_->read({names.front()})).front();
    const Tensor value = TFD_TRY(group.initial(where, own), where);
    for (const std::string& name : names) TFD_TRY(host_->assign(name, value), where);
  }
  return {};
}

DistributedVariable* LoadedProgram::find_variable(std::string_view name) {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second.get();
}

Result<DistributedDataset> LoadedProgram::distribute(const std::string& dataset) {
  return replicas_->distribute(dataset);
}

Result<std::vector<DistributedValue>> LoadedProgram::run(const std::string& function, const std::vector<Argument>& args,
                                                         const std::vector<std::pair<std::string, Argument>>& kwargs) {
  TFD_TRY(strategy_.check_outside("run"));
  TFD_TRY(strategy_.check_idle());
  const auto value_of = [&](const Argument& argument) -> Result<ProgramArgument> {
    if (const auto* element = std::get_if<DistributedElement>(&argument)) return *element;
    const auto* value = std::get_if<DistributedValue>(&argument);
    if (value == nullptr)
      return ProgramArgument(
          TFD_TRY(std::get<std::reference_wrapper<const DistributedVariable>>(argument).get().copies()));
    TFD_TRY(strategy_.check_components(*value));
    return ProgramArgument(*value);
  };
  ProgramArguments all;
  for (const Argument& argument : args) all.args.push_back(TFD_TRY(value_of(argument), function));
  for (const auto& [name, argument] : kwargs) all.kwargs.emplace_back(name, TFD_TRY(value_of(argument), function));
  auto outcome = TFD_TRY(strategy_.group_->told(replicas_->run(function, all)));
  if (!outcome.updates.empty()) TFD_TRY(host_->update(outcome.updates), function);
  TFD_TRY(replicas_->add_returns(function, outcome));
  return std::move(outcome.results);
}

Result<std::vector<Tensor>> LoadedProgram::run_on_rows(const std::string& function, const DistributedElement& element) {
  TFD_TRY(strategy_.check_outside("run"));
  TFD_TRY(strategy_.check_idle());
  return strategy_.group_->told(replicas_->run_on_rows(function, element));
}

Result<void> LoadedProgram::import_state(const tensor::NamedTensors& state) { return host_->import_state(state); }

Result<std::optional<std::int64_t>> LoadedProgram::restore(const std::string& directory) {
  TFD_TRY(strategy_.check_outside("restore"));
  return strategy_.group_->told(restore_newest(directory));
}

Result<std::optional<std::int64_t>> LoadedProgram::restore_newest(const std::string& directory) {
  ReplicaGroup& group = *strategy_.group_;
  const std::string what = "the newest checkpoint";  // directories need not be called alike
  const auto index = TFD_TRY(variable::read_checkpoint_index(directory));
  const Saved own = index.checkpoints.empty() ? Saved() : Saved{index.checkpoints.back().first, index.run};
  std::vector<Saved> all;
  for (const std::string& text : TFD_TRY(group.gather_texts(what, fmt::format("{} {}", own.step, own.run)))) {
    const std::size_t end = text.find(' ');
    const auto step = parse_integer(std::string_view(text).substr(0, end), -1, INT64_MAX);
    if (!step || end == std::string::npos)
      return fail(Code::kProtocolMismatch, "a malformed message from {}", group.name_of(static_cast<int>(all.size())));
    all.push_back({*step, text.substr(end + 1)});
  }
  const int keeper = keeper_of_newest(all);
  if (all[static_cast<std::size_t>(keeper)].step < 0) return std::nullopt;
  std::optional<variable::Checkpoint> newest;
  if (keeper == group.worker()) {
    std::vector<std::string> skipped;  // older ones that are broken are the index's affair
    newest = TFD_TRY(variable::load_latest_checkpoint(directory, &skipped));
    if (!newest) return fail(Code::kNotFound, "{} no longer has a checkpoint", directory);
    TFD_TRY(train::check_state(program_, *newest));
  }
  std::string text = newest ? std::to_string(newest->step) : "";
  const auto state = TFD_TRY(
      group.send_all(what + ": its state", newest ? std::move(newest->state) : tensor::NamedTensors(), text, keeper));
  const auto step = parse_integer(text, 0, INT64_MAX);
  if (!step) return fail(Code::kProtocolMismatch, "a malformed state from {}", group.name_of(keeper));
  TFD_TRY(host_->import_state(state), directory);
  return std::optional(*step);
}

}  // namespace tfd::strategy
