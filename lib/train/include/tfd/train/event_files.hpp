#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes metrics for TensorBoard: files of tf.Event records, a folder for each run ("train", "eval"). Thread rule: one
// thread.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/train/training.hpp"

namespace tfd::train {

class EventFiles {
 public:
  /// Opens the directory, making it and its parents. kNotFound, kPermissionDenied, kResourceExhausted.
  static Result<std::unique_ptr<EventFiles>> open(std::string directory);
  ~EventFiles();

  /// Adds a scalar for each metric to DIRECTORY/RUN/events.out.tfevents.…, readable at once. A failed record is left
  /// out, and the file continues after its last complete one. Errors as open().
  Result<void> add(const std::string& run, std::int64_t step, const Metrics& metrics);

 private:
  struct File;
  explicit EventFiles(std::string directory);
  Result<File*> file_of(const std::string& run);

  std::string directory_;
  std::map<std::string, std::unique_ptr<File>> files_;
};

}  // namespace tfd::train
