// SPDX-License-Identifier: Apache-2.0
#include "file_pieces.hpp"

#include "file_pattern.hpp"

namespace tfd::data {

Step FilePieces::next() {
  Step step;
  while (true) {
    auto piece = reader_->next();
    if (piece && *piece) {
      step.piece = *std::move(piece);
      return step;
    }
    const auto gone_on = piece ? end_file() : pass_over(piece.error(), step);
    if (!gone_on) step.error = gone_on.error();
    step.is_last = at_end_;
    if (step.error || step.is_last) return step;
  }
}

// Behind a file that is broken the next one follows.
Result<void> FilePieces::pass_over(const Error& error, Step& step) {
  TFD_TRY(reader_->file()->check_unchanged());
  const bool is_of_content = error.code == Code::kInvalidArgument || error.code == Code::kDataLoss;
  if (!options_.skip_errors || !is_of_content) return fail(error);
  has_skipped_ = true;
  step.skipped.push_back(error);
  return open_next();
}

Result<void> FilePieces::end_file() {
  TFD_TRY(reader_->file()->check_unchanged());
  all_empty_ = all_empty_ && reader_->is_empty();
  return open_next();
}

Result<void> FilePieces::open_next() {
  stamps_.push_back(reader_->file()->stamp());
  if (stamps_.size() < files_.size()) {
    reader_ = format_.read(TFD_TRY(ByteReader::open(files_[stamps_.size()])), options_.parsing.piece_bytes);
    return {};
  }
  at_end_ = true;
  if (!all_empty_ || has_skipped_ || options_.may_be_empty) return {};
  return nothing_in(files_, options_.files);
}

}  // namespace tfd::data
