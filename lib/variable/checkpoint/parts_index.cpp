// SPDX-License-Identifier: Apache-2.0
#include "parts_index.hpp"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/variable/sharding.hpp"
#include "tfd/variable/slot_mark.hpp"

namespace tfd::variable {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kPartsVersion = 1;
constexpr std::size_t kMostPartsBytes = 64 << 20;
constexpr std::int64_t kMostDimension = std::int64_t{1} << 48;

std::string path_in(const std::string& checkpoint) {
  return (fs::path(checkpoint) / std::string(kCheckpointIndexName)).string();
}

tl::unexpected<Error> broken(std::string_view what) { return fail(Code::kDataLoss, "{}", what); }

const ordered_json* find(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// A member that may be absent.
const ordered_json& member(const ordered_json& object, const char* key) {
  static const ordered_json none = ordered_json::object();
  const ordered_json* found = find(object, key);
  return found != nullptr ? *found : none;
}

Result<CheckpointPart> parse_part(const ordered_json& json, const std::string& name) {
  if (!json.is_object()) return broken(fmt::format("no part '{}'", name));
  const ordered_json *file = find(json, "file"), *bytes = find(json, "bytes"), *digest = find(json, "digest");
  if (file == nullptr || *file != name) return broken(fmt::format("no part '{}'", name));
  if (bytes == nullptr || !bytes->is_number_unsigned() || digest == nullptr || !digest->is_string())
    return broken(fmt::format("no 'bytes' and 'digest' of '{}'", name));
  CheckpointPart out{.bytes = bytes->get<std::uint64_t>()};
  const auto text = digest->get<std::string>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.digest, 16);
  if (error != std::errc() || end != text.data() + text.size())
    return broken(fmt::format("'digest' of '{}' is no number", name));
  return out;
}

Result<ShardedValue> parse_sharded(const std::string& name, const ordered_json& json) {
  const auto wrong = [&] { return broken(fmt::format("no 'shape' and 'shards' of '{}'", printable(name))); };
  if (!json.is_object()) return wrong();
  const ordered_json *shape = find(json, "shape"), *shards = find(json, "shards");
  if (shape == nullptr || !shape->is_array() || shards == nullptr || !shards->is_number_unsigned()) return wrong();
  ShardedValue out{.name = name};
  for (const auto& dimension : *shape) {
    if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() > kMostDimension) return wrong();
    out.shape.push_back(dimension.get<std::int64_t>());
  }
  if (out.shape.empty() || shards->get<std::uint64_t>() < 2 ||
      shards->get<std::uint64_t>() > static_cast<std::uint64_t>(out.shape.front()))
    return wrong();
  out.shards = shards->get<std::int64_t>();
  return out;
}

Result<PartsIndex> parse(const std::string& text) {
  const auto json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return broken("not JSON");
  const ordered_json* version = find(json, "v");
  if (version == nullptr || !version->is_number_integer()) return broken("no version 'v'");
  if (version->get<std::int64_t>() > kPartsVersion)
    return fail(Code::kInvalidArgument, "written by a newer tfd (version {}, this one reads up to {})",
                version->get<std::int64_t>(), kPartsVersion);
  PartsIndex out;
  const ordered_json *step = find(json, "step"), *run = find(json, "run");
  if (step == nullptr || !step->is_number_unsigned() || run == nullptr || !run->is_string())
    return broken("no 'step' and 'run'");
  for (const auto& [key, value] : member(json, "metadata").items()) {
    if (!value.is_string()) return broken(fmt::format("metadata.{} is not a string", printable(key)));
    out.metadata[key] = value.get<std::string>();
  }
  out.metadata["step"] = std::to_string(step->get<std::uint64_t>());
  out.metadata["run"] = run->get<std::string>();
  const ordered_json* parts = find(json, "parts");
  if (parts == nullptr || !parts->is_array() || parts->empty() || parts->size() > kMostCheckpointParts)
    return broken(fmt::format("no list 'parts' of 1 to {}", kMostCheckpointParts));
  for (std::size_t i = 0; i < parts->size(); ++i)
    out.written.parts.push_back(TFD_TRY(parse_part((*parts)[i], checkpoint_part_name(i + 1, parts->size()))));
  for (const auto& [name, value] : member(json, "sharded").items())
    out.written.sharded.push_back(TFD_TRY(parse_sharded(name, value)));
  for (const auto& [name, value] : member(json, "counters").items()) {
    if (!value.is_number_integer()) return broken(fmt::format("counter '{}' is no number", printable(name)));
    out.written.counters.emplace_back(name, value.get<std::int64_t>());
  }
  return out;
}

/// Adds a member whose name is known to be new: operator[] of an ordered object searches its keys one by one.
void add(ordered_json& object, const std::string& name, ordered_json value) {
  object.get_ref<ordered_json::object_t&>().emplace_back(name, std::move(value));
}

}  // namespace

std::string checkpoint_part_name(std::size_t part, std::size_t parts) {
  return fmt::format("part-{}-of-{}.safetensors", part, parts);
}

std::string stored_shard_name(std::string_view value, std::int64_t shard) {
  const std::size_t slot = value.find(kSlotMark);
  return shard_name(value.substr(0, slot), shard) +
         std::string(slot == std::string_view::npos ? "" : value.substr(slot));
}

Result<PartsIndex> read_parts_index(const std::string& checkpoint) {
  const std::string path = path_in(checkpoint);
  const std::string text = TFD_TRY(load_file(path, kMostPartsBytes));
  PartsIndex index = TFD_TRY(parse(text), path);
  const auto named = step_of_checkpoint(checkpoint);
  const auto said = index.metadata.find("step");
  if (named && said != index.metadata.end() && said->second != std::to_string(*named))
    return fail(Code::kDataLoss, "{}: step: is {}, but the directory is of step {}", path, said->second, *named);
  return index;
}

Result<std::map<std::string, std::string>> read_checkpoint_metadata(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return std::move(TFD_TRY(read_parts_index(path)).metadata);
  const auto file = TFD_TRY(tensor::SafetensorsReader::open(path));
  return file.metadata();
}

Result<void> write_parts_index(const std::string& checkpoint, const PartsIndex& index) {
  ordered_json json{{"v", kPartsVersion}, {"step", 0}, {"run", ""}, {"metadata", ordered_json::object()}};
  for (const auto& [key, value] : index.metadata) {
    if (key == "step")
      json["step"] = TFD_TRY(parse_integer(value, 0, INT64_MAX));
    else if (key == "run")
      json["run"] = value;
    else
      json["metadata"][key] = value;
  }
  ordered_json parts = ordered_json::array(), sharded = ordered_json::object(), counters = ordered_json::object();
  const auto& written = index.written;
  for (std::size_t i = 0; i < written.parts.size(); ++i)
    parts.push_back({{"file", checkpoint_part_name(i + 1, written.parts.size())},
                     {"bytes", written.parts[i].bytes},
                     {"digest", fmt::format("{:016x}", written.parts[i].digest)}});
  for (const ShardedValue& value : written.sharded)
    add(sharded, value.name, {{"shape", value.shape}, {"shards", value.shards}});
  for (const auto& [name, value] : written.counters) add(counters, name, value);
  json["parts"] = std::move(parts);
  json["sharded"] = std::move(sharded);
  json["counters"] = std::move(counters);
  return save_file(path_in(checkpoint), json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace tfd::variable
