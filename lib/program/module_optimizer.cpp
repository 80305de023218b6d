// SPDX-License-Identifier: Apache-2.0
#include "module_optimizer.hpp"

#include <algorithm>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/hlo/builder.hpp"
#include "tfd/hlo/embed.hpp"
#include "tfd/variable/device_update.hpp"

namespace tfd::program {
namespace {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorSpec;
using variable::VariableState;
using Role = UpdateDef::Role;
using Binding = UpdateDef::Binding;

Tensor filled(const TensorSpec& spec, double value) {
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  const auto fill = [&]<class T>(T element) { std::fill_n(out.mutable_as<T>(), out.size(), element); };
  switch (spec.dtype) {
    case DType::kF64:
      fill(value);
      break;
    case DType::kF16:
      fill(tensor::float_to_half(static_cast<float>(value)));
      break;
    case DType::kBF16:
      fill(tensor::float_to_bfloat16(static_cast<float>(value)));
      break;
    default:
      fill(static_cast<float>(value));
  }
  return out;
}

/// The same, embedded in the devices' module.
class ModuleUpdate final : public variable::DeviceUpdate {
 public:
  using Value = hlo::Value;
  ModuleUpdate(UpdateDef def, hlo::Embedded embedded, std::shared_ptr<const variable::Optimizer> common)
      : def_(std::move(def)), embedded_(std::move(embedded)), common_(std::move(common)) {
    for (const Binding& one : def_.inputs)
      if (one.role == Role::kSlot) slots_.push_back({one.slot, one.initial});
    const auto variable = std::ranges::find(def_.inputs, Role::kVariable, &Binding::role) - def_.inputs.begin();
    const TensorSpec& spec = embedded_.signature.arguments[static_cast<std::size_t>(variable)].spec;
    clips_ = common_->device_update_of("", spec);
  }

  bool is_elementwise() const override { return false; }
  DType slot_dtype(DType variable) const override { return variable; }
  const std::vector<Slot>& slots() const override { return slots_; }
  const std::optional<std::string>& accumulator() const override { return clips_->accumulator(); }
  std::optional<double> clipnorm() const override { return clips_->clipnorm(); }
  std::optional<double> clipvalue() const override { return clips_->clipvalue(); }

  /// The learning rate, and the step in two parts that f32 represents exactly.
  std::vector<double> scalars(std::int64_t updates, DType) const override {
    const std::int64_t whole = updates / kPart, rest = updates % kPart;
    return {common_->learning_rate_at(updates), static_cast<double>(whole), static_cast<double>(rest)};
  }

  void write(hlo::Builder& builder, Value& value, const Value& gradient, std::span<Value> slots,
             std::span<const Value> scalars) const override {
    std::vector<Value> arguments;
    for (std::size_t i = 0; i < def_.inputs.size(); ++i) {
      const DType dtype = embedded_.signature.arguments[i].spec.dtype;
      switch (def_.inputs[i].role) {
        case Role::kVariable:
          arguments.push_back(value);
          break;
        case Role::kGradient:
          arguments.push_back(convert(gradient, dtype));
          break;
        case Role::kSlot:
          arguments.push_back(slots[position_of(def_.inputs[i].slot)]);
          break;
        case Role::kLearningRate:
          arguments.push_back(convert(scalars[0], dtype));
          break;
        case Role::kStep:
          arguments.push_back(convert(scalars[1], dtype) * static_cast<double>(kPart) + convert(scalars[2], dtype));
          break;
      }
    }
    builder.embed(embedded_);
    const std::vector<Value> results = builder.call(embedded_, arguments);
    for (std::size_t i = 0; i < results.size(); ++i)
      (def_.outputs[i].role == Role::kVariable ? value : slots[position_of(def_.outputs[i].slot)]) = results[i];
  }
  void write_waiting(Value&, std::span<Value>, std::span<const Value>) const override {}  // none waits

 private:
  static constexpr std::int64_t kPart = 1 << 20;

  std::size_t position_of(const std::string& slot) const {
    return static_cast<std::size_t>(std::ranges::find(slots_, slot, &Slot::name) - slots_.begin());
  }

  const UpdateDef def_;
  const hlo::Embedded embedded_;
  const std::shared_ptr<const variable::Optimizer> common_;  // shared with the optimizer
  std::shared_ptr<const variable::DeviceUpdate> clips_;      // shared with `common_`
  std::vector<Slot> slots_;
};

class ModuleOptimizer final : public variable::Optimizer {
 public:
  using Functions = std::vector<std::shared_ptr<function::Function>>;
  ModuleOptimizer(UpdateDef def, std::shared_ptr<const Optimizer> common, Functions functions)
      : def_(std::move(def)), common_(std::move(common)), functions_(std::move(functions)) {
    for (const hlo::Module& module : def_.modules) {
      auto& update = device_updates_.emplace_back();
      if (!module.is_text || module.takes_platform) continue;
      if (auto embedded = hlo::embed(module, fmt::format("optimizer{}", device_updates_.size())))
        update = std::make_shared<ModuleUpdate>(def_, std::move(*embedded), common_);
    }
  }

  const std::shared_ptr<const Optimizer>& common() const { return common_; }
  std::string_view state_name() const override { return "module"; }
  bool knows_slot(std::string_view slot) const override {
    return std::ranges::any_of(def_.inputs,
                               [&](const Binding& one) { return one.role == Role::kSlot && one.slot == slot; });
  }
  std::size_t slot_count(std::string_view) const override {
    return static_cast<std::size_t>(
        std::ranges::count_if(def_.inputs, [](const Binding& one) { return one.role == Role::kSlot; }));
  }
  void prepare(VariableState& state) const override {
    for (const Binding& one : def_.inputs)
      if (one.role == Role::kSlot) slot_of(state, one);
  }
  Result<void> clip(std::span<const std::string> names, std::span<Tensor> gradients) const override {
    return common_->clip(names, gradients);
  }
  bool clips() const override { return common_->clips(); }

