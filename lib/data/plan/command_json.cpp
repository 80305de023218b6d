// SPDX-License-Identifier: Apache-2.0
//
// The source command from JSON and as JSON: what it prints is stated as that of a file is, but for its path.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "stage_json.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

struct CommandFormat {
  std::string_view name;
  ReadStage (*read)(const StatedStage&);
};
// In the order of CommandSource::records.
constexpr std::array kCommandFormats{CommandFormat{"csv", read_csv}, CommandFormat{"jsonl", read_jsonl},
                                     CommandFormat{"text", read_text}, CommandFormat{"tfrecord", read_tfrecord}};

const CommandFormat* find_command_format(const ordered_json* name) {
  const auto found = std::ranges::find_if(kCommandFormats, [&](const CommandFormat& one) {
    return name != nullptr && name->is_string() && name->get_ref<const std::string&>() == one.name;
  });
  return found == kCommandFormats.end() ? nullptr : &*found;
}

bool is_argv(const ordered_json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const ordered_json& one) { return one.is_string(); }) &&
         !value.front().get_ref<const std::string&>().empty();
}

}  // namespace

ReadStage read_command(const StatedStage& stage) {
  if (!stage.value.is_object()) return fail(Code::kInvalidArgument, "{}: must be an object", stage.path);
  for (const char* key : {"path", "shard", "cycle_length", "block_length"})
    if (stage.value.contains(key))
      return fail(Code::kInvalidArgument, "{}.{}: unknown: the records are what the command prints", stage.path, key);
  Options options(stage.value, stage.path);
  const ordered_json* argv = options.required("argv");
  const ordered_json* name = options.required("format");
  if (argv != nullptr && !is_argv(*argv))
    options.note("argv", "must be a list of texts, the command's name and its arguments");
  const CommandFormat* format = find_command_format(name);
  if (format == nullptr) options.note("format", R"(must be "csv", "jsonl", "text" or "tfrecord")");
  for (const auto& [key, value] : stage.value.items()) options.find(key);  // the format's
  TFD_TRY(options.finish());

  ordered_json records = stage.value;
  records.erase("argv");
  records.erase("format");
  records["path"] = fmt::format("output of '{}'", printable(argv->front().get<std::string>()));
  Stage read = TFD_TRY(format->read(StatedStage{records, stage.path, stage.depth}));
  CommandSource command{argv->get<std::vector<std::string>>(), {}};
  std::visit(
      [&](auto& source) {
        if constexpr (requires { command.records = std::move(source); }) command.records = std::move(source);
      },
      read);
  return command;
}

ordered_json write(const CommandSource& command) {
  ordered_json out = {{"argv", command.argv}, {"format", kCommandFormats[command.records.index()].name}};
  ordered_json records = std::visit([](const auto& source) { return write(source); }, command.records);
  records.erase("path");
  out.update(records);
  return out;
}

}  // namespace tfd::data
