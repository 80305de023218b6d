// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/checkpoint.hpp"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>

#include "checkpoint_name.hpp"
#include "parts_index.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/variable/checkpoint_directory.hpp"
#include "tfd/variable/checkpoint_reader.hpp"
#include "tfd/variable/unfinished_checkpoint.hpp"

namespace tfd::variable {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIterationsName = ".iterations";
// The version of the names in the state. 1: slots don't say which optimizer's they are; 2: they do. Both are read.
constexpr int kVersion = 2;
constexpr int kMostReplicas = 1 << 20;  // that a file may say

// Every parameter server exports its own iterations; a checkpoint has the largest.
Result<tensor::NamedTensors> merge_state(const Checkpoint& checkpoint) {
  tensor::NamedTensors merged;
  std::map<std::string_view, std::size_t> index;
  for (const auto& entry : checkpoint.state) {
    const auto [at, is_new] = index.emplace(entry.first, merged.size());
    if (is_new) {
      merged.push_back(entry);
    } else if (entry.first == kIterationsName && entry.second.spec() == merged[at->second].second.spec() &&
               entry.second.spec() == tensor::TensorSpec{tensor::DType::kS64, {}}) {
      tensor::Tensor& kept = merged[at->second].second;
      if (entry.second.as<std::int64_t>()[0] > kept.as<std::int64_t>()[0]) kept = entry.second;
    } else {
      return fail(Code::kInvalidArgument, "'{}' appears twice in the checkpoint", printable(entry.first));
    }
  }
  return merged;
}

/// A checkpoint of this name that is another run's goes into "old-RUN", so that nothing is lost.
Result<void> set_aside(const std::string& directory, const std::string& path) {
  const auto metadata = read_checkpoint_metadata(path);
  std::string run = "unknown";
  if (metadata && metadata->contains("run")) run = metadata->at("run");
  const std::string place = TFD_TRY(make_place_aside(directory, run));
  std::error_code error;
  fs::rename(path, fs::path(place) / fs::path(path).filename(), error);
  if (error) return fail_errno(error.value(), fmt::format("cannot move {} into {}", path, place));
  return {};
}

/// kAborted: `own` isn't the last writer, or one that comes after it.
Result<void> check_writer(const std::string& directory, const CheckpointWriter& last, const CheckpointWriter& own) {
  if (own.group.empty() || last.group.empty()) return {};
  const bool is_later = own.group == last.group ? own.generation >= last.generation : own.generation > last.generation;
  if (is_later) return {};
  if (own.group != last.group && last.pid != 0)
    return fail(Code::kAborted,
                "{}: another training has begun there since, in process {} on {}, and writes there now; this one ends",
                directory, last.pid, printable(last.host));
  return fail(Code::kAborted,
              "{}: generation {} of {} group has gone on without this process, which is of generation {}, and writes "
              "there now",
              directory, last.generation, own.group == last.group ? "the" : "another", own.generation);
}

/// kAborted: another process of the same generation has written a later step. A member that was frozen while its group
/// went on, and thaws when all others have ended, counts one generation more than it had, as they did.
Result<void> check_step(const std::string& directory, const CheckpointWriter& last, std::int64_t last_step,
                        const CheckpointWriter& own, std::int64_t step) {
  const bool is_same = own.pid == 0 || last.pid == 0 || (own.pid == last.pid && own.host == last.host);
  if (is_same || own.group.empty() || own.group != last.group || own.generation != last.generation || step >= last_step)
    return {};
  return fail(Code::kAborted,
              "{}: generation {} of the group has gone on to step {} without this process, which would write step {}",
              directory, last.generation, last_step, step);
}

Result<void> write_file(const std::string& path, const Checkpoint& checkpoint, const std::string& run) {
  return tensor::save_safetensors(
      path, {.tensors = TFD_TRY(merge_state(checkpoint)), .metadata = metadata_of(checkpoint, run)});
}

Result<void> write_in_parts(const std::string& path, const Checkpoint& about, const std::string& run,
                            const WriteParts& write) {
  const std::string directory = fs::path(path).parent_path().string();
  auto unfinished = TFD_TRY(UnfinishedCheckpoint::make(directory, about.step, run));
  auto written = TFD_TRY(write(directory, unfinished.name()));
  TFD_TRY(write_parts_index(unfinished.path(), {metadata_of(about, run), std::move(written)}));
  TFD_TRY(CheckpointReader::open(unfinished.path()));
  return unfinished.finish(fs::path(path).filename().string());
}

/// Its step where its metadata or its name says it.
Result<std::pair<Checkpoint, bool>> load_any(const std::string& path) {
  const auto reader = TFD_TRY(CheckpointReader::open(path));
  const auto& metadata = reader.metadata();
  if (const auto version = metadata.find("v"); version != metadata.end()) {
    const auto number = TFD_TRY(parse_integer(version->second, 1, INT64_MAX), fmt::format("{}: v", path));
    if (number > kVersion)
      return fail(Code::kInvalidArgument,
                  "{}: written by a newer tfd (version {} of the format, this one reads up to {})", path, number,
                  kVersion);
  }
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.state = TFD_TRY(reader.read_all());
  if (const auto run = metadata.find("run"); run != metadata.end()) checkpoint.run = run->second;
  if (const auto data = metadata.find("data"); data != metadata.end()) checkpoint.data_position = data->second;
  if (const auto replicas = metadata.find("replicas"); replicas != metadata.end())
    checkpoint.replicas =
        static_cast<int>(TFD_TRY(parse_integer(replicas->second, 1, kMostReplicas), fmt::format("{}: replicas", path)));
  if (const auto threads = metadata.find("threads"); threads != metadata.end())
    checkpoint.threads = static_cast<int>(parse_integer(threads->second, 0, INT_MAX).value_or(0));
  if (const auto isa = metadata.find("isa"); isa != metadata.end()) checkpoint.isa = printable(isa->second);
  if (const auto kernels = metadata.find("kernels"); kernels != metadata.end())
    checkpoint.kernels = printable(kernels->second);
  const auto step = metadata.find("step");
  const auto named = step_of_checkpoint_name(fs::path(path).filename().string());
  if (step != metadata.end())
    checkpoint.step = TFD_TRY(parse_integer(step->second, 0, INT64_MAX), fmt::format("{}: step", path));
  else if (named)
    checkpoint.step = *named;
  const bool says_step = named || step != metadata.end();
  return std::pair(std::move(checkpoint), says_step);
}

/// Writes a checkpoint of this run at this path.
using Write = std::function<Result<void>(const std::string& path, const std::string& run)>;

Result<std::string> save(const std::string& directory, const Checkpoint& checkpoint, int keep, bool has_index,
                         const std::string& name, const Write& write) {
  if (checkpoint.step < 0 || keep < 0)
    return fail(Code::kInvalidArgument, "a checkpoint of step {}, keeping {}: neither can be negative", checkpoint.step,
                keep);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail_errno(error.value(), fmt::format("cannot create directory {}", directory));
  CheckpointIndex index = TFD_TRY(read_checkpoint_index(directory));
  const bool is_of_other = !index.run.empty() && !checkpoint.run.empty() && checkpoint.run != index.run;
  if (has_index) TFD_TRY(check_writer(directory, index.writer, checkpoint.writer));
  if (has_index && !index.checkpoints.empty())
    TFD_TRY(check_step(directory, index.writer, index.checkpoints.back().first, checkpoint.writer, checkpoint.step));
  for (const auto& [step, other] : index.checkpoints)
    if (is_of_other && !has_index) TFD_TRY(set_aside(directory, other));
  if (is_of_other) index.checkpoints.clear();
  if (is_of_other || index.run.empty()) index.run = checkpoint.run.empty() ? make_run_id() : checkpoint.run;
  index.writer = checkpoint.writer;
  remove_unfinished(directory, index.run);
  std::string path = (fs::path(directory) / name).string();
  const bool is_own = std::erase_if(index.checkpoints, [&](const auto& one) { return one.second == path; }) > 0;
  std::vector<std::string> excess;  // the same step in its other form, and those that are too many
  std::erase_if(index.checkpoints, [&](const auto& one) {
    const bool is_same = one.second == (fs::path(directory) / other_form_of(name)).string();
    if (is_same) excess.push_back(one.second);
    return is_same;
  });
  if (!is_own && fs::exists(path, error)) TFD_TRY(set_aside(directory, path));
  TFD_TRY(write(path, index.run));
  index.checkpoints.emplace_back(checkpoint.step, path);
  for (; keep > 0 && index.checkpoints.size() > static_cast<std::size_t>(keep);
       index.checkpoints.erase(index.checkpoints.begin()))
    excess.push_back(std::move(index.checkpoints.front().second));
  if (has_index) TFD_TRY(write_checkpoint_index(directory, index));
  // Old checkpoints that can't be removed stay: the new checkpoint exists, which is the purpose.
  for (const std::string& one : excess) remove_checkpoint(one);
  return path;
}

}  // namespace

