// SPDX-License-Identifier: Apache-2.0
//
// Records that a command prints. Nothing is read ahead of the reader, and nothing is kept: every pass runs the command.
#include "tfd/command/command.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "field_json.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

RowDatasetPtr make_records(const CsvSource& source, FileRowsOptions options) {
  return make_csv(source, std::move(options));
}
RowDatasetPtr make_records(const JsonlSource& source, FileRowsOptions options) {
  return make_jsonl(source, std::move(options));
}
RowDatasetPtr make_records(const TextSource& source, FileRowsOptions options) {
  return make_text(source, std::move(options));
}
RowDatasetPtr make_records(const TfrecordSource& source, FileRowsOptions options) {
  return make_tfrecord(source, std::move(options));
}

/// The records of one pass.
class CommandRecords {
 public:
  CommandRecords(CommandSource source, FileRowsOptions options, std::shared_ptr<const command::CommandPlace> place)
      : source_(std::move(source)), options_(std::move(options)), place_(std::move(place)) {
    options_.cache_bytes = 0;
    options_.parsing.threads = 0;
  }
  /// `stop`: the reader's.
  RowDatasetPtr make(const std::stop_token& stop) const {
    FileRowsOptions options = options_;
    return std::visit(
        [&](const auto& records) {
          options.files = records.files;
          if constexpr (requires { records.skip_errors; }) options.skip_errors = records.skip_errors;
          options.open = [argv = source_.argv, place = place_, stop,
                          name = records.files.paths.front()]() -> Result<ByteReader> {
            if (!place) return fail(Code::kFailedPrecondition, "{}: commands can't be run here", name);
            return ByteReader::of_command(
                name, std::make_unique<command::CommandOutput>(command::CommandDef{.argv = argv}, *place, stop));
          };
          return make_records(records, std::move(options));
        },
        source_.records);
  }

 private:
  const CommandSource source_;
  FileRowsOptions options_;
  const std::shared_ptr<const command::CommandPlace> place_;
};

class CommandDataset final : public RowDataset {
 public:
  explicit CommandDataset(CommandRecords records)
      : RowDataset(records.make({})->spec()), records_(std::move(records)) {}
  Result<RowStreamPtr> rows(const Order& order) const override { return records_.make(order.stop)->rows(order); }
  std::optional<std::int64_t> cardinality() const override { return std::nullopt; }

 private:
  CommandRecords records_;
};

template <class Value>
Result<Stage> read_records(const StatedStage& stated) {
  return TFD_TRY(kind_of(Tag<Value>()).read(stated));
}

struct CommandFormat {
  std::string_view name;
  Result<Stage> (*read)(const StatedStage&);
};
// The order is that of the alternatives of CommandSource::records.
constexpr std::array kCommandFormats{
    CommandFormat{"csv", read_records<CsvSource>}, CommandFormat{"jsonl", read_records<JsonlSource>},
    CommandFormat{"text", read_records<TextSource>}, CommandFormat{"tfrecord", read_records<TfrecordSource>}};

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

Result<CommandSource> read_command(const StatedStage& stage) {
  if (!stage.value.is_object()) return fail(Code::kInvalidArgument, "{}: must be an object", stage.path);
  for (const char* key : {"path", "shard", "cycle_length", "block_length"})
    if (stage.value.contains(key))
      return fail(Code::kInvalidArgument, "{}.{}: unknown: the command prints the records", stage.path, key);
  JsonObject options(stage.value, stage.path);
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

ordered_json write_command(const CommandSource& command) {
  ordered_json out = {{"argv", command.argv}, {"format", kCommandFormats[command.records.index()].name}};
  ordered_json records =
      std::visit([]<class Value>(const Value& source) { return kind_of(Tag<Value>()).write(source); }, command.records);
  records.erase("path");
  out.update(records);
  return out;
}

Result<RowDatasetPtr> make_command(const CommandSource& command, const StageSite& site) {
  FileRowsOptions options{.skipped = site.context.skipped, .parsing = site.context.parsing};
  return std::make_shared<CommandDataset>(CommandRecords(command, std::move(options), site.context.commands));
}

}  // namespace

const StageKind<CommandSource>& kind_of(Tag<CommandSource>) {
  static constexpr StageKind<CommandSource> kKind{
      .name = "command",
      .is_source = true,
      .read = read_command,
      .write = write_command,
      .make = make_command,
  };
  return kKind;
}

}  // namespace tfd::data
