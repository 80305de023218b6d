// SPDX-License-Identifier: Apache-2.0
//
// Plans from JSON and as JSON: a stage is read and written by the row of its kind.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "stage_kinds.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

// A row of the table, usable without knowing the kind.
struct Entry {
  std::string_view name;
  bool is_source;
  Result<Stage> (*read)(const StatedStage&);
};

template <class Value>
Result<Stage> read_as(const StatedStage& stated) {
  return TFD_TRY(kind_of(Tag<Value>()).read(stated));
}

using Entries = std::array<Entry, std::variant_size_v<Stage>>;  // in the order of Stage's alternatives

template <class... Values>
Entries make_entries(const std::variant<Values...>*) {
  return {Entry{kind_of(Tag<Values>()).name, kind_of(Tag<Values>()).is_source, read_as<Values>}...};
}

const Entries& entries() {
  static const Entries made = make_entries(static_cast<const Stage*>(nullptr));
  return made;
}

std::vector<std::string> names_of_stages(bool sources) {
  std::vector<std::string> names;
  for (const Entry& entry : entries())
    if (entry.is_source == sources) names.emplace_back(entry.name);
  return names;
}

Result<const Entry*> find_entry(const std::string& name, bool must_be_source) {
  const auto found = std::ranges::find(entries(), name, &Entry::name);
  if (found != entries().end() && found->is_source == must_be_source) return &*found;
  const auto names = names_of_stages(must_be_source);
  if (found != entries().end())
    return must_be_source ? fail(Code::kInvalidArgument, "a pipeline starts with a source ({})", join_words(names))
                          : fail(Code::kInvalidArgument, "a source can only come first");
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "unknown {}{}", must_be_source ? "source" : "transformation",
              hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
}

}  // namespace

std::string_view name_of(const Stage& stage) { return entries()[stage.index()].name; }
bool is_source(const Stage& stage) { return entries()[stage.index()].is_source; }

ordered_json with_key(const ordered_json& value, const char* key) {
  return value.is_number() ? ordered_json{{key, value}} : value;
}

bool skips_errors(JsonObject& options) { return options.choice("on_error", "fail", {"fail", "skip"}) == "skip"; }

namespace {

/// Appends the stages to a plan, which has its source already, or gets it first.
Result<Plan> parse_stages(Plan plan, const ordered_json& pipeline, const std::string& place, int depth) {
  constexpr int kDeepest = 32;
  if (depth > kDeepest) return fail(Code::kInvalidArgument, "{}: pipelines within {} others", place, kDeepest);
  if (!pipeline.is_array() || pipeline.empty())
    return fail(Code::kInvalidArgument,
                "{}{}a dataset must be a list of stages, such as [{{\"range\": 10}}, {{\"batch\": 2}}]", place,
                place.empty() ? "" : ": ");
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const ordered_json& stage = pipeline[i];
    if (!stage.is_object() || stage.size() != 1)
      return fail(Code::kInvalidArgument, "{}[{}]: must be an object with one key, such as {}", place, i,
                  i == 0 ? R"({"csv": {…}})" : R"({"batch": {…}})");
    const std::string path = fmt::format("{}[{}].{}", place, i, printable(stage.begin().key()));
    const Entry* entry = TFD_TRY(find_entry(stage.begin().key(), plan.stages.empty()), path);
    plan.stages.push_back(TFD_TRY(entry->read(StatedStage{stage.begin().value(), path, depth})));
  }
  return plan;
}

}  // namespace

Result<Plan> parse_inner_plan(const ordered_json& pipeline, const std::string& place, int depth) {
  return parse_stages({}, pipeline, place, depth);
}

Result<Plan> parse_plan(const ordered_json& pipeline) { return parse_inner_plan(pipeline, "", 0); }

Result<Plan> parse_plan_after(Plan beginning, const ordered_json& pipeline) {
  return parse_stages(std::move(beginning), pipeline, "", 0);
}

ordered_json to_json(const Plan& plan) {
  ordered_json pipeline = ordered_json::array();
  for (const Stage& stage : plan.stages) {
    ordered_json value =
        std::visit([]<class Value>(const Value& one) { return kind_of(Tag<Value>()).write(one); }, stage);
    ordered_json one = ordered_json::object();
    one[std::string(name_of(stage))] = std::move(value);
    pipeline.push_back(std::move(one));
  }
  return pipeline;
}

}  // namespace tfd::data
