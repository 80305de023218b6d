#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The directory ".step-00000200.tmp-RUN-NUMBER" beside a run's checkpoints, where one in parts is written until it is
// whole. RUN is a digest of the run's id, so that the next writer of the run knows what is its own to remove. Thread
// rule: one thread.
#include <cstdint>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::variable {

class UnfinishedCheckpoint {
 public:
  /// Makes the directory. The errors of mkdir().
  static Result<UnfinishedCheckpoint> make(const std::string& directory, std::int64_t step, const std::string& run);
  UnfinishedCheckpoint(UnfinishedCheckpoint&& other) noexcept;
  UnfinishedCheckpoint& operator=(UnfinishedCheckpoint&&) = delete;
  /// Removes it with everything in it, unless it is finished.
  ~UnfinishedCheckpoint();

  const std::string& name() const { return name_; }  // within its directory
  std::string path() const;
  /// Gives it this name in its directory, permanently, and replaces a file of that name.
  Result<void> finish(const std::string& name);

 private:
  UnfinishedCheckpoint(std::string directory, std::string name)
      : directory_(std::move(directory)), name_(std::move(name)) {}
  std::string directory_, name_;  // no name: it is finished
};

/// True for the name of such a directory.
bool is_unfinished_checkpoint(std::string_view name);
/// Removes files that earlier writers of this run have left in a directory.
void remove_unfinished(const std::string& directory, const std::string& run);

}  // namespace tfd::variable
