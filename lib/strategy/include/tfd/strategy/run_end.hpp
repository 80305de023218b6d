#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// That a training is over, beside its checkpoints ("end.json"): for the same command started again, which has nothing
// left to do, and for evaluators, which would wait for a step that never comes. A training that a signal ended isn't
// over; one that max_time ended is, but goes on when it is started again.
// Thread rule: free functions; one process writes.
#include <cstdint>
#include <optional>
#include <string>

#include "tfd/program/program.hpp"

namespace tfd::strategy {

struct RunEnd {
  std::string reason;     // "done", "stopped", "end_of_data", "max_time"
  std::int64_t step = 0;  // the last one, of which there is a checkpoint
  std::string rule;       // of train.stop, or how many steps were stated where it took fewer: another one may go on
  std::string time;       // when it was written: to tell one run from another
  std::string run = {};   // whose it is; empty: an older tfd's
};

/// What `reason` means for a program with this train block.
RunEnd make_run_end(const program::TrainDef& train, const std::string& reason, std::int64_t step);
/// The rule where `stated` steps of epochs were fewer, for several replicas share an epoch.
std::string rule_of_epochs(std::int64_t stated);
/// Whether a training by this block that has come to that step has nothing left to do.
bool is_over(const RunEnd& end, const program::TrainDef& train);

/// Atomically; the directory is there, for there are checkpoints in it.
Result<void> save_run_end(const std::string& directory, const RunEnd& end);
/// nullopt where there is none, or what is there can't be read.
std::optional<RunEnd> find_run_end(const std::string& directory);
/// When training goes on.
void remove_run_end(const std::string& directory);

}  // namespace tfd::strategy
