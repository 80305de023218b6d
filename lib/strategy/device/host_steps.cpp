// SPDX-License-Identifier: Apache-2.0
#include "host_steps.hpp"

#include <algorithm>

namespace tfd::strategy {

Result<std::vector<variable::VariableState>> states_of(const program::Program& program,
                                                       const tensor::NamedTensors& state) {
  variable::VariableStore store;
  store.set_optimizer(program.rules);
  for (const program::VariableDef& variable : program.variables)
    TFD_TRY(store.create(variable.name, tensor::Tensor::zeros(variable.spec.dtype, variable.spec.shape)));
  TFD_TRY(store.import_state(state));
  std::vector<variable::VariableState> states;
  for (std::size_t i = 0; i < store.size(); ++i) states.push_back(store.copy(i));
  return states;
}

Result<std::unique_ptr<HostSteps>> HostSteps::make(const program::Program& program, step::MakeEngine make_engine,
                                                   step::ReplicaRange replicas, FindRunner find_runner) {
  std::unique_ptr<HostSteps> out(new HostSteps(program, replicas, std::move(find_runner)));
  out->copies_ = TFD_TRY(step::ReplicaCopies::make(program, replicas.all));
  out->host_ = TFD_TRY(make_local_host(program, make_engine, out->copies_));
  return out;
}

Result<void> HostSteps::load(std::vector<variable::VariableState> states) {
  const auto is_initial = [](const auto& one) { return !one.value.has_value(); };
  if (std::ranges::all_of(states, is_initial)) return {};
  variable::VariableStore names;
  names.set_optimizer(program_.rules);
  return host_->import_state(names.name_state(states, 0));
}

Result<std::vector<variable::VariableState>> HostSteps::states() const {
  return states_of(program_, TFD_TRY(host_->export_state()));
}

tensor::NamedTensors HostSteps::copies() const {
  tensor::NamedTensors out;
  for (const program::VariableDef& variable : program_.variables) {
    if (!copies_.has(variable.name)) continue;
    const auto names = copies_.names_of(variable.name);
    auto values = host_->read(names);
    for (std::size_t i = 0; values && i < names.size(); ++i) out.emplace_back(names[i], std::move((*values)[i]));
  }
  return out;
}

Result<void> HostSteps::load_copies(const tensor::NamedTensors& state) {
  for (const auto& [name, value] : state) TFD_TRY(host_->assign(name, value));
  return {};
}

Result<step::VariableValues> HostSteps::values(const std::vector<std::string>& names) const {
  const auto stored = copies_.stored_names(names);
  auto values = TFD_TRY(host_->read(stored));
  step::VariableValues out;
  for (std::size_t i = 0; i < stored.size(); ++i) out.emplace(stored[i], std::move(values[i]));
  return out;
}

// The outcome is that of all replicas, so one process alone counts its metrics.
Result<TrainingSteps::Done> HostSteps::step(const Inputs& inputs, std::int64_t number) {
  const std::string& name = program_.train->function;
  step::StepOutcome outcome;
  {
    const auto variables = TFD_TRY(values(program_.find_function(name)->variables_read()));
    outcome = TFD_TRY(find_runner_().step_on(name, inputs.step, variables, number));
  }  // a value that is read while it is updated is copied
  TFD_TRY(host_->update(outcome.updates));
  Done done;
  if (replicas_.first == 0) done.reduced = std::move(outcome.metrics);
  return done;
}

}  // namespace tfd::strategy
