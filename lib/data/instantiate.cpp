// SPDX-License-Identifier: Apache-2.0
//
// Plans made into datasets, stage by stage: what only shows where the data are is checked by each kind's row.
#include <algorithm>
#include <filesystem>

#include "plan/stage_kinds.hpp"
#include "tfd/data/distribute.hpp"
#include "tfd/data/plan.hpp"
#include "transformations/transformations.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kSmall = 256 << 10;  // bytes of the elements that are made ahead for each one that is asked for
constexpr std::size_t kMostSmall = 8;

// More of small elements are made ahead, so that their thread is woken for several; not of those that a coordinator
// hands out: a worker passes over most of what comes next.
std::size_t made_ahead(const Plan& plan, const ElementSpec& spec, std::size_t asked) {
  std::size_t bytes = 1;
  for (const FieldSpec& field : spec) {
    if (varies(field)) return asked;
    bytes += row_bytes(field);
  }
  return is_dynamic(plan) ? asked : asked * std::clamp(kSmall / bytes, 1UL, kMostSmall);
}

}  // namespace

std::string StageSite::file_path(const std::string& stated) const {
  const std::filesystem::path file(stated);
  return file.is_absolute() || context.directory.empty() ? stated
                                                         : (std::filesystem::path(context.directory) / file).string();
}

Result<RowDatasetPtr> make_rows(const Plan& plan, const DatasetContext& context, const std::string& path) {
  RowDatasetPtr dataset;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    std::string at = fmt::format("{}[{}].{}", path, i, name_of(stage));
    if (is_source(stage) != (i == 0))
      return fail(Code::kInvalidArgument, "{}: a pipeline starts with a source, and has one", at);
    Plan before{{plan.stages.begin(), plan.stages.begin() + static_cast<std::ptrdiff_t>(i)}};
    const StageSite site{context, std::move(at), std::move(before), dataset};
    const auto make = [&]<class Value>(const Value& value) { return kind_of(Tag<Value>()).make(value, site); };
    dataset = TFD_TRY(std::visit(make, stage));
  }
  if (!dataset)
    return fail(Code::kInvalidArgument, "{}a pipeline starts with a source", path.empty() ? "" : path + ": ");
  return dataset;
}

Result<void> state_specs(Plan& plan, const DatasetContext& context) {
  DatasetContext silent = context;
  if (silent.missing_file) silent.missing_file = [](const std::string&, const std::string&) {};
  for (Stage& stage : plan.stages) {
    const auto state = [&]<class Value>(Value& value) -> Result<void> {
      const auto& kind = kind_of(Tag<Value>());
      if (kind.state_spec == nullptr) return {};
      const RowDatasetPtr rows = TFD_TRY(make_rows(Plan{{value}}, silent, ""));
      kind.state_spec(value, rows->spec());
      return {};
    };
    TFD_TRY(std::visit(state, stage));
    for (Plan& inner : inner_plans(stage)) TFD_TRY(state_specs(inner, silent));
  }
  return {};
}

Result<std::shared_ptr<const Dataset>> instantiate(const Plan& plan, const DatasetContext& context) {
  RowDatasetPtr dataset = TFD_TRY(make_rows(plan, context, ""));
  if (context.ahead == 0) return dataset;
  const std::size_t ahead = made_ahead(plan, dataset->spec(), static_cast<std::size_t>(context.ahead));
  return make_prefetch(std::move(dataset), ahead, ahead / 2);
}

Result<std::int64_t> count_elements(const Dataset& dataset) {
  if (const auto count = dataset.cardinality()) return *count;
  const auto iterator = TFD_TRY(dataset.iterate());
  std::int64_t count = 0;
  while (TFD_TRY(iterator->next())) ++count;
  return count;
}

}  // namespace tfd::data
