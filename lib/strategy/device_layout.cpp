// SPDX-License-Identifier: Apache-2.0
#include "device_layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "tfd/hlo/builder.hpp"
#include "tfd/strategy/device_training.hpp"

namespace tfd::strategy {
namespace {

using hlo::Builder;
using hlo::Value;
using program::InputKind;
using program::OutputKind;
using tensor::DType;
using tensor::TensorSpec;

constexpr std::int64_t kSmall = 16'384;  // elements: larger ones gain nothing, and would be copied out of a vector

bool changes_variable(OutputKind kind) { return kind != OutputKind::kResult && kind != OutputKind::kMetric; }

std::vector<VariableUse> uses_of(const program::Program& program, const program::FunctionDef& function,
                                 const std::vector<variable::VariableState>& states) {
  std::vector<VariableUse> uses(program.variables.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const program::VariableDef& variable = program.variables[i];
    const auto output = std::ranges::find_if(function.outputs, [&](const program::OutputBinding& one) {
      return changes_variable(one.kind) && one.name == variable.name;
    });
    if (output == function.outputs.end()) continue;
    VariableUse& use = uses[i];
    use.kind = output->kind;
    if (use.kind == OutputKind::kGradient) {
      use.reduce = output->reduce;
      use.update = program.rules->device_update_of(variable.name);
      use.updates = states[i].updates;
      use.accumulated = states[i].accumulated;
    } else {
      use.aggregation = variable.aggregation;
    }
  }
  return uses;
}

std::vector<Pack> pack(const program::Program& program, const std::vector<VariableUse>& uses, bool may_join) {
  std::vector<Pack> packs;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const TensorSpec& spec = program.variables[i].spec;
    const std::int64_t size = tensor::element_count(spec.shape);
    const auto joins = [&](const Pack& other) {
      return other.use == uses[i] && other.spec.dtype == spec.dtype &&
             std::ranges::all_of(other.sizes, [](std::int64_t one) { return one <= kSmall; });
    };
    const auto found = may_join && size <= kSmall ? std::ranges::find_if(packs, joins) : packs.end();
    if (found == packs.end()) {
      packs.push_back({uses[i], spec, {i}, {size}});
      continue;
    }
    found->variables.push_back(i);
    found->sizes.push_back(size);
  }
  for (Pack& one : packs)
    if (one.variables.size() > 1)
      one.spec.shape = {std::accumulate(one.sizes.begin(), one.sizes.end(), std::int64_t{0})};
  return packs;
}

/// The module in a @main of tfd's own, which takes packs apart and puts what changes together.
Result<DeviceLayout::Compute> compute_around(const program::Program& program, const program::FunctionDef& function,
                                             const hlo::Module& module, const std::vector<Pack>& packs) {
  const hlo::Embedded inner = TFD_TRY(hlo::embed(module, "model"));
  DeviceLayout::Compute out;
  Builder builder("compute");
  const auto read = function.variables_read();
  std::map<std::string, Value> values;
  for (std::size_t p = 0; p < packs.size(); ++p) {
    const Pack& own = packs[p];
    const auto is_read = [&](std::size_t i) {
      return std::ranges::find(read, program.variables[i].name) != read.end();
    };
    if (std::ranges::none_of(own.variables, is_read)) continue;
    const Value whole = builder.argument(fmt::format("pack{}", p), own.spec);
    out.arguments.push_back({true, p});
    std::int64_t first = 0;
    for (std::size_t k = 0; k < own.variables.size(); ++k) {
      const program::VariableDef& variable = program.variables[own.variables[k]];
      values[variable.name] =
          own.variables.size() == 1
              ? whole
              : builder.reshape(builder.slice(whole, first, first + own.sizes[k]), variable.spec.shape);
      first += own.sizes[k];
    }
  }
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const hlo::Parameter& parameter = module.signature.arguments[i];
    const bool is_variable = function.inputs[i].kind == InputKind::kVariable;
    if (!is_variable) out.arguments.push_back({false, i});
    arguments.push_back(is_variable ? values.at(function.inputs[i].name)
                                    : builder.argument(parameter.name, parameter.spec));
  }
  builder.embed(inner);
  const std::vector<Value> results = builder.call(inner, arguments);

  std::vector<std::pair<std::string, Value>> returned;
  std::map<std::string, Value> changes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const program::OutputBinding& output = function.outputs[i];
    if (output.kind == OutputKind::kMetric) {
      out.metrics.push_back(returned.size());
      returned.emplace_back(output.name, results[i]);
    } else if (changes_variable(output.kind)) {
      changes[output.name] = results[i];
    }
  }
  for (std::size_t p = 0; p < packs.size(); ++p) {
    if (!packs[p].use.changes()) continue;
    std::vector<Value> parts;
    for (std::size_t k = 0; k < packs[p].variables.size(); ++k) {
      const Value& change = changes.at(program.variables[packs[p].variables[k]].name);
      parts.push_back(packs[p].variables.size() == 1 ? change : builder.reshape(change, {packs[p].sizes[k]}));
    }
    out.changes.push_back(returned.size());
    returned.emplace_back(fmt::format("change{}", p), builder.concatenate(parts));
  }
  out.module = builder.finish(returned);
  out.module.name = module.name;
  return out;
}

