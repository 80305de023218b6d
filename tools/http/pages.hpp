#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The paths: /, /status.json, /metrics, /livez, /readyz. Thread rule: pure functions.
#include <functional>
#include <string>
#include <string_view>

#include "board.hpp"
#include "server.hpp"

namespace tfd::http {

/// page.html, and what a browser may do with it; made from it when tfd is built.
extern const std::string_view kPage;
extern const std::string_view kPagePolicy;

/// The answer to a path. `look` is called if the answer depends on the present state.
Answer answer_to(std::string_view path, const std::function<Snapshot()>& look);
/// /status.json: one object, which the page draws. Its keys may change.
std::string as_status(const Snapshot& shown);

}  // namespace tfd::http
