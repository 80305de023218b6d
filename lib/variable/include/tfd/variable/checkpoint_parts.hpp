#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint in parts, which several parameter servers have written, each its own: the directory "step-00000200" with
// "part-1-of-2.safetensors", … and "index.json":
//
//   {"v": 1, "step": 200, "run": "20261122T065712Z-3f2a1c", "metadata": {"format": "tfd", "v": "2", …},
//    "parts": [{"file": "part-1-of-2.safetensors", "bytes": 1040, "digest": "00c3d9…"}, …],
//    "sharded": {"table": {"shape": [5, 2], "shards": 3}, …}, "counters": {".iterations": 200, …}}
//
// A value is in one of the parts under its name. A sharded one is in several, each with some of its rows
// ("table/part_0", "table/part_0/.optimizer/adam/m"), and is one value to whoever reads the checkpoint
// (checkpoint_reader.hpp). Counters that every server has are in the index: the largest. Digests are CRC-64 of the
// tensors' bytes, in the file's order. Thread rule: free functions; one thread writes to a directory.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::variable {

inline constexpr std::size_t kMostCheckpointParts = 512;  // all are open while it is read

/// "part-1-of-2.safetensors" is part 1 of 2.
std::string checkpoint_part_name(std::size_t part, std::size_t parts);
/// Name of a shard of a value: shard 1 of "table/.optimizer/adam/m" is "table/part_1/.optimizer/adam/m".
std::string stored_shard_name(std::string_view value, std::int64_t shard);

struct CheckpointPart {
  std::uint64_t bytes = 0;  // of the file
  std::uint64_t digest = 0;
};
struct ShardedValue {
  std::string name;
  tensor::Shape shape;
  std::int64_t shards = 0;
};
struct WrittenParts {
  std::vector<CheckpointPart> parts;
  std::vector<ShardedValue> sharded = {};
  std::vector<std::pair<std::string, std::int64_t>> counters = {};
};
/// Writes the parts of a state, synced, into the directory `unfinished` within `directory`.
using WriteParts = std::function<Result<WrittenParts>(const std::string& directory, const std::string& unfinished)>;

/// Writes a checkpoint like save_checkpoint(), but in parts: `about` has no state. Makes an unfinished directory, has
/// `write` fill it, checks that it is whole, and gives it its name. Unfinished directories of earlier writers of the
/// run are removed first. On an error the older checkpoints are as they were. The errors of save_checkpoint() and of
/// `write`; kDataLoss: the parts aren't what their writers say.
Result<std::string> save_checkpoint_in_parts(const std::string& directory, const Checkpoint& about, int keep,
                                             const WriteParts& write);

}  // namespace tfd::variable
