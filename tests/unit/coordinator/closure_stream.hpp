#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A stream of closures whose lines a test gives and whose answers it reads.
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bed.hpp"
#include "tfd/coordinator/closures.hpp"

namespace tfd::bed {

using namespace tfd::coordinator;
using nlohmann::json;

class Stream {
 public:
  explicit Stream(Bed& bed, ClosureStreamOptions with = {}) : options(with) {
    auto coordinator_options = bed.options();
    coordinator_options.keep_going = options.keep_going;
    coordinator = bed.connect(program, std::move(coordinator_options));
  }

  /// All lines at once, to the end.
  Result<ClosureStreamSummary> run(const std::vector<std::string>& lines) {
    std::deque<std::string> left(lines.begin(), lines.end());
    return run_closures(
        *coordinator, program,
        [&](Deadline) -> Result<std::optional<std::string>> {
          if (left.empty()) return std::nullopt;
          std::string line = std::move(left.front());
          left.pop_front();
          return line;
        },
        [this](std::string_view text) -> Result<void> {
          const std::scoped_lock lock(mutex);
          written.append(text);
          return {};
        },
        options);
  }
  ClosureStreamSummary run_well(const std::vector<std::string>& lines) {
    auto summary = run(lines);
    if (!summary) FAIL(summary.error().message);
    return *summary;
  }
  std::vector<json> answers() {
    std::vector<json> out;
    std::size_t at = 0;
    for (std::size_t end = 0; (end = written.find('\n', at)) != std::string::npos; at = end + 1)
      out.push_back(json::parse(written.substr(at, end - at)));
    CHECK(at == written.size());
    return out;
  }
  json answer(const json& label) {
    json found;
    for (const json& one : answers()) {
      if (one.value("id", json()) != label && one.value("line", json()) != label) continue;
      CHECK(found.is_null());
      found = one;
    }
    REQUIRE_FALSE(found.is_null());
    return found;
  }

  ClosureStreamOptions options;
  program::Program program = make_program();
  std::unique_ptr<ClusterCoordinator> coordinator;
  std::mutex mutex;
  std::string written;
};

inline std::string schedule_line(const std::string& function, int argument, const std::string& id) {
  return json{{"op", "schedule"}, {"function", function}, {"args", {argument}}, {"id", id}}.dump();
}

}  // namespace tfd::bed
