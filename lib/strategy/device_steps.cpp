// SPDX-License-Identifier: Apache-2.0
#include "device_steps.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tfd::strategy {
namespace {

using function::DeviceBuffers;
using tensor::Tensor;
using variable::VariableState;

/// The elements of all, one behind the other.
Tensor joined(const std::vector<Tensor>& parts, const tensor::Shape& shape) {
  if (parts.size() == 1) return parts.front();
  Tensor out = Tensor::uninitialized(parts.front().dtype(), shape);
  std::byte* to = out.mutable_data();
  for (const Tensor& part : parts) {
    if (part.byte_size() > 0) std::memcpy(to, part.data(), part.byte_size());
    to += part.byte_size();
  }
  return out;
}

const Tensor& slot_of(const VariableState& state, const std::string& name) {
  return std::ranges::find(state.slots, name, &std::pair<std::string, Tensor>::first)->second;
}

/// The first error in the order of replicas.
Result<void> first_error(const std::vector<Result<void>>& results) {
  for (const Result<void>& one : results) TFD_TRY(one);
  return {};
}

}  // namespace

Result<void> DeviceSteps::load(std::vector<VariableState> states) {
  const auto before = std::exchange(layout_, TFD_TRY(lay_out(program_, states, engine_->plugin().platform)));
  const auto same = [](const Pack& a, const Pack& b) { return a.variables == b.variables; };
  if (computes_.empty() || !std::ranges::equal(before.packs, layout_.packs, same)) TFD_TRY(compile());
  std::vector<Replica> loaded(static_cast<std::size_t>(replicas_));
  for (const Pack& pack : layout_.packs) {
    for (const std::size_t variable : pack.variables)
      if (pack.use.update) program_.rules->prepare(states[variable]);
    const auto put = [&](const auto& tensor_of, const auto& into) -> Result<void> {
      std::vector<Tensor> parts;
      for (const std::size_t variable : pack.variables) parts.push_back(tensor_of(states[variable]));
      const Tensor whole = joined(parts, pack.spec.shape);
      for (int i = 0; i < replicas_; ++i)
        into(loaded[static_cast<std::size_t>(i)]).push_back(TFD_TRY(engine_->put(whole, i)));
      return {};
    };
    TFD_TRY(put([](const VariableState& one) { return one.value; },
                [](Replica& replica) -> DeviceBuffers& { return replica.packs; }));
    if (!pack.use.changes()) continue;
    for (Replica& replica : loaded) replica.slots.emplace_back();
    for (const std::string& slot : pack.slot_names())
      TFD_TRY(put([&](const VariableState& one) { return slot_of(one, slot); },
                  [](Replica& replica) -> DeviceBuffers& { return replica.slots.back(); }));
  }
  state_ = std::move(loaded);
  return {};
}

Result<void> DeviceSteps::compile() {
  changing_ = layout_.changing();
  computes_.clear();
  for (const DeviceLayout::Compute& compute : layout_.computes)
    computes_.push_back(TFD_TRY(engine_->compile_for_each_device(compute.module)));
  std::size_t slots = 0;
  for (const std::size_t p : changing_) slots += layout_.packs[p].slot_names().size();
  donated_.resize(changing_.size() + slots);
  std::iota(donated_.begin(), donated_.end(), 0);
  update_ = TFD_TRY(engine_->compile_for_each_device(layout_.update), "the optimizer");
  if (layout_.waiting) waiting_ = TFD_TRY(engine_->compile_for_each_device(*layout_.waiting), "the optimizer");
  return {};
}

Result<std::vector<VariableState>> DeviceSteps::states() const {
  std::vector<VariableState> out(program_.variables.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].name = program_.variables[i].name;
  std::size_t changing = 0;
  for (std::size_t p = 0; p < layout_.packs.size(); ++p) {
    const Pack& pack = layout_.packs[p];
    const auto take = [&](const function::DeviceBufferPtr& buffer, const auto& put) -> Result<void> {
      const Tensor whole = TFD_TRY(buffer->to_host());
      std::int64_t first = 0;
      for (std::size_t k = 0; k < pack.variables.size(); ++k) {
        const std::size_t variable = pack.variables[k];
        const bool is_whole = pack.variables.size() == 1;
        put(out[variable],
            is_whole ? whole
                     : whole.slice_rows(first, pack.sizes[k]).reshaped(program_.variables[variable].spec.shape));
        first += pack.sizes[k];
      }
      return {};
    };
    TFD_TRY(take(state_.front().packs[p], [](VariableState& state, Tensor value) { state.value = std::move(value); }));
    for (const std::size_t variable : pack.variables) {
      out[variable].updates = pack.use.updates;
      out[variable].accumulated = pack.use.accumulated;
    }
    if (!pack.use.changes()) continue;
    const DeviceBuffers& slots = state_.front().slots[changing++];
    const auto names = pack.slot_names();
    for (std::size_t i = 0; i < slots.size(); ++i)
      TFD_TRY(take(slots[i],
                   [&](VariableState& state, Tensor value) { state.slots.emplace_back(names[i], std::move(value)); }));
  }
  return out;
}

