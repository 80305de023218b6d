#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a fetch or a release line names: {"remote": ID}, or {"remote": ID, "result": N} for one of several results,
// anywhere in a structure. Inside the room only. Thread rule: pure functions.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
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
/// Adds all of a structure. kInvalidArgument: an object means to be one and isn't; `op` is for its message.
Result<void> collect_remotes(std::string_view op, const nlohmann::ordered_json& value, std::vector<RemoteRef>& out);
/// Those of a release, which names whole closures and nothing else. kInvalidArgument says what it has beside them.
Result<std::vector<std::string>> collect_released(const nlohmann::ordered_json& value);

}  // namespace tfd::coordinate
