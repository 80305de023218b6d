#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of a pass in their order, made ahead by several threads: one at a time reads the next piece, then parses it
// while the next thread reads. Thread rule: lives on one thread at a time; its threads end with it.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "file_pieces.hpp"

namespace tfd::data {

class ParseAhead {
 public:
  /// `parse` makes the blocks of a step's piece; it is called by any thread.
  ParseAhead(FilePieces pieces, std::function<void(Step&)> parse, Parsing parsing)
      : parsing_(parsing), parse_(std::move(parse)), pieces_(std::move(pieces)) {}
  ParseAhead(const ParseAhead&) = delete;
  ParseAhead& operator=(const ParseAhead&) = delete;
  /// Waits for what is being read and parsed.
  ~ParseAhead() { stop_.request_stop(); }

  /// The next step. Behind an error or the last one nothing is to be asked for.
  Step next();
  /// Behind the last step.
  const FilePieces& pieces() const { return pieces_; }

 private:
  struct Slot {
    std::optional<Step> step = {};  // once it is parsed
    std::size_t bytes = 0;          // of its piece
  };

  void start();
  void work();
  /// A slot for the next piece, and its number; nullopt where no more is to be read.
  std::optional<std::size_t> wait_for_room();

  const Parsing parsing_;
  const std::function<void(Step&)> parse_;
  std::size_t begun_ = 0;  // steps before the threads

  std::mutex reading_;  // guards pieces_ and is_over_
  FilePieces pieces_;
  bool is_over_ = false;  // nothing is left to be read

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<Slot> slots_;
  std::size_t taken_ = 0;  // slots before slots_.front()
  std::size_t bytes_ahead_ = 0;

  std::stop_source stop_;              // of all of them: who is waited for must not wait for one that isn't stopped yet
  std::vector<std::jthread> threads_;  // last: stopped and joined before the rest goes
};

}  // namespace tfd::data
