// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "draft.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr int kMaxIndex = 4095;

constexpr NameTable<InputKind, 6> kPlainInputs{{{{InputKind::kStep, "step"},
                                                 {InputKind::kLearningRate, "learning_rate"},
                                                 {InputKind::kLossScale, "loss_scale"},
                                                 {InputKind::kReplicaId, "replica_id"},
                                                 {InputKind::kNumReplicas, "num_replicas"},
                                                 {InputKind::kRng, "rng"}}}};

/// Forms of an input, by the one key that states its kind; some mean more than one input.
enum class InputForm { kVariable, kGroup, kDataset, kArg, kKwarg, kLookup, kRng };
constexpr NameTable<InputForm, 7> kInputKeys{{{{InputForm::kVariable, "variable"},
                                               {InputForm::kGroup, "variables"},
                                               {InputForm::kDataset, "dataset"},
                                               {InputForm::kArg, "arg"},
                                               {InputForm::kKwarg, "kwarg"},
                                               {InputForm::kLookup, "lookup"},
                                               {InputForm::kRng, "rng"}}}};
/// A group of gradients, the only key that isn't a kind of output.
constexpr std::string_view kGradients = "gradients";
constexpr NameTable<OutputKind, 7> kOutputKeys{{{{OutputKind::kResult, "result"},
                                                 {OutputKind::kMetric, "metric"},
                                                 {OutputKind::kGradient, "gradient"},
                                                 {OutputKind::kGradient, kGradients},
                                                 {OutputKind::kAssign, "assign"},
                                                 {OutputKind::kAssignAdd, "assign_add"},
                                                 {OutputKind::kAssignSub, "assign_sub"}}}};
constexpr NameTable<Reduce, 2> kReduces{{{{Reduce::kMean, "mean"}, {Reduce::kSum, "sum"}}}};
constexpr NameTable<Apply, 2> kApplies{{{{Apply::kDifference, "difference"}, {Apply::kLast, "last"}}}};
constexpr NameTable<RowsPart, 2> kRowsParts{{{{RowsPart::kValues, "values"}, {RowsPart::kIndices, "indices"}}}};
constexpr NameTable<Part, 6> kParts{{{{Part::kNumerator, "numerator"},
                                      {Part::kDenominator, "denominator"},
                                      {Part::kTruePositives, "true_positives"},
                                      {Part::kFalsePositives, "false_positives"},
                                      {Part::kTrueNegatives, "true_negatives"},
                                      {Part::kFalseNegatives, "false_negatives"}}}};
constexpr NameTable<Formula, 5> kFormulas{{{{Formula::kRoot, "root"},
                                            {Formula::kPrecision, "precision"},
                                            {Formula::kRecall, "recall"},
                                            {Formula::kRocAuc, "roc_auc"},
                                            {Formula::kPrAuc, "pr_auc"}}}};

/// Key that every binding that is an object may have.
constexpr std::string_view kSharding = "sharding";

/// Finds the one key of the table that the object has, on which its form depends.
template <class Kind, std::size_t Count>
Result<std::pair<Kind, std::string_view>> find_kind(const Node& node, const NameTable<Kind, Count>& table) {
  std::optional<std::pair<Kind, std::string_view>> found;
  for (const auto& [kind, key] : table.entries) {
    if (!node.has(key)) continue;
    if (found) return node.fail("has both '{}' and '{}'", found->second, key);
    found.emplace(kind, key);
  }
  if (found) return *found;
  // No such key: a typo, or an empty object.
  std::vector<std::string_view> known{kSharding};
  for (const auto& [kind, key] : table.entries) known.push_back(key);
  TFD_TRY(expect_object(node, known));
  return node.fail("must have one of {}", join_words(table.names()));
}

template <class Kind, std::size_t Count>
Result<Kind> parse_name(const Node& node, const NameTable<Kind, Count>& table) {
  const std::string text = TFD_TRY(node.text());
  const auto value = table.find(text);
  if (!value) return node.fail("must be {}, not '{}'", fmt::join(table.names(), " or "), text);
  return *value;
}

Result<int> parse_index(const Node& node) {
  const auto index = TFD_TRY(node.integer(0));
  if (index > kMaxIndex) return node.fail("{} is too large", index);
  return static_cast<int>(index);
}

