#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// tfd-data's output about a dataset, as JSON. Thread rule: pure functions, but for measure(), which reads the clock.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/units.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::data_tool {

inline constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

/// Counted while elements are read.
struct Skipped {
  std::int64_t count = 0;
  std::string first;  // error
};

/// {"spec": …, "cardinality": …, "elements": […]}, over several lines. `is_endless`: it is infinite, if its cardinality
/// is unknown.
std::string describe(const data::Dataset& dataset, bool is_endless, const std::vector<data::Element>& elements,
                     const Skipped& skipped);

/// The step, worker and replica that get an element.
struct Taker {
  std::int64_t step = 0;
  int worker = 0;
  int replica = 0;  // of all workers'
};
/// {"step": 0, "worker": 0, "replica": 1, "element": {…}}
std::string describe_share(const Taker& taker, const data::ElementSpec& spec, const data::Element& element);

/// {"elements": 1000}
std::string describe_count(std::int64_t elements, const Skipped& skipped);

/// Elements that were read in this time, and the bytes of their tensors.
struct Speed {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
};
/// Measures one pass, at most `most` elements or the given time.
Result<Speed> measure(const data::Dataset& dataset, std::int64_t most, Duration duration);
std::string describe_speed(const Speed& speed, const Skipped& skipped);

}  // namespace tfd::data_tool
