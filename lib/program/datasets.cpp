// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "check/typed_paths.hpp"
#include "draft.hpp"
#include "tfd/base/text.hpp"
#include "tfd/data/distribute.hpp"
#include "tfd/data/stage_traits.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::program {
namespace {

std::string data_directory(const Program& program) {
  return program.data_root.empty() ? program.directory : program.data_root;
}

/// For the check nothing is called: a map only has to say what it makes.
data::DatasetContext check_context(const Program& program, bool look_at_files,
                                   std::vector<const FunctionDef*> functions) {
  data::DatasetContext context;
  context.directory = data_directory(program);
  context.look_at_files = look_at_files;
  context.find_function = [functions = std::move(functions)](
                              const std::string& name, const data::ElementSpec& input,
                              const std::vector<std::string>& fields) -> Result<data::MapFunction> {
    const auto found = std::ranges::find(functions, name, &FunctionDef::name);
    if (found == functions.end()) {
      std::vector<std::string> names;
      for (const FunctionDef* function : functions) names.push_back(function->name);
      return fail(Code::kInvalidArgument, "{}", unknown_text("function", name, names));
    }
    data::MapFunction map;
    map.spec = TFD_TRY(plan_map(**found, input, fields)).spec;
    map.call = [name](const data::Element&) -> Result<data::Element> {
      return fail(Code::kFailedPrecondition, "'{}' is only being checked", name);
    };
    return map;
  };
  return context;
}

/// Where `context` collects them, notes the path in the document and the file of each missing dataset.
void note_missing(data::DatasetContext& context, Program& program, const std::string& prefix) {
  context.missing_file = [&program, prefix](const std::string& path, const std::string& file) {
    program.missing_data.insert(fmt::format("{}{}: {}", prefix, path, file));
  };
}

/// True if the stage outputs every input element, in any order and any number of times.
bool keeps_elements(const data::StageTraits& traits) {
  using enum data::ElementTrait;
  return traits.elements == kUntouched || traits.elements == kMapped || traits.elements == kKept;
}

/// True if the output of the stage has another first dimension than the batches of its input, or mixes them.
bool mixes_batches(const data::StageTraits& traits) {
  return traits.batches == data::BatchTrait::kMixed || traits.batches == data::BatchTrait::kKeptOfAll;
}

/// The last batch of the pipeline decides the sizes, if nothing after it takes elements out.
Result<void> find_batch_sizes(const data::Plan& plan, const data::DatasetContext& context, DatasetFacts& facts) {
  auto at = plan.stages.end();
  bool all_kept = true;
  while (at != plan.stages.begin() && !data::traits_of(at[-1]).batch_size) {
    const data::StageTraits traits = data::traits_of(*--at);
    if (mixes_batches(traits)) return {};
    all_kept = keeps_elements(traits) && all_kept;
  }
  if (at == plan.stages.begin()) return {};
  const std::int64_t size = *data::traits_of(*--at).batch_size;
  const auto before = TFD_TRY(data::instantiate(data::Plan{{plan.stages.begin(), at}}, context));
  const auto count = before->cardinality();
  const bool ends = count && *count != data::Dataset::kInfinite;
  if (!ends || *count >= size) facts.full_batch = size;
  if (ends && all_kept && *count % size != 0) facts.remainder = *count % size;
  return {};
}

/// Puts the dataset into the program, once it has been made for its spec. Errors with the path within the pipeline.
Result<DatasetFacts> add_dataset(const std::string& name, data::Plan plan, const data::DatasetContext& context,
                                 Program& program) {
  const data::Plan whole = TFD_TRY(data::part_of(plan, {}));
  const auto dataset = TFD_TRY(data::instantiate(whole, context));
  DatasetFacts facts;
  facts.cardinality = dataset->cardinality();
  if (!facts.cardinality && data::repeats_forever(plan)) facts.cardinality = data::Dataset::kInfinite;
  if (facts.cardinality == 0)
    facts.why_empty = data::why_empty(whole, [&](const data::Plan& part) -> Result<std::int64_t> {
      return TFD_TRY(data::instantiate(part, context))->cardinality().value_or(0);
    });
  const auto varies = [](const data::FieldSpec& field) { return !field.shape.empty() && field.shape[0] < 0; };
  if (std::ranges::any_of(dataset->spec(), varies)) TFD_TRY(find_batch_sizes(whole, context, facts));
  if (context.look_at_files) TFD_TRY(data::state_specs(plan, context));  // for the tasks that can't look at them
  if (facts.cardinality == data::Dataset::kInfinite)
    program.endless_datasets.insert(name);
  else
    program.endless_datasets.erase(name);
  program.datasets[name] = std::move(plan);
  program.dataset_specs[name] = dataset->spec();
  return facts;
}

Result<data::Plan> parse_dataset(const std::string& name, const Node& node) {
  if (name.empty()) return node.fail("a dataset needs a name");
  return at_path(node.path(), data::parse_plan(node.json()));
}

Result<data::Plan> distribute_as_tensorflow(const data::Plan& plan, const data::DatasetContext& context,
                                            const TrainData& data) {
  const auto whole = TFD_TRY(data::instantiate(data::with_hint(plan, {}), context));
  return data::in_turns_as_tensorflow(plan, *whole, data.reader, data.shares_rows);
}

}  // namespace

