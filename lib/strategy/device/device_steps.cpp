// SPDX-License-Identifier: Apache-2.0
#include "device_steps.hpp"

#include <algorithm>
#include <future>
#include <numeric>

namespace tfd::strategy {
namespace {

using function::DeviceBuffers;
using tensor::Tensor;
using variable::VariableState;

/// f32 or f64.
Tensor scalar_of(tensor::DType dtype, double value) {
  return dtype == tensor::DType::kF64 ? Tensor::scalar(dtype, value) : Tensor::scalar(dtype, static_cast<float>(value));
}

/// The first error in the order of replicas.
Result<void> first_error(const std::vector<Result<void>>& results) {
  for (const Result<void>& one : results) TFD_TRY(one);
  return {};
}

/// Fails if the variables are updated on some devices and not on others: the state is inconsistent then.
Result<void> updated_on_all(const std::vector<Result<void>>& devices, std::int64_t number) {
  const auto failed = std::ranges::find_if(devices, [](const Result<void>& one) { return !one; });
  if (failed == devices.end()) return {};
  Error error = failed->error();
  if (!std::ranges::any_of(devices, [](const Result<void>& one) { return one.has_value(); })) return fail(error);
  error.message = fmt::format(
      "the update of step {} failed on device {} of {}, but not on all: {}; the variables of "
      "this step are lost",
      number, failed - devices.begin(), devices.size(), error.message);
  return fail(std::move(error));
}

/// True if the modules of two layouts of the same packs are the same: members of a group that leave change the number
/// of replicas, and a last one's step is another.
bool have_same_modules(const LayoutOptions& a, const LayoutOptions& b) {
  return a.fuses == b.fuses && a.shows_changes == b.shows_changes && a.keeps_more_copies == b.keeps_more_copies &&
         (a.replicas == b.replicas || !a.fuses);
}

}  // namespace

Result<void> DeviceSteps::load(std::vector<VariableState> states) {
  copies_ = TFD_TRY(step::ReplicaCopies::make(program_, options_.replicas.all));
  const auto scale = std::ranges::find(states, program::kLossScaleVariable, &VariableState::name);
  if (scale != states.end()) {
    loss_scale_ = *scale;
    variable::CheckpointFiles files;
    if (!loss_scale_->value.has_value())
      loss_scale_->value =
          TFD_TRY(program::make_initial_value(*program_.find_variable(program::kLossScaleVariable), files));
  }
  const std::string& platform = engine_->plugin().platform;
  const int replicas = options_.replicas.all;
  const bool fuses = has_device_each() && is_fused(options_.way, program_, replicas, platform);
  if (const auto why_not = why_not_fused(program_, replicas); fuses && why_not)
    return fail(Code::kFailedPrecondition, "{}: its steps can't be fused: {}", program_.path, *why_not);
  changed_bytes_ = bytes_of_changes();
  const LayoutOptions options_before =
      std::exchange(layout_options_, {.platform = platform,
                                      .replicas = replicas,
                                      .logical_devices = options_.logical_devices,
                                      .keeps_more_copies = options_.tensorflow_workers > 0,
                                      .fuses = fuses,
                                      .shows_changes = exchange_->begins_early(changed_bytes_) &&
                                                       engine_->shows_values() && options_.tensorflow_workers == 0 &&
                                                       !program_.clips_replicas && function_.modules.front().is_text});
  const auto before = std::exchange(layout_, TFD_TRY(lay_out(program_, states, layout_options_)));
  const auto same = [](const Pack& a, const Pack& b) { return a.variables == b.variables; };
  if (state_.empty() || !have_same_modules(options_before, layout_options_) ||
      !std::ranges::equal(before.packs, layout_.packs, same))
    forget_programs();
  TFD_TRY(add_programs());
  pieces_ = pieces();
  state_.clear();  // so that old and new state don't coexist
  kept_.clear();
  if (options_.tensorflow_workers > 0) ring_ = RingOrder(program_, options_.tensorflow_pack_bytes);
  state_ = TFD_TRY(put_state(program_, *engine_, layout_, copies_, std::move(states), devices_));
  const bool has_own = std::ranges::any_of(layout_.packs, [](const Pack& one) { return one.use.is_own; });
  if (has_own && (options_.tensorflow_workers > 0 || !has_device_each()))
    TFD_TRY(kept_.put(program_, layout_, state_.front(), replicas));
  return {};
}

std::int64_t DeviceSteps::bytes_of_changes() const {
  std::int64_t out = 0;
  for (const auto& output : function_.outputs)
    if (const auto* variable = changes_variable(output.kind) ? program_.find_variable(output.name) : nullptr)
      out += tensor::element_count(variable->spec.shape) *
             static_cast<std::int64_t>(tensor::dtype_size(variable->spec.dtype));
  return out;
}

void DeviceSteps::forget_programs() {
  changing_ = layout_.changing();
  std::size_t slots = 0;
  for (const std::size_t p : changing_) slots += layout_.packs[p].slot_names().size();
  donated_.resize(changing_.size() + slots);
  std::iota(donated_.begin(), donated_.end(), 0);
  fused_.clear();
  fused_waiting_.clear();
  computes_.clear();
  updates_.clear();
  signatures_.clear();
}

Result<void> DeviceSteps::add_programs() {
  TFD_TRY(add_modules(program_, layout_options_, layout_));
  while (fused_.size() < layout_.fused.size()) fused_.emplace_back();
  while (fused_waiting_.size() < layout_.fused_waiting.size()) fused_waiting_.emplace_back();
  while (computes_.size() < layout_.computes.size()) computes_.emplace_back();
  while (updates_.size() < 2) updates_.emplace_back();
  return {};
}

Result<DeviceSteps::ProgramPtr> DeviceSteps::compiled(Lazy<ProgramPtr>& program, const hlo::Module& module) const {
  return *TFD_TRY(program.get([&] {
    function::ProgramOptions all{.assignment = {}, .system = options_.system};
    for (int i = 0; i < devices_; ++i) all.assignment.push_back({i});
    return engine_->compile_program(module, all);
  }));
}

Result<const DeviceSteps::Programs*> DeviceSteps::compiled(Lazy<Programs>& programs, const hlo::Module& module) const {
  return programs.get([&] { return engine_->compile_for_each_device(module); });
}

Result<const DeviceSteps::Programs*> DeviceSteps::compiled_update(bool waits) {
  return TFD_TRY(waits ? compiled(updates_.back(), *layout_.waiting) : compiled(updates_.front(), layout_.update),
                 "the optimizer");
}

std::vector<step::CompileOne> DeviceSteps::left_to_compile() {
  std::vector<step::CompileOne> out;
  const auto add = [&](auto& program, const hlo::Module& module) {
    if (program.is_made()) return;
    out.push_back([this, &program, &module]() -> Result<void> {
      TFD_TRY(compiled(program, module), function_.name);
      return {};
    });
  };
  for (std::size_t i = 0; i < fused_.size(); ++i) add(fused_[i], layout_.fused[i].module);
  for (std::size_t i = 0; i < fused_waiting_.size(); ++i) add(fused_waiting_[i], layout_.fused_waiting[i].module);
  if (layout_options_.fuses) return out;
  for (std::size_t i = 0; i < computes_.size(); ++i) add(computes_[i], layout_.computes[i].module);
  add(updates_.front(), layout_.update);
  if (layout_.waiting) add(updates_.back(), *layout_.waiting);
  return out;
}

Result<DeviceBuffers> DeviceSteps::inputs_of(const std::vector<DeviceLayout::Argument>& arguments, std::size_t replica,
                                             const Inputs& inputs, function::ValueWatch* watch) const {
  const step::StepInputs::Replica& own = inputs.step.replicas[replica];
  const int device = device_of(own.replica);
  const ReplicaState& state = state_[static_cast<std::size_t>(device)];
  const auto number = static_cast<std::size_t>(options_.replicas.first + own.replica);
  DeviceBuffers out;
  out.reserve(arguments.size());
  for (const auto& [of, index] : arguments) {
    if (of == DeviceLayout::Argument::Of::kWatch) {
      out.push_back(TFD_TRY(engine_->lend(function::watch_argument(watch), device)));
      continue;
    }
    if (of != DeviceLayout::Argument::Of::kInput) {
      const bool is_pack = of == DeviceLayout::Argument::Of::kPack;
      if (const std::vector<Tensor>* const copies = is_pack ? kept_.find(index) : nullptr; copies != nullptr)
        out.push_back(TFD_TRY(engine_->lend((*copies)[number], device)));
      else if (!is_pack && kept_.has_variable(index))
        out.push_back(TFD_TRY(engine_->lend(kept_.variable(layout_, index, number), device)));
      else
        out.push_back((is_pack ? state.packs : state.views)[index]);
      continue;
    }
    const bool is_scale = function_.inputs[index].kind == program::InputKind::kLossScale;
    if (!is_scale && !inputs.buffers.empty()) {
      out.push_back(inputs.buffers[replica][index]);
      continue;
    }
    const tensor::DType dtype = function_.modules.front().signature.arguments[index].spec.dtype;
    const Tensor value = is_scale ? scalar_of(dtype, loss_scale()) : own.values[index];
    out.push_back(TFD_TRY(engine_->lend(value, device)));
  }
  return out;
}

Result<std::vector<VariableState>> DeviceSteps::states() const {
  if (state_.empty()) return fail(Code::kFailedPrecondition, "the variables aren't on the devices");
  auto out = TFD_TRY(read_state(program_, layout_, copies_, state_, find_copies()));
  if (loss_scale_) *std::ranges::find(out, loss_scale_->name, &VariableState::name) = *loss_scale_;
  return out;
}

Result<step::VariableValues> DeviceSteps::values(const std::vector<std::string>& names) const {
  auto out = TFD_TRY(find_values(program_, layout_, copies_, state_, find_copies(), names));
  if (loss_scale_ && std::ranges::find(names, loss_scale_->name) != names.end())
    out.insert_or_assign(loss_scale_->name, loss_scale_->value);
  return out;
}

double DeviceSteps::loss_scale() const {
  if (!layout_.has_loss_scale) return 1;
  return loss_scale_ ? loss_scale_->value.as<float>()[0] : program_.rules->loss_scale()->initial;
}

void DeviceSteps::move_loss_scale(bool is_finite) {
  if (layout_.has_loss_scale && loss_scale_)
    variable::move_loss_scale(*loss_scale_, is_finite, program_.rules->loss_scale()->growth_steps);
}

std::size_t DeviceSteps::source_of(const Pack& pack, std::size_t replica) const {
  const bool is_first_ones = options_.tensorflow_workers > 0 &&
                             pack.use.aggregation == variable::Aggregation::kOnlyFirstReplica &&
                             !copies_.has(program_.variables[pack.variables.front()].name);
  if (!is_first_ones) return replica;
  const auto each = static_cast<std::size_t>(options_.replicas.all / options_.tensorflow_workers);
  return replica / each * each;
}

// A replica without data keeps its own values.
Result<void> DeviceSteps::write_copies(const Reduced& reduced) {
  for (std::size_t c = 0; c < reduced.own.size(); ++c) {
    const Pack& pack = layout_.packs[changing_[c]];
    for (std::size_t replica = 0; replica < reduced.own[c].size(); ++replica)
      if (const Tensor& change = reduced.own[c][source_of(pack, replica)]; change.has_value())
        TFD_TRY(kept_.write(pack, changing_[c], replica, change));
  }
  return {};
}

// A replica without data keeps its own values. Where copies are kept elsewhere, the devices have nobody's.
Result<DeviceBuffers> DeviceSteps::changes_of(std::size_t at, const DeviceBuffers* own,
                                              const std::vector<Tensor>& reduced) const {
  const int device = static_cast<int>(at);
  DeviceBuffers out;
  for (std::size_t c = 0; c < changing_.size(); ++c) {
    const Pack& pack = layout_.packs[changing_[c]];
    if (!pack.use.is_own)
      out.push_back(TFD_TRY(engine_->lend(reduced[c], device)));
    else if (own != nullptr && kept_.empty())
      out.push_back((*own)[c]);
    else if (pack.use.kind == program::OutputKind::kAssign && kept_.empty())
      out.push_back(state_[at].packs[changing_[c]]);
    else
      out.push_back(TFD_TRY(engine_->lend(Tensor::zeros(pack.spec.dtype, pack.spec.shape), device)));
  }
  return out;
}

Result<function::DeviceBufferPtr> DeviceSteps::update(std::size_t device, const DeviceBuffers& changes,
                                                      const std::vector<Tensor>& scalars) {
  std::vector<DeviceBuffers> arguments{state_[device].changing(layout_)};
  DeviceBuffers& all = arguments.front();
  all.insert(all.end(), changes.begin(), changes.end());
  for (const Tensor& one : scalars) all.push_back(TFD_TRY(engine_->lend(one, static_cast<int>(device))));
  const Programs* const programs = TFD_TRY(compiled_update(waits()));
  const auto results = TFD_TRY((*programs)[device]->execute(arguments, donated_));
  state_[device].replace(layout_, results.front());
  TFD_TRY(state_[device].view(program_, *engine_, layout_));
  return results.front().size() > donated_.size() ? results.front().back() : nullptr;
}

bool DeviceSteps::looks_at_gradients() const {
  return program_.rules && variable::looks_at_gradients(program_.rules->on_nonfinite());
}

std::string DeviceSteps::find_nonfinite(const std::vector<Tensor>& changes) const {
  for (std::size_t c = 0; c < changes.size(); ++c) {
    const Pack& pack = layout_.packs[changing_[c]];
    if (!pack.use.update || variable::is_finite(changes[c])) continue;
    std::int64_t first = 0;
    for (std::size_t k = 0; k < pack.variables.size(); ++k) {
      const bool is_whole = pack.variables.size() == 1;
      if (is_whole || !variable::is_finite(changes[c].slice_rows(first, pack.sizes[k])))
        return program_.variables[pack.variables[k]].name;
      first += pack.sizes[k];
    }
  }
  return "";
}

// True if this step only accumulates; all trained variables have a gradient in every step.
bool DeviceSteps::waits() const {
  if (!layout_.waiting) return false;
  const auto trained = std::ranges::find_if(layout_.packs, [](const Pack& pack) { return pack.use.update != nullptr; });
  return trained != layout_.packs.end() && trained->use.accumulated + 1 < program_.rules->steps_per_update();
}

void DeviceSteps::count_update() {
  const bool waited = waits();
  for (Pack& pack : layout_.packs) {
    if (!pack.use.update) continue;
    pack.use.accumulated = waited ? pack.use.accumulated + 1 : 0;
    if (!waited) ++pack.use.updates;
  }
}

Result<DeviceSteps::Inputs> DeviceSteps::put(step::StepInputs inputs) const {
  Inputs out{.step = std::move(inputs)};
  for (const step::StepInputs::Replica& one : out.step.replicas) {
    const int device = device_of(one.replica);
    DeviceBuffers& own = out.buffers.emplace_back();
    for (const Tensor& value : one.values)
      own.push_back(value.has_value() ? TFD_TRY(engine_->lend(value, device)) : nullptr);
  }
  return out;
}

Result<void> DeviceSteps::read_metrics(Done& done) {
  for (const DeviceBuffers& own : std::exchange(done.unread, {})) {
    auto& metrics = done.metrics.emplace_back();
    for (const auto& one : own) metrics.push_back(TFD_TRY(one->to_host()));
  }
  return {};
}

Result<DeviceSteps::Done> DeviceSteps::step(const Inputs& inputs, std::int64_t number) {
  TFD_TRY(add_programs());
  if (can_be_fused(inputs.step))
    if (auto done = TFD_TRY(step_fused(inputs, number))) return std::move(*done);
  return apply(TFD_TRY(compute(inputs, number)), inputs, number);
}

// One module runs on all devices and takes the mean over equal replicas: a step with exhausted data, or with batches of
// several sizes, isn't fused, but uses the same buffers.
bool DeviceSteps::can_be_fused(const step::StepInputs& inputs) const {
  const auto is_like_first = [&](const step::StepInputs::Replica& one) {
    return one.module == inputs.replicas.front().module && one.examples == inputs.replicas.front().examples;
  };
  return layout_options_.fuses && inputs.replicas.size() == state_.size() &&
         std::ranges::all_of(inputs.replicas, is_like_first);
}

/// nullopt: a gradient isn't finite, and nothing has changed. An unfused step finds out which.
Result<std::optional<DeviceSteps::Done>> DeviceSteps::step_fused(const Inputs& inputs, std::int64_t number) {
  const train::Trace::Span span(options_.trace, "step", 0, number);
  const std::size_t module = inputs.step.replicas.front().module;
  const DeviceLayout::Fused& fused = (waits() ? layout_.fused_waiting : layout_.fused)[module];
  const ProgramPtr program = TFD_TRY(compiled((waits() ? fused_waiting_ : fused_)[module], fused.module));
  const std::vector<Tensor> scalars = update_scalars(layout_, loss_scale());
  std::vector<DeviceBuffers> arguments;
  for (std::size_t replica = 0; replica < state_.size(); ++replica) {
    DeviceBuffers& all = arguments.emplace_back(state_[replica].changing(layout_));
    std::ranges::move(TFD_TRY(inputs_of(fused.arguments, replica, inputs)), std::back_inserter(all));
    for (const Tensor& one : scalars) all.push_back(TFD_TRY(engine_->lend(one, static_cast<int>(replica))));
  }
  const auto results = TFD_TRY(program->execute(arguments, donated_));
  for (std::size_t replica = 0; replica < state_.size(); ++replica) state_[replica].replace(layout_, results[replica]);
  if (fused.has_finite) {
    const Tensor finite = TFD_TRY(results.front().back()->to_host());
    if (!finite.as<bool>()[0]) return std::nullopt;
  }
  Done done;
  const auto first = static_cast<std::ptrdiff_t>(donated_.size());
  const auto after = (fused.has_norm ? 1 : 0) + (fused.has_finite ? 1 : 0);
  for (const DeviceBuffers& own : results) done.unread.emplace_back(own.begin() + first, own.end() - after);
  if (fused.has_norm) done.norm = *(results.front().end() - after);
  count_update();
  move_loss_scale(true);
  return done;
}

Result<DeviceSteps::Computed> DeviceSteps::compute(const Inputs& inputs, std::int64_t number) {
  begun_ = Clock::now();
  TFD_TRY(add_programs());
  const bool reads = !is_alone() || looks_at_gradients();
  const std::size_t count = inputs.step.replicas.size();
  const auto replicas = static_cast<std::size_t>(options_.replicas.count);
  Computed out;
  out.metrics.resize(count);
  out.changes.resize(replicas);
  out.host.resize(replicas);
  std::vector<Result<void>> done(count);
  const std::unique_ptr<EarlySums> early = make_early_sums(number);
  std::future<void> beside;  // on first use both are compiled concurrently
  if (!updates_[waits() ? 1 : 0].is_made())
    beside = std::async(std::launch::async, [this, waits = waits()] { (void)compiled_update(waits); });
  const auto compute_one = [&](std::size_t i) -> Result<void> {
    const step::StepInputs::Replica& one = inputs.step.replicas[i];
    const auto replica = static_cast<std::size_t>(one.replica);
    const DeviceLayout::Compute& compute = layout_.computes[one.module];
    const Programs* const programs = TFD_TRY(compiled(computes_[one.module], compute.module));
    const std::vector<DeviceBuffers> arguments{
        TFD_TRY(inputs_of(compute.arguments, i, inputs, early ? early->watch(replica) : nullptr))};
    const auto device = static_cast<std::size_t>(device_of(one.replica));
    const auto results = TFD_TRY((*programs)[device]->execute(arguments)).front();
    for (const std::size_t r : compute.metrics) out.metrics[i].push_back(TFD_TRY(results[r]->to_host()));
    DeviceBuffers& changes = out.changes[replica];
    for (const std::size_t r : compute.changes) {
      const bool is_own = layout_.packs[changing_[changes.size()]].use.is_own;
      changes.push_back(results[r]);
      if (reads) out.host[replica].push_back(is_own && kept_.empty() ? Tensor() : TFD_TRY(results[r]->to_host()));
    }
    return {};
  };
  threads_.run(state_.size(), [&](std::size_t device) {
    const train::Trace::Span span(options_.trace, "compute", train::Trace::lane_of(device), number);
    for (std::size_t i = 0; i < count; ++i)
      if (device_of(inputs.step.replicas[i].replica) == static_cast<int>(device)) done[i] = compute_one(i);
  });
  TFD_TRY(first_error(done));
  computed_ = Clock::now() - begun_;
  return out;
}

Result<DeviceSteps::Done> DeviceSteps::apply(Computed computed, const Inputs& inputs, std::int64_t number) {
  const auto replicas = static_cast<std::size_t>(options_.replicas.count);
  const std::size_t devices = state_.size();
  Reduced reduced;
  if (!is_alone()) {
    const train::Trace::Span span(options_.trace, "reduce", 0, number);
    step::ReplicaWeights own(replicas, step::kNoData);
    for (const auto& one : inputs.step.replicas) own[static_cast<std::size_t>(one.replica)] = one.examples;
    const auto weights = TFD_TRY(exchange_->weights(number, own));
    reduced = TFD_TRY(reduce(number, std::move(computed.host), weights));
  }
  if (looks_at_gradients()) {
    if (auto name = find_nonfinite(!is_alone() ? reduced.shared : computed.host.front()); !name.empty()) {
      move_loss_scale(false);
      return Done{.metrics = std::move(computed.metrics), .nonfinite = std::move(name)};
    }
  }
  computed.host.clear();
  const std::vector<Tensor> scalars = update_scalars(layout_, loss_scale());
  const std::vector<DeviceBuffers>& changes = computed.changes;
  std::vector<Result<void>> done(devices);
  std::vector<function::DeviceBufferPtr> norms(devices);
  const auto updates_from = Clock::now();
  threads_.run(devices, [&](std::size_t device) {
    const train::Trace::Span span(options_.trace, "update", train::Trace::lane_of(device), number);
    done[device] = [&]() -> Result<void> {
      const DeviceBuffers* const own = device < replicas && !changes[device].empty() ? &changes[device] : nullptr;
      norms[device] = TFD_TRY(
          update(device, is_alone() ? changes.front() : TFD_TRY(changes_of(device, own, reduced.shared)), scalars));
      return {};
    }();
  });
  TFD_TRY(updated_on_all(done, number));
  if (times_.wants_more()) {
    const auto now = Clock::now();
    times_.add(now - begun_, computed_ + (now - updates_from));
  }
  TFD_TRY(write_copies(reduced));
  count_update();
  move_loss_scale(true);
  return Done{.metrics = std::move(computed.metrics), .norm = std::move(norms.front())};
}

}  // namespace tfd::strategy
