// SPDX-License-Identifier: Apache-2.0
#include "document.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "check/typed_paths.hpp"
#include "draft.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::program {
namespace {

using Json = nlohmann::ordered_json;

/// Appends a member with a new key: nlohmann/json itself would compare it with all others.
Json& append(Json& object, std::string key, Json value) {
  auto& members = object.get_ref<Json::object_t&>();
  return members.emplace_back(std::move(key), std::move(value)).second;
}

/// Builds the document and finds duplicate keys: nlohmann/json would silently take the last.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }
  bool start_object(std::size_t) override { return start(Json::object()); }
  bool start_array(std::size_t) override { return start(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& key) override {
    levels_.back().key = std::move(key);
    if (!levels_.back().seen.insert(levels_.back().key).second && twice_.empty()) twice_ = describe_twice();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    error_ = error.what();
    return false;
  }

  const std::string& error() const { return error_; }
  const std::string& twice() const { return twice_; }
  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json value;
    std::string key = {};  // key of the next member; stays empty in a list
    std::set<std::string> seen = {};
  };
  bool start(Json value) {
    levels_.push_back({std::move(value)});
    return true;
  }
  bool end() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return put(std::move(value));
  }
  bool put(Json value) {
    if (levels_.empty())
      root_ = std::move(value);
    else if (levels_.back().value.is_array())
      levels_.back().value.push_back(std::move(value));
    else
      append(levels_.back().value, levels_.back().key, std::move(value));
    return true;
  }
  std::string describe_twice() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i)
      if (!levels_[i].key.empty()) path += (path.empty() ? "" : ".") + levels_[i].key;
    return fmt::format("{}{}key '{}' appears twice", path, path.empty() ? "" : ": ", levels_.back().key);
  }

  Json root_;
  std::vector<Level> levels_;  // that are open
  std::string error_, twice_;
};

/// JSON of a variable without defaults, in the form that variables.cpp reads.
Json variable_json(const VariableDef& variable) {
  Json out = {{"shape", variable.spec.shape},
              {"dtype", tensor::dtype_name(variable.spec.dtype)},
              {"init", variable::to_json(variable.init)}};
  const bool on_read = variable.synchronization == variable::Synchronization::kOnRead;
  if (!variable.trainable || on_read) out["trainable"] = variable.trainable;
  if (variable.aggregation != variable::default_aggregation(variable.spec.dtype))
    out["aggregation"] = variable::name_of(variable.aggregation);
  if (on_read) out["synchronization"] = variable::name_of(variable.synchronization);
  if (variable.partitioner) out["partitioner"] = variable::to_json(*variable.partitioner);
  if (!variable.colocate_with.empty()) out["colocate_with"] = variable.colocate_with;
  if (variable.per_worker) out["per_worker"] = true;
  return out;
}

/// JSON of all variables but the loss scale's, which is derived from the functions.
Json variables_json(const std::vector<VariableDef>& variables) {
  Json out = Json::object();
  for (const VariableDef& variable : variables)
    if (variable.name != kLossScaleVariable) append(out, variable.name, variable_json(variable));
  return out;
}

Json value_of(std::string_view text) {
  Json value = Json::parse(tensor::plain_json(text), nullptr, false);
  return value.is_discarded() ? Json(std::string(text)) : value;
}

struct Step {
  bool is_index = false;
  std::size_t index = 0;
  std::string key;
};

/// Takes the next step off `rest`: in an object, the longest existing key that ends where a step may end.
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

/// Base directories of relative paths in an override.
struct TypedPaths {
  const std::string& directory;  // empty: they stay relative
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
  Builder builder;
  if (!Json::sax_parse(tensor::plain_json(text), &builder))
    return fail(Code::kInvalidArgument, "not JSON: {}", tensor::short_parse_error(builder.error()));
  if (!builder.twice().empty()) return fail(Code::kInvalidArgument, "{}", printable(builder.twice()));
  return std::make_shared<Json>(builder.take());
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

void expand_optimizer(Json& document) {
  if (!document.is_object()) return;
  const auto optimizer = document.find("optimizer");
  if (optimizer != document.end() && optimizer->is_string() && !optimizer->get_ref<const std::string&>().empty())
    *optimizer = Json{{optimizer->get<std::string>(), Json::object()}};
}

void replace_end(Json& document, const std::vector<std::string>& overrides) {
  const auto sets = [&](std::string_view key) {
    return std::ranges::any_of(overrides, [&](const std::string& one) {
      return one.starts_with(fmt::format("train.{}=", key)) && !one.ends_with("=null");
    });
  };
  const auto train = document.find("train");
  if (train == document.end() || !train->is_object() || sets("steps") == sets("epochs")) return;
  train->erase(sets("steps") ? "epochs" : "steps");
}

void drop_shardings(Json& document) {
  const auto functions = document.find("functions");
  if (functions == document.end() || !functions->is_object()) return;
  for (Json& function : *functions)
    for (const char* key : {"inputs", "outputs"}) {
      if (!function.is_object() || !function.contains(key) || !function[key].is_structured()) continue;
      for (Json& binding : function[key])
        if (binding.is_object()) binding.erase("sharding");
    }
}

void keep_stated(Program& program, const Document& document) {
  state_groups(*document, program.variables);
  for (const char* key : {"variables", "weights", "datasets"}) document->erase(key);
  if (const auto train = document->find("train"); train != document->end() && train->is_object())
    train->erase("validation_split");  // the datasets are split by now
  program.stated = document;
}

std::string Program::document() const {
  Json out = stated ? *stated : Json::object();
  if (!variables.empty()) out["variables"] = variables_json(variables);
  if (!datasets.empty()) {
    Json& pipelines = out["datasets"] = Json::object();
    for (const auto& [name, plan] : datasets) append(pipelines, name, data::to_json(plan));
  }
  if (const auto block = out.find("train"); train && block != out.end()) {
    for (const auto& [key, value] : {std::pair("steps", train->steps), std::pair("epochs", train->epochs)})
      if (value)
        (*block)[key] = *value;
      else
        block->erase(key);
  }
  return out.dump();
}

}  // namespace tfd::program
