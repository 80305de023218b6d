#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// YAML as JSON values: what a kubeconfig is written in. The only user of yaml-cpp. Bounded in size, depth and in what
// aliases may unfold to, so that a hostile file costs no memory. Thread rule: pure functions.
#include <string_view>

#include "tfd/cluster/json_value.hpp"

namespace tfd::resolve::kubernetes {

inline constexpr std::size_t kMostYamlBytes = std::size_t{4} << 20;
inline constexpr std::size_t kDeepestYaml = 64;
inline constexpr std::size_t kMostYamlNodes = 100'000;

/// The first document; null where there is none. Plain scalars are typed as YAML 1.2's core schema does (true, null,
/// 1, 1.5), of a repeated key the last value counts. kInvalidArgument: "config: not YAML: line 3, column 5: …";
/// kResourceExhausted: too large, too deep, aliases that unfold to too much.
Result<cluster::JsonValue> parse_yaml(std::string_view text, std::string_view source);

}  // namespace tfd::resolve::kubernetes
