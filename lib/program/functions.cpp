// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

bool is_native(const Node& function) { return function.has("plugin") || function.has("command"); }

/// Requires that two modules of a function differ in their batch size only.
Result<void> check_alike(const hlo::Module& first, const hlo::Module& other, const Node& node) {
  const auto& a = first.signature;
  const auto& b = other.signature;
  const bool counts = a.arguments.size() == b.arguments.size() && a.results.size() == b.results.size();
  const auto alike = [](const hlo::Parameter& x, const hlo::Parameter& y) {
    return x.spec.dtype == y.spec.dtype && x.spec.shape.size() == y.spec.shape.size();
  };
  if (!counts || !std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), alike) ||
      !std::equal(a.results.begin(), a.results.end(), b.results.begin(), alike))
    return node.fail("has a different signature: {}, but {} is {}", hlo::format_signature(b), first.name,
                     hlo::format_signature(a));
  return {};
}

/// Adds the path to a module's error, whose message may begin with the module's name.
Error at_module(Error error, const std::string& path, const Node& node) {
  if (!error.message.starts_with(path)) error = std::move(error).within(path);
  return std::move(error).within(node.path());
}

Result<Modules> read_template(const Node& node, std::string code, const std::vector<std::string>& platforms,
                              std::map<std::string, std::string>& files) {
  const std::string path = TFD_TRY(node.text());
  files[path] = code;
  auto any = hlo::Template::make(path, std::move(code));
  if (!any) return fail(at_module(std::move(any).error(), path, node));
  Modules modules(std::move(*any));
  TFD_TRY(modules.change([&](hlo::Module& module) -> Result<void> {
    module.platforms = platforms;
    return hlo::check_platforms(module);
  }),
          node.path());
  return modules;
}

Result<Modules> parse_modules(const Node& node, const std::vector<std::string>& platforms, const FileReader& read_file,
                              std::map<std::string, std::string>& files) {
  if (!node.is_text() && !node.is_list()) return node.fail_type("a path or a list of paths");
  std::vector<hlo::Module> modules;
  if (node.is_text()) {
    std::string code = TFD_TRY(read_file(TFD_TRY(node.text())), node.path());
    if (hlo::is_template(code)) return read_template(node, std::move(code), platforms, files);
    modules.push_back(TFD_TRY(read_module(node, platforms, read_file, files)));
    return modules;
  }
  for (const Node& element : node.elements()) {
    hlo::Module module = TFD_TRY(read_module(element, platforms, read_file, files));
    if (!modules.empty()) TFD_TRY(check_alike(modules.front(), module, element));
    for (const hlo::Module& other : modules)
      if (other.name == module.name) return element.fail("'{}' appears twice", module.name);
    modules.push_back(std::move(module));
  }
  if (modules.empty()) return node.fail("must not be empty");
  return modules;
}

/// "; 'enc/*' is 3 of them" for every group, or nothing.
std::string count_groups(const Node& bindings, std::string_view key, const std::vector<VariableDef>& variables) {
  std::string text;
  for (const Node& node : bindings.elements()) {
    const auto pattern = node.find(key);
    const bool is_group = pattern && (key == "gradients" || key == "variables" || is_pattern(*pattern));
    const auto names = is_group ? find_group(*pattern, variables, key == "gradients") : std::vector<std::string>();
    if (is_group && names) text += fmt::format("; {} is {} of them", pattern->dump(), names->size());
  }
  return text;
}

