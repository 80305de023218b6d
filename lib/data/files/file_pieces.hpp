#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pieces of several files, one file after the other: what a pass reads, and what goes wrong on the way.
// Thread rule: lives on one thread at a time.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "file_rows.hpp"

namespace tfd::data {

/// What comes next of a pass: rows of a piece, errors that are passed over, the end.
struct Step {
  std::optional<Piece> piece = {};
  std::vector<BlockPtr> blocks = {};  // parsed of the piece
  std::vector<Error> skipped = {};
  std::optional<Error> error = {};  // behind all of that; nothing comes after it
  bool is_last = false;
};

class FilePieces {
 public:
  FilePieces(const RowFormat& format, const FileRowsOptions& options, std::vector<std::string> files,
             std::unique_ptr<PieceReader> first)
      : format_(format), options_(options), files_(std::move(files)), reader_(std::move(first)) {}

  /// Without the blocks. Behind an error or the last one nothing is to be asked for.
  Step next();

  const std::vector<std::string>& files() const { return files_; }
  /// Of the files that have been read.
  const std::vector<FileStamp>& stamps() const { return stamps_; }

 private:
  Result<void> end_file();
  Result<void> pass_over(const Error& error, Step& step);
  Result<void> open_next();

  const RowFormat& format_;
  const FileRowsOptions& options_;
  std::vector<std::string> files_;
  std::vector<FileStamp> stamps_;
  std::unique_ptr<PieceReader> reader_;
  bool all_empty_ = true, has_skipped_ = false, at_end_ = false;
};

}  // namespace tfd::data
