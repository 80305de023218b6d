// SPDX-License-Identifier: Apache-2.0
#include "ps_program.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "tfd/variable/slot_mark.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;

/// Further variables in checkpoints of older versions.
constexpr std::array<std::string_view, 5> kFormer{"worker_updates", "worker_beats", "workers_ended", "training_stopped",
                                                  "training_first_step"};

/// Returns "w" for "w/.optimizer/updates".
std::string_view owner_of(std::string_view name) { return name.substr(0, name.find(variable::kSlotMark)); }
bool is_global_step(const std::pair<std::string, Tensor>& one) { return owner_of(one.first) == kGlobalStep; }

/// Adds the global step in front of the program's variables.
program::Program with_global_step(program::Program program) {
  program::VariableDef step;
  step.name = kGlobalStep;
  step.spec = {DType::kS64, {}};
  step.init = variable::ConstantInit{Tensor::scalar(DType::kS64, std::int64_t{0})};
  step.trainable = false;
  step.aggregation = variable::Aggregation::kOnlyFirstReplica;
  std::vector<program::VariableDef> variables{std::move(step)};
  variables.insert(variables.end(), program.variables.begin(), program.variables.end());
  program.variables = std::move(variables);
  return program;
}

}  // namespace

Result<PsProgram> make_ps_program(const program::Program& program, const ParameterServerStrategy& strategy) {
  if (program.find_variable(kGlobalStep) != nullptr)
    return fail(Code::kInvalidArgument, "{}: variables.{}: the name is reserved for a variable of the strategy",
                program.path, kGlobalStep);
  const auto& spec = strategy.cluster_resolver().cluster;
  std::vector<std::pair<std::string, std::string>> servers;
  if (!strategy.is_local())
    for (const int index : TFD_TRY(spec.task_indices("ps")))
      servers.emplace_back(fmt::format("ps:{}", index), TFD_TRY(spec.task_address("ps", index)));
  for (const auto& [name, address] : servers)
    if (TFD_TRY(cluster::parse_address(address), "cluster." + name).port == 0)
      return fail(Code::kInvalidArgument,
                  "cluster.{}: cannot connect to port 0\nhint: nothing serves this spec yet: tfd-serve prints one with "
                  "the ports it has",
                  name);
  PsProgram out;
  out.program = with_global_step(program);
  out.copies = TFD_TRY(step::ReplicaCopies::make(out.program, strategy.num_replicas_in_sync()));
  out.placement = task::place_variables(out.program, std::move(servers), out.copies);
  return out;
}

tensor::NamedTensors checkpoint_state(tensor::NamedTensors state) {
  std::erase_if(state, [](const auto& one) { return is_global_step(one) && one.first != kGlobalStep; });
  return state;
}

tensor::NamedTensors import_state_of(const PsProgram& program, tensor::NamedTensors checkpoint, std::int64_t step) {
  const auto is_former = [&](std::string_view name) {
    return std::ranges::find(kFormer, name) != kFormer.end() && program.program.find_variable(name) == nullptr;
  };
  std::erase_if(checkpoint, [&](const auto& one) { return is_global_step(one) || is_former(owner_of(one.first)); });
  checkpoint.emplace_back(kGlobalStep, Tensor::scalar(DType::kS64, step));
  return checkpoint;
}

tensor::NamedTensors with_global_step_of(const tensor::NamedTensors& now, tensor::NamedTensors values) {
  std::erase_if(values, is_global_step);
  std::ranges::copy_if(now, std::back_inserter(values), is_global_step);
  return values;
}

Result<std::int64_t> global_step_of(const tensor::NamedTensors& state) {
  for (const auto& [name, value] : state)
    if (name == kGlobalStep) return value.as<std::int64_t>()[0];
  return fail(Code::kNotFound, "no variable '{}'", kGlobalStep);
}

}  // namespace tfd::strategy
