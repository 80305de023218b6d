// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/nonfinite.hpp"

#include <algorithm>
#include <cmath>

namespace tfd::step {
namespace {

using program::OutputKind;

constexpr std::int64_t kLookedAt = std::int64_t{1} << 24;  // elements

/// True if its initial value, sampled by rows, is not finite: that of a smallest loss so far, a mask.
bool may_begin_nonfinite(const program::VariableDef& variable) {
  variable::CheckpointFiles files;
  std::optional<variable::RowRange> rows;
  const std::int64_t elements = tensor::element_count(variable.spec.shape);
  if (elements > kLookedAt && !variable.spec.shape.empty())
    rows = {0, std::max<std::int64_t>(kLookedAt / (elements / variable.spec.shape[0]), 1)};
  const auto initial = program::make_initial_value(variable, files, rows);
  return !initial || !variable::is_finite(*initial);
}

}  // namespace

std::string_view describe_nonfinite(double value) { return std::isnan(value) ? "NaN" : "infinite"; }

Error nonfinite_loss(std::string_view metric, double value, std::int64_t step, int replica) {
  const std::string whose = replica < 0 ? "" : fmt::format(" of replica {}", replica);
  return {Code::kInternal,
          fmt::format("metric '{}'{} is {} at step {} (train.on_nonfinite=continue goes on with it)", metric, whose,
                      describe_nonfinite(value), step),
          {}};
}

Error nonfinite_gradient(std::string_view function, std::string_view variable, std::int64_t step) {
  return {
      Code::kInternal, fmt::format("{}: the gradient of '{}' is not finite at step {}", function, variable, step), {}};
}

LossWatch::LossWatch(const program::Program& program, std::string_view function) {
  const program::FunctionDef* const def = program.find_function(function);
  if (def == nullptr || !program.stops_at_nonfinite()) return;
  const auto take = [&](bool all) {
    for (const program::OutputBinding& output : def->outputs)
      if (output.kind == OutputKind::kMetric && (all || output.name.ends_with("loss"))) losses_.push_back(output.name);
  };
  take(false);
  if (losses_.empty()) take(true);
}

bool LossWatch::is_loss(std::string_view metric) const { return std::ranges::find(losses_, metric) != losses_.end(); }

Result<void> LossWatch::check(const std::vector<Metric>& metrics, std::int64_t step, int replica) const {
  for (const Metric& one : metrics) {
    const bool is_number = one.formula == program::Formula::kPlain && one.weight != 0;  // a mean of nothing is NaN
    if (is_number && !std::isfinite(one.value) && is_loss(one.name))
      return fail(nonfinite_loss(one.name, one.value, step, replica));
  }
  return {};
}

std::vector<std::string> variables_to_stay_finite(const program::Program& program) {
  std::vector<std::string> out;
  const program::FunctionDef* const def = program.train ? program.find_function(program.train->function) : nullptr;
  if (def == nullptr || !program.stops_at_nonfinite()) return out;
  for (const program::OutputBinding& output : def->outputs) {
    if (output.kind == OutputKind::kMetric || output.kind == OutputKind::kResult) continue;
    const program::VariableDef* const variable = program.find_variable(output.name);
    if (variable == nullptr || variable->per_worker || !tensor::is_floating(variable->spec.dtype)) continue;
    if (std::ranges::find(out, output.name) != out.end()) continue;
    if (output.kind == OutputKind::kGradient || !may_begin_nonfinite(*variable)) out.push_back(output.name);
  }
  return out;
}

}  // namespace tfd::step
