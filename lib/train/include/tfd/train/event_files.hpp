#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Metrics as TensorBoard reads them: files of tf.Event records, a folder for each run ("train", "eval").
// Thread rule: one thread.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/train/training.hpp"

namespace tfd::train {

class EventFiles {
 public:
  /// Makes the directory, and those above it. kNotFound, kPermissionDenied, kResourceExhausted.
  static Result<std::unique_ptr<EventFiles>> open(std::string directory);
  ~EventFiles();

  /// A scalar for each metric, in DIRECTORY/RUN/events.out.tfevents.…: readable at once. What couldn't be written is
  /// left out, and the file goes on behind its last whole record. Errors as open().
  Result<void> add(const std::string& run, std::int64_t step, const Metrics& metrics);

 private:
  struct File;
  explicit EventFiles(std::string directory);
  Result<File*> file_of(const std::string& run);

  std::string directory_;
  std::map<std::string, std::unique_ptr<File>> files_;
};

}  // namespace tfd::train
