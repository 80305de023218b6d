// SPDX-License-Identifier: Apache-2.0
//
// Plans made into datasets, stage by stage: what only shows where the data are is checked by each kind's row.
#include <filesystem>

#include "plan/stage_kinds.hpp"
#include "tfd/data/plan.hpp"
#include "transformations/transformations.hpp"

namespace tfd::data {

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
  if (context.ahead > 0) return make_prefetch(std::move(dataset), Prefetch{context.ahead});
  return dataset;
}

}  // namespace tfd::data
