// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <regex>
#include <set>

#include "sets.hpp"

namespace tfd::vectors {
namespace {

bool is_error(const Json& value) { return value.is_object() && value.contains("error"); }

/// The codes for a Python exception, the one that tfd itself would use first.
const std::map<std::string, std::vector<std::string>>& codes_by_type() {
  static const std::map<std::string, std::vector<std::string>> kCodes{
      {"ValueError", {"INVALID_ARGUMENT", "NOT_FOUND", "OUT_OF_RANGE", "ALREADY_EXISTS"}},
      {"TypeError", {"INVALID_ARGUMENT"}},
      {"KeyError", {"ALREADY_EXISTS", "NOT_FOUND"}},
      {"RuntimeError", {"FAILED_PRECONDITION"}},
      {"ImportError", {"FAILED_PRECONDITION", "UNIMPLEMENTED"}},
      {"NotImplementedError", {"UNIMPLEMENTED"}},
      {"UnavailableError", {"UNAVAILABLE"}},
      {"AbortedError", {"ABORTED"}},
      {"CancelledError", {"CANCELLED"}},
      {"InvalidArgumentError", {"INVALID_ARGUMENT"}},
      {"NotFoundError", {"NOT_FOUND"}},
      {"OutOfRangeError", {"OUT_OF_RANGE"}},
      {"DeadlineExceededError", {"DEADLINE_EXCEEDED"}},
      {"FailedPreconditionError", {"FAILED_PRECONDITION"}},
      {"InternalError", {"INTERNAL"}},
      {"UnknownError", {"UNKNOWN"}},
      {"UnimplementedError", {"UNIMPLEMENTED"}},
      {"ResourceExhaustedError", {"RESOURCE_EXHAUSTED"}},
      {"AlreadyExistsError", {"ALREADY_EXISTS"}},
      {"PermissionDeniedError", {"PERMISSION_DENIED"}},
      {"DataLossError", {"DATA_LOSS"}}};
  return kCodes;
}

/// Empty: any.
std::vector<std::string> codes_of(const std::string& type) {
  const auto found = codes_by_type().find(type);
  return found == codes_by_type().end() ? std::vector<std::string>{} : found->second;
}

/// Separate numbers, NAMES_OF_VARIABLES, and words in single quotes; not TensorFlow's text about the
/// operation behind it: "for '= Sum[T=DT_FLOAT](args_0)' with input shapes: …".
std::set<std::string> quantities_of(const std::string& message) {
  static const std::regex kQuantity(R"((^|[^A-Za-z0-9_.])(\d+)(?![A-Za-z0-9_])|([A-Z]+_[A-Z_]+)|'([^']+)')");
  std::set<std::string> out;
  const std::string said = message.substr(0, message.find(" for '= "));
  for (std::sregex_iterator it(said.begin(), said.end(), kQuantity), end; it != end; ++it)
    for (const int group : {2, 3, 4})
      if ((*it)[static_cast<std::size_t>(group)].matched) out.insert((*it)[static_cast<std::size_t>(group)].str());
  return out;
}

bool equal_numbers(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() && a.get<double>() == b.get<double>();
}

}  // namespace

void check_keys(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(known, key) == known.end()) throw std::runtime_error("nobody knows the key '" + key + "'");
}

Code code_of(const std::string& type) {
  const auto codes = codes_of(type);
  if (codes.empty()) throw std::runtime_error("nobody knows an error " + type);
  return parse_code(codes.front());
}

Json error_record(const Error& error, std::string_view stage) {
  Json record{{"code", std::string(code_name(error.code))}, {"message", error.message}};
  if (!stage.empty()) record["stage"] = stage;
  return {{"error", record}};
}

void Report::differ(const std::string& where, const std::string& expected, const std::string& got) {
  differences_.push_back(fmt::format("{}: expected {}, got {}", where, expected, got));
}

void Report::compare(const Json& expected, const Json& actual, const std::string& where) {
  if (is_error(expected)) {
    compare_error(expected.at("error"), actual, where);
  } else if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (actual.contains(key)) {
        compare(value, actual.at(key), where + "." + key);
      } else {
        differ(where + "." + key, value.dump(), "nothing");
      }
    }
    for (const auto& [key, value] : actual.items())
      if (!expected.contains(key)) differ(where + "." + key, "nothing", value.dump());
  } else if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) compare(expected[i], actual[i], fmt::format("{}[{}]", where, i));
  } else if (expected != actual && !equal_numbers(expected, actual)) {
    differ(where, expected.dump(), actual.dump());
  }
}

void Report::compare_error(const Json& expected, const Json& actual, const std::string& where) {
  if (!is_error(actual)) {
    differ(where, "error " + expected.dump(), actual.dump());
    return;
  }
  const Json& got = actual.at("error");
  if (expected.contains("stage") && got.contains("stage") && expected.at("stage") != got.at("stage"))
    differ(where + ".stage", expected.at("stage").dump(), got.at("stage").dump());
  if (expected.value("accidental", false)) return;
  const std::vector<std::string> codes = codes_of(expected.value("type", ""));
  if (!codes.empty() && std::ranges::find(codes, got.at("code").get<std::string>()) == codes.end())
    differ(where + ".type", expected.at("type").dump(), got.dump());
  const std::string said = got.at("message").get<std::string>();
  const std::set<std::string> own = quantities_of(said);
  for (const std::string& quantity : quantities_of(expected.value("message", "")))
    if (!own.contains(quantity) && said.find(quantity) == std::string::npos)
      differ(where + ".message", fmt::format("to say {}", quantity), got.at("message").dump());
}

}  // namespace tfd::vectors
