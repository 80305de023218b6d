// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "draft.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/variable/initializer.hpp"

namespace tfd::program {
namespace {

constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxNameLength = 256;

Result<void> check_name(const std::string& name, const Node& node) {
  if (name.empty()) return node.fail("a variable needs a name");
  if (name.size() > kMaxNameLength) return node.fail("the name is longer than {} bytes", kMaxNameLength);
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '*')
      return node.fail("a variable's name must not contain '*' or control characters");
  // "w/.optimizer/momentum" and ".iterations" are tfd's own in checkpoints.
  if (name.front() == '.' || name.find("/.") != std::string::npos)
    return node.fail("no part of a variable's name may start with '.'");
  return {};
}

Result<tensor::Shape> parse_shape(const Node& node) {
  if (!node.is_list()) return node.fail_type("a list of dimensions");
  tensor::Shape shape;
  for (const Node& dimension : node.elements()) shape.push_back(TFD_TRY(dimension.integer(0)));
  if (shape.size() > kMaxRank) return node.fail("more than {} dimensions", kMaxRank);
  return shape;
}

Result<void> parse_init(const Node& variable_node, const VariableSources& sources, VariableDef& variable) {
  // A value from the file needs no "init"; a stated one is for runs without the file.
  if (sources.weights != nullptr && !variable_node.has("init")) return {};
  const Node node = TFD_TRY(variable_node.member("init"));
  variable.init = TFD_TRY(
      at_path(node.path(), variable::parse_initializer(node.json(), variable.spec, sources.directory, sources.files)));
  return {};
}

/// Parses aggregation, synchronization, and trainable, whose default depends on them.
Result<void> parse_kind(const Node& node, VariableDef& variable) {
  const tensor::DType dtype = variable.spec.dtype;
  variable.aggregation = variable::default_aggregation(dtype);
  if (const auto aggregation = node.find("aggregation"))
    variable.aggregation =
        TFD_TRY(at_path(aggregation->path(), variable::parse_aggregation(TFD_TRY(aggregation->text()))));
  auto synchronization = variable::Synchronization::kAuto;
  const auto stated = node.find("synchronization");
  if (stated)
    synchronization = TFD_TRY(at_path(stated->path(), variable::parse_synchronization(TFD_TRY(stated->text()))));
  const bool about_synchronization = stated && synchronization == variable::Synchronization::kNone;
  const Node blamed = about_synchronization ? *stated : node.find("aggregation").value_or(node);
  const auto kind = TFD_TRY(
      at_path(blamed.path(), variable::resolve_kind(dtype, synchronization, variable.aggregation, std::nullopt)));
  variable.synchronization = kind.synchronization;
  variable.trainable = kind.trainable && tensor::is_floating(dtype);
  if (const auto trainable = node.find("trainable")) {
    variable.trainable = TFD_TRY(trainable->boolean());
    if (variable.trainable && !tensor::is_floating(dtype))
      return trainable->fail("an {} variable cannot be trainable", tensor::dtype_name(dtype));
  }
  return {};
}

Result<void> parse_place(const Node& node, const std::vector<VariableDef>& before, VariableDef& variable) {
  if (const auto partitioner = node.find("partitioner")) {
    variable.partitioner = TFD_TRY(at_path(partitioner->path(), variable::parse_partitioner(partitioner->json())));
    TFD_TRY(at_path(partitioner->path(), shards_of(variable)));
  }
  const auto beside = node.find("colocate_with");
  if (!beside) return {};
  if (variable.partitioner)
    return beside->fail("a variable with 'colocate_with' is not partitioned: it can't have a 'partitioner'");
  variable.colocate_with = TFD_TRY(beside->text());
  for (const VariableDef& other : before) {
    if (other.name != variable.colocate_with) continue;
    if (other.per_worker) return beside->fail("variable '{}' is not on a parameter server", other.name);
    const std::int64_t shards = TFD_TRY(shards_of(other));
    if (shards > 1) return beside->fail("variable '{}' is in {} shards", other.name, shards);
    return {};
  }
  return beside->fail("there is no variable '{}' before this one{}", variable.colocate_with,
                      did_you_mean(variable.colocate_with, names_of(before)));
}

Result<void> parse_per_worker(const Node& node, VariableDef& variable) {
  const auto stated = node.find("per_worker");
  if (!stated) return {};
  variable.per_worker = TFD_TRY(stated->boolean());
  if (!variable.per_worker) return {};
  for (const char* key : {"partitioner", "colocate_with"})
    if (const auto other = node.find(key))
      return other->fail("a per-worker variable is not on a parameter server: it can't have '{}'", key);
  if (const auto trainable = node.find("trainable"); trainable && variable.trainable)
    return trainable->fail("a per-worker variable can't be trainable: no optimizer updates it");
  variable.trainable = false;
  return {};
}

Result<VariableDef> parse_variable(const std::string& name, const Node& node, const VariableSources& sources,
                                   const std::vector<VariableDef>& before) {
  TFD_TRY(check_name(name, node));
  VariableDef variable;
  variable.name = name;
  const Node shape = TFD_TRY(node.member("shape"));
  variable.spec.shape = TFD_TRY(parse_shape(shape));
  if (const auto dtype = node.find("dtype"))
    variable.spec.dtype = TFD_TRY(tensor::parse_dtype(TFD_TRY(dtype->text())), dtype->path());
  TFD_TRY(tensor::checked_byte_size(variable.spec.dtype, variable.spec.shape), shape.path());

  TFD_TRY(parse_init(node, sources, variable));
  TFD_TRY(parse_kind(node, variable));
  TFD_TRY(parse_place(node, before, variable));
  TFD_TRY(parse_per_worker(node, variable));
  return variable;
}

/// Handles "weights": one file has the values of all variables; further tensors in it are ignored.
Result<void> initialise_all(const Node& weights, const VariableSources& sources, std::vector<VariableDef>& variables,
                            Problems& problems) {
  const std::string name = TFD_TRY(weights.text());
  const std::string path = (std::filesystem::path(sources.directory) / name).lexically_normal().string();
  const variable::CheckpointReader* stored = nullptr;
  if (sources.files != nullptr) stored = TFD_TRY(sources.files->open(path), weights.path());
  for (VariableDef& variable : variables) {
    if (stored != nullptr) {
      auto checked = variable::check_stored(*stored, variable.name, variable.spec);
      if (!checked) checked = fail(std::move(checked).error().within(weights.path()));
      problems.check(weights, {}, std::move(checked));
    }
    variable.init = variable::FileInit{path, variable.name};
  }
  return {};
}

}  // namespace

