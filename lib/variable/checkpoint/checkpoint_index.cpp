// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/checkpoint_index.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "checkpoint_name.hpp"
#include "parts_index.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"

namespace tfd::variable {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kIndexVersion = 1;
constexpr std::size_t kMostIndexBytes = 64 << 20;

using Steps = std::vector<std::pair<std::int64_t, std::string>>;

std::string index_path(const std::string& directory) {
  return (fs::path(directory) / std::string(kCheckpointIndexName)).string();
}

/// Paths that have a checkpoint's name, by step.
Result<Steps> list_files(const std::string& directory) {
  Steps found;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    const auto step = step_of_checkpoint_name(name);
    std::error_code ignored;  // then it is no directory
    if (step && (is_file_name(name) || entries->is_directory(ignored)))
      found.emplace_back(*step, entries->path().string());
  }
  if (error) return fail_errno(error.value(), fmt::format("cannot list {}", directory));
  std::ranges::sort(found);
  return found;
}

/// nullopt: it can't be read. Empty: it doesn't say.
std::optional<std::string> run_of(const std::string& path) {
  const auto metadata = read_checkpoint_metadata(path);
  if (!metadata) return std::nullopt;
  const auto run = metadata->find("run");
  return run == metadata->end() ? std::string() : run->second;
}

struct StoredIndex {
  std::string run;
  std::vector<std::string> names;  // in the order in which they were written
  CheckpointWriter writer = {};
};

/// kInvalidArgument: one of a newer tfd, which is to be left alone; kDataLoss: it isn't one at all.
Result<StoredIndex> parse_index(const std::string& text) {
  const auto broken = [](std::string_view what) { return fail(Code::kDataLoss, "{}", what); };
  const auto json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return broken("not JSON");
  if (!json.is_object() || !json.contains("v") || !json["v"].is_number_integer()) return broken("no version 'v'");
  if (json["v"].get<std::int64_t>() > kIndexVersion)
    return fail(Code::kInvalidArgument, "written by a newer tfd (version {}, this one reads up to {})",
                json["v"].get<std::int64_t>(), kIndexVersion);
  StoredIndex out;
  if (!json.contains("run") || !json["run"].is_string()) return broken("no 'run'");
  out.run = json["run"].get<std::string>();
  if (out.run.empty()) return broken("no 'run'");
  if (!json.contains("checkpoints") || !json["checkpoints"].is_array()) return broken("no list 'checkpoints'");
  for (const auto& one : json["checkpoints"]) {
    if (!one.is_object() || !one.contains("file") || !one["file"].is_string())
      return broken("a checkpoint has no 'file'");
    out.names.push_back(one["file"].get<std::string>());
  }
  if (const auto writer = json.find("writer"); writer != json.end()) {
    if (!writer->is_object() || !writer->contains("group") || !(*writer)["group"].is_string() ||
        !writer->contains("generation") || !(*writer)["generation"].is_number_unsigned())
      return broken("no 'group' and 'generation' in 'writer'");
    out.writer = {(*writer)["group"].get<std::string>(), (*writer)["generation"].get<std::uint64_t>()};
    const auto host = writer->find("host"), pid = writer->find("pid");
    if (host != writer->end() && host->is_string()) out.writer.host = host->get<std::string>();
    if (pid != writer->end() && pid->is_number_integer()) out.writer.pid = pid->get<std::int64_t>();
  }
  if (json.contains("latest") && json["latest"].is_string()) {
    const auto latest = std::ranges::find(out.names, json["latest"].get<std::string>());
    if (latest != out.names.end()) std::rotate(latest, latest + 1, out.names.end());
  }
  return out;
}

/// The index as the checkpoints themselves say it: all are of one run, or there is no telling which of them is the
/// latest.
Result<CheckpointIndex> index_of_files(const std::string& directory, Steps files, std::string broken) {
  std::set<std::string> runs;
  for (const auto& [step, path] : files)
    if (const auto run = run_of(path); run && !run->empty()) runs.insert(*run);
  if (runs.size() > 1) {
    const std::string why = broken.empty() ? fmt::format("{} has no {}", directory, kCheckpointIndexName) : broken;
    return fail(Code::kInvalidArgument, "{}, and its checkpoints belong to {} runs: move all but one run's elsewhere",
                why, runs.size());
  }
  return CheckpointIndex{.run = runs.empty() ? std::string() : *runs.begin(),
                         .checkpoints = std::move(files),
                         .broken = std::move(broken)};
}

