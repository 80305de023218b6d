#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A directory of checkpoints, each complete or not there, of one run (checkpoint_index.hpp): step-00000200.safetensors,
// or the directory step-00000200, which parameter servers have written in parts (checkpoint_parts.hpp).
// Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/checkpoint_index.hpp"

namespace tfd::variable {

struct Checkpoint {
  std::int64_t step = 0;
  tensor::NamedTensors state;  // as VariableStore::export_state, of all parameter servers
  std::string path;
  std::string run = {};            // empty: unknown, or, where it is written, the directory's run
  std::string data_position = {};  // as whoever makes the steps writes it; empty: not known
  int replicas = 0;                // of a training whose processes share its replicas; 0: not known
  int threads = 0;                 // XLA's threads in the writing process: last bits depend on them; 0: not known
  std::string isa = {};          // CPUs' instruction set that XLA compiled for, on which bits depend; empty: not known
  std::string kernels = {};      // by which its programs computed on CPUs: bits depend on them; empty: not known
  CheckpointWriter writer = {};  // the process that writes it; when read, the last writer of its directory
};

/// Writes the checkpoint (atomically, synced), makes the directory if need be, writes the directory's index, then
/// removes all but the `keep` of this run that were written last (0: keeps all). Those of another run stay; one of this
/// name is moved aside. A directory of another run becomes this one's. The largest of several ".iterations" in the
/// state is written. Returns the path. kAborted: the directory's last writer is a later one. kResourceExhausted when
/// the disk is full: the older ones are as they were. `has_index`: false for what a training keeps beside its
/// checkpoints; those of another run are moved aside then.
Result<std::string> save_checkpoint(const std::string& directory, const Checkpoint& checkpoint, int keep,
                                    bool has_index = true);
/// The one of the directory's run that was written last and can be read whole; nullopt where there is none. A corrupt
/// newer one is passed over, and said in `skipped`, one line each with its path; where none of several can be read it
/// is the newest one's error, not nullopt, so that nobody starts afresh over them.
Result<std::optional<Checkpoint>> load_latest_checkpoint(const std::string& directory,
                                                         std::vector<std::string>* skipped);
/// The same where the index has been read already.
Result<std::optional<Checkpoint>> load_latest_checkpoint(const CheckpointIndex& index, const std::string& directory,
                                                         std::vector<std::string>* skipped);
Result<Checkpoint> load_checkpoint(const std::string& path);
/// Loads a path given by a user: a file (step 0 if it states none, as a foreign one), a checkpoint in parts, or a
/// directory, of which it is the latest one: kNotFound where it has none.
Result<Checkpoint> load_named_checkpoint(const std::string& path, std::vector<std::string>* skipped);
/// Steps and paths of the directory's run, the latest last.
Result<std::vector<std::pair<std::int64_t, std::string>>> list_checkpoints(const std::string& directory);
/// Removes a checkpoint, so that no half of it is seen. Files that can't be removed stay.
void remove_checkpoint(const std::string& path);
/// Makes "old-RUN" in the directory, or "old-RUN.2", …, for the files of another run. Returns its path.
Result<std::string> make_place_aside(const std::string& directory, const std::string& run);

}  // namespace tfd::variable
