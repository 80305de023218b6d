#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Parses one line of a closure stream: the request and the label of its answer. Knows the form of lines, not the
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
  nlohmann::json fields;           // the whole line: exactly the keys of its op, with the right types
  nlohmann::ordered_json of = {};  // operand of a fetch or a release, with keys in the line's order
};

/// Parses a line. kInvalidArgument says what is wrong; `id` is set if the line had a valid one, for the answer.
Result<ClosureLine> parse_closure_line(std::string_view text, std::optional<std::string>* id);

}  // namespace tfd::coordinator
