// SPDX-License-Identifier: Apache-2.0
#include "device_updates.hpp"

#include "device_layout.hpp"
#include "device_modules.hpp"
#include "tfd/function/resident.hpp"

namespace tfd::strategy {
namespace {

using function::DeviceBuffers;
using program::OutputKind;
using tensor::Tensor;
using variable::UpdateKind;

OutputKind output_kind(UpdateKind kind) {
  return kind == UpdateKind::kGradient    ? OutputKind::kGradient
         : kind == UpdateKind::kAssignAdd ? OutputKind::kAssignAdd
                                          : OutputKind::kAssignSub;
}

}  // namespace

bool DeviceUpdates::makes(const variable::Update& update) const {
  const program::VariableDef* const variable = program_.find_variable(update.variable);
  if (variable == nullptr) return false;  // a replica's own
  if (update.kind == UpdateKind::kGradient)
    return program_.rules->device_update_of(variable->name, variable->spec) != nullptr;
  return update.kind == UpdateKind::kAssignAdd || update.kind == UpdateKind::kAssignSub;
}

bool DeviceUpdates::waits(const Change& change) const {
  return change.update->kind == UpdateKind::kGradient &&
         change.state.accumulated + 1 < program_.rules->steps_per_update();
}

Result<void> DeviceUpdates::apply(std::vector<Change>& changes) {
  std::vector<Change> made = changes;
  for (const bool is_waiting : {false, true}) {
    std::vector<Change*> alike;
    for (Change& one : made)
      if (waits(one) == is_waiting) alike.push_back(&one);
    if (!alike.empty()) TFD_TRY(apply_alike(alike, is_waiting));
  }
  changes = std::move(made);
  return {};
}

Result<void> DeviceUpdates::apply_alike(const std::vector<Change*>& changes, bool waits) {
  DeviceLayout layout;  // one buffer per variable
  std::string key = waits ? "waiting" : "";
  for (Change* const one : changes) {
    const program::VariableDef& variable = *program_.find_variable(one->update->variable);
    Pack& pack = layout.packs.emplace_back();
    pack.use.kind = output_kind(one->update->kind);
    if (pack.use.kind == OutputKind::kGradient) {
      program_.rules->prepare(one->state);
      pack.use.update = program_.rules->device_update_of(variable.name, variable.spec);
      pack.use.updates = one->state.updates;
      pack.use.accumulated = one->state.accumulated;
    }
    pack.spec = variable.spec;
    pack.variables = {static_cast<std::size_t>(&variable - &program_.variables[0])};
    pack.sizes = {tensor::element_count(variable.spec.shape)};
    key += fmt::format(" {}:{}", pack.variables.front(), static_cast<int>(pack.use.kind));
  }
  auto found = compiled_.find(key);
  if (found == compiled_.end()) {
    auto programs = TFD_TRY(engine_->compile_for_each_device(write_update(program_, layout, waits)), "the optimizer");
    found = compiled_.emplace(std::move(key), std::move(programs)).first;
  }
  const std::vector<Tensor> scalars = update_scalars(layout, 1);
  std::vector<DeviceBuffers> results;
  for (int device = 0; device < devices_; ++device) {
    std::vector<Tensor> arguments;
    for (const Change* const one : changes) arguments.push_back(one->state.value);
    for (std::size_t i = 0; i < changes.size(); ++i)
      for (const std::string& slot : layout.packs[i].slot_names())
        arguments.push_back(*changes[i]->state.find_slot(slot));
    for (const Change* const one : changes) arguments.push_back(one->update->value);
    arguments.insert(arguments.end(), scalars.begin(), scalars.end());
    std::vector<DeviceBuffers> buffers(1);
    for (const Tensor& one : arguments) buffers.front().push_back(TFD_TRY(engine_->lend(one, device)));
    auto made = TFD_TRY(found->second[static_cast<std::size_t>(device)]->execute(buffers)).front();
    for (const auto& one : made) TFD_TRY(one->await(), "the optimizer");
    results.push_back(std::move(made));
  }
  std::size_t next = 0;
  const auto take = [&] {
    DeviceBuffers copies;
    for (const DeviceBuffers& own : results) copies.push_back(own[next]);
    ++next;
    return function::resident(std::move(copies));
  };
  for (Change* const one : changes) one->state.value = take();
  for (std::size_t i = 0; i < changes.size(); ++i)
    for (const std::string& name : layout.packs[i].slot_names()) *changes[i]->state.find_slot(name) = take();
  for (Change* const one : changes) {
    if (one->update->kind != UpdateKind::kGradient) continue;
    one->state.accumulated = waits ? one->state.accumulated + 1 : 0;
    if (!waits) ++one->state.updates;
  }
  return {};
}

}  // namespace tfd::strategy