/// The module as it is: each pack is one variable, and every argument its own.
DeviceLayout::Compute compute_as_is(const program::Program& program, const program::FunctionDef& function,
                                    const hlo::Module& module, const std::vector<Pack>& packs) {
  DeviceLayout::Compute out;
  out.module = module;
  const auto pack_of = [&](const std::string& name) {  // as many packs as variables
    const auto found = std::ranges::find_if(
        packs, [&](const Pack& one) { return program.variables[one.variables.front()].name == name; });
    return static_cast<std::size_t>(found - packs.begin());
  };
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const bool is_variable = function.inputs[i].kind == InputKind::kVariable;
    out.arguments.push_back({is_variable, is_variable ? pack_of(function.inputs[i].name) : i});
  }
  for (std::size_t i = 0; i < function.outputs.size(); ++i)
    if (function.outputs[i].kind == OutputKind::kMetric) out.metrics.push_back(i);
  for (const Pack& own : packs)
    for (std::size_t i = 0; own.use.changes() && i < function.outputs.size(); ++i)
      if (changes_variable(function.outputs[i].kind) &&
          function.outputs[i].name == program.variables[own.variables.front()].name)
        out.changes.push_back(i);
  return out;
}

std::vector<DType> dtypes_of_numbers(const std::vector<Pack>& packs) {
  std::vector<DType> out;
  for (const DType dtype : {DType::kF32, DType::kF64})
    if (std::ranges::any_of(
            packs, [&](const Pack& one) { return one.use.update && variable::number_dtype(one.spec.dtype) == dtype; }))
      out.push_back(dtype);
  return out;
}

/// Each pack's own scalars, out of the vector of its dtype.
class Scalars {
 public:
  Scalars(Builder& builder, const std::vector<Pack>& packs) : builder_(builder) {
    for (const DType dtype : dtypes_of_numbers(packs)) {
      std::int64_t count = 0;
      for (const Pack& one : packs)
        if (one.use.update && variable::number_dtype(one.spec.dtype) == dtype)
          count += static_cast<std::int64_t>(one.use.update->scalars(one.use.updates, dtype).size());
      vectors_[dtype] = builder.argument(fmt::format("scalars_{}", tensor::dtype_name(dtype)), {dtype, {count}});
    }
  }
  std::vector<Value> take(const Pack& pack) {
    const DType dtype = variable::number_dtype(pack.spec.dtype);
    std::vector<Value> out(pack.use.update->scalars(pack.use.updates, dtype).size());
    for (Value& one : out) one = builder_.element(vectors_.at(dtype), next_[dtype]++);
    return out;
  }

 private:
  Builder& builder_;
  std::map<DType, Value> vectors_;
  std::map<DType, std::int64_t> next_;
};

Value assigned(OutputKind kind, const Value& value, const Value& change) {
  if (kind == OutputKind::kAssignAdd) return value + change;
  if (kind == OutputKind::kAssignSub) return value - change;
  return change;
}

struct Changed {
  const Pack* pack;
  Value value;
  std::vector<Value> slots;  // the accumulator last
  Value change;
};

/// Adds the gradient to those that wait: where the update is due it becomes their mean, and none waits any more.
void accumulate(Builder& builder, Changed& one, std::int64_t gradients, bool waits) {
  Value& waiting = one.slots.back();
  const Value sum = waiting + one.change;
  one.change = sum / static_cast<double>(gradients);
  waiting = waits ? sum : builder.constant(0, sum.spec());
}

void write_gradients(Builder& builder, const program::Program& program, const DeviceLayout& layout,
                     std::vector<Changed>& all, bool waits) {
  Scalars scalars(builder, layout.packs);
  std::vector<variable::DeviceGradient> gradients;
  for (Changed& one : all) {
    if (!one.pack->use.update) continue;
    one.change = hlo::convert(one.change, variable::number_dtype(one.pack->spec.dtype));
    if (one.pack->use.update->accumulator()) accumulate(builder, one, program.rules->steps_per_update(), waits);
    gradients.push_back({one.change, one.pack->use.update, one.pack->sizes});
  }
  if (program.rules && !waits) variable::write_clipping(builder, program.rules->global_clipnorm(), gradients);
  std::size_t next = 0;
  for (Changed& one : all) {
    if (!one.pack->use.update) continue;
    const variable::DeviceUpdate& update = *one.pack->use.update;
    const std::span<Value> slots(one.slots.data(), update.slots().size());
    const auto numbers = scalars.take(*one.pack);
    if (waits)
      update.write_waiting(one.value, slots, numbers);
    else
      update.write(one.value, gradients[next++].value, slots, numbers);
  }
}

