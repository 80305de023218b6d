#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Golden sets, run through the library. A set is a JSON file {"set", "cases": [{"name", "input", "expected"}]}; to
// add one, write a function for its cases and a line in a table below. Thread rule: main thread.
//
//   void run_simple(const Json& input, const Json& expected, Report& report) {
//     report.compare(expected.at("jobs"), actual_jobs, "jobs");
//   }
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::vectors {

using Json = nlohmann::ordered_json;

/// The result of one case. Every difference is a line; none: passed.
class Report {
 public:
  /// The whole tree; where `expected` is an error record, `actual` must be one that fits (see error_record()).
  void compare(const Json& expected, const Json& actual, const std::string& where);
  void differ(const std::string& where, const std::string& expected, const std::string& got);
  /// This case needs what tfd doesn't have: neither passed nor failed.
  void not_implemented(std::string why) { missing_ = std::move(why); }

  const std::vector<std::string>& differences() const { return differences_; }
  const std::string& missing() const { return missing_; }

 private:
  void compare_error(const Json& expected, const Json& actual, const std::string& where);
  std::vector<std::string> differences_;
  std::string missing_;
};

/// {"error": {"code": …, "message": …, "stage": …}}. Binding of an expected one: that it fails, the stage, the type (as
/// a set of codes) and the quantities and names of its message, the last two unless it was accidental.
Json error_record(const Error& error, std::string_view stage = {});

template <class T>
Json to_json(const Result<T>& result) {
  if (!result) return error_record(result.error());
  return Json(*result);
}
template <class T>
Json to_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
template <class T>
Json to_json(const Result<std::optional<T>>& result) {
  if (!result) return error_record(result.error());
  return to_json(*result);
}

/// nullopt if it is absent or null.
template <class T>
std::optional<T> optional_member(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

/// Throws where there is a key that the case's adapter doesn't know: nothing of a case is passed over.
void check_keys(const Json& object, std::initializer_list<std::string_view> known);

/// "InvalidArgumentError", "ValueError", …: the equivalent code; throws for another.
Code code_of(const std::string& type);

using RunCase = std::function<void(const Json& input, const Json& expected, Report& report)>;
using Sets = std::map<std::string, RunCase, std::less<>>;

// One function a file; main.cpp joins them.
Sets cluster_sets();
Sets resolver_sets();
Sets slurm_sets();
Sets union_sets();
Sets kubernetes_sets();
Sets coordinator_sets();
Sets optimizer_sets();
Sets linear_sets();
Sets multi_worker_cluster_sets();
Sets multi_worker_training_sets();
Sets google_sets();
Sets variable_sets();
Sets ps_v1_sets();
Sets tpu_sets();
Sets strategy_sets();
Sets input_sets();
Sets multi_worker_sets();

}  // namespace tfd::vectors
