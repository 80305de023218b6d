// SPDX-License-Identifier: Apache-2.0
//
// Source: keras.optimizers.LossScaleOptimizer, 3.15; tf.debugging.check_numerics for the error. Keras skips a step's
// gradients that aren't finite; here such a step updates nothing at all, since its assignments can't be trusted either.
#include "gradients.hpp"

#include <algorithm>

#include "tfd/step/nonfinite.hpp"

namespace tfd::step {
namespace {

using tensor::DType;
using tensor::Tensor;
using variable::OnNonfinite;
using variable::UpdateKind;

}  // namespace

Result<double> loss_scale_of(const program::InputBinding& input, const variable::Optimizer& rules,
                             const std::map<std::string, Tensor>& variables) {
  if (input.name.empty()) return rules.loss_scale()->initial;
  const auto found = variables.find(input.name);
  if (found == variables.end() || found->second.spec() != tensor::TensorSpec{DType::kF32, {}})
    return fail(Code::kInternal, "no loss scale was read");
  return found->second.as<float>()[0];
}

Result<void> check_row_numbers(const program::Program& program, const std::vector<variable::Update>& updates) {
  for (const variable::Update& update : updates) {
    if (!variable::updates_rows(update.kind)) continue;
    const auto read = variable::read_indices(update.indices, program.find_variable(update.variable)->spec.shape.at(0));
    if (!read) return fail(Code::kInvalidArgument, "'{}': {}", update.variable, read.error().message);
  }
  return {};
}

Result<void> settle_gradients(const program::Program& program, const program::FunctionDef& function,
                              const std::map<std::string, Tensor>& variables, std::int64_t step, bool clipped,
                              BoundOutputs& bound) {
  if (!program.rules) return {};
  const variable::Optimizer& rules = *program.rules;
  auto& updates = bound.updates;
  const auto bad = std::ranges::find_if(updates, [&](const variable::Update& update) {
    return variable::looks_at_gradients(rules.on_nonfinite()) && is_gradient(update.kind) &&
           !variable::is_finite(update.value);
  });
  if (bad != updates.end() && rules.on_nonfinite() == OnNonfinite::kStop)
    return fail(nonfinite_gradient(function.name, bad->variable, step + 1));
  const bool skips = bad != updates.end();
  const bool trains = std::ranges::any_of(updates, variable::is_gradient, &variable::Update::kind);
  if (skips) {
    updates.clear();
    bound.outcome.metrics = {{"skipped_steps", program::Reduce::kSum, program::Part::kWhole, 1}};
  }
  const auto takes_scale =
      std::ranges::find(function.inputs, program::InputKind::kLossScale, &program::InputBinding::kind);
  if (takes_scale != function.inputs.end() && trains) {
    const double scale = TFD_TRY(loss_scale_of(*takes_scale, rules, variables));
    for (variable::Update& update : updates)
      if (is_gradient(update.kind)) variable::unscale(update.value, scale);
    if (!takes_scale->name.empty())
      updates.push_back({skips ? UpdateKind::kNonfiniteScale : UpdateKind::kFiniteScale, takes_scale->name,
                         Tensor::scalar(DType::kF32, static_cast<float>(scale))});
  }
  TFD_TRY(clipped ? variable::sum_duplicate_rows(updates) : variable::prepare_gradients(rules, updates), function.name);
  return {};
}

}  // namespace tfd::step
