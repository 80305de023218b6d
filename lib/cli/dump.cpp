// SPDX-License-Identifier: Apache-2.0
//
// --dump-cli: the whole interface as JSON, for scripts/gen-cli.py and `tfd help`.
#include <nlohmann/json.hpp>

#include "internal.hpp"

namespace tfd::cli {
namespace {

using Json = nlohmann::ordered_json;

Json option_json(const Option& option, bool common) {
  Json json{{"names", names_of(option)}, {"placeholder", option.placeholder}, {"help", option.help}};
  json["positional"] = is_positional(option);
  json["switch"] = is_switch(option);
  json["value_is_optional"] = option.value_is_optional;
  json["repeatable"] = is_repeatable(option);
  json["required"] = option.required;
  json["negatable"] = option.negatable;
  json["hidden"] = option.hidden;
  json["common"] = common;
  json["choices"] = option.choices;
  json["default"] = default_of(option);
  json["env"] = option.env;
  json["complete"] = completion_of(option);
  json["words"] = option.words;
  json["allows_empty"] = option.allows_empty;
  json["values"] = option.values;
  json["section"] = option.section;
  json["essential"] = option.essential;
  return json;
}

}  // namespace

std::string dump_text(const Tool& tool, std::span<const Option> common) {
  Json json{{"name", tool.name},
            {"group", tool.group},
            {"summary", tool.summary},
            {"usage", usage_line(tool)},
            {"version", version()}};
  json["takes_command"] = tool.takes_command;
  json["command_is_positional"] = tool.command_is_positional;
  json["sections"] = tool.sections;
  json["options"] = Json::array();
  for (const Option& option : tool.options) json["options"].push_back(option_json(option, false));
  for (const Option& option : common) json["options"].push_back(option_json(option, true));
  json["environment"] = Json::array();
  for (const auto& [name, what] : tool.environment) json["environment"].push_back({{"name", name}, {"what", what}});
  json["examples"] = Json::array();
  for (const Example& example : tool.examples)
    json["examples"].push_back({{"command", example.command}, {"what", example.what}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tfd::cli