/// {"dataset": …}, {"arg": …}, {"kwarg": …}: with a field where it is one of several.
Result<InputBinding> parse_source(const Node& node, InputForm form, std::string_view key, bool as_ids) {
  const std::array known{key, std::string_view("field"), kSharding};
  TFD_TRY(expect_object(node, std::span(known).first(as_ids ? 2 : 3)));
  InputBinding binding;
  binding.kind = form == InputForm::kDataset ? InputKind::kDataset
                 : form == InputForm::kArg   ? InputKind::kArg
                                             : InputKind::kKwarg;
  const Node value = TFD_TRY(node.member(key));
  if (form == InputForm::kArg)
    binding.index = TFD_TRY(parse_index(value));
  else
    binding.name = TFD_TRY(value.text());
  if (const auto field = node.find("field")) binding.field = TFD_TRY(field->text());
  return binding;
}

bool is_source(InputForm form) {
  return form == InputForm::kDataset || form == InputForm::kArg || form == InputForm::kKwarg;
}

/// Parses the source of row ids: a dataset or the call.
Result<InputBinding> parse_ids(const Node& node) {
  if (node.is_text()) return node.fail("must be a dataset's field, an arg or a kwarg");
  if (!node.is_object()) return node.fail_type("an object");
  const auto [form, key] = TFD_TRY(find_kind(node, kInputKeys));
  if (!is_source(form)) return node.fail("must be a dataset's field, an arg or a kwarg");
  return parse_source(node, form, key, true);
}

Result<InputBinding> parse_lookup(const Node& node) {
  TFD_TRY(expect_object(node, {"lookup", "ids", kSharding}));
  const std::string table = TFD_TRY(TFD_TRY(node.member("lookup")).text());
  InputBinding binding = TFD_TRY(parse_ids(TFD_TRY(node.member("ids"))));
  binding.lookup = table;
  return binding;
}

/// {"rng": {"dtype": "u32", "shape": [2], "seed": 7}}: the defaults are the module's spec and the program's seed.
Result<InputBinding> parse_rng(const Node& node) {
  TFD_TRY(expect_object(node, {"rng", kSharding}));
  const Node rng = TFD_TRY(node.member("rng"));
  TFD_TRY(expect_object(rng, {"dtype", "shape", "seed"}));
  InputBinding binding;
  binding.kind = InputKind::kRng;
  if (const auto dtype = rng.find("dtype"))
    binding.rng.dtype = TFD_TRY(tensor::parse_dtype(TFD_TRY(dtype->text())), dtype->path());
  if (const auto shape = rng.find("shape")) {
    if (!shape->is_list()) return shape->fail_type("a list of dimensions");
    binding.rng.shape.emplace();
    for (const Node& dimension : shape->elements()) binding.rng.shape->push_back(TFD_TRY(dimension.integer(0)));
  }
  if (const auto seed = rng.find("seed")) binding.rng.seed = static_cast<std::uint64_t>(TFD_TRY(seed->integer(0)));
  return binding;
}

Result<InputBinding> parse_plain_input(const Node& node) {
  const std::string text = TFD_TRY(node.text());
  const auto kind = kPlainInputs.find(text);
  if (!kind) return node.fail_text(Code::kInvalidArgument, unknown_text("input", text, kPlainInputs.names()));
  InputBinding binding;
  binding.kind = *kind;
  return binding;
}

InputBinding variable_input(std::string name) {
  InputBinding binding;
  binding.kind = InputKind::kVariable;
  binding.name = std::move(name);
  return binding;
}

Result<std::vector<InputBinding>> parse_input_group(const Node& node, const std::vector<VariableDef>& variables) {
  TFD_TRY(expect_object(node, {"variables", kSharding}));
  std::vector<InputBinding> bindings;
  for (std::string& name : TFD_TRY(find_group(TFD_TRY(node.member("variables")), variables, false)))
    bindings.push_back(variable_input(std::move(name)));
  return bindings;
}

template <class Binding>
Result<std::vector<Binding>> alone(Result<Binding> binding) {
  if (!binding) return fail(std::move(binding).error());
  std::vector<Binding> bindings;
  bindings.push_back(*std::move(binding));
  return bindings;
}

