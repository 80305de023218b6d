#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The run that the checkpoints of a directory belong to. "index.json" beside them names the run that writes there, and
// its checkpoints in the order in which they were written:
//
//   {"v": 1, "run": "20261122T065712Z-3f2a1c", "latest": "step-00000400.safetensors", …
//    "checkpoints": [{"step": 200, "file": "step-00000200.safetensors"}, …]}
//
// "writer" says which generation of which group wrote last, and in which process; a training in one process is a group
// of its own. One that was cut off, and that another has continued without, no longer writes; nor does a training
// beside which another one has begun in the same directory.
//
// Every checkpoint says its run in its metadata, too, so that nothing is lost where a process dies between the two
// writes, and the index can be made anew. Files of other runs are left alone: never continued from, never removed.
// Thread rule: free functions; one process writes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::variable {

inline constexpr std::string_view kCheckpointIndexName = "index.json";

/// The writer of a run's checkpoints: a group, and its generation. A later one has a higher number, also after the
/// whole group was started again, and so has whoever begins to train in the directory after it.
struct CheckpointWriter {
  std::string group = {};  // empty: no training's, which nothing is held against
  std::uint64_t generation = 0;
  std::string host = {};  // of the process that writes; empty: not known
  std::int64_t pid = 0;
};

struct CheckpointIndex {
  std::string run = {};  // empty: an older tfd's directory, without an index
  /// Step and path of that run's checkpoints, in the order in which they were written: the last one is the latest.
  std::vector<std::pair<std::int64_t, std::string>> checkpoints = {};
  CheckpointWriter writer = {};           // that wrote last
  std::vector<std::string> others = {};   // paths of checkpoints of other runs
  std::vector<std::string> missing = {};  // paths that index.json names, but that are missing; the latest last
  /// The error of index.json, where the above comes from the checkpoints themselves; empty: none.
  std::string broken = {};
};

/// Whether a file or a directory of this name is a checkpoint: "step-00000200.safetensors", "step-00000200".
bool is_checkpoint_name(std::string_view name);
/// True for the directory of a checkpoint in parts, false for that of a training.
bool is_checkpoint_in_parts(const std::string& path);
/// The step that its name says; nullopt: it is no checkpoint's.
std::optional<std::int64_t> step_of_checkpoint(const std::string& path);
/// This process, as the writer of a group's checkpoints.
CheckpointWriter this_writer(std::string group, std::uint64_t generation);
/// "20261122T065712Z-3f2a1c": when it began, and a number that tells it from others of that second.
std::string make_run_id();
/// The directory's checkpoints; none if it doesn't exist. A directory without an index, or with one that can't be
/// read, is that of the one run that its checkpoints name: kInvalidArgument where they name several. kInvalidArgument
/// also for an index of a newer tfd.
Result<CheckpointIndex> read_checkpoint_index(const std::string& directory);
/// Atomically. `index.others`, `missing` and `broken` aren't written.
Result<void> write_checkpoint_index(const std::string& directory, const CheckpointIndex& index);

}  // namespace tfd::variable
