// SPDX-License-Identifier: Apache-2.0
//
// Functions of the kinds `plugin` and `command`. A task gets the plug-in's bytes and its signature with the program,
// and loads it only to run it.
#include "draft.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/function/plugin.hpp"

namespace tfd::program {
namespace {

constexpr std::string_view kSignature = "signature:";

Result<hlo::Parameter> parse_parameter(const Node& node, std::string name) {
  TFD_TRY(expect_object(node, {"name", "dtype", "shape"}));
  hlo::Parameter parameter;
  parameter.name = std::move(name);
  if (const auto stated = node.find("name")) parameter.name = TFD_TRY(stated->text());
  const Node dtype = TFD_TRY(node.member("dtype"));
  parameter.spec.dtype = TFD_TRY(tensor::parse_dtype(TFD_TRY(dtype.text())), dtype.path());
  const Node shape = TFD_TRY(node.member("shape"));
  if (!shape.is_list()) return shape.fail_type("a list of dimensions");
  for (const Node& dimension : shape.elements()) parameter.spec.shape.push_back(TFD_TRY(dimension.integer(0)));
  TFD_TRY(tensor::checked_byte_size(parameter.spec.dtype, parameter.spec.shape), shape.path());
  return parameter;
}

Result<std::vector<hlo::Parameter>> parse_parameters(const Node& function, std::string_view key,
                                                     std::string_view stem) {
  std::vector<hlo::Parameter> out;
  const auto node = function.find(key);
  if (!node) return out;
  if (!node->is_list()) return node->fail_type("a list of {\"dtype\": …, \"shape\": …}");
  for (const Node& element : node->elements())
    out.push_back(TFD_TRY(parse_parameter(element, fmt::format("{}{}", stem, out.size()))));
  return out;
}

Result<hlo::Signature> parse_stated_signature(const Node& node) {
  hlo::Signature signature;
  signature.arguments = TFD_TRY(parse_parameters(node, "arguments", "arg"));
  signature.results = TFD_TRY(parse_parameters(node, "results", "result"));
  return signature;
}

Result<void> parse_plugin(const Node& node, const FileReader& read_file, std::map<std::string, std::string>& files,
                          FunctionDef& def) {
  const Node plugin = TFD_TRY(node.member("plugin"));
  const std::string path = TFD_TRY(plugin.text());
  def.kind = FunctionKind::kPlugin;
  def.plugin_function = def.name;
  if (const auto function = node.find("function")) def.plugin_function = TFD_TRY(function->text());
  hlo::Module module;
  module.name = path;
  module.is_text = false;
  module.may_donate = false;
  module.code = TFD_TRY(read_file(path), plugin.path());
  files[path] = module.code;
  if (node.has("arguments") || node.has("results")) {
    module.signature = TFD_TRY(parse_stated_signature(node));
  } else {
    const std::string key = fmt::format("{}{}:{}", kSignature, def.plugin_function, path);
    const std::string lines = TFD_TRY(read_file(key), plugin.path());
    module.signature = TFD_TRY(hlo::parse_signature(lines), plugin.path());
    files[key] = lines;
  }
  def.modules = Modules({std::move(module)});
  return {};
}

Result<void> parse_command(const Node& node, FunctionDef& def) {
  const Node command = TFD_TRY(node.member("command"));
  if (!command.is_list()) return command.fail_type("a list: the program and its arguments");
  def.kind = FunctionKind::kCommand;
  for (const Node& word : command.elements()) {
    if (!word.is_text()) return word.fail_type("a string");
    def.command.argv.push_back(TFD_TRY(word.any_text()));
  }
  if (def.command.argv.empty() || def.command.argv[0].empty()) return command.fail("must not be empty");
  if (const auto keep = node.find("keep")) def.command.keep = TFD_TRY(keep->boolean());
  if (const auto timeout = node.find("timeout")) {
    def.command.timeout = TFD_TRY(parse_duration(TFD_TRY(timeout->text())), timeout->path());
    if (def.command.timeout <= Duration::zero()) return timeout->fail("must be positive");
  }
  hlo::Module module;
  module.name = def.command.argv[0];
  module.is_text = false;
  module.may_donate = false;
  module.signature = TFD_TRY(parse_stated_signature(node));
  def.modules = Modules({std::move(module)});
  return {};
}

/// Refuses a key of another kind.
Result<void> refuse(const Node& node, std::initializer_list<std::string_view> keys, std::string_view kind) {
  for (const std::string_view key : keys)
    if (const auto found = node.find(key)) return found->fail("only a {} has '{}'", kind, key);
  return {};
}

}  // namespace

Result<void> parse_native(const Node& node, const FileReader& read_file, std::map<std::string, std::string>& files,
                          FunctionDef& def) {
  const bool is_plugin = node.has("plugin");
  if (node.has("module") || (is_plugin && node.has("command")))
    return node.fail("must have one of module, plugin and command");
  TFD_TRY(refuse(node, {"platforms"}, "module"));
  if (!is_plugin) {
    TFD_TRY(refuse(node, {"function"}, "plugin"));
    return parse_command(node, def);
  }
  TFD_TRY(refuse(node, {"keep", "timeout"}, "command"));
  return parse_plugin(node, read_file, files, def);
}

std::optional<Result<std::string>> find_plugin_signature(const std::string& directory, const std::string& key) {
  if (!key.starts_with(kSignature)) return std::nullopt;
  const std::size_t colon = key.find(':', kSignature.size());
  if (colon == std::string::npos) return std::nullopt;
  const std::string path = key.substr(colon + 1);
  const auto query = [&]() -> Result<std::string> {
    const auto plugin = TFD_TRY(function::Plugin::load(path.starts_with('/') ? path : directory + "/" + path));
    return plugin->signature_text(key.substr(kSignature.size(), colon - kSignature.size()));
  };
  return query();
}

}  // namespace tfd::program
