#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file of a cache: TFRecord framing, a record for the head (which pipeline it is of), one for each element, one for
// the end (their number). Thread rule: a writer and a stream live on one thread at a time.
#include <memory>
#include <string>

#include "../files/file_writer.hpp"
#include "../row.hpp"

namespace tfd::data {

class CacheWriter {
 public:
  /// Errors of FileWriter::create().
  static Result<std::unique_ptr<CacheWriter>> create(const std::string& path, const std::string& pipeline);
  Result<void> add(const Row& row);
  Result<void> finish();

 private:
  explicit CacheWriter(std::unique_ptr<FileWriter> file) : file_(std::move(file)) {}
  Result<void> add_record(std::string_view bytes);

  std::unique_ptr<FileWriter> file_;
  std::string framed_;
  std::int64_t elements_ = 0;
};

/// The elements of a file that a writer has finished. kFailedPrecondition: it is of another pipeline; kDataLoss where
/// it is damaged, as the stream's errors.
Result<RowStreamPtr> stream_cache_file(const std::string& path, const std::string& pipeline, const ElementSpec& spec);

}  // namespace tfd::data
