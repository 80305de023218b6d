// SPDX-License-Identifier: Apache-2.0
#include "yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "tfd/base/text.hpp"

namespace tfd::resolve::kubernetes {
namespace {

using cluster::JsonValue;

/// Thrown through yaml-cpp, whose parser knows no other way to stop; caught below.
struct TooMuch {
  const char* what;
};

bool is_number(std::string_view text, bool& whole) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  std::size_t digits = 0, dots = 0;
  for (const char c : text) {
    if (c == '.' && dots == 0)
      ++dots;
    else if (c >= '0' && c <= '9')
      ++digits;
    else
      return false;
  }
  whole = dots == 0;
  return digits > 0;
}

/// A plain (unquoted) scalar by YAML 1.2's core schema, as far as a kubeconfig needs it.
JsonValue typed(std::string text) {
  const auto one_of = [&](auto... words) { return ((text == words) || ...); };
  JsonValue out;
  bool whole = false;
  if (text.empty() || one_of("~", "null", "Null", "NULL")) return out;
  if (one_of("true", "True", "TRUE", "false", "False", "FALSE")) {
    out.kind = JsonValue::Kind::kBool;
    out.boolean = text[0] == 't' || text[0] == 'T';
    return out;
  }
  out.kind = JsonValue::Kind::kString;
  if (is_number(text, whole)) out.kind = whole ? JsonValue::Kind::kInteger : JsonValue::Kind::kFloat;
  out.text = std::move(text);
  return out;
}

/// Builds the value from the parser's events, which don't unfold aliases by themselves.
class Builder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override { add({}, anchor, 1); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw TooMuch{"an alias that contains itself"};
    add(found->second.value, 0, found->second.nodes);
  }
  void OnScalar(const YAML::Mark&, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    if (tag == "?" || tag.empty()) return add(typed(value), anchor, 1);
    JsonValue text{.kind = JsonValue::Kind::kString};
    text.text = value;
    add(std::move(text), anchor, 1);
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(JsonValue::Kind::kArray, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(JsonValue::Kind::kObject, anchor);
  }
  void OnMapEnd() override { close(); }

  JsonValue take() { return std::move(root_); }

 private:
  struct Open {
    JsonValue value;
    YAML::anchor_t anchor = 0;
    std::size_t nodes = 1;
    bool has_key = false;
    std::string key = {};
  };
  struct Anchored {
    JsonValue value;
    std::size_t nodes = 1;
  };

  void open(JsonValue::Kind kind, YAML::anchor_t anchor) {
    if (open_.size() >= kDeepestYaml) throw TooMuch{"nested too deeply"};
    Open level;
    level.value.kind = kind;
    level.anchor = anchor;
    open_.push_back(std::move(level));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.value), done.anchor, done.nodes);
  }

  void add(JsonValue value, YAML::anchor_t anchor, std::size_t nodes) {
    if (anchor != 0) {  // kept a second time, and counted so
      count(nodes);
      anchored_[anchor] = {value, nodes};
    }
    count(nodes);
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    parent.nodes += nodes;
    if (parent.value.is(JsonValue::Kind::kArray)) {
      parent.value.items.push_back(std::move(value));
    } else if (!parent.has_key) {
      parent.key = value.text;
      parent.has_key = true;
    } else {
      parent.value.set(std::move(parent.key), std::move(value));
      parent.key.clear();
      parent.has_key = false;
    }
  }

  void count(std::size_t nodes) {
    seen_ += nodes;
    if (seen_ > kMostYamlNodes) throw TooMuch{"too many values, or aliases that unfold to too many"};
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchored_;
  std::size_t seen_ = 0;
  JsonValue root_;
};

}  // namespace

Result<JsonValue> parse_yaml(std::string_view text, std::string_view source) {
  if (text.size() > kMostYamlBytes)
    return fail(Code::kResourceExhausted, "{}: {} bytes are too many: at most {}", source, text.size(), kMostYamlBytes);
  Builder builder;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(builder);
  } catch (const TooMuch& error) {
    return fail(Code::kResourceExhausted, "{}: {}", source, error.what);
  } catch (const YAML::Exception& error) {
    return fail(Code::kInvalidArgument, "{}: not YAML: line {}, column {}: {}", source, error.mark.line + 1,
                error.mark.column + 1, printable(error.msg));
  }
  return builder.take();
}

}  // namespace tfd::resolve::kubernetes
