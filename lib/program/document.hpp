#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The text of a program as JSON: parsed with duplicate keys refused, changed by --set, and written of a program's
// values (Program::document()). Thread rule: pure functions.
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::program {

/// Shared so that the caller need not know the type: whoever parsed it holds it.
using Document = std::shared_ptr<nlohmann::ordered_json>;

/// kInvalidArgument: "not JSON: line 3, column 5: …", "functions.f: key 'inputs' appears twice".
Result<Document> parse_document(std::string_view text);

/// "train.steps=10", "datasets.train[3].batch.size=32", "train.checkpoint=null" (null takes the key away). The value is
/// JSON, or else itself as a string. Keys with dots in them are found by the longest key that is there; missing objects
/// on the way are made, and what the program doesn't know is found by the check. Relative paths in the value start in
/// `directory`, those of data only `with_data`; an empty one leaves them. kUsage: "--set train[0]=1: …".
Result<void> apply_override(nlohmann::ordered_json& document, std::string_view override_text,
                            const std::string& directory = {}, bool with_data = true);

/// Takes the shardings of all functions' inputs and outputs away.
void drop_shardings(nlohmann::ordered_json& document);

struct Program;
/// Leaves what the program has no values of to Program::document().
void keep_stated(Program& program, const Document& document);

}  // namespace tfd::program
