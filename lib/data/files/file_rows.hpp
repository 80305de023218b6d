#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rows of one file, or of all files that match a pattern, in the order of their names: what csv, jsonl, text and
// tfrecord are. A format cuts files into pieces and parses their rows; the shared code is here: threads that parse
// ahead, blocks, the cache, errors that are skipped, files that are empty or change. Thread rule: a RowFormat is
// immutable and thread-safe.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../row.hpp"
#include "block_builder.hpp"
#include "piece.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

class RowFormat {
 public:
  virtual ~RowFormat() = default;
  /// Reads pieces of about `piece_bytes` bytes.
  virtual std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const = 0;
  /// Writes the next row of the piece to `out`, and doesn't commit it; false at the piece's end. An error names the
  /// file and the line or record, and is that row's alone: the next call goes on behind it.
  virtual Result<bool> parse_row(Piece& piece, BlockBuilder& out) const = 0;
};

struct FileRowsOptions {
  FileList files;  // patterns are expanded by every pass
  /// If set, every pass reads its rows from the source that this opens, and the only path is its name.
  std::function<Result<ByteReader>()> open = {};
  bool skip_errors = false;
  bool may_be_empty = false;                       // files without anything in them are no error
  std::function<void(const Error&)> skipped = {};  // DatasetContext's
  std::size_t cache_bytes = std::size_t{256} << 20;
  Parsing parsing = {};
};

/// Decoded rows of up to `cache_bytes` are kept for the next passes, as long as the files don't change; more are read
/// anew by every pass. A pass that finds nothing at all in its files is an error.
RowDatasetPtr make_file_rows(ElementSpec spec, std::unique_ptr<const RowFormat> format, FileRowsOptions options);

}  // namespace tfd::data
