#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The index.json of a checkpoint in parts, and what checkpoints of both forms say of themselves. Private to the room.
// Thread rule: free functions.
#include <map>
#include <string>

#include "tfd/variable/checkpoint_parts.hpp"

namespace tfd::variable {

struct PartsIndex {
  std::map<std::string, std::string> metadata = {};  // as that of a checkpoint's file, with "step" and "run"
  WrittenParts written = {};
};

/// kNotFound; kDataLoss: it isn't one, or its counts and names can't be right; kInvalidArgument: of a newer tfd.
Result<PartsIndex> read_parts_index(const std::string& checkpoint);
/// Writes it, synced.
Result<void> write_parts_index(const std::string& checkpoint, const PartsIndex& index);

/// Metadata of a checkpoint in one file or in parts, without its values.
Result<std::map<std::string, std::string>> read_checkpoint_metadata(const std::string& path);
/// The metadata of a checkpoint of this run.
std::map<std::string, std::string> metadata_of(const Checkpoint& checkpoint, const std::string& run);

}  // namespace tfd::variable
