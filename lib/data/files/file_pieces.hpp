#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pieces of several files, one file after the other: the rows and errors of a pass; and the
// threads that parse them ahead.
// Thread rule: lives on one thread at a time.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../in_order.hpp"
#include "file_rows.hpp"

namespace tfd::data {

/// The next step of a pass: rows of a piece, a skipped error, the end.
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

  /// The next step, whose piece isn't parsed yet. It must not be called again after an error or the last step.
  Step next();

  const std::vector<std::string>& files() const { return files_; }
  /// Stamps of the files that have been read.
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

/// The steps of a pass in their order, read and parsed ahead by several threads once they are many.
class ParseAhead {
 public:
  /// `parse` makes the blocks of a step's piece; it is called by any thread.
  ParseAhead(FilePieces pieces, std::function<void(Step&)> parse, Parsing parsing);

  /// The next step, parsed. It must not be called again after an error or the last step.
  Step next();
  /// The pieces, for their files and stamps: to be called after the last step.
  const FilePieces& pieces() const { return pieces_; }

 private:
  const Parsing parsing_;
  const std::function<void(Step&)> parse_;
  FilePieces pieces_;
  std::size_t begun_ = 0;  // steps before the threads
  InOrder<Step> ahead_;
};

}  // namespace tfd::data