/// Binds inputs given as an object keyed by the module's argument names.
Result<void> bind_by_name(const Node& node, const std::vector<hlo::Parameter>& arguments, const std::string& signature,
                          const std::vector<VariableDef>& variables, FunctionDraft& draft) {
  std::vector<std::string> names;
  for (const hlo::Parameter& argument : arguments) names.push_back(argument.name);
  const std::set<std::string_view> known(names.begin(), names.end());
  const auto members = node.members();
  std::map<std::string_view, const Node*> bound;
  for (const auto& [name, child] : members) {
    bound.emplace(name, &child);
    if (!known.contains(name))
      return node.fail_text(Code::kInvalidArgument,
                            fmt::format("the module has no argument '{}'{}{}", name, did_you_mean(name, names),
                                        find_nearest(name, names) ? "" : ": it takes " + signature));
  }
  for (const std::string& name : names) {
    const auto found = bound.find(name);
    if (found == bound.end()) return node.fail("the module's argument '{}' is not bound", name);
    const Node* input = found->second;
    auto bindings = TFD_TRY(parse_input(*input, variables));
    if (input->has("variables"))
      return input->fail("a group is several arguments: list the inputs in the order of the module's arguments");
    draft.inputs.push_back(*input);
    draft.def.inputs.push_back(std::move(bindings.front()));
  }
  return {};
}

/// Parses inputs: a list with one for each argument, or an object by name.
Result<void> parse_inputs(const Node& function, const std::vector<hlo::Parameter>& arguments,
                          const std::string& signature, const std::vector<VariableDef>& variables,
                          FunctionDraft& draft) {
  const auto node = function.find("inputs");
  if (!node && arguments.empty()) return {};
  if (!node) return function.fail("needs 'inputs': the module takes {}", signature);
  if (node->is_object()) return bind_by_name(*node, arguments, signature, variables, draft);
  if (!node->is_list()) return node->fail_type("a list, or an object by argument name");
  for (const Node& input : node->elements())
    for (InputBinding& binding : TFD_TRY(parse_input(input, variables))) {
      draft.inputs.push_back(input);
      draft.def.inputs.push_back(std::move(binding));
    }
  if (draft.inputs.size() != arguments.size())
    return node->fail("{}, but the module takes {}: {}{}", counted(draft.inputs.size(), "binding"),
                      counted(arguments.size(), "argument"), signature, count_groups(*node, "variables", variables));
  return {};
}

Result<void> parse_outputs(const Node& function, std::size_t count, const std::string& signature,
                           const std::vector<VariableDef>& variables, FunctionDraft& draft) {
  const auto node = function.find("outputs");
  if (!node && count == 0) return {};
  if (!node) return function.fail("needs 'outputs': the module is {}", signature);
  if (!node->is_list()) return node->fail_type("a list");
  for (const Node& output : node->elements())
    for (OutputBinding& binding : TFD_TRY(parse_output(output, variables))) {
      draft.outputs.push_back(output);
      draft.def.outputs.push_back(std::move(binding));
    }
  if (draft.outputs.size() != count) {
    std::string groups;
    for (const char* key : {"gradients", "assign", "assign_add", "assign_sub"})
      groups += count_groups(*node, key, variables);
    return node->fail("{}, but the module has {}: {}{}", counted(draft.outputs.size(), "binding"),
                      counted(count, "result"), signature, groups);
  }
  return {};
}

/// Counts the arguments of a call: positions 0, 1, … without a gap, each either a tensor or an iterator throughout.
Result<void> count_arguments(FunctionDraft& draft) {
  std::map<std::string, bool> is_iterator;  // by "arg 0", "kwarg 'x'"
  std::set<int> positions;
  for (std::size_t i = 0; i < draft.inputs.size(); ++i) {
    const InputBinding& binding = draft.def.inputs[i];
    if (binding.kind != InputKind::kArg && binding.kind != InputKind::kKwarg) continue;
    const bool positional = binding.kind == InputKind::kArg;
    const std::string label =
        positional ? fmt::format("arg {}", binding.index) : fmt::format("kwarg '{}'", binding.name);
    const auto [entry, fresh] = is_iterator.emplace(label, binding.field.has_value());
    if (!fresh && entry->second != binding.field.has_value())
      return draft.inputs[i].fail("{} is bound both with and without a field", label);
    if (positional) positions.insert(binding.index);
    if (!positional && fresh) draft.def.kwargs.push_back(binding.name);
  }
  int next = 0;
  for (const int position : positions)
    if (position != next++) return draft.node.fail("arg {} is bound, but arg {} is not", position, next - 1);
  draft.def.arg_count = next;
  return {};
}

