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

/// One line without its newline; nullopt at the end; kDeadlineExceeded where there is none yet.
using ReadLine = std::function<Result<std::optional<std::string>>(Deadline)>;
/// Whole lines; blocks until they are written.
using WriteText = std::function<Result<void>(std::string_view)>;

struct ClosureStreamOptions {
  bool ordered = false;                 // answers in the order of the lines
  bool keep_going = false;              // as the coordinator's: nothing is cancelled
  bool forget = false;                  // values are released when their answers are written: nothing is fetched
  std::string directory;                // relative paths within lines start here; empty: the working directory
  std::size_t most_unanswered = 16384;  // lines read whose answers aren't written; fewer where answers are large
  /// Tensors of more bytes are written to files, {"npy": PATH} stands for them; absent: none are.
  std::optional<std::uint64_t> inline_limit = {};
  std::string results_directory = "results";   // those files; made when the first is written
  Duration timeout = std::chrono::minutes(5);  // of read, assign, save, restore, create_per_worker_dataset
};

struct ClosureStreamSummary {
  std::uint64_t lines = 0;
  std::uint64_t ready = 0;
  std::uint64_t failed = 0;     // closures that failed, and lines that were wrong
  std::uint64_t cancelled = 0;  // with those whose line raised another one's error
};

/// Until the end of the lines, and all are answered. kUnavailable when a parameter server was lost (all lines that were
/// read have their answers then); the error of read_line or write.
Result<ClosureStreamSummary> run_closures(ClusterCoordinator& coordinator, const program::Program& program,
                                          const ReadLine& read_line, const WriteText& write,
                                          const ClosureStreamOptions& options);

}  // namespace tfd::coordinator
