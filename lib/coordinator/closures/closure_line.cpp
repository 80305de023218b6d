// SPDX-License-Identifier: Apache-2.0
#include "closure_line.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "tfd/base/text.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::coordinator {
namespace {

using nlohmann::json;

constexpr NameTable<Op, 11> kOps{{{{Op::kSchedule, "schedule"},
                                   {Op::kFetch, "fetch"},
                                   {Op::kRelease, "release"},
                                   {Op::kJoin, "join"},
                                   {Op::kDone, "done"},
                                   {Op::kEvaluate, "evaluate"},
                                   {Op::kCreatePerWorkerDataset, "create_per_worker_dataset"},
                                   {Op::kRead, "read"},
                                   {Op::kAssign, "assign"},
                                   {Op::kSave, "save"},
                                   {Op::kRestore, "restore"}}}};

enum class Type { kText, kList, kObject, kWhole, kPositive, kAny };

struct Key {
  std::string_view name;
  Type type;
  bool required = true;
};

constexpr std::array kScheduleKeys{Key{"function", Type::kText}, Key{"args", Type::kList, false},
                                   Key{"kwargs", Type::kObject, false}, Key{"replicas", Type::kText, false},
                                   Key{"step", Type::kWhole, false}};
constexpr std::array kOfKeys{Key{"of", Type::kAny}};
constexpr std::array kEvaluateKeys{Key{"function", Type::kText}, Key{"steps", Type::kPositive, false}};
constexpr std::array kDatasetKeys{Key{"dataset", Type::kText}};
constexpr std::array kReadKeys{Key{"variable", Type::kText}, Key{"rows", Type::kAny, false}};
constexpr std::array kAssignKeys{Key{"variable", Type::kText}, Key{"value", Type::kAny},
                                 Key{"rows", Type::kAny, false}};
constexpr std::array kPathKeys{Key{"path", Type::kText}};

std::span<const Key> keys_of(Op op) {
  switch (op) {
    case Op::kSchedule:
      return kScheduleKeys;
    case Op::kFetch:
    case Op::kRelease:
      return kOfKeys;
    case Op::kEvaluate:
      return kEvaluateKeys;
    case Op::kCreatePerWorkerDataset:
      return kDatasetKeys;
    case Op::kRead:
      return kReadKeys;
    case Op::kAssign:
      return kAssignKeys;
    case Op::kSave:
    case Op::kRestore:
      return kPathKeys;
    case Op::kJoin:
    case Op::kDone:
    case Op::kCluster:
      break;
  }
  return {};
}

bool is_whole(const json& value, std::int64_t least) {
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())) return false;
  return value.is_number_integer() && value.get<std::int64_t>() >= least;
}

bool has_type(const json& value, Type type) {
  switch (type) {
    case Type::kWhole:
      return is_whole(value, 0);
    case Type::kPositive:
      return is_whole(value, 1);
    case Type::kText:
      return value.is_string();
    case Type::kList:
      return value.is_array();
    case Type::kObject:
      return value.is_object();
    case Type::kAny:
      break;
  }
  return true;
}

std::string_view describe(Type type) {
  switch (type) {
    case Type::kWhole:
      return "a whole number >= 0";
    case Type::kPositive:
      return "a whole number >= 1";
    case Type::kText:
      return "a string";
    case Type::kList:
      return "a list";
    case Type::kObject:
      return "an object";
    case Type::kAny:
      break;
  }
  return "a value";
}

struct Outline {
  int depth = 0;         // maximal nesting of brackets
  std::size_t keys = 0;  // of all objects
};

/// Checked before parsing, since code that walks the document is recursive.
Outline outline_of(std::string_view text) {
  Outline out;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      out.depth = std::max(out.depth, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':') {
      ++out.keys;
    }
  }
  return out;
}

std::size_t count_keys(const json& value) {
  if (!value.is_structured()) return 0;
  std::size_t count = value.is_object() ? value.size() : 0;
  for (const json& element : value) count += count_keys(element);
  return count;
}

/// Finds a duplicate key, of which the parser would keep the last.
std::string find_duplicate(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::string duplicate;
  [[maybe_unused]] const json parsed_again = json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second && duplicate.empty())
      duplicate = parsed.get<std::string>();
    return true;
  });
  return duplicate;
}

Result<json> parse_object(std::string_view text) {
  constexpr int kMostDepth = 100;
  const Outline outline = outline_of(text);
  if (outline.depth > kMostDepth) return fail(Code::kInvalidArgument, "nested deeper than {}", kMostDepth);
  try {
    json value = json::parse(text);
    // If all keys are at the top level, no duplicate check is needed.
    if (outline.keys != value.size() && outline.keys != count_keys(value))
      return fail(Code::kInvalidArgument, "the key '{}' appears twice", printable(find_duplicate(text)));
    if (value.is_object()) return value;
    return fail(Code::kInvalidArgument, "a line must be an object such as {{\"op\": \"join\"}}, not {}",
                value.type_name());
  } catch (const json::parse_error& error) {
    if (const std::string plain = tensor::plain_json(text); plain != text) return parse_object(plain);
    return fail(Code::kInvalidArgument, "not JSON, at byte {}", error.byte);
  } catch (const json::out_of_range&) {  // as 1e400
    return fail(Code::kInvalidArgument, "has a number that is too large for any dtype");
  }
}

Result<void> check_keys(const json& fields, std::string_view op, std::span<const Key> keys) {
  std::vector<std::string> known{"op", "id"};
  for (const Key& key : keys) known.emplace_back(key.name);
  for (const auto& [name, value] : fields.items())
    if (std::ranges::find(known, name) == known.end())
      return fail(Code::kInvalidArgument, "{}: unknown key '{}'{}", op, printable(name), did_you_mean(name, known));
  for (const Key& key : keys) {
    const auto found = fields.find(key.name);
    if (found == fields.end()) {
      if (!key.required) continue;
      return fail(Code::kInvalidArgument, "{}: '{}' is missing", op, key.name);
    }
    if (!has_type(*found, key.type))
      return fail(Code::kInvalidArgument, "{}: '{}' must be {}", op, key.name, describe(key.type));
  }
  return {};
}

}  // namespace

Result<ClosureLine> parse_closure_line(std::string_view text, std::optional<std::string>* id) {
  ClosureLine line;
  line.fields = TFD_TRY(parse_object(text));
  const auto label = line.fields.find("id");
  if (label != line.fields.end()) {
    if (!label->is_string() && !label->is_number_integer())
      return fail(Code::kInvalidArgument, "'id' must be a string or an integer");
    line.id = *id = label->dump(-1, ' ', false, json::error_handler_t::replace);
  }
  const auto op = line.fields.find("op");
  if (op == line.fields.end()) {
    if (line.fields.contains("cluster")) {  // a spec written by tfd-resolve may have other keys
      line.op = Op::kCluster;
      return line;
    }
    return fail(Code::kInvalidArgument, "'op' is missing");
  }
  if (!op->is_string()) return fail(Code::kInvalidArgument, "'op' must be a string");
  const auto& name = op->get_ref<const std::string&>();
  const auto known = kOps.find(name);
  if (!known)
    return fail(Code::kInvalidArgument, "unknown op '{}'{}", printable(name), did_you_mean(name, kOps.names()));
  line.op = *known;
  TFD_TRY(check_keys(line.fields, name, keys_of(line.op)));
  if (line.op == Op::kFetch || line.op == Op::kRelease) line.of = std::move(nlohmann::ordered_json::parse(text)["of"]);
  return line;
}

}  // namespace tfd::coordinator