/// Parses everything but the name.
Result<void> parse_output_details(const Node& node, OutputBinding& binding) {
  if (const auto sharding = node.find(kSharding)) binding.sharding = TFD_TRY(parse_sharding(*sharding));
  const bool updates = binding.kind != OutputKind::kMetric && binding.kind != OutputKind::kResult;
  if (const auto reduce = node.find("reduce")) binding.reduce = TFD_TRY(parse_name(*reduce, kReduces));
  if (const auto apply = node.find("apply")) binding.apply = TFD_TRY(parse_name(*apply, kApplies));
  if (const auto ids = node.find("ids")) {
    if (node.has("part")) return node.fail("has both 'ids' and 'part'");
    binding.ids = TFD_TRY(parse_ids(*ids));
    binding.rows = RowsPart::kValues;
  }
  if (const auto part = node.find("part"); part && updates) {
    binding.rows = TFD_TRY(parse_name(*part, kRowsParts));
  } else if (part) {
    if (node.has("reduce")) return node.fail("has both 'reduce' and 'part': the parts of a ratio are summed");
    if (const auto formula = node.find("formula")) binding.formula = TFD_TRY(parse_name(*formula, kFormulas));
    binding.part = TFD_TRY(parse_name(*part, kParts));
    binding.reduce = Reduce::kSum;
  } else if (node.has("formula")) {
    return node.fail("has a 'formula', but no 'part', of which it is computed");
  }
  return {};
}

bool is_assignment(OutputKind kind) {
  return kind == OutputKind::kAssign || kind == OutputKind::kAssignAdd || kind == OutputKind::kAssignSub;
}

Result<std::vector<InputBinding>> parse_input_object(const Node& node, const std::vector<VariableDef>& variables) {
  if (node.has("lookup")) return alone(parse_lookup(node));
  const auto [form, key] = TFD_TRY(find_kind(node, kInputKeys));
  if (form == InputForm::kGroup) return parse_input_group(node, variables);
  if (form == InputForm::kRng) return alone(parse_rng(node));
  if (is_source(form)) return alone(parse_source(node, form, key, false));
  TFD_TRY(expect_object(node, {key, kSharding}));
  const Node variable = TFD_TRY(node.member(key));
  std::string name = TFD_TRY(variable.text());
  return alone(Result<InputBinding>(variable_input(std::move(name))));
}

}  // namespace

std::string_view part_name(Part part) { return kParts.name(part); }
std::string_view formula_name(Formula formula) { return kFormulas.name(formula); }

Result<std::vector<InputBinding>> parse_input(const Node& node, const std::vector<VariableDef>& variables) {
  if (node.is_text()) return alone(parse_plain_input(node));
  if (!node.is_object()) return node.fail_type("an object or a string");
  auto bindings = TFD_TRY(parse_input_object(node, variables));
  if (const auto sharding = node.find(kSharding)) {
    const OpSharding stated = TFD_TRY(parse_sharding(*sharding));
    for (InputBinding& binding : bindings) binding.sharding = stated;
  }
  return bindings;
}

Result<std::vector<OutputBinding>> parse_output(const Node& node, const std::vector<VariableDef>& variables) {
  if (!node.is_object()) return node.fail_type("an object");
  const auto [kind, key] = TFD_TRY(find_kind(node, kOutputKeys));
  OutputBinding binding;
  binding.kind = kind;
  const Node value = TFD_TRY(node.member(key));
  const bool is_group = key == kGradients || (is_assignment(kind) && is_pattern(value));
  std::vector<std::string_view> known{key, kSharding};
  if (kind == OutputKind::kMetric || kind == OutputKind::kGradient) known.emplace_back("reduce");
  if (kind == OutputKind::kMetric) known.emplace_back("formula");
  if (kind == OutputKind::kAssign) known.emplace_back("apply");
  if (kind != OutputKind::kResult && !is_group) known.emplace_back("part");
  if (kind != OutputKind::kResult && kind != OutputKind::kMetric && !is_group) known.emplace_back("ids");
  TFD_TRY(expect_object(node, known));
  TFD_TRY(parse_output_details(node, binding));
  if (is_group) {
    std::vector<OutputBinding> bindings;
    for (std::string& name : TFD_TRY(find_group(value, variables, kind == OutputKind::kGradient)))
      bindings.emplace_back(binding).name = std::move(name);
    return bindings;
  }
  if (kind == OutputKind::kResult)
    binding.index = TFD_TRY(parse_index(value));
  else
    binding.name = TFD_TRY(value.text());
  return alone(Result<OutputBinding>(std::move(binding)));
}

}  // namespace tfd::program
