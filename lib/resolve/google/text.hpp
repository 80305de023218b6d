#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Names as people count them, and texts in URLs. Thread rule: pure functions.
#include <string>
#include <string_view>

namespace tfd::resolve::google {

/// a-2 before a-10: runs of digits by their value, everything else by bytes; equal values by their length, so that it
/// is an order.
bool comes_before(std::string_view left, std::string_view right);

/// Percent-encodes a text for the query of a URL, or a form.
std::string query_encoded(std::string_view text);

}  // namespace tfd::resolve::google
