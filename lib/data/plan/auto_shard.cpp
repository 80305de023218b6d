// SPDX-License-Identifier: Apache-2.0
//
// The part of a plan that a worker reads: its files, or its elements.
#include <algorithm>

#include "../files/file_pattern.hpp"
#include "tfd/base/text.hpp"
#include "tfd/data/distribute.hpp"
#include "tfd/data/stage_traits.hpp"

namespace tfd::data {
namespace {

using Stages = std::vector<Stage>;

Result<void> shard_files(Plan& plan, const Shard& by);

FileList* files_of(Stage& stage) {
  return std::visit(
      [](auto& one) -> FileList* {
        if constexpr (requires { one.files; })
          return &one.files;
        else
          return nullptr;
      },
      stage);
}

// A shard of what a shard has left.
Shard shard_of(const Shard& before, const Shard& by) {
  return {before.count * by.count, before.index + before.count * by.index, false, by.require_non_empty};
}

// Stages that elements go through, however many of them come from which files.
bool passes_files(const Stage& stage) { return !is_source(stage) && !traits_of(stage).needs_all_files; }

// Whether it reads one file, and no other pipelines.
bool reads_one_file(const Stages& stages) {
  Stage source = stages.front();
  const FileList* files = files_of(source);
  return files != nullptr && files->paths.size() == 1 && files->paths[0].find_first_of("*?[") == std::string::npos &&
         std::ranges::all_of(stages, [](const Stage& stage) { return inner_plans(stage).empty(); });
}

// Datasets of a file each, interleaved: every count-th of them. nullopt: they are others.
Result<std::optional<Stages>> shard_interleaved(const Stages& first, const Interleave& interleave, const Shard& by) {
  std::vector<Plan> datasets{Plan{first}};
  datasets.insert(datasets.end(), interleave.others.begin(), interleave.others.end());
  if (!std::ranges::all_of(datasets, [](const Plan& one) { return reads_one_file(one.stages); })) return std::nullopt;
  std::vector<Plan> own;
  for (auto at = static_cast<std::size_t>(by.index); at < datasets.size(); at += static_cast<std::size_t>(by.count))
    own.push_back(datasets[at]);
  if (by.require_non_empty && !own.empty() && std::ssize(datasets) < by.count)
    return too_few_for(by, "there is only " + counted(datasets.size(), "file"));
  Stages stages = own.empty() ? first : own.front().stages;
  if (own.empty()) stages.emplace_back(Take{0});
  if (own.size() < 2) return stages;
  Interleave left = interleave;
  left.others.assign(own.begin() + 1, own.end());
  stages.emplace_back(std::move(left));
  return stages;
}

tl::unexpected<Error> unshardable(const Stage& stage) {
  return fail(Code::kNotFound, "\"auto_shard\": \"file\": no files to share among the workers: {}", name_of(stage));
}

// The files that the stages before `end` read.
Result<void> shard_before(Plan& plan, std::size_t end, const Shard& by) {
  for (std::size_t i = end; i-- > 0;) {
    Stage& stage = plan.stages[i];
    if (FileList* files = files_of(stage)) {
      files->shard = shard_of(files->shard, by);
      return {};
    }
    if (!passes_files(stage)) return unshardable(stage);
    if (const auto* interleave = std::get_if<Interleave>(&stage)) {
      const auto at = plan.stages.begin() + static_cast<std::ptrdiff_t>(i);
      auto own = TFD_TRY(shard_interleaved({plan.stages.begin(), at}, *interleave, by));
      if (own) {
        own->insert(own->end(), std::make_move_iterator(at + 1), std::make_move_iterator(plan.stages.end()));
        plan.stages = *std::move(own);
        return {};
      }
    }
    for (Plan& inner : inner_plans(stage)) TFD_TRY(shard_files(inner, by));
  }
  return fail(Code::kInvalidArgument, "a pipeline starts with a source");
}

Result<void> shard_files(Plan& plan, const Shard& by) { return shard_before(plan, plan.stages.size(), by); }

// Every count-th element, before prefetches and options at the end. Batches that were cut and joined for a worker are
// cut for all replicas instead, whose pieces the workers then take in turns.
Plan shard_elements(Plan plan, std::int64_t replicas, const Shard& by) {
  auto at = plan.stages.end();
  while (at != plan.stages.begin() && traits_of(at[-1]).elements == ElementTrait::kUntouched) --at;
  if (at != plan.stages.begin() && std::holds_alternative<Rebatch>(at[-1])) at[-1] = LegacyRebatch{replicas};
  return by.count == 1 ? plan : shard(std::move(plan), by);
}

}  // namespace

Plan with_hint(Plan plan, const Shard& by) {
  for (Stage& stage : plan.stages) {
    if (auto* stated = std::get_if<Shard>(&stage); stated != nullptr && stated->by_hint) *stated = by;
    for (Plan& inner : inner_plans(stage)) inner = with_hint(std::move(inner), by);
  }
  return plan;
}

Result<Plan> auto_shard(Plan plan, const Reader& reader, AutoShardPolicy policy, bool may_be_empty) {
  using enum AutoShardPolicy;
  if (reader.workers < 1) return fail(Code::kInvalidArgument, "workers must be at least 1, not {}", reader.workers);
  if (reader.worker < 0 || reader.worker >= reader.workers)
    return fail(Code::kInvalidArgument, "the worker's index must be between 0 and {}, not {}", reader.workers - 1,
                reader.worker);
  const Shard by{reader.workers, reader.worker, false, !may_be_empty};
  if (policy == kOff || (policy == kFile && reader.workers == 1)) return plan;
  if (policy == kHint) return with_hint(std::move(plan), by);
  if (policy != kData) {
    Plan by_file = plan;
    const auto sharded = shard_files(by_file, by);
    if (sharded) return by_file;
    if (policy == kFile || sharded.error().code != Code::kNotFound) return fail(sharded.error());
  }
  return shard_elements(std::move(plan), reader.workers * reader.replicas, by);
}

}  // namespace tfd::data
