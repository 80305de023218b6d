// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/variable/checkpoint.hpp"
#include "tfd/variable/checkpoint_directory.hpp"

namespace tfd::checkpoint_tool {

namespace fs = std::filesystem;

Result<Source> open_file(const std::string& path) {
  Source out{TFD_TRY(variable::CheckpointReader::open(path)), std::nullopt};
  if (const std::string step = out.said("step"); !step.empty())
    out.step = TFD_TRY(parse_integer(step, 0, INT64_MAX), fmt::format("{}: step", path));
  else
    out.step = variable::step_of_checkpoint(path);
  out.bytes = out.reader.bytes();
  return out;
}

namespace {

Result<Source> open_and_check(const std::string& path) {
  Source out = TFD_TRY(open_file(path));
  TFD_TRY(out.reader.check_digests());
  return out;
}

}  // namespace

std::string Source::said(const std::string& key) const {
  const auto found = reader.metadata().find(key);
  return found == reader.metadata().end() ? "" : found->second;
}

Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || variable::is_checkpoint_in_parts(path)) return std::vector{path};
  std::vector<std::string> out;
  const std::string directory = variable::checkpoint_directory(path);
  for (auto& [step, file] : TFD_TRY(variable::list_checkpoints(directory))) out.push_back(std::move(file));
  if (out.empty()) return fail(Code::kNotFound, "no checkpoint in {}", directory);
  return out;
}

Result<Source> open_whole(const std::string& path, const Log& log) {
  const auto files = TFD_TRY(files_of(path));
  for (std::size_t i = files.size(); i > 1; --i) {
    auto source = open_and_check(files[i - 1]);
    if (source) return source;
    log.warning("skipped a checkpoint: {}", source.error().message);
  }
  return open_and_check(files.front());
}

Result<std::vector<std::string>> names_in(const Source& source, const std::vector<std::string>& asked) {
  const auto& specs = source.reader.specs();
  std::vector<std::string> out;
  for (const auto& [name, spec] : specs)
    if (asked.empty()) out.push_back(name);
  for (const std::string& name : asked) {
    if (source.reader.unsupported().contains(name)) return fail(source.reader.read(name).error());
    if (!specs.contains(name)) {
      std::vector<std::string> names;
      for (const auto& [other, spec] : specs) names.push_back(other);
      return fail(Code::kNotFound, "{}: no variable '{}'{}", source.path(), printable(name), did_you_mean(name, names));
    }
    out.push_back(name);
  }
  return out;
}

}  // namespace tfd::checkpoint_tool
