// SPDX-License-Identifier: Apache-2.0
//
// options: settings of the dataset, whose elements stay as they are.
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "tfd/data/distribute.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

Result<WithOptions> read_options(const StatedStage& stage) {
  if (stage.depth > 0)
    return fail(Code::kInvalidArgument, "{}: belongs to the whole pipeline, not to one within another", stage.path);
  JsonObject options(stage.value, stage.path);
  WithOptions with;
  if (const auto name = options.text("auto_shard")) {
    with.auto_shard = kAutoShardPolicies.find(*name);
    if (!with.auto_shard)
      options.note("auto_shard", fmt::format("must be {}", fmt::join(kAutoShardPolicies.names(), ", ")));
  }
  with.is_dynamic = options.choice("distribute", "", {"dynamic"}) == "dynamic";
  TFD_TRY(options.finish());
  return with;
}

ordered_json write_options(const WithOptions& with) {
  ordered_json out = ordered_json::object();
  if (with.auto_shard) out["auto_shard"] = kAutoShardPolicies.name(*with.auto_shard);
  if (with.is_dynamic) out["distribute"] = "dynamic";
  return out;
}

}  // namespace

const StageKind<WithOptions>& kind_of(Tag<WithOptions>) {
  static constexpr StageKind<WithOptions> kKind{
      .name = "options",
      .read = read_options,
      .write = write_options,
      .make = [](const WithOptions&, const StageSite& site) -> Result<RowDatasetPtr> { return site.input; },
      .traits = [](const WithOptions&) -> StageTraits {
        return {.elements = ElementTrait::kUntouched, .batches = BatchTrait::kKept};
      },
      .tensorflow_cardinality = same_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