Result<std::int64_t> shards_of(const VariableDef& variable) {
  if (!variable.partitioner || variable.spec.shape.empty()) return 1;
  const auto bytes = static_cast<std::int64_t>(tensor::dtype_size(variable.spec.dtype));
  return variable::shard_count(TFD_TRY(variable.partitioner->partitions(variable.spec.shape, bytes)),
                               variable.spec.shape);
}

std::vector<VariableDef> parse_variables(const Node& node, const VariableSources& sources, Problems& problems) {
  std::vector<VariableDef> variables;
  if (!problems.check(node, {""}, node.is_object() ? Result<void>() : node.fail_type("an object"))) return variables;
  for (const auto& [name, child] : node.members()) {
    const Mentions mentions{mention_of(name), R"("variables":)", R"("gradients":)", R"("groups":)",
                            R"("exclude_from_weight_decay":)"};
    const bool is_known = problems.check_form(
        mentions, expect_object(child, {"shape", "dtype", "init", "trainable", "aggregation", "synchronization",
                                        "partitioner", "colocate_with", "per_worker"}));
    if (!is_known) continue;
    if (auto variable = problems.keep(child, mentions, parse_variable(name, child, sources, variables)))
      variables.push_back(std::move(*variable));
  }
  if (sources.weights != nullptr && sources.weights->text())
    problems.check(*sources.weights, {}, initialise_all(*sources.weights, sources, variables, problems));
  return variables;
}

std::vector<variable::VariableToPlace> variables_to_place(const Program& program) {
  std::vector<variable::VariableToPlace> out;
  for (const VariableDef& variable : program.variables)
    if (!variable.per_worker)
      out.push_back({variable.name, variable.spec, variable.partitioner, variable.colocate_with});
  return out;
}

Result<tensor::Tensor> make_initial_value(const VariableDef& variable, variable::CheckpointFiles& files,
                                          std::optional<variable::RowRange> rows) {
  return TFD_TRY(variable::make_initial_value(variable.init, variable.spec, files, rows), "variables." + variable.name);
}

}  // namespace tfd::program
