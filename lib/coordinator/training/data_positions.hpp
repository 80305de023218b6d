#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Data positions of a coordinator's training in checkpoints: JSON in one line, {"datasets": DIGEST, "workers":
// {"worker:0": {"steps": 120, "returns": 0}, …}}. Thread rule: pure functions.
#include <string>
#include <string_view>

#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/program/program.hpp"

namespace tfd::coordinator {

std::string format_data_progress(const program::Program& program, const std::map<std::string, DataProgress>& progress);
/// Parses the positions in a checkpoint at this step. Without any, as in tfd-run's or another version's, all workers
/// have made equally many of its steps. If the datasets of its steps have changed workers restart them, each in another
/// order.
DataPositions parse_data_positions(const program::Program& program, std::string_view text, std::int64_t step);

}  // namespace tfd::coordinator
