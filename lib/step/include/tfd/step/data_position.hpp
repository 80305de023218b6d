#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Position of a training in its data: their order, and the number of elements taken. Stored in checkpoints of
// strategies whose steps are sequential. Thread rule: plain values, pure functions.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::step {

struct DataPosition {
  struct Dataset {
    std::string pipeline;       // digest of the pipeline
    std::int64_t elements = 0;  // that steps have taken
    friend bool operator==(const Dataset&, const Dataset&) = default;
  };
  data::Order order;
  std::map<std::string, Dataset> datasets;  // datasets of which steps have taken elements
};

/// Formats a position as JSON, in one line.
std::string format_data_position(const DataPosition& position);
/// kInvalidArgument.
Result<DataPosition> parse_data_position(std::string_view text);

}  // namespace tfd::step