Result<DeviceBuffers> DeviceSteps::compute(std::size_t replica, const runtime::StepInputs::Replica& inputs) const {
  const DeviceLayout::Compute& compute = layout_.computes[inputs.module];
  std::vector<DeviceBuffers> arguments(1);
  arguments[0].reserve(compute.arguments.size());
  for (const auto& argument : compute.arguments)
    arguments[0].push_back(argument.is_pack
                               ? state_[replica].packs[argument.index]
                               : TFD_TRY(engine_->lend(inputs.values[argument.index], static_cast<int>(replica))));
  auto results = TFD_TRY(computes_[inputs.module][replica]->execute(arguments));
  return std::move(results.front());
}

Result<std::vector<Tensor>> DeviceSteps::reduce(const std::vector<std::vector<Tensor>>& changes,
                                                const std::vector<double>& examples) const {
  std::vector<Tensor> out;
  for (std::size_t c = 0; c < changing_.size(); ++c) {
    const VariableUse& use = layout_.packs[changing_[c]].use;
    std::vector<Tensor> values;
    for (const auto& replica : changes) values.push_back(replica[c]);
    out.push_back(use.kind == program::OutputKind::kGradient
                      ? TFD_TRY(runtime::reduce_gradients(use.reduce, values, examples))
                      : TFD_TRY(variable::aggregate(use.aggregation, values)));
  }
  return out;
}

Result<void> DeviceSteps::update(std::size_t replica, const DeviceBuffers& changes,
                                 const std::vector<Tensor>& scalars) {
  const int device = static_cast<int>(replica);
  Replica& state = state_[replica];
  std::vector<DeviceBuffers> arguments(1);
  DeviceBuffers& all = arguments.front();
  for (const std::size_t p : changing_) all.push_back(std::move(state.packs[p]));
  for (DeviceBuffers& slots : state.slots) std::ranges::move(slots, std::back_inserter(all));
  all.insert(all.end(), changes.begin(), changes.end());
  for (const Tensor& one : scalars) all.push_back(TFD_TRY(engine_->lend(one, device)));
  auto results = TFD_TRY((waits() ? waiting_ : update_)[replica]->execute(arguments, donated_));
  auto next = results.front().begin();
  for (const std::size_t p : changing_) state.packs[p] = std::move(*next++);
  for (DeviceBuffers& slots : state.slots)
    for (auto& slot : slots) slot = std::move(*next++);
  return {};
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

// All trained variables have a gradient in every step.
bool DeviceSteps::waits() const {
  if (!layout_.waiting) return false;
  const auto trained = std::ranges::find_if(layout_.packs, [](const Pack& pack) { return pack.use.update != nullptr; });
  return trained != layout_.packs.end() && trained->use.accumulated + 1 < program_.rules->steps_per_update();
}

Result<DeviceSteps::Done> DeviceSteps::step(const runtime::StepInputs& inputs, std::int64_t number) {
  const bool looks = program_.rules && program_.rules->on_nonfinite() != variable::OnNonfinite::kApply;
  const std::size_t count = inputs.replicas.size(), all = state_.size();
  std::vector<DeviceBuffers> changes(count);
  std::vector<std::vector<Tensor>> metrics(count), host(count);
  std::vector<Result<void>> done(count);
  std::vector<double> examples;
  for (const auto& one : inputs.replicas) examples.push_back(one.examples);
  threads_.run(count, [&](std::size_t replica) {
    const Trace::Span span(trace_, "compute", Trace::lane_of(replica), number);
    done[replica] = [&]() -> Result<void> {
      const DeviceLayout::Compute& compute = layout_.computes[inputs.replicas[replica].module];
      const DeviceBuffers results = TFD_TRY(this->compute(replica, inputs.replicas[replica]));
      for (const std::size_t i : compute.metrics) metrics[replica].push_back(TFD_TRY(results[i]->to_host()));
      for (const std::size_t i : compute.changes) {
        changes[replica].push_back(results[i]);
        if (all > 1 || looks) host[replica].push_back(TFD_TRY(results[i]->to_host()));
      }
      return {};
    }();
  });
  TFD_TRY(first_error(done));
  std::vector<Tensor> reduced;
  if (all > 1) {
    const Trace::Span span(trace_, "reduce", 0, number);
    reduced = TFD_TRY(reduce(host, examples));
  }
  if (looks)
    if (auto name = find_nonfinite(all > 1 ? reduced : host.front()); !name.empty())
      return Done{std::move(metrics), std::move(name)};
  host.clear();
  const std::vector<Tensor> scalars = update_scalars(layout_);
  done.assign(all, {});
  threads_.run(all, [&](std::size_t replica) {
    const Trace::Span span(trace_, "update", Trace::lane_of(replica), number);
    done[replica] = [&]() -> Result<void> {
      if (all == 1) return update(replica, changes.front(), scalars);
      DeviceBuffers own;
      for (const Tensor& one : reduced) own.push_back(TFD_TRY(engine_->lend(one, static_cast<int>(replica))));
      return update(replica, own, scalars);
    }();
  });
  TFD_TRY(first_error(done));
  const bool waited = waits();
  for (Pack& pack : layout_.packs) {
    if (!pack.use.update) continue;
    pack.use.accumulated = waited ? pack.use.accumulated + 1 : 0;
    if (!waited) ++pack.use.updates;
  }
  return Done{std::move(metrics)};
}

}  // namespace tfd::strategy
