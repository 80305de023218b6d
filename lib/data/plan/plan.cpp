// SPDX-License-Identifier: Apache-2.0
//
// Plans as values: compared, looked into, rewritten.
#include "tfd/data/plan.hpp"

#include <algorithm>

#include "stage_kinds.hpp"

namespace tfd::data {
namespace {

bool same_value(const std::optional<tensor::Tensor>& a, const std::optional<tensor::Tensor>& b) {
  return a && b ? tensor::same_bytes(*a, *b) : a.has_value() == b.has_value();
}

}  // namespace

bool operator==(const SlicesField& a, const SlicesField& b) {
  const bool same_rows = a.rows.has_value() && b.rows.has_value() ? tensor::same_bytes(a.rows, b.rows)
                                                                  : a.rows.has_value() == b.rows.has_value();
  return same_rows && a.name == b.name && a.path == b.path && a.key == b.key;
}
bool operator==(const ExampleFeature& a, const ExampleFeature& b) {
  return a.spec == b.spec && same_value(a.fallback, b.fallback);
}
bool operator==(const Concatenate& a, const Concatenate& b) { return a.others == b.others; }
bool operator==(const Zip& a, const Zip& b) { return a.others == b.others; }
bool operator==(const Interleave& a, const Interleave& b) {
  return a.others == b.others && a.cycle_length == b.cycle_length && a.block_length == b.block_length;
}

std::span<Plan> inner_plans(Stage& stage) {
  return std::visit(
      [](auto& one) -> std::span<Plan> {
        if constexpr (requires { one.others; })
          return one.others;
        else
          return {};
      },
      stage);
}
std::span<const Plan> inner_plans(const Stage& stage) { return inner_plans(const_cast<Stage&>(stage)); }

bool has_stage(const Plan& plan, const std::function<bool(const Stage&)>& is_such) {
  return std::ranges::any_of(plan.stages, [&](const Stage& stage) {
    const auto within = inner_plans(stage);
    return is_such(stage) || std::ranges::any_of(within, [&](const Plan& inner) { return has_stage(inner, is_such); });
  });
}

namespace {

void seed_shuffles(Plan& plan, const std::function<std::uint64_t(std::size_t)>& seed_of, std::size_t& number) {
  for (Stage& stage : plan.stages) {
    if (auto* const shuffle = std::get_if<Shuffle>(&stage)) {
      const std::size_t own = number++;
      if (!shuffle->seed) shuffle->seed = seed_of(own);
    }
    for (Plan& inner : inner_plans(stage)) seed_shuffles(inner, seed_of, number);
  }
}

}  // namespace

void seed_shuffles(Plan& plan, const std::function<std::uint64_t(std::size_t number)>& seed_of) {
  std::size_t number = 0;
  seed_shuffles(plan, seed_of, number);
}

StageTraits traits_of(const Stage& stage) {
  return std::visit(
      []<class Value>(const Value& value) {
        const auto& kind = kind_of(Tag<Value>());
        return kind.traits != nullptr ? kind.traits(value) : StageTraits();
      },
      stage);
}

bool counts_by_content(const Plan& plan) {
  return has_stage(plan, [](const Stage& stage) { return traits_of(stage).elements == ElementTrait::kByContent; });
}

bool repeats_forever(const Plan& plan) {
  for (auto at = plan.stages.rbegin(); at != plan.stages.rend(); ++at) {
    const auto* repeat = std::get_if<Repeat>(&*at);
    if (std::holds_alternative<Take>(*at) || (repeat != nullptr && repeat->count == 0)) return false;
    if (repeat != nullptr && !repeat->count) return true;
    const auto inner = inner_plans(*at);
    if (!std::holds_alternative<Zip>(*at) && std::ranges::any_of(inner, repeats_forever)) return true;
    if (std::holds_alternative<Zip>(*at) && !std::ranges::all_of(inner, repeats_forever)) return false;
  }
  return false;
}

Plan shard(Plan plan, const Shard& shard) {
  const auto stays = [](const Stage& stage) {
    const ElementTrait elements = traits_of(stage).elements;
    return elements == ElementTrait::kUntouched || elements == ElementTrait::kMapped;
  };
  auto at = plan.stages.end();
  while (at != plan.stages.begin() && stays(at[-1])) --at;
  plan.stages.insert(at, shard);
  return plan;
}

std::string why_empty(const Plan& plan, const std::function<Result<std::int64_t>(const Plan&)>& count) {
  for (auto stage = plan.stages.begin(); stage != plan.stages.end(); ++stage) {
    const auto* const batch = std::get_if<Batch>(&*stage);
    const auto* const padded = std::get_if<PaddedBatch>(&*stage);
    if (!(batch != nullptr && batch->drop_remainder) && !(padded != nullptr && padded->drop_remainder)) continue;
    const std::int64_t size = batch != nullptr ? batch->size : padded->size;
    const auto rows = count(Plan{{plan.stages.begin(), stage}});
    if (!rows || *rows <= 0) return "";
    if (*rows < size)
      return fmt::format("{} no batch of {} with drop_remainder",
                         *rows == 1 ? "1 row makes" : fmt::format("{} rows make", *rows), size);
  }
  return "";
}

}  // namespace tfd::data
