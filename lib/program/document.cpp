// SPDX-License-Identifier: Apache-2.0
#include "document.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "typed_paths.hpp"

namespace tfd::program {
namespace {

using Json = nlohmann::ordered_json;

/// Finds keys that are there twice: nlohmann/json would silently take the last.
class DuplicateFinder {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (levels_.size() <= level) levels_.resize(level + 1);
      levels_[level] = {};
    } else if (event == Json::parse_event_t::key && level >= 1 && level <= levels_.size()) {
      Level& object = levels_[level - 1];
      object.current = parsed.get<std::string>();
      if (!object.seen.insert(object.current).second && found_.empty()) found_ = describe(level - 1);
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  struct Level {
    std::set<std::string> seen;
    std::string current;
  };
  std::string describe(std::size_t level) const {
    std::string path;
    for (std::size_t i = 0; i < level; ++i)
      if (!levels_[i].current.empty()) path += (path.empty() ? "" : ".") + levels_[i].current;
    return fmt::format("{}{}key '{}' appears twice", path, path.empty() ? "" : ": ", levels_[level].current);
  }
  std::vector<Level> levels_;  // by depth; those of lists stay empty
  std::string found_;
};

/// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - invalid
/// literal"
/// -> "line 1, column 2: syntax error while parsing value - invalid literal".
std::string short_parse_error(std::string_view what) {
  constexpr std::string_view kMark = "parse error at ";
  const auto at = what.find(kMark);
  if (at != std::string_view::npos) return printable(what.substr(at + kMark.size()));
  return printable(what.substr(what.find("] ") + 2));  // a number that overflows: "[json.exception.….406] number …"
}

Json value_of(std::string_view text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(std::string(text)) : value;
}

struct Step {
  bool is_index = false;
  std::size_t index = 0;
  std::string key;
};

/// The next step of `rest`, taken off it. At an object the longest key that is there and ends where a step may end.
Result<Step> take_step(const Json& at, std::string_view& rest) {
  if (rest.front() == '[') {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return fail(Code::kInvalidArgument, "']' is missing");
    const auto index = TFD_TRY(parse_integer(rest.substr(1, close - 1), 0, 1'000'000'000));
    rest.remove_prefix(close + 1);
    return Step{true, static_cast<std::size_t>(index), {}};
  }
  if (rest.front() == '.') rest.remove_prefix(1);
  std::size_t length = std::min(rest.find_first_of(".["), rest.size());
  if (at.is_object())
    for (const auto& [key, value] : at.items()) {
      const bool fits = rest.substr(0, key.size()) == key &&
                        (rest.size() == key.size() || rest[key.size()] == '.' || rest[key.size()] == '[');
      if (fits && key.size() > length) length = key.size();
    }
  if (length == 0) return fail(Code::kInvalidArgument, "a key is missing");
  Step step{false, 0, std::string(rest.substr(0, length))};
  rest.remove_prefix(length);
  return step;
}

/// Where typed paths in an override start.
struct TypedPaths {
  const std::string& directory;  // empty: they stay as they are
  bool with_data;
};

Result<void> set_value(Json& root, std::string_view path, Json value, TypedPaths paths) {
  Json* at = &root;
  std::vector<std::string> keys;
  std::string_view rest = path;
  while (true) {
    const auto done_part = [&] { return path.substr(0, path.size() - rest.size()); };
    const std::string here(done_part());
    const Step step = TFD_TRY(take_step(*at, rest));
    keys.push_back(step.is_index ? std::to_string(step.index) : step.key);
    if (step.is_index) {
      if (!at->is_array()) return fail(Code::kInvalidArgument, "'{}' is not a list", here);
      if (step.index >= at->size())
        return fail(Code::kInvalidArgument, "'{}' has {}", here, counted(at->size(), "element"));
      at = &(*at)[step.index];
      if (rest.empty()) break;
      continue;
    }
    if (at->is_array()) return fail(Code::kInvalidArgument, "'{}' is a list: use [0] to [{}]", here, at->size() - 1);
    if (!at->is_object()) return fail(Code::kInvalidArgument, "'{}' is not an object", here);
    if (rest.empty() && value.is_null()) {
      at->erase(step.key);
      return {};
    }
    if (!at->contains(step.key)) (*at)[step.key] = Json::object();
    at = &(*at)[step.key];
    if (rest.empty()) break;
  }
  if (!paths.directory.empty()) resolve_typed_paths(value, keys, paths.directory, paths.with_data);
  *at = std::move(value);
  return {};
}

}  // namespace

Result<Document> parse_document(std::string_view text) {
  DuplicateFinder duplicates;
  try {
    auto document = std::make_shared<Json>(Json::parse(
        text, [&](int depth, Json::parse_event_t event, Json& parsed) { return duplicates(depth, event, parsed); }));
    if (!duplicates.found().empty()) return fail(Code::kInvalidArgument, "{}", printable(duplicates.found()));
    return document;
  } catch (const Json::exception& error) {
    return fail(Code::kInvalidArgument, "not JSON: {}", short_parse_error(error.what()));
  }
}

Result<void> apply_override(nlohmann::ordered_json& document, std::string_view override_text,
                            const std::string& directory, bool with_data) {
  const auto equals = override_text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Code::kUsage, "--set {}: must be PATH=VALUE", printable(override_text));
  auto done = set_value(document, override_text.substr(0, equals), value_of(override_text.substr(equals + 1)),
                        {directory, with_data});
  if (done) return {};
  Error error = std::move(done).error().within(fmt::format("--set {}", printable(override_text)));
  error.code = Code::kUsage;
  return fail(std::move(error));
}

std::string dump_document(const nlohmann::ordered_json& document) { return document.dump(); }

}  // namespace tfd::program
