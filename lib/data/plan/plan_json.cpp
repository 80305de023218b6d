// SPDX-License-Identifier: Apache-2.0
//
// Plans from JSON and as JSON: the table of the kinds of stages.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "stage_json.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

struct Kind {
  std::string_view name;
  bool is_source;
  ReadStage (*read)(const StatedStage&);
};
// In the order of Stage's alternatives.
constexpr std::array kKinds{
    Kind{"csv", true, read_csv},
    Kind{"jsonl", true, read_jsonl},
    Kind{"text", true, read_text},
    Kind{"tfrecord", true, read_tfrecord},
    Kind{"npy", true, read_npy},
    Kind{"idx", true, read_idx},
    Kind{"npz", true, read_npz},
    Kind{"safetensors", true, read_safetensors},
    Kind{"range", true, read_range},
    Kind{"tensor_slices", true, read_tensor_slices},
    Kind{"command", true, read_command},
    Kind{"shuffle", false, read_shuffle},
    Kind{"repeat", false, read_repeat},
    Kind{"batch", false, read_batch},
    Kind{"padded_batch", false, read_padded_batch},
    Kind{"unbatch", false, read_unbatch},
    Kind{"rebatch", false, read_rebatch},
    Kind{"legacy_rebatch", false, read_legacy_rebatch},
    Kind{"whole_steps", false, read_whole_steps},
    Kind{"window", false, read_window},
    Kind{"map", false, read_map},
    Kind{"filter", false, read_filter},
    Kind{"enumerate", false, read_enumerate},
    Kind{"take", false, read_take},
    Kind{"skip", false, read_skip},
    Kind{"shard", false, read_shard},
    Kind{"concatenate", false, read_concatenate},
    Kind{"zip", false, read_zip},
    Kind{"interleave", false, read_interleave},
    Kind{"cache", false, read_cache},
    Kind{"prefetch", false, read_prefetch},
    Kind{"options", false, read_options},
};
static_assert(kKinds.size() == std::variant_size_v<Stage>);

std::vector<std::string> names_of_kinds(bool sources) {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds)
    if (kind.is_source == sources) names.emplace_back(kind.name);
  return names;
}

Result<const Kind*> find_kind(const std::string& name, bool must_be_source) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
  if (found != kKinds.end() && found->is_source == must_be_source) return &*found;
  const auto names = names_of_kinds(must_be_source);
  if (found != kKinds.end())
    return must_be_source ? fail(Code::kInvalidArgument, "a pipeline starts with a source ({})", join_words(names))
                          : fail(Code::kInvalidArgument, "a source can only come first");
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "unknown {}{}", must_be_source ? "source" : "transformation",
              hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
}

}  // namespace

std::string_view name_of(const Stage& stage) { return kKinds[stage.index()].name; }
bool is_source(const Stage& stage) { return kKinds[stage.index()].is_source; }

Result<Plan> parse_inner_plan(const ordered_json& pipeline, const std::string& place, int depth) {
  constexpr int kDeepest = 32;
  if (depth > kDeepest) return fail(Code::kInvalidArgument, "{}: pipelines within {} others", place, kDeepest);
  if (!pipeline.is_array() || pipeline.empty())
    return fail(Code::kInvalidArgument,
                "{}{}a dataset must be a list of stages, such as [{{\"range\": 10}}, {{\"batch\": 2}}]", place,
                place.empty() ? "" : ": ");
  Plan plan;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const ordered_json& stage = pipeline[i];
    if (!stage.is_object() || stage.size() != 1)
      return fail(Code::kInvalidArgument, "{}[{}]: must be an object with one key, such as {}", place, i,
                  i == 0 ? R"({"csv": {…}})" : R"({"batch": {…}})");
    const std::string path = fmt::format("{}[{}].{}", place, i, printable(stage.begin().key()));
    const Kind* kind = TFD_TRY(find_kind(stage.begin().key(), i == 0), path);
    plan.stages.push_back(TFD_TRY(kind->read(StatedStage{stage.begin().value(), path, depth})));
  }
  return plan;
}

Result<Plan> parse_plan(const ordered_json& pipeline) { return parse_inner_plan(pipeline, "", 0); }

ordered_json to_json(const Plan& plan) {
  ordered_json pipeline = ordered_json::array();
  for (const Stage& stage : plan.stages) {
    ordered_json value = std::visit([](const auto& one) { return write(one); }, stage);
    ordered_json one = ordered_json::object();
    one[std::string(name_of(stage))] = std::move(value);
    pipeline.push_back(std::move(one));
  }
  return pipeline;
}

}  // namespace tfd::data
