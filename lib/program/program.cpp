// SPDX-License-Identifier: Apache-2.0
#include "tfd/program/program.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "document.hpp"
#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr std::uintmax_t kMaxFile = std::uintmax_t{1} << 30;

Result<std::string> read_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error))
    return fail(Code::kInvalidArgument, "cannot read {}: is a directory", printable(path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno, fmt::format("cannot read {}", printable(path)));
  std::string text;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof buffer), file.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxFile)
      return fail(Code::kInvalidArgument, "cannot read {}: larger than 1GiB", printable(path));
  }
  if (file.bad()) return fail_errno(errno, fmt::format("cannot read {}", printable(path)));
  return text;
}

Result<void> check_version(const Node& root) {
  const Node version = TFD_TRY(root.member("v"));
  const auto number = TFD_TRY(version.integer(1));
  if (number != 1) return version.fail("this tfd reads version 1, not {}", number);
  return {};
}

Result<void> parse_optimizer(const Node& node, const FileReader& read_file, Program& program) {
  if (node.has("module")) return parse_update_module(node, read_file, program);
  auto optimizer = variable::make_optimizer(node.json());
  if (!optimizer) {  // its paths may have patterns in them, which continue_path() doesn't take for one
    Error error = std::move(optimizer).error();
    error.message = fmt::format("{}{}{}", node.path(), error.message.starts_with("must ") ? ": " : ".", error.message);
    return fail(std::move(error));
  }
  program.rules = *optimizer;
  program.optimizer = node.dump();
  return {};
}

/// The variable of a loss scale that moves, where a function takes it. The last one: the places of others don't change.
void add_loss_scale(Program& program) {
  const bool is_taken =
      std::any_of(program.functions.begin(), program.functions.end(), [](const FunctionDef& function) {
        const auto names = function.variables_read();
        return std::find(names.begin(), names.end(), kLossScaleVariable) != names.end();
      });
  if (!is_taken) return;
  VariableDef scale;
  scale.name = kLossScaleVariable;
  scale.spec = {tensor::DType::kF32, {}};
  scale.init = fmt::format(R"({{"constant": {{"value": {}}}}})", program.rules->loss_scale()->initial);
  scale.trainable = false;
  scale.aggregation = variable::Aggregation::kNone;
  program.variables.push_back(std::move(scale));
}

/// Whether it is what train runs with "replicas": "split"; what is wrong there is said later.
bool splits_its_data(const Node& root, const std::string& function) {
  const auto train = root.find("train");
  if (!train || !train->is_object()) return false;
  const auto says = [&](std::string_view key, const std::string& text) {
    const auto node = train->find(key);
    return node && node->is_text() && node->any_text() == text;
  };
  return says("function", function) && says("replicas", "split");
}

Result<Program> parse_root(const Node& root, const std::string& directory, const FileReader& reader,
                           const ProgramOptions& options) {
  TFD_TRY(root.expect_object({"v", "seed", "weights", "variables", "optimizer", "datasets", "functions", "train"}));
  TFD_TRY(check_version(root));
  Program program;
  program.directory = directory;
  if (const auto node = root.find("seed")) program.seed = static_cast<std::uint64_t>(TFD_TRY(node->integer(0)));
  const auto weights = root.find("weights");
  if (weights) TFD_TRY(weights->text());
  const VariableSources sources{directory, options.look_at_files, weights ? &*weights : nullptr};
  if (const auto node = root.find("variables")) program.variables = TFD_TRY(parse_variables(*node, sources));
  if (const auto node = root.find("optimizer")) TFD_TRY(parse_optimizer(*node, reader, program));

  std::vector<FunctionDraft> drafts;
  if (const auto node = root.find("functions")) {
    if (!node->is_object()) return node->fail_type("an object");
    for (const auto& [name, child] : node->members())
      drafts.push_back(TFD_TRY(parse_function(name, child, program.variables, reader, program.files)));
  }
  Facts facts;
  if (const auto node = root.find("datasets")) facts = TFD_TRY(parse_datasets(*node, options, drafts, program));
  for (FunctionDraft& draft : drafts) {
    draft.splits = splits_its_data(root, draft.def.name);
    draft.replicas = options.replicas;
    TFD_TRY(check_function(draft, program, facts));
    TFD_TRY(check_shardings(draft, options.logical_devices));
    program.functions.push_back(std::move(draft.def));
  }
  if (const auto node = root.find("optimizer")) TFD_TRY(check_optimizer(*node, program));
  add_loss_scale(program);
  if (const auto node = root.find("train")) program.train = TFD_TRY(parse_train(*node, program, facts));
  return program;
}

template <class T>
std::vector<std::string> collect_names(const std::vector<T>& named) {
  std::vector<std::string> names;
  for (const T& entry : named) names.push_back(entry.name);
  return names;
}

template <class T>
const T* find_named(const std::vector<T>& named, std::string_view name) {
  for (const T& entry : named)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<VariableDef>& variables) { return collect_names(variables); }
std::vector<std::string> names_of(const std::vector<FunctionDef>& functions) { return collect_names(functions); }
std::vector<std::string> names_of(const data::ElementSpec& fields) { return collect_names(fields); }

std::vector<std::string> FunctionDef::variables_read() const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const InputBinding& input : inputs)
    if ((input.kind == InputKind::kVariable || (input.kind == InputKind::kLossScale && !input.name.empty())) &&
        seen.insert(input.name).second)
      names.push_back(input.name);
  return names;
}

bool FunctionDef::has_updates() const {
  for (const OutputBinding& output : outputs)
    if (output.kind != OutputKind::kResult && output.kind != OutputKind::kMetric) return true;
  return false;
}

bool Program::has_kind(FunctionKind kind) const {
  for (const FunctionDef& function : functions)
    if (function.kind == kind) return true;
  return false;
}

const VariableDef* Program::find_variable(std::string_view name) const { return find_named(variables, name); }
const FunctionDef* Program::find_function(std::string_view name) const { return find_named(functions, name); }

Result<Program> parse_program(std::string_view document, const std::string& path, const std::string& directory,
                              const FileReader& read_file, const ProgramOptions& options) {
  const std::string where = printable(path);
  const Document json = TFD_TRY(parse_document(document), where);
  for (const std::string& change : options.overrides) TFD_TRY(apply_override(*json, change));
  Program program = TFD_TRY(parse_root(Node(*json, ""), directory, read_file, options), where);
  program.path = path;
  if (options.look_at_files) state_npy_specs(*json, {.directory = directory});
  state_groups(*json, program.variables);
  program.document = dump_document(*json);
  return program;
}

Result<Program> load_program(const std::string& path, const ProgramOptions& options) {
  namespace fs = std::filesystem;
  const std::string text = TFD_TRY(read_file(path));
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return fail_errno(error.value(), fmt::format("cannot find {}", printable(path)));
  const fs::path directory = absolute.lexically_normal().parent_path();
  const FileReader reader = [&](const std::string& name) {
    if (auto signature = find_plugin_signature(directory.string(), name)) return std::move(*signature);
    return read_file((directory / name).string());
  };
  return parse_program(text, path, directory.string(), reader, options);
}

}  // namespace tfd::program
