// SPDX-License-Identifier: Apache-2.0
#include "tfd/program/names.hpp"

#include <algorithm>
#include <filesystem>

#include "check/misplaced.hpp"
#include "document.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 24;  // a larger program isn't worth the wait
constexpr std::string_view kHarmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./[]";

std::vector<std::string> settings_of(const Node& root) {
  std::vector<std::string> out;
  visit_places(root, [&](const Place& place) {
    const bool is_of_training = place.keys.size() == 2 && place.keys.front() == "train";
    if (place.is_value || is_of_training) out.push_back(place.path + "=");
  });
  if (const auto train = root.find("train"); train && !train->has("checkpoint")) out.push_back("train.checkpoint.dir=");
  return out;
}

}  // namespace

std::string program_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path file = fs::path(path) / "program.json";
  return fs::is_directory(path, error) && fs::exists(file, error) ? file.string() : path;
}

Result<std::vector<std::string>> list_names(const std::string& path, NameKind kind) {
  const Document json = TFD_TRY(parse_document(TFD_TRY(load_file(program_file(path), kMostBytes))), printable(path));
  expand_optimizer(*json);
  const Node root(*json, "");
  if (!root.is_object()) return fail(Code::kInvalidArgument, "{}: must be an object", printable(path));
  std::vector<std::string> out;
  if (kind == NameKind::kSettings)
    out = settings_of(root);
  else if (const auto named = root.find(kind == NameKind::kFunctions ? "functions" : "datasets");
           named && named->is_object())
    for (const auto& [name, node] : named->members()) out.push_back(name);
  std::erase_if(out, [](const std::string& name) {
    return name.substr(0, name.find('=')).find_first_not_of(kHarmless) != std::string::npos;
  });
  return out;
}

}  // namespace tfd::program
