#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The data of a page, for Prometheus: its text format 0.0.4. Source:
// prometheus.io/docs/instrumenting/exposition_formats. Thread rule: pure functions.
#include <string>
#include <string_view>

#include "board.hpp"

namespace tfd::http {

/// The format's content type.
constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// Families of metrics with HELP and TYPE; those that nothing is known of are left out.
std::string as_metrics(const Snapshot& shown);

/// A label's value between its quotes: backslash, quote and line feed escaped, bytes that aren't UTF-8 replaced.
std::string escape_label(std::string_view value);
/// "0.25", "NaN", "+Inf".
std::string format_sample(double value);

}  // namespace tfd::http
