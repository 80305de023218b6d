#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a fetch line names: {"remote": ID}, or {"remote": ID, "result": N} for one of several results, anywhere in a
// structure. Inside the room only. Thread rule: pure functions.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::coordinate {

struct RemoteRef {
  std::string id;  // its JSON text
  std::optional<std::size_t> result;
};

bool is_remote(const nlohmann::ordered_json& value);
/// Of what is_remote().
RemoteRef read_remote(const nlohmann::ordered_json& value);
/// Adds all of a structure. kInvalidArgument: an object means to be one and isn't.
Result<void> collect_remotes(const nlohmann::ordered_json& value, std::vector<RemoteRef>& out);

}  // namespace tfd::coordinate
