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

/// A parsed document; a shared_ptr so that callers need not know the type.
using Document = std::shared_ptr<nlohmann::ordered_json>;

/// kInvalidArgument: "not JSON: line 3, column 5: …", "functions.f: key 'inputs' appears twice".
Result<Document> parse_document(std::string_view text);

/// "train.steps=10", "datasets.train[3].batch.size=32", "train.checkpoint=null" (null takes the key away). The value is
/// JSON, or else a string. Keys with dots are matched by the longest existing key; missing objects are made, and
/// unknown keys are left to the check. Relative paths in the value start in `directory`, those of data only
/// `with_data`; if it is empty they stay relative. kUsage: "--set train[0]=1: …".
Result<void> apply_override(nlohmann::ordered_json& document, std::string_view override_text,
                            const std::string& directory = {}, bool with_data = true);

/// Replaces the bare name of an optimizer, "adam", by the equivalent object, {"adam": {}}.
void expand_optimizer(nlohmann::ordered_json& document);

/// A training ends after train.steps or train.epochs: where an override sets one of them, the file's other one goes.
void replace_end(nlohmann::ordered_json& document, const std::vector<std::string>& overrides);

/// Removes the shardings of all functions' inputs and outputs.
void drop_shardings(nlohmann::ordered_json& document);

struct Program;
/// Keeps parts of the document that the program has no values for, for Program::document().
void keep_stated(Program& program, const Document& document);

}  // namespace tfd::program
