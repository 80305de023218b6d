// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

using Json = nlohmann::ordered_json;

/// Matching variables that the program states; the implicit loss scale belongs to no group.
std::vector<std::string> matching(std::string_view pattern, const std::vector<VariableDef>& variables, bool gradients) {
  std::vector<std::string> names;
  for (const VariableDef& variable : variables)
    if (matches_glob(pattern, variable.name) && (!gradients || variable.trainable) &&
        variable.name != kLossScaleVariable)
      names.push_back(variable.name);
  return names;
}

/// [{"variables": "enc/*"}] -> [{"variable": "enc/w"}, {"variable": "enc/b"}]; other keys stay. A key that is also a
/// single variable's ("assign") is a group if the name has a '*'.
void expand(Json& bindings, const char* group, const char* one, const std::vector<VariableDef>& variables) {
  if (!bindings.is_array()) return;
  const auto is_group = [&](const Json& binding) {
    if (!binding.is_object() || !binding.contains(group)) return false;
    return std::string_view(group) != one || binding[group].get<std::string>().find('*') != std::string::npos;
  };
  Json all = Json::array();
  for (Json& binding : bindings) {
    if (!is_group(binding)) {
      all.push_back(std::move(binding));
      continue;
    }
    for (const std::string& name : matching(binding[group].get<std::string>(), variables, one[0] == 'g')) {
      Json single = {{one, name}};
      for (const auto& [key, value] : binding.items())
        if (key != group) single[key] = value;
      all.push_back(std::move(single));
    }
  }
  bindings = std::move(all);
}

}  // namespace

bool is_pattern(const Node& node) { return node.is_text() && node.any_text()->find('*') != std::string::npos; }

Result<std::vector<std::string>> find_group(const Node& pattern, const std::vector<VariableDef>& variables,
                                            bool gradients) {
  return find_group(TFD_TRY(pattern.text()), pattern, variables, gradients);
}

Result<std::vector<std::string>> find_group(const std::string& pattern, const Node& node,
                                            const std::vector<VariableDef>& variables, bool gradients) {
  std::vector<std::string> names = matching(pattern, variables, gradients);
  if (!names.empty()) return names;
  if (gradients && !matching(pattern, variables, false).empty())
    return node.fail("no variable that matches '{}' is trainable", pattern);
  return node.fail("no variable matches '{}'", pattern);
}

void state_groups(Json& document, const std::vector<VariableDef>& variables) {
  const auto functions = document.find("functions");
  if (functions == document.end()) return;
  for (auto& [name, function] : functions->items()) {
    if (const auto inputs = function.find("inputs"); inputs != function.end())
      expand(*inputs, "variables", "variable", variables);
    const auto outputs = function.find("outputs");
    if (outputs == function.end()) continue;
    expand(*outputs, "gradients", "gradient", variables);
    for (const char* key : {"assign", "assign_add", "assign_sub"}) expand(*outputs, key, key, variables);
  }
}

}  // namespace tfd::program