/// Checkpoints that the index names, and others of the same run beside it: the last one, where the process died before
/// the index was written, and those it was about to remove, where it died after that.
CheckpointIndex index_with_files(const std::string& directory, StoredIndex stored, Steps files) {
  CheckpointIndex out{.run = std::move(stored.run), .writer = std::move(stored.writer)};
  for (const std::string& name : stored.names) {
    const auto file =
        std::ranges::find(files, name, [](const auto& one) { return fs::path(one.second).filename().string(); });
    if (file == files.end()) {  // somebody has removed it
      out.missing.push_back((fs::path(directory) / name).string());
      continue;
    }
    out.checkpoints.push_back(std::move(*file));
    files.erase(file);
  }
  const std::int64_t latest = out.checkpoints.empty() ? -1 : out.checkpoints.back().first;
  std::size_t older = 0;
  for (auto& file : files) {
    const auto run = run_of(file.second);
    if (run != out.run)
      out.others.push_back(std::move(file.second));
    else if (file.first > latest)
      out.checkpoints.push_back(std::move(file));
    else
      out.checkpoints.insert(out.checkpoints.begin() + static_cast<std::ptrdiff_t>(older++), std::move(file));
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> step_of_checkpoint(const std::string& path) {
  return step_of_checkpoint_name(fs::path(path).filename().string());
}

bool is_checkpoint_name(std::string_view name) { return step_of_checkpoint_name(name).has_value(); }

bool is_checkpoint_in_parts(const std::string& path) {
  std::error_code ignored;  // then it is none
  if (!fs::is_directory(path, ignored)) return false;
  const fs::path plain = fs::path(path).lexically_normal();
  const std::string name = (plain.has_filename() ? plain : plain.parent_path()).filename().string();
  return is_checkpoint_name(name) || read_parts_index(path).has_value();
}

CheckpointWriter this_writer(std::string group, std::uint64_t generation) {
  return {std::move(group), generation, host_name(), ::getpid()};
}

std::string make_run_id() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return fmt::format("{}-{}", std::string_view(text, length), random_text(3));
}

Result<CheckpointIndex> read_checkpoint_index(const std::string& directory) {
  const std::string path = index_path(directory);
  auto text = load_file(path, kMostIndexBytes);  // before the files: what it names was there then
  if (!text && (text.error().code == Code::kPermissionDenied || text.error().code == Code::kSystem)) {
    std::error_code ignored;  // "not a directory" is list_files()' to say
    if (fs::is_directory(directory, ignored)) return fail(std::move(text).error());
  }
  Steps files = TFD_TRY(list_files(directory));
  if (!text && text.error().code == Code::kNotFound) return index_of_files(directory, std::move(files), {});
  if (!text) return index_of_files(directory, std::move(files), text.error().message);
  auto stored = parse_index(*text);
  if (stored) return index_with_files(directory, std::move(*stored), std::move(files));
  std::string why = fmt::format("{}: {}", path, stored.error().message);
  if (stored.error().code == Code::kInvalidArgument) return fail(Code::kInvalidArgument, "{}", why);
  return index_of_files(directory, std::move(files), std::move(why));
}

Result<void> write_checkpoint_index(const std::string& directory, const CheckpointIndex& index) {
  ordered_json json{
      {"v", kIndexVersion}, {"run", index.run}, {"latest", nullptr}, {"checkpoints", ordered_json::array()}};
  for (const auto& [step, path] : index.checkpoints) {
    json["latest"] = fs::path(path).filename().string();
    json["checkpoints"].push_back({{"step", step}, {"file", json["latest"]}});
  }
  if (const CheckpointWriter& writer = index.writer; !writer.group.empty()) {
    json["writer"] = {{"group", writer.group}, {"generation", writer.generation}};
    if (writer.pid != 0) json["writer"].update({{"host", writer.host}, {"pid", writer.pid}});
  }
  return save_file(index_path(directory), json.dump() + "\n");
}

}  // namespace tfd::variable