  Result<void> apply(VariableState& state, const Tensor& gradient) const override {
    std::size_t at = 0;
    const hlo::Module* module = find_module(def_, state.value.spec(), &at);
    if (module == nullptr || gradient.spec() != state.value.spec())
      return fail(Code::kInvalidArgument, "no module of the optimizer updates '{}' ({}) by a gradient that is {}",
                  state.name, format_spec(state.value.spec()), format_spec(gradient.spec()));
    if (functions_.empty())
      return fail(Code::kFailedPrecondition, "the optimizer's modules are not compiled here, where '{}' is",
                  state.name);
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < def_.inputs.size(); ++i)
      arguments.push_back(argument(state, gradient, def_.inputs[i], module->signature.arguments[i].spec.dtype));
    auto called = [&] {
      const MutexLock lock(calling_);
      return functions_[at]->call(arguments);
    }();
    auto results = TFD_TRY(std::move(called), "optimizer: '" + state.name + "'");
    arguments.clear();
    for (std::size_t i = 0; i < def_.outputs.size(); ++i) {
      Tensor& target = def_.outputs[i].role == Role::kVariable ? state.value : slot_of(state, def_.outputs[i]);
      target = results[i].unshared();
    }
    ++state.updates;
    return {};
  }
  Result<void> apply_rows(VariableState& state, const variable::Rows& gradient) const override {
    TFD_TRY(variable::check_rows(state.name, state.value.spec(), gradient));
    Tensor dense = Tensor::zeros(state.value.dtype(), state.value.shape());
    TFD_TRY(variable::scatter_rows(dense, variable::RowOp::kAdd, gradient));
    return apply(state, dense);
  }

  std::shared_ptr<const variable::DeviceUpdate> device_update_of(std::string_view,
                                                                 const TensorSpec& spec) const override {
    std::size_t at = 0;
    return find_module(def_, spec, &at) == nullptr ? nullptr : device_updates_[at];
  }
  std::optional<double> global_clipnorm() const override { return common_->global_clipnorm(); }

  void use_average(VariableState&) const override {}
  bool has_averages() const override { return false; }
  double learning_rate_at(std::int64_t iterations) const override { return common_->learning_rate_at(iterations); }
  std::int64_t steps_per_update() const override { return common_->steps_per_update(); }
  bool has_constant_rate() const override { return common_->has_constant_rate(); }
  variable::OnNonfinite on_nonfinite() const override { return common_->on_nonfinite(); }
  const std::optional<variable::LossScale>& loss_scale() const override { return common_->loss_scale(); }

 private:
  /// Returns a slot, made with the variable's dtype and shape if it is missing.
  static Tensor& slot_of(VariableState& state, const Binding& binding) {
    if (Tensor* const found = state.find_slot(binding.slot)) return *found;
    return state.slots.emplace_back(binding.slot, filled(state.value.spec(), binding.initial)).second;
  }
  Tensor argument(VariableState& state, const Tensor& gradient, const Binding& binding, DType dtype) const {
    switch (binding.role) {
      case Role::kGradient:
        return gradient;
      case Role::kSlot:
        return slot_of(state, binding);
      case Role::kLearningRate:
        return filled({dtype, {}}, learning_rate_at(state.updates));
      case Role::kStep:
        if (dtype == DType::kS64 || dtype == DType::kU64) return Tensor::scalar(dtype, state.updates);
        return Tensor::scalar(dtype, static_cast<std::int32_t>(state.updates));
      default:
        return state.value;
    }
  }

  const UpdateDef def_;
  const std::shared_ptr<const Optimizer> common_;  // shared with the optimizer that isn't compiled
  const Functions functions_;                      // one per module; none if it isn't compiled
  std::vector<std::shared_ptr<const variable::DeviceUpdate>> device_updates_;  // by module; shared with layouts
  mutable Mutex calling_;  // variables are updated concurrently, but a module may call code that isn't thread-safe
};

}  // namespace

const hlo::Module* find_module(const UpdateDef& def, const TensorSpec& spec, std::size_t* at) {
  const auto input = std::ranges::find(def.inputs, Role::kVariable, &Binding::role);
  const auto position = static_cast<std::size_t>(input - def.inputs.begin());
  for (std::size_t i = 0; i < def.modules.size(); ++i) {
    if (def.modules[i].signature.arguments[position].spec != spec) continue;
    if (at != nullptr) *at = i;
    return &def.modules[i];
  }
  return nullptr;
}

std::shared_ptr<const variable::Optimizer> make_module_optimizer(
    UpdateDef def, std::shared_ptr<const variable::Optimizer> common,
    std::vector<std::shared_ptr<function::Function>> functions) {
  return std::make_shared<ModuleOptimizer>(std::move(def), std::move(common), std::move(functions));
}

Result<std::shared_ptr<const variable::Optimizer>> compile_rules(const Program& program, const CompileModule& compile) {
  if (!program.update) return program.rules;
  ModuleOptimizer::Functions functions;
  for (const hlo::Module& module : program.update->modules) functions.push_back(TFD_TRY(compile(module), "optimizer"));
  const auto& plain = static_cast<const ModuleOptimizer&>(*program.rules);
  return std::make_shared<ModuleOptimizer>(*program.update, plain.common(), std::move(functions));
}

}  // namespace tfd::program
