// SPDX-License-Identifier: Apache-2.0
#include "batch_line.hpp"

#include <algorithm>

#include "tfd/data/stage_traits.hpp"

namespace tfd::train {
namespace {

/// The rows of an element that a step takes; nullopt: they are not the same in all, or not known.
std::optional<std::int64_t> find_batch(const program::Program& program) {
  for (const program::InputBinding& input : program.find_function(program.train->function)->inputs) {
    if (input.kind != program::InputKind::kDataset) continue;
    const auto plan = program.datasets.find(input.name);
    const auto spec = program.dataset_specs.find(input.name);
    if (plan == program.datasets.end() || spec == program.dataset_specs.end() || spec->second.empty())
      return std::nullopt;
    const auto& shape = spec->second.front().shape;
    if (shape.empty()) return std::nullopt;
    if (shape.front() >= 0) return shape.front();
    for (auto stage = plan->second.stages.rbegin(); stage != plan->second.stages.rend(); ++stage)
      if (const auto size = data::traits_of(*stage).batch_size) return size;
    return std::nullopt;
  }
  return std::nullopt;
}

/// True if the data come in elements for whole steps already, as TensorFlow distributes them.
bool is_distributed(const program::Program& program) {
  return std::ranges::any_of(program.datasets, [](const auto& one) {
    return data::has_stage(one.second,
                           [](const data::Stage& stage) { return std::holds_alternative<data::WholeSteps>(stage); });
  });
}

}  // namespace

std::optional<std::string> describe_batches(const program::Program& program, int replicas, bool of_each_worker) {
  const auto batch = find_batch(program);
  if (replicas < 2 || !batch || *batch == 0) return std::nullopt;
  const std::string who = fmt::format("{} replicas{}", replicas, of_each_worker ? " of each worker" : "");
  if (program.train->replicas == program::Replicas::kSplit) {
    const std::int64_t least = *batch / replicas;
    const std::string each =
        *batch % replicas == 0 ? fmt::format("{}", least) : fmt::format("{} or {}", least, least + 1);
    return fmt::format("{} share batches of {}: {} each", who, *batch, each);
  }
  std::string line = fmt::format("{} take a batch of {} each, {} a step", who, *batch, *batch * replicas);
  if (program.train->states_replicas || is_distributed(program)) return line;
  const std::string steps = replicas == 2 ? "half the steps" : fmt::format("1/{} of the steps", replicas);
  return line + fmt::format(", so an epoch has {}; train.replicas=split shares it", steps);
}

}  // namespace tfd::train
