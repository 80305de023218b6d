#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The answers of a closure stream on their way out: formatted and written by a thread of their own, many at a time when
// many are there, at once when few are. Knows how many lines are unanswered and makes the reader wait.
// Thread rule: thread-safe. A Form and what appends a value are called on the writing thread.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tfd/base/json_line.hpp"
#include "tfd/coordinator/closures.hpp"

namespace tfd::coordinator {

/// Whom an answer is for: the line's id (its JSON text) where it has one, else its number.
struct AnswerLabel {
  std::uint64_t line = 0;
  std::optional<std::string> id;

  std::string label() const { return id ? *id : std::to_string(line); }  // JSON
  /// {"id": …, "status": …}, or "line", to be added to.
  JsonLine answer(std::string_view status) const;
};

class Answers {
 public:
  enum class Kind { kReady, kFailed, kCancelled, kOther };
  /// Appends the answer's line, with its newline.
  using Form = std::function<void(std::string& out)>;

  Answers(WriteText write, bool ordered, std::size_t most);
  ~Answers();

  /// A line was read: its number, from 1. Blocks while too many are unanswered.
  std::uint64_t begin();
  /// A line without an answer: an empty one. It has a number too.
  void skip();
  void put(std::uint64_t line, Kind kind, Form form);
  void put(const AnswerLabel& asker, Kind kind, JsonLine answer);
  void put_error(const AnswerLabel& asker, Kind kind, std::string_view status, const Error& error);
  /// "ready" with a value, which may go into files. Where it can't be written, that is the answer.
  using AppendValue = std::function<Result<void>(std::string&)>;
  void put_value(const AnswerLabel& asker, AppendValue append);
  /// A line that was read takes so much memory until it is answered: fewer may be, where that is much.
  void expect(std::size_t bytes);
  /// Until every line is answered and written.
  Result<void> finish();
  bool broken() const;  // writing failed
  /// Whose value could not be written counts as failed.
  ClosureStreamSummary summary() const;

 private:
  struct Item {
    std::uint64_t line = 0;
    Form form;
  };
  void run();
  void write_batch(std::vector<Item> batch);
  void flush(std::string& text, std::size_t answers, std::size_t largest);
  void see_size(std::size_t bytes);

  const WriteText write_;
  const bool ordered_;
  const std::size_t most_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for the writer
  std::condition_variable written_;  // for those who wait for it
  std::vector<Item> items_;
  std::map<std::uint64_t, Form> waiting_;  // writer only: ordered, and an earlier line has no answer yet
  std::uint64_t next_line_ = 1;            // writer only
  std::size_t unanswered_ = 0;
  std::size_t limit_;
  std::size_t largest_ = 1;  // of all lines, and of their answers as text
  bool ending_ = false;
  std::optional<Error> error_;
  ClosureStreamSummary summary_;
  std::jthread writer_;  // last: uses all of the above
};

}  // namespace tfd::coordinator