/// `waits`: gradients are only added to those that wait already.
hlo::Module write_update(const program::Program& program, const DeviceLayout& layout, bool waits) {
  Builder builder(waits ? "accumulate" : "update");
  std::vector<Changed> all;
  for (const std::size_t p : layout.changing()) all.push_back({&layout.packs[p], {}, {}, {}});
  int results = 0;
  for (Changed& one : all) one.value = builder.argument("value", one.pack->spec, results++);
  for (Changed& one : all)
    for (std::size_t i = 0; i < one.pack->slot_names().size(); ++i)
      one.slots.push_back(
          builder.argument("slot", {variable::number_dtype(one.pack->spec.dtype), one.pack->spec.shape}, results++));
  for (Changed& one : all) one.change = builder.argument("change", one.pack->spec);
  write_gradients(builder, program, layout, all, waits);
  std::vector<std::pair<std::string, Value>> returned;
  for (const Changed& one : all)
    returned.emplace_back("value",
                          one.pack->use.update ? one.value : assigned(one.pack->use.kind, one.value, one.change));
  for (const Changed& one : all)
    for (const Value& slot : one.slots) returned.emplace_back("slot", slot);
  return builder.finish(returned);
}

}  // namespace

// What is left: sparse gradients and lookups, loss scales, an optimizer of one's own, copies of a variable that differ.
std::optional<std::string> why_not_on_devices(const program::Program& program, int replicas) {
  const program::FunctionDef& function = *program.find_function(program.train->function);
  if (function.kind != program::FunctionKind::kModule) return "its function is no module";
  for (const hlo::Module& module : function.modules)
    if (module.takes_platform && !module.is_text) return "its function is bytecode for several platforms";
  for (const program::InputBinding& input : function.inputs) {
    if (!input.lookup.empty()) return "it looks rows up";
    if (input.kind == InputKind::kLossScale) return "it has a loss scale";
  }
  for (const program::OutputBinding& output : function.outputs) {
    if (!changes_variable(output.kind)) continue;
    if (output.rows != program::RowsPart::kAll) return "it updates rows";
    if (output.kind == OutputKind::kGradient && program.rules->device_update_of(output.name) == nullptr)
      return "its optimizer is its own";
  }
  if (!function.has_updates()) return "it updates nothing";
  if (program.rules && program.rules->loss_scale()) return "it has a loss scale";
  if (program.rules && program.rules->steps_per_update() > 1 && program.rules->clips())
    return "it clips gradients that are accumulated";  // each by itself, as on parameter servers
  for (const program::VariableDef& variable : program.variables) {
    if (variable.per_worker) return "it has variables of each worker";
    if (replicas > 1 && variable.synchronization == variable::Synchronization::kOnRead)
      return "it has variables that each replica has its own value of";
  }
  return std::nullopt;
}

std::vector<std::string> Pack::slot_names() const {
  std::vector<std::string> names;
  if (!use.update) return names;
  for (const auto& slot : use.update->slots()) names.push_back(slot.name);
  if (use.update->accumulator()) names.push_back(*use.update->accumulator());
  return names;
}

std::vector<std::size_t> DeviceLayout::changing() const {
  std::vector<std::size_t> out;
  for (std::size_t p = 0; p < packs.size(); ++p)
    if (packs[p].use.changes()) out.push_back(p);
  return out;
}

Result<DeviceLayout> lay_out(const program::Program& program, const std::vector<variable::VariableState>& states,
                             const std::string& platform) {
  const program::FunctionDef& function = *program.find_function(program.train->function);
  const bool is_text = std::ranges::all_of(function.modules, &hlo::Module::is_text);
  DeviceLayout out;
  out.packs = pack(program, uses_of(program, function, states), is_text);
  for (const hlo::Module& module : function.modules)
    out.computes.push_back(
        is_text ? TFD_TRY(compute_around(program, function, TFD_TRY(hlo::for_platform(module, platform)), out.packs))
                : compute_as_is(program, function, module, out.packs));
  out.update = write_update(program, out, false);
  if (program.rules && program.rules->steps_per_update() > 1) out.waiting = write_update(program, out, true);
  return out;
}

std::vector<tensor::Tensor> update_scalars(const DeviceLayout& layout) {
  std::vector<tensor::Tensor> out;
  for (const DType dtype : dtypes_of_numbers(layout.packs)) {
    std::vector<double> all;
    for (const Pack& one : layout.packs) {
      if (!one.use.update || variable::number_dtype(one.spec.dtype) != dtype) continue;
      const auto own = one.use.update->scalars(one.use.updates, dtype);
      all.insert(all.end(), own.begin(), own.end());
    }
    tensor::Tensor numbers = tensor::Tensor::uninitialized(dtype, {static_cast<std::int64_t>(all.size())});
    if (dtype == DType::kF32)
      std::ranges::transform(all, numbers.mutable_as<float>(), [](double x) { return static_cast<float>(x); });
    else
      std::ranges::copy(all, numbers.mutable_as<double>());
    out.push_back(std::move(numbers));
  }
  return out;
}

}  // namespace tfd::strategy