std::map<std::string, std::string> metadata_of(const Checkpoint& checkpoint, const std::string& run) {
  std::map<std::string, std::string> out{
      {"format", "tfd"}, {"v", std::to_string(kVersion)}, {"step", std::to_string(checkpoint.step)}, {"run", run}};
  if (!checkpoint.data_position.empty()) out["data"] = checkpoint.data_position;
  if (checkpoint.replicas > 0) out["replicas"] = std::to_string(checkpoint.replicas);
  if (checkpoint.threads > 0) out["threads"] = std::to_string(checkpoint.threads);
  if (!checkpoint.isa.empty()) out["isa"] = checkpoint.isa;
  if (!checkpoint.kernels.empty()) out["kernels"] = checkpoint.kernels;
  return out;
}

Result<std::string> make_place_aside(const std::string& directory, const std::string& run) {
  constexpr std::size_t kMostLetters = 64;  // of what a stranger's metadata may say
  std::string name = "old-" + run.substr(0, kMostLetters);
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20; }, '_');
  for (int attempt = 1; attempt < 100'000; ++attempt) {
    std::string place = (fs::path(directory) / name).string();
    if (attempt > 1) place += fmt::format(".{}", attempt);
    std::error_code error;
    if (fs::create_directory(place, error)) return place;
    if (error) return fail_errno(error.value(), fmt::format("cannot create directory {}", place));
  }
  return fail(Code::kAlreadyExists, "{}: too many directories {}.N", directory, name);
}

