#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Closures as JSON lines (tfd-closures(5)): every line in gets exactly one line out. Reads and answers at the same
// time; a reader that stops reading the answers stops the schedule, not the memory.
// Thread rule: run_closures() blocks its thread, which alone calls `read_line`; `write` is called by another.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

/// Reads one line without its newline; nullopt at the end; kDeadlineExceeded if there is none yet.
using ReadLine = std::function<Result<std::optional<std::string>>(Deadline)>;
/// Writes whole lines; blocks until they are written.
using WriteText = std::function<Result<void>(std::string_view)>;

struct ClosureStreamOptions {
  bool ordered = false;                 // answers in the order of the lines
  bool keep_going = false;              // as in CoordinatorOptions: nothing is canceled
  bool forget = false;                  // values are released when their answers are written, so nothing can be fetched
  std::string directory;                // base of relative paths in lines; empty: the working directory
  std::size_t most_unanswered = 16384;  // limit on unanswered lines; lower if answers are large
  /// Tensors above this size are written to files and represented by {"npy": PATH}; absent: none are.
  std::optional<std::uint64_t> inline_limit = {};
  std::string results_directory = "results";   // directory of these files; made when the first is written
  Duration timeout = std::chrono::minutes(5);  // timeout of read, assign, save, restore, create_per_worker_dataset
};

struct ClosureStreamSummary {
  std::uint64_t lines = 0;
  std::uint64_t ready = 0;
  std::uint64_t failed = 0;     // closures that failed, and lines that were wrong
  std::uint64_t cancelled = 0;  // including calls whose line raised another closure's error
};

/// Runs until end of input and until every line is answered. kUnavailable if a parameter server was lost (all lines
/// that were read are answered then); errors of read_line and write.
Result<ClosureStreamSummary> run_closures(ClusterCoordinator& coordinator, const program::Program& program,
                                          const ReadLine& read_line, const WriteText& write,
                                          const ClosureStreamOptions& options);

}  // namespace tfd::coordinator
