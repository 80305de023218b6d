// SPDX-License-Identifier: Apache-2.0
#include "device_state.hpp"

#include <algorithm>
#include <cstring>

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

/// Each variable's part of a pack, to `put`.
template <class Put>
void take_apart(const program::Program& program, const Pack& pack, const Tensor& whole, const Put& put) {
  std::int64_t first = 0;
  for (std::size_t k = 0; k < pack.variables.size(); ++k) {
    const std::size_t variable = pack.variables[k];
    put(variable, pack.variables.size() == 1
                      ? whole
                      : whole.slice_rows(first, pack.sizes[k]).reshaped(program.variables[variable].spec.shape));
    first += pack.sizes[k];
  }
}

}  // namespace

DeviceBuffers ReplicaState::changing(const DeviceLayout& layout) const {
  DeviceBuffers out;
  for (const std::size_t p : layout.changing()) out.push_back(packs[p]);
  for (const DeviceBuffers& of_pack : slots) out.insert(out.end(), of_pack.begin(), of_pack.end());
  return out;
}

void ReplicaState::replace(const DeviceLayout& layout, std::span<const function::DeviceBufferPtr> results) {
  auto next = results.begin();
  for (const std::size_t p : layout.changing()) packs[p] = *next++;
  for (DeviceBuffers& of_pack : slots)
    for (auto& slot : of_pack) slot = *next++;
}

Result<std::vector<ReplicaState>> put_state(const program::Program& program, function::Engine& engine,
                                            const DeviceLayout& layout, const runtime::ReplicaCopies& copies,
                                            std::vector<VariableState> states) {
  std::vector<ReplicaState> out(static_cast<std::size_t>(copies.replicas()));
  for (const Pack& pack : layout.packs) {
    for (const std::size_t i : pack.variables) {
      VariableState& one = states[i];
      if (pack.use.update) program.rules->prepare(one);
      if (pack.use.is_own) one.value = TFD_TRY(copies.assign_across(one.name, one.value)).front().second;
    }
    const auto put = [&](const auto& tensor_of, const auto& into) -> Result<void> {
      std::vector<Tensor> parts;
      for (const std::size_t variable : pack.variables) parts.push_back(tensor_of(states[variable]));
      const Tensor whole = joined(parts, pack.spec.shape);
      for (int i = 0; i < copies.replicas(); ++i)
        into(out[static_cast<std::size_t>(i)]).push_back(TFD_TRY(engine.put(whole, i)));
      return {};
    };
    TFD_TRY(put([](const VariableState& one) { return one.value; },
                [](ReplicaState& replica) -> DeviceBuffers& { return replica.packs; }));
    if (!pack.use.changes()) continue;
    for (ReplicaState& replica : out) replica.slots.emplace_back();
    for (const std::string& slot : pack.slot_names())
      TFD_TRY(put([&](const VariableState& one) { return slot_of(one, slot); },
                  [](ReplicaState& replica) -> DeviceBuffers& { return replica.slots.back(); }));
  }
  return out;
}

Result<std::vector<VariableState>> read_state(const program::Program& program, const DeviceLayout& layout,
                                              const runtime::ReplicaCopies& copies,
                                              const std::vector<ReplicaState>& state) {
  std::vector<VariableState> out(program.variables.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].name = program.variables[i].name;
  auto slots = state.front().slots.begin();
  for (std::size_t p = 0; p < layout.packs.size(); ++p) {
    const Pack& pack = layout.packs[p];
    std::vector<std::vector<Tensor>> values(out.size());  // by variable and replica
    for (std::size_t replica = 0; replica < (pack.use.is_own ? state.size() : 1); ++replica) {
      const Tensor whole = TFD_TRY(state[replica].packs[p]->to_host());
      take_apart(program, pack, whole,
                 [&](std::size_t variable, Tensor value) { values[variable].push_back(std::move(value)); });
    }
    for (const std::size_t variable : pack.variables) {
      const bool is_one = !pack.use.is_own || program.variables[variable].aggregation == variable::Aggregation::kNone;
      out[variable].value = is_one ? std::move(values[variable].front())
                                   : TFD_TRY(copies.read_across(out[variable].name, std::move(values[variable])));
    }
    for (const std::size_t variable : pack.variables) {
      out[variable].updates = pack.use.updates;
      out[variable].accumulated = pack.use.accumulated;
    }
    if (!pack.use.changes()) continue;
    const auto names = pack.slot_names();
    for (std::size_t i = 0; i < slots->size(); ++i) {
      const Tensor whole = TFD_TRY((*slots)[i]->to_host());
      take_apart(program, pack, whole, [&](std::size_t variable, Tensor value) {
        out[variable].slots.emplace_back(names[i], std::move(value));
      });
    }
    ++slots;
  }
  return out;
}

}  // namespace tfd::strategy
