// SPDX-License-Identifier: Apache-2.0
#include "variable_host.hpp"

#include <algorithm>

#include "device_updates.hpp"
#include "tfd/function/resident.hpp"
#include "tfd/step/memory_need.hpp"

namespace tfd::strategy {
namespace {

class LocalHost : public LocalVariables {
 public:
  explicit LocalHost(step::ReplicaCopies copies) : copies_(std::move(copies)) {}

  Result<void> create(std::string name, tensor::Tensor value) override {
    return store_.create(std::move(name), std::move(value));
  }

  Result<void> make(const program::Program& program, const step::MakeEngine& make_engine) {
    TFD_TRY(step::check_memory(step::need_of(program), "here"));
    store_.set_optimizer(TFD_TRY(step::make_rules(program, make_engine)));
    variable::CheckpointFiles files;
    for (const program::VariableDef& variable : program.variables) {
      auto value = TFD_TRY(program::make_initial_value(variable, files));
      for (std::string& name : copies_.names_of(variable.name)) TFD_TRY(store_.create(std::move(name), value));
    }
    return {};
  }

  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names) override {
    std::vector<tensor::Tensor> out;
    for (const std::string& name : names) out.push_back(TFD_TRY(store_.read(name)));
    return out;
  }
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups) override {
    std::vector<tensor::Tensor> out;
    for (const step::RowLookup& one : lookups) {
      auto rows = store_.read_rows(one.table, one.indices.reshaped({one.indices.size()}));
      if (!rows && rows.error().code == Code::kOutOfRange)  // which means the end of the data elsewhere
        return fail(Code::kInvalidArgument, "'{}': {}", one.table, rows.error().message);
      if (!rows) return fail(std::move(rows).error());
      tensor::Shape shape = one.indices.shape();
      shape.insert(shape.end(), rows->shape().begin() + 1, rows->shape().end());
      out.push_back(rows->reshaped(std::move(shape)));
    }
    return out;
  }
  Result<void> update(const std::vector<variable::Update>& updates, std::optional<std::uint64_t>) override {
    TFD_TRY(store_.apply(sequence_++, updates));
    return {};
  }
  Result<void> assign(const std::string& variable, const tensor::Tensor& value) override {
    return store_.assign({variable::UpdateKind::kAssign, variable, value});
  }
  Result<tensor::NamedTensors> export_state() override { return copies_.gather(store_.export_state()); }
  Result<void> import_state(const tensor::NamedTensors& state) override {
    return store_.import_state(TFD_TRY(copies_.spread(state)));
  }
  Result<void> use_averages() override {
    store_.use_averages();
    return {};
  }

 protected:
  const step::ReplicaCopies copies_;
  variable::VariableStore store_;
  std::uint64_t sequence_ = 0;
};

/// Keeps values as resident tensors once they have been read.
class DeviceHost final : public LocalHost {
 public:
  explicit DeviceHost(step::ReplicaCopies copies, std::unique_ptr<DeviceUpdates> updates = {})
      : LocalHost(std::move(copies)), updates_(std::move(updates)) {}

  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names) override {
    std::vector<tensor::Tensor> out;
    for (const std::string& name : names) {
      const std::size_t variable = TFD_TRY(store_.find(name));
      if (function::ResidentStorage::find(store_.value(variable)) == nullptr) become(variable, store_.value(variable));
      out.push_back(store_.value(variable));
    }
    return out;
  }

  // Updates that may fail come first, so that all or none are applied.
  Result<void> update(const std::vector<variable::Update>& updates, std::optional<std::uint64_t> sequence) override {
    if (!updates_) return LocalHost::update(updates, sequence);
    const auto admission = TFD_TRY(store_.admit(sequence_++, updates));
    const auto is_made_there = [&](std::size_t i) {
      return updates_->makes(updates[i]) && std::ranges::count(admission.targets, admission.targets[i]) == 1;
    };
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < updates.size(); ++i)
      if (is_made_there(i)) there.push_back(i);
    if (!there.empty()) TFD_TRY(make_there(updates, admission.targets, there));
    for (std::size_t i = 0; i < updates.size(); ++i) {
      if (std::ranges::binary_search(there, i)) continue;
      if (updates[i].kind == variable::UpdateKind::kAssign)
        become(admission.targets[i], updates[i].value);
      else
        TFD_TRY(store_.perform(admission.targets[i], updates[i]));
    }
    return {};
  }

  Result<void> assign(const std::string& variable, const tensor::Tensor& value) override {
    become(TFD_TRY(store_.admit({variable::UpdateKind::kAssign, variable, value})), value);
    return {};
  }

 private:
  void become(std::size_t variable, tensor::Tensor value) {
    auto state = store_.copy(variable);
    state.value = function::resident(std::move(value));
    store_.replace(variable, std::move(state));
  }

  Result<void> make_there(const std::vector<variable::Update>& updates, const std::vector<std::size_t>& targets,
                          const std::vector<std::size_t>& there) {
    std::vector<DeviceUpdates::Change> changes;
    for (const std::size_t i : there) changes.push_back({&updates[i], store_.copy(targets[i])});
    TFD_TRY(updates_->apply(changes));
    for (std::size_t k = 0; k < there.size(); ++k) store_.replace(targets[there[k]], std::move(changes[k].state));
    return {};
  }

  std::unique_ptr<DeviceUpdates> updates_;  // null: the host computes
};

}  // namespace

Result<std::unique_ptr<VariableHost>> make_local_host(const program::Program& program,
                                                      const step::MakeEngine& make_engine,
                                                      const step::ReplicaCopies& copies) {
  auto host = std::make_unique<LocalHost>(copies);
  TFD_TRY(host->make(program, make_engine));
  return host;
}

std::unique_ptr<LocalVariables> make_local_variables() { return std::make_unique<LocalHost>(step::ReplicaCopies()); }

std::unique_ptr<LocalVariables> make_device_variables() { return std::make_unique<DeviceHost>(step::ReplicaCopies()); }

Result<std::unique_ptr<VariableHost>> make_device_host(const program::Program& program,
                                                       const step::MakeEngine& make_engine,
                                                       const step::ReplicaCopies& copies,
                                                       std::shared_ptr<function::Engine> engine, int logical_devices) {
  // Accumulated gradients are clipped as their mean, perhaps together with variables of other calls: left to the store.
  const bool clips_means = program.rules && program.rules->steps_per_update() > 1 && program.rules->clips();
  std::unique_ptr<DeviceUpdates> updates;
  if (logical_devices == 1 && !clips_means && !engine->devices().empty())
    updates = std::make_unique<DeviceUpdates>(program, engine,
                                              std::min(copies.replicas(), static_cast<int>(engine->devices().size())));
  auto host = std::make_unique<DeviceHost>(copies, std::move(updates));
  TFD_TRY(host->make(program, make_engine));
  return host;
}

}  // namespace tfd::strategy