Facts parse_datasets(const Node& node, const ProgramOptions& options, const std::vector<FunctionDraft>& functions,
                     const std::optional<TrainData>& distributed, const std::optional<ValidationSplit>& split,
                     Program& program, Problems& problems) {
  Facts facts;
  if (!problems.check(node, {R"("dataset":)"}, node.is_object() ? Result<void>() : node.fail_type("an object")))
    return facts;
  std::vector<const FunctionDef*> defs;
  for (const FunctionDraft& draft : functions) defs.push_back(&draft.def);
  data::DatasetContext context = check_context(program, options.look_at_files, std::move(defs));
  const auto trained = split ? node.find(split->trained) : std::nullopt;
  std::optional<data::Plan> whole;  // the dataset that is split
  std::optional<SplitPlans> at;
  if (trained) {
    if (auto plan = parse_dataset(split->trained, *trained)) {  // else its error is noted below
      at = problems.keep(split->node, {mention_of(split->evaluated)}, split_rows(*split, *plan, context));
      whole = std::move(*plan);
    }
  }
  for (const auto& [name, child] : node.members()) {
    const bool is_held_out = split && name == split->evaluated;
    if (is_held_out && !at) continue;
    if (options.data_elsewhere) note_missing(context, program, child.path());
    const Mentions mentions{mention_of(name)};
    auto plan = is_held_out ? held_out_plan(*at, *whole, child) : parse_dataset(name, child);
    if (plan && at && name == split->trained) plan = kept_plan(*at, std::move(*plan));
    if (plan) seed_dataset(program, name, *plan);
    const bool is_distributed = plan && distributed && distributed->datasets.contains(name);
    if (is_distributed && distributed->reader.workers > 1) program.whole_datasets[name] = *plan;
    if (is_distributed) plan = at_path(child.path(), distribute_as_tensorflow(*plan, context, *distributed));
    if (!plan) {
      problems.check_form(mentions, fail(std::move(plan).error()));
      continue;
    }
    auto added = at_path(child.path(), add_dataset(name, std::move(*plan), context, program));
    if (const auto known = problems.keep(child, mentions, std::move(added))) facts[name] = *known;
  }
  return facts;
}

Result<void> set_dataset(Program& program, const std::string& name, const std::string& pipeline,
                         const std::string& working_directory) {
  auto json = TFD_TRY(tensor::parse_json(pipeline), fmt::format("'{}'", printable(pipeline)));
  std::vector<std::string> at{"datasets", name};
  if (!working_directory.empty()) resolve_typed_paths(json, at, working_directory, true);
  std::vector<const FunctionDef*> functions;
  for (const FunctionDef& function : program.functions) functions.push_back(&function);
  const std::string path = "datasets." + printable(name);
  data::DatasetContext context = check_context(program, true, std::move(functions));
  if (!program.missing_data.empty()) note_missing(context, program, path);
  auto plan = TFD_TRY(at_path(path, data::parse_plan(json)), printable(program.path));
  seed_dataset(program, name, plan);
  TFD_TRY(at_path(path, add_dataset(name, std::move(plan), context, program)), printable(program.path));
  return {};
}

Result<std::shared_ptr<const data::Dataset>> make_dataset(const Program& program, const std::string& name,
                                                          const data::DatasetContext& context,
                                                          const data::Shard& part) {
  const auto found = program.datasets.find(name);
  if (found == program.datasets.end()) {
    std::vector<std::string> names;
    for (const auto& [known, plan] : program.datasets) names.push_back(known);
    return fail(Code::kNotFound, "{}", unknown_text("dataset", name, names));
  }
  return make_dataset(program, name, TFD_TRY(data::part_of(found->second, part), "datasets." + name), context);
}

Result<std::shared_ptr<const data::Dataset>> make_dataset(const Program& program, const std::string& name,
                                                          const data::Plan& plan, const data::DatasetContext& context) {
  data::DatasetContext placed = context;
  if (placed.directory.empty()) placed.directory = data_directory(program);
  auto dataset = data::instantiate(plan, placed);
  if (!dataset) return fail(continue_path("datasets." + name, std::move(dataset).error()));
  return dataset;
}

}  // namespace tfd::program
