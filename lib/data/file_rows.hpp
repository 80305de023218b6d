#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rows of one file, or of all files that match a pattern, in the order of their names: what csv, jsonl, text and
// tfrecord are. A format decodes a row; here is what they share: blocks, the cache, errors that are skipped, files that
// are empty or change. Thread rule: a RowFormat is immutable and thread-safe; a RowReader lives on one thread at a
// time.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "block_builder.hpp"
#include "byte_reader.hpp"
#include "row.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

/// Reads one file from its beginning.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Writes the next row to `out`, and doesn't commit it; false at the end. An error names the file and the line or
  /// record. Behind one that is that row's alone the next call goes on.
  virtual Result<bool> next(BlockBuilder& out) = 0;
  /// Behind an error: whether there is no next row to go on with.
  virtual bool is_broken() const = 0;
  /// At the end: whether there was nothing, not even a header.
  virtual bool is_empty() const = 0;
  virtual const ByteReader& bytes() const = 0;
};

class RowFormat {
 public:
  virtual ~RowFormat() = default;
  /// kNotFound, kPermissionDenied.
  virtual Result<std::unique_ptr<RowReader>> open(const std::string& path) const = 0;
};

struct FileRowsOptions {
  FileList files;  // patterns are expanded by every pass
  bool skip_errors = false;
  std::function<void(const Error&)> skipped = {};  // DatasetContext's
  std::size_t cache_bytes = std::size_t{256} << 20;
};

/// Decoded rows of up to `cache_bytes` are kept for the next passes, as long as the files don't change; more are read
/// anew by every pass. A pass that finds nothing at all in its files is an error.
RowDatasetPtr make_file_rows(ElementSpec spec, std::unique_ptr<const RowFormat> format, FileRowsOptions options);

}  // namespace tfd::data
