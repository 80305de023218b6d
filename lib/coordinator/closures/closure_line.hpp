#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One line of a closure stream, read: what is asked, and how its answer is labelled. Knows the form of lines, not the
// program: arguments stay JSON (closure_arguments.hpp reads them). Private to the room; includes nlohmann/json.hpp.
// Thread rule: pure functions.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tfd/base/error.hpp"
#include "tfd/base/names.hpp"

namespace tfd::coordinator {

enum class Op {
  kSchedule,
  kFetch,
  kRelease,
  kJoin,
  kDone,
  kEvaluate,
  kCreatePerWorkerDataset,
  kRead,
  kAssign,
  kSave,
  kRestore,
  kCluster
};

struct ClosureLine {
  std::optional<std::string> id;  // its JSON text: "a" and 1 are different labels
  Op op = Op::kJoin;
  nlohmann::json fields;           // the whole line: has what its op needs, of the right types, and nothing else
  nlohmann::ordered_json of = {};  // of a fetch or a release: its keys in the order of the line
};

/// kInvalidArgument says what is wrong; `id` is set where the line had a good one, so that the answer can bear it.
Result<ClosureLine> parse_closure_line(std::string_view text, std::optional<std::string>* id);

}  // namespace tfd::coordinator
