#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of a pass in their order, read and parsed ahead by several threads once they are many. Thread rule: lives
// on one thread at a time.
#include <functional>
#include <utility>

#include "../in_order.hpp"
#include "file_pieces.hpp"

namespace tfd::data {

class ParseAhead {
 public:
  /// `parse` makes the blocks of a step's piece; it is called by any thread.
  ParseAhead(FilePieces pieces, std::function<void(Step&)> parse, Parsing parsing);

  /// The next step. Behind an error or the last one nothing is to be asked for.
  Step next();
  /// Behind the last step.
  const FilePieces& pieces() const { return pieces_; }

 private:
  const Parsing parsing_;
  const std::function<void(Step&)> parse_;
  FilePieces pieces_;
  std::size_t begun_ = 0;  // steps before the threads
  InOrder<Step> ahead_;
};

}  // namespace tfd::data
