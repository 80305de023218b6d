#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Formats the tasks' reports as a table for people, or as one JSON object. Thread rule: pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask.hpp"

namespace tfd::status {

/// Formats a table without empty columns, below the training's state, if there is one. If columns don't fit into
/// `columns`, the least important ones are left out first, and where `wraps` the last one is wrapped. Texts from tasks
/// are made printable.
std::string as_table(const std::vector<TaskReport>& reports, std::size_t columns, bool wraps);
/// {"ready": …, "training": {…}, "tasks": [{"task", "role", "address", "state", …}]} with a newline.
std::string as_json(const std::vector<TaskReport>& reports);
/// "up", "starting", "unreachable", "not-served".
std::string_view name_of(State state);
/// How late a member of a group is in a step, in microseconds, as another one sees it: the longest.
std::optional<std::int64_t> lateness_of(const std::string& task, const std::vector<TaskReport>& reports);
/// "worker:1 (connection refused) and ps:0 (starting)": those that aren't ready.
std::string missing(const std::vector<TaskReport>& reports);

}  // namespace tfd::status