/// Numbers a function's random inputs, so that their streams differ.
void number_random_inputs(FunctionDef& def) {
  int next = 0;
  for (InputBinding& input : def.inputs)
    if (input.kind == InputKind::kRng) input.index = next++;
}

}  // namespace

Result<std::vector<std::string>> parse_platforms(const Node& owner) {
  std::vector<std::string> platforms;
  const auto node = owner.find("platforms");
  if (!node) return platforms;
  if (!node->is_list()) return node->fail_type("a list of platforms");
  for (const Node& element : node->elements()) {
    std::string name = TFD_TRY(element.text());
    TFD_TRY(hlo::check_platform_name(name), element.path());
    if (std::find(platforms.begin(), platforms.end(), name) != platforms.end())
      return element.fail("'{}' appears twice", name);
    platforms.push_back(std::move(name));
  }
  if (platforms.empty()) return node->fail("must not be empty");
  return platforms;
}

Result<hlo::Module> read_module(const Node& node, const std::vector<std::string>& platforms,
                                const FileReader& read_file, std::map<std::string, std::string>& files) {
  const std::string path = TFD_TRY(node.text());
  std::string code = TFD_TRY(read_file(path), node.path());
  if (hlo::is_template(code))
    return node.fail("{} is for any batch size: it can only be a function's one module", path);
  std::optional<std::string> sidecar;
  if (hlo::is_bytecode(code)) {
    const std::string beside = hlo::sidecar_path(path);
    auto text = read_file(beside);
    if (!text && text.error().code != Code::kNotFound) return fail(std::move(text).error().within(node.path()));
    if (text) files[beside] = *text;
    if (text) sidecar = *std::move(text);
  }
  files[path] = code;
  auto module = hlo::make_module(path, std::move(code), sidecar);
  if (module) {
    module->platforms = platforms;
    TFD_TRY(hlo::check_platforms(*module), node.path());
    return module;
  }
  return fail(at_module(std::move(module).error(), path, node));
}

Result<void> check_function_keys(const Node& node) {
  if (!is_native(node)) return expect_object(node, {"module", "platforms", "inputs", "outputs", "returns"});
  return expect_object(node, {"plugin", "function", "command", "keep", "timeout", "arguments", "results", "module",
                              "platforms", "inputs", "outputs", "returns"});
}

Result<FunctionDraft> parse_function(const std::string& name, const Node& node,
                                     const std::vector<VariableDef>& variables, const FileReader& read_file,
                                     std::map<std::string, std::string>& files) {
  if (name.empty()) return node.fail("a function needs a name");
  FunctionDraft draft{{}, node, {}, {}};
  draft.def.name = name;
  if (is_native(node)) {
    TFD_TRY(parse_native(node, read_file, files, draft.def));
  } else {
    const auto platforms = TFD_TRY(parse_platforms(node));
    draft.def.modules = TFD_TRY(parse_modules(TFD_TRY(node.member("module")), platforms, read_file, files));
  }
  const hlo::Signature& signature = draft.def.modules.front().signature;
  const std::string text = hlo::format_signature(signature);
  TFD_TRY(parse_inputs(node, signature.arguments, text, variables, draft));
  TFD_TRY(parse_outputs(node, signature.results.size(), text, variables, draft));
  number_random_inputs(draft.def);
  TFD_TRY(count_arguments(draft));
  if (const auto returns = node.find("returns")) {
    if (!returns->is_list()) return returns->fail_type("a list of variables");
    for (const Node& variable : returns->elements()) draft.def.returns.push_back(TFD_TRY(variable.text()));
  }
  return draft;
}

std::vector<std::string> datasets_of(const FunctionDef& def) {
  std::set<std::string> names;
  for (const InputBinding& binding : def.inputs)
    if (binding.kind == InputKind::kDataset) names.insert(binding.name);
  return {names.begin(), names.end()};
}

}  // namespace tfd::program