Result<std::string> save_checkpoint(const std::string& directory, const Checkpoint& checkpoint, int keep,
                                    bool has_index) {
  return save(directory, checkpoint, keep, has_index, checkpoint_name(checkpoint.step),
              [&](const std::string& path, const std::string& run) { return write_file(path, checkpoint, run); });
}

Result<std::string> save_checkpoint_in_parts(const std::string& directory, const Checkpoint& about, int keep,
                                             const WriteParts& write) {
  return save(directory, about, keep, true, checkpoint_directory_name(about.step),
              [&](const std::string& path, const std::string& run) { return write_in_parts(path, about, run, write); });
}

Result<std::vector<std::pair<std::int64_t, std::string>>> list_checkpoints(const std::string& directory) {
  return std::move(TFD_TRY(read_checkpoint_index(directory)).checkpoints);
}

Result<Checkpoint> load_checkpoint(const std::string& path) {
  auto [checkpoint, says_step] = TFD_TRY(load_any(path));
  if (!says_step)
    return fail(Code::kInvalidArgument, "{}: neither its metadata nor its name says which step it is from", path);
  return std::move(checkpoint);
}

Result<std::optional<Checkpoint>> load_latest_checkpoint(const std::string& directory,
                                                         std::vector<std::string>* skipped) {
  const CheckpointIndex index = TFD_TRY(read_checkpoint_index(directory));
  return load_latest_checkpoint(index, directory, skipped);
}

Result<std::optional<Checkpoint>> load_latest_checkpoint(const CheckpointIndex& index, const std::string& directory,
                                                         std::vector<std::string>* skipped) {
  const auto& found = index.checkpoints;
  std::optional<Error> newest_error;
  for (auto candidate = found.rbegin(); candidate != found.rend(); ++candidate) {
    auto loaded = load_checkpoint(candidate->second);
    if (loaded && !loaded->run.empty() && !index.run.empty() && loaded->run != index.run)
      loaded = fail(Code::kInvalidArgument, "{}: belongs to another run ({}) than its directory ({})",
                    candidate->second, printable(loaded->run), index.run);
    if (loaded) {
      loaded->writer = index.writer;
      return std::optional<Checkpoint>(std::move(*loaded));
    }
    std::string why = std::move(loaded.error().message);
    if (why.find(candidate->second) == std::string::npos) why = fmt::format("{}: {}", candidate->second, why);
    if (skipped != nullptr) skipped->push_back(why);
    if (!newest_error) newest_error = Error{loaded.error().code, std::move(why), {}};
  }
  if (!newest_error) return std::optional<Checkpoint>();
  return fail(newest_error->code, "no readable checkpoint in {} (tried {}); the newest: {}", directory, found.size(),
              newest_error->message);
}

std::string checkpoint_directory(const std::string& path) {
  const fs::path folder(path), own = folder / "checkpoints";
  std::error_code error;
  const bool is_program = fs::exists(folder / "program.json", error) && !fs::exists(folder / "index.json", error);
  return is_program && fs::is_directory(own, error) ? own.string() : path;
}

Result<Checkpoint> load_named_checkpoint(const std::string& path, std::vector<std::string>* skipped) {
  std::error_code error;
  if (!fs::is_directory(path, error) || is_checkpoint_in_parts(path)) return std::move(TFD_TRY(load_any(path)).first);
  const std::string directory = checkpoint_directory(path);
  auto latest = TFD_TRY(load_latest_checkpoint(directory, skipped));
  if (!latest) return fail(Code::kNotFound, "no checkpoint in {}", directory);
  return std::move(*latest);
}

}  // namespace tfd::variable
