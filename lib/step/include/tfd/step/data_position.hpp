#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the data of a training stand: which order they are in, and how many elements have been taken. Checkpoints of
// strategies whose steps are one after the other have it. Thread rule: plain values, pure functions.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::step {

struct DataPosition {
  struct Dataset {
    std::string pipeline;       // a digest of what it is
    std::int64_t elements = 0;  // that steps have taken
    friend bool operator==(const Dataset&, const Dataset&) = default;
  };
  data::Order order;
  std::map<std::string, Dataset> datasets;  // that steps have taken elements of
};

/// As JSON, in one line.
std::string format_data_position(const DataPosition& position);
/// kInvalidArgument.
Result<DataPosition> parse_data_position(std::string_view text);

}  // namespace tfd::step
