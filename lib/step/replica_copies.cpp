// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/replica_copies.hpp"

#include <algorithm>

#include "tfd/variable/replicated.hpp"
#include "tfd/variable/slot_mark.hpp"

namespace tfd::step {
namespace {

using tensor::Tensor;
using variable::UpdateKind;
using variable::WriteOp;

constexpr std::string_view kCopyMark = "/.replica/";

WriteOp write_of(UpdateKind kind) {
  return kind == UpdateKind::kAssignAdd   ? WriteOp::kAdd
         : kind == UpdateKind::kAssignSub ? WriteOp::kSubtract
                                          : WriteOp::kAssign;
}

}  // namespace

std::string_view original_name(std::string_view stored) { return stored.substr(0, stored.find(kCopyMark)); }

Result<ReplicaCopies> ReplicaCopies::make(const program::Program& program, int replicas) {
  ReplicaCopies out;
  out.replicas_ = replicas;
  for (const program::VariableDef& variable : program.variables)
    if (replicas > 1 && variable.synchronization == variable::Synchronization::kOnRead)
      out.kinds_.emplace(variable.name, Kind{{variable.synchronization, variable.aggregation, variable.trainable},
                                             variable.per_worker});
  if (!out.empty()) TFD_TRY(out.check(program));
  return out;
}

Result<void> ReplicaCopies::check(const program::Program& program) const {
  for (const program::FunctionDef& function : program.functions) TFD_TRY(check_function(program, function));
  return check_train(program);
}

Result<void> ReplicaCopies::check_function(const program::Program& program,
                                           const program::FunctionDef& function) const {
  const auto refuse = [&](const std::string& variable, std::string_view what) {
    return fail(Code::kUnimplemented,
                "{}: functions.{}: {} of '{}', which is synchronized on read: each of {} replicas has its own value; "
                "run one replica, or synchronize it on write",
                program.path, function.name, what, variable, replicas_);
  };
  for (const program::InputBinding& input : function.inputs)
    if (has(input.lookup)) return refuse(input.lookup, "a lookup");
  for (const program::OutputBinding& output : function.outputs) {
    if (output.kind == program::OutputKind::kResult || output.kind == program::OutputKind::kMetric) continue;
    if (!has(output.name)) continue;
    if (output.kind == program::OutputKind::kGradient) return refuse(output.name, "a gradient");
    if (output.rows != program::RowsPart::kAll) return refuse(output.name, "an update of rows");
  }
  return {};
}

Result<void> ReplicaCopies::check_train(const program::Program& program) const {
  if (!program.train) return {};
  const bool saves =
      program.train->checkpoint.has_value() || (program.train->stop && program.train->stop->restore_best);
  const program::FunctionDef* evaluates =
      program.train->evaluate ? program.find_function(program.train->evaluate->function) : nullptr;
  const auto evaluated = evaluates == nullptr ? std::vector<std::string>() : evaluates->variables_read();
  for (const auto& [name, kind] : kinds_) {
    if (kind.replication.aggregation != variable::Aggregation::kNone) continue;
    const bool is_evaluated = std::find(evaluated.begin(), evaluated.end(), name) != evaluated.end();
    if (!is_evaluated && (!saves || kind.per_worker)) continue;
    return fail(Code::kInvalidArgument,
                "{}: variables.{}: is synchronized on read without an aggregation, so the values of {} replicas can't "
                "be combined for {}; set 'aggregation'",
                program.path, name, replicas_, is_evaluated ? "evaluations" : "checkpoints");
  }
  return {};
}

std::string ReplicaCopies::copy_name(std::string_view variable, int replica) const {
  return fmt::format("{}{}{}-of-{}", variable, kCopyMark, replica, replicas_);
}

std::vector<std::string> ReplicaCopies::names_of(const std::string& variable) const {
  if (!has(variable)) return {variable};
  std::vector<std::string> names;
  for (int replica = 0; replica < replicas_; ++replica) names.push_back(copy_name(variable, replica));
  return names;
}

std::vector<std::string> ReplicaCopies::stored_names(const std::vector<std::string>& variables) const {
  if (empty()) return variables;
  std::vector<std::string> names;
  for (const std::string& variable : variables)
    for (std::string& name : names_of(variable)) names.push_back(std::move(name));
  return names;
}

Result<void> ReplicaCopies::aggregate(std::map<std::string, Tensor>& values) const {
  for (const auto& [variable, kind] : kinds_) {
    std::vector<Tensor> copies;
    for (const std::string& name : names_of(variable))
      if (const auto found = values.find(name); found != values.end()) copies.push_back(found->second);
    if (static_cast<int>(copies.size()) != replicas_) continue;
    values.insert_or_assign(variable, TFD_TRY(read_across(variable, std::move(copies))));
  }
  return {};
}

Result<Tensor> ReplicaCopies::read_across(const std::string& variable, std::vector<Tensor> copies) const {
  const auto found = kinds_.find(variable);
  if (found == kinds_.end()) return fail(Code::kInternal, "'{}' has no copies", variable);
  return TFD_TRY(variable::ReplicatedVariable(found->second.replication, std::move(copies)).read_across(),
                 fmt::format("variable '{}'", variable));
}

Result<tensor::NamedTensors> ReplicaCopies::assign_across(const std::string& variable, const Tensor& value) const {
  const auto found = kinds_.find(variable);
  if (found == kinds_.end()) return tensor::NamedTensors{{variable, value}};
  const Tensor share = TFD_TRY(variable::share_of(found->second.replication, WriteOp::kAssign, value, replicas_),
                               fmt::format("variable '{}'", variable));
  tensor::NamedTensors out;
  for (std::string& name : names_of(variable)) out.emplace_back(std::move(name), share);
  return out;
}

Result<std::vector<variable::Update>> ReplicaCopies::update_across(std::vector<variable::Update> updates) const {
  if (empty()) return updates;
  std::vector<variable::Update> out;
  for (variable::Update& update : updates) {
    const auto found = kinds_.find(update.variable);
    if (found == kinds_.end()) {
      out.push_back(std::move(update));
      continue;
    }
    const Tensor share =
        TFD_TRY(variable::share_of(found->second.replication, write_of(update.kind), update.value, replicas_),
                fmt::format("variable '{}'", update.variable));
    for (std::string& name : names_of(update.variable)) out.push_back({update.kind, std::move(name), share});
  }
  return out;
}

Result<tensor::NamedTensors> ReplicaCopies::gather(tensor::NamedTensors state) const {
  if (empty()) return state;
  tensor::NamedTensors out;
  std::map<std::string, std::size_t> counters;  // by their name in a checkpoint
  std::map<std::string, Tensor> copies;
  for (auto& [name, value] : state) {
    const std::string variable(original_name(name));
    if (variable == name) {
      out.emplace_back(std::move(name), std::move(value));
      continue;
    }
    const std::size_t mark = name.find(variable::kSlotMark);
    if (mark == std::string::npos) {
      if (name == copy_name(variable, 0)) out.emplace_back(variable, Tensor());  // its place
      copies.emplace(std::move(name), std::move(value));
      continue;
    }
    // Optimizers don't update them, so there are only counters.
    const auto [known, fresh] = counters.emplace(variable + name.substr(mark), out.size());
    if (fresh)
      out.emplace_back(known->first, std::move(value));
    else if (out[known->second].second.as<std::int64_t>()[0] < value.as<std::int64_t>()[0])
      out[known->second].second = std::move(value);
  }
  TFD_TRY(aggregate(copies));
  for (auto& [name, value] : out) {
    if (value.has_value()) continue;
    const auto found = copies.find(name);
    if (found == copies.end()) return fail(Code::kInternal, "copies of '{}' are missing", name);
    value = found->second;
  }
  return out;
}

Result<tensor::NamedTensors> ReplicaCopies::spread(const tensor::NamedTensors& state) const {
  if (empty()) return state;
  for (const auto& kept : kinds_) {  // a store would keep the present value of copies that aren't given
    const std::string& variable = kept.first;
    const bool is_there =
        std::any_of(state.begin(), state.end(), [&](const auto& one) { return one.first == variable; });
    if (!is_there && !kept.second.per_worker) return fail(Code::kNotFound, "no value for variable '{}'", variable);
  }
  tensor::NamedTensors out;
  for (const auto& [name, value] : state) {
    const std::size_t mark = name.find(variable::kSlotMark);
    const std::string variable = name.substr(0, mark);
    if (!has(variable)) {
      out.emplace_back(name, value);
    } else if (mark == std::string::npos) {
      for (auto& copy : TFD_TRY(assign_across(variable, value))) out.push_back(std::move(copy));
    } else {
      for (const std::string& copy : names_of(variable)) out.emplace_back(copy + name.substr(mark), value);
    }
  }
  return out;
}

}  // namespace tfd::step
