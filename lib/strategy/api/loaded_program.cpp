// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/loaded_program.hpp"

#include "replicated_program.hpp"

namespace tfd::strategy {

using tensor::Tensor;

LoadedProgram::LoadedProgram(Strategy& strategy, const program::Program& program)
    : strategy_(strategy), program_(program) {}
LoadedProgram::~LoadedProgram() = default;

Result<void> LoadedProgram::make() {
  const StrategyOptions& options = strategy_.options_;
  step::ReplicaOptions with;
  with.replicas = strategy_.num_replicas_in_sync();
  with.data_root = options.data_root;
  with.command_environment = options.command_environment;
  with.stop_data = stop_data_;
  with.results_stay = true;
  with.make_engine = [this] { return strategy_.engine(); };
  with.look_up = [this](const auto& lookups) { return host_->look_up(lookups); };
  with.run_at_once = [this](std::size_t count, const auto& work) { strategy_.threads_->run(count, work); };
  copies_ = TFD_TRY(step::ReplicaCopies::make(program_, with.replicas));
  const bool on_devices =
      strategy_.kind().variables == VariablePlace::kDevices && program_.has_kind(program::FunctionKind::kModule);
  if (on_devices)
    host_ = TFD_TRY(make_device_host(program_, options.make_engine, copies_, TFD_TRY(strategy_.engine()),
                                     options.devices.logical_devices));
  else
    host_ = TFD_TRY(make_local_host(program_, options.make_engine, copies_));
  replicas_ = TFD_TRY(ReplicatedProgram::make(program_, *host_, copies_, with, options.compat));
  for (const program::VariableDef& one : program_.variables) {
    const variable::ReplicationKind kind{one.synchronization, one.aggregation, one.trainable};
    variables_.emplace(one.name, std::make_unique<DistributedVariable>(strategy_, *host_, one.name, one.spec, kind,
                                                                       copies_.names_of(one.name)));
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
  auto outcome = TFD_TRY(replicas_->run(function, all));
  if (!outcome.updates.empty()) TFD_TRY(host_->update(outcome.updates), function);
  TFD_TRY(replicas_->add_returns(function, outcome));
  return std::move(outcome.results);
}

Result<std::vector<Tensor>> LoadedProgram::run_on_rows(const std::string& function, const DistributedElement& element) {
  TFD_TRY(strategy_.check_outside("run"));
  TFD_TRY(strategy_.check_idle());
  return replicas_->run_on_rows(function, element);
}

Result<void> LoadedProgram::import_state(const std::vector<std::pair<std::string, Tensor>>& state) {
  return host_->import_state(state);
}

}  // namespace tfd::strategy
