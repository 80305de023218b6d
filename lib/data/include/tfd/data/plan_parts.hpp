#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pipelines that are stated in parts. Thread rule: pure functions.
#include <nlohmann/json_fwd.hpp>

#include "tfd/data/plan.hpp"

namespace tfd::data {

/// parse_plan() of transformations without a source, which come after the stages of `beginning`.
Result<Plan> parse_plan_after(Plan beginning, const nlohmann::ordered_json& pipeline);

}  // namespace tfd::data
