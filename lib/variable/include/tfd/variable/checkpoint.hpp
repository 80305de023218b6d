#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A directory of checkpoints: step-00000200.safetensors, each complete or not there. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

struct Checkpoint {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, tensor::Tensor>>
      state;  // as VariableStore::export_state, of all parameter servers
  std::string path;
};

/// Writes it (atomically, synced), makes the directory if need be, then removes all but the newest `keep` (0: keeps
/// all; the one just written is never removed). Of several ".iterations" in the state the largest is written. Returns
/// the path. kResourceExhausted when the disk is full: the older ones are as they were.
Result<std::string> save_checkpoint(const std::string& directory, const Checkpoint& checkpoint, int keep);
/// The newest one that can be read whole; nullopt where there is none. A corrupt newer one is passed over, and said in
/// `skipped`, one line each with its path; where none of several can be read it is the newest one's error, not nullopt,
/// so that nobody starts afresh over them.
Result<std::optional<Checkpoint>> load_latest_checkpoint(const std::string& directory,
                                                         std::vector<std::string>* skipped);
Result<Checkpoint> load_checkpoint(const std::string& path);
/// Paths, oldest first, by name only.
Result<std::vector<std::pair<std::int64_t, std::string>>> list_checkpoints(const std::string& directory);

}  // namespace tfd::variable
