// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

using Json = nlohmann::ordered_json;

/// For the check nothing is called: a map only has to say what it makes.
data::DatasetContext check_context(const Program& program, const ProgramOptions& options,
                                   const std::vector<FunctionDraft>& functions) {
  data::DatasetContext context;
  context.directory = options.data_root.empty() ? program.directory : options.data_root;
  context.look_at_files = options.look_at_files;
  context.find_function = [&functions](const std::string& name, const data::ElementSpec& input,
                                       const std::vector<std::string>& fields) -> Result<data::MapFunction> {
    std::vector<std::string> names;
    for (const FunctionDraft& draft : functions) {
      names.push_back(draft.def.name);
      if (draft.def.name != name) continue;
      data::MapFunction map;
      map.spec = TFD_TRY(plan_map(draft.def, input, fields)).spec;
      map.call = [name](const data::Element&) -> Result<data::Element> {
        return fail(Code::kFailedPrecondition, "'{}' is only being checked", name);
      };
      return map;
    }
    return fail(Code::kInvalidArgument, "{}", unknown_text("function", name, names));
  };
  return context;
}

/// The last batch of the pipeline decides the sizes, if nothing after it takes elements out.
Result<void> find_batch_sizes(const Json& pipeline, const data::DatasetContext& context, DatasetFacts& facts) {
  constexpr std::array<std::string_view, 4> kKeepsElements{"repeat", "prefetch", "shuffle", "map"};
  std::size_t at = pipeline.size();
  bool all_kept = true;
  while (at > 0 && !pipeline[at - 1].contains("batch")) {
    --at;
    const std::string key = pipeline[at].begin().key();
    all_kept = all_kept && std::find(kKeepsElements.begin(), kKeepsElements.end(), key) != kKeepsElements.end();
  }
  if (at == 0) return {};
  const Json& batch = pipeline[at - 1]["batch"];
  const auto size = batch.is_object() ? batch.value("size", std::int64_t{0}) : batch.get<std::int64_t>();
  if (size <= 0 || at < 2) return {};
  const auto before = TFD_TRY(
      data::make_dataset(Json(pipeline.begin(), pipeline.begin() + static_cast<std::ptrdiff_t>(at - 1)), context));
  const auto count = before->cardinality();
  const bool ends = count && *count != data::Dataset::kInfinite;
  if (!ends || *count >= size) facts.full_batch = size;
  if (ends && all_kept && *count % size != 0) facts.remainder = *count % size;
  return {};
}

/// Whether the pipeline repeats without a count, though how much is unknown (a csv file), and nothing ends it later.
bool repeats_forever(const Json& pipeline) {
  for (std::size_t i = pipeline.size(); i-- > 0;) {
    if (pipeline[i].contains("take")) return false;
    if (!pipeline[i].contains("repeat")) continue;
    const Json& repeat = pipeline[i]["repeat"];
    if ((repeat.is_object() ? repeat.value("count", std::int64_t{-1}) : repeat.get<std::int64_t>()) == -1) return true;
  }
  return false;
}

Result<DatasetFacts> parse_dataset(const std::string& name, const Node& node, const data::DatasetContext& context,
                                   Program& program) {
  if (name.empty()) return node.fail("a dataset needs a name");
  auto dataset = data::make_dataset(node.json(), context);
  if (!dataset) return fail(continue_path(node.path(), std::move(dataset).error()));
  DatasetFacts facts;
  facts.cardinality = (*dataset)->cardinality();
  if (!facts.cardinality && repeats_forever(node.json())) facts.cardinality = data::Dataset::kInfinite;
  if (facts.cardinality == data::Dataset::kInfinite) program.endless_datasets.insert(name);
  const auto varies = [](const data::FieldSpec& field) { return !field.shape.empty() && field.shape[0] < 0; };
  const data::ElementSpec& spec = (*dataset)->spec();
  if (std::any_of(spec.begin(), spec.end(), varies)) {
    auto found = find_batch_sizes(node.json(), context, facts);
    if (!found) return fail(continue_path(node.path(), std::move(found).error()));
  }
  program.datasets[name] = node.dump();
  program.dataset_specs[name] = spec;
  return facts;
}

/// The description of one npy field: the object that has its "path".
void state_spec(Json& field, const data::FieldSpec& spec) {
  field["dtype"] = tensor::dtype_name(spec.dtype);
  field["shape"] = spec.shape;
}

}  // namespace

void state_npy_specs(Json& document, const data::DatasetContext& context) {
  if (!document.contains("datasets")) return;
  for (auto& [name, pipeline] : document["datasets"].items()) {
    Json& source = pipeline[0];
    if (!source.contains("npy")) continue;
    const auto dataset = data::make_dataset(Json::array({source}), context);
    if (!dataset) continue;  // it was made a moment ago: the task will say what is wrong with it now
    Json& npy = source["npy"];
    for (const data::FieldSpec& field : (*dataset)->spec())
      state_spec(npy.contains("fields") ? npy["fields"][field.name] : npy, field);
  }
}

Facts parse_datasets(const Node& node, const ProgramOptions& options, const std::vector<FunctionDraft>& functions,
                     Program& program, Problems& problems) {
  Facts facts;
  if (!problems.check(node, {R"("dataset":)"}, node.is_object() ? Result<void>() : node.fail_type("an object")))
    return facts;
  data::DatasetContext context = check_context(program, options, functions);
  for (const auto& [name, child] : node.members()) {
    if (options.data_elsewhere)
      context.missing_file = [&program, prefix = child.path()](const std::string& path, const std::string& file) {
        program.missing_data.insert(fmt::format("{}{}: {}", prefix, path, file));
      };
    if (const auto known = problems.keep(child, {mention_of(name)}, parse_dataset(name, child, context, program)))
      facts[name] = *known;
  }
  return facts;
}

Result<std::shared_ptr<const data::Dataset>> make_dataset(const Program& program, const std::string& name,
                                                          const data::DatasetContext& context) {
  const auto found = program.datasets.find(name);
  if (found == program.datasets.end()) {
    std::vector<std::string> names;
    for (const auto& [known, json] : program.datasets) names.push_back(known);
    return fail(Code::kNotFound, "{}", unknown_text("dataset", name, names));
  }
  data::DatasetContext placed = context;
  if (placed.directory.empty()) placed.directory = program.data_root.empty() ? program.directory : program.data_root;
  auto dataset = data::make_dataset(Json::parse(found->second), placed);
  if (!dataset) return fail(continue_path("datasets." + name, std::move(dataset).error()));
  return dataset;
}

}  // namespace tfd::program
