#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes the answers of a closure stream: formatted and written by a thread of its own, batched when there are many, at
// once when there are few. Counts unanswered lines and blocks the reader above a limit. Thread rule: thread-safe. A
// Form and an AppendValue are called on the writing thread.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tfd/base/json_line.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/coordinator/closures.hpp"

namespace tfd::coordinator {

/// Label of an answer: the line's id (its JSON text) if it has one, else its number.
struct AnswerLabel {
  std::uint64_t line = 0;
  std::optional<std::string> id;

  std::string label() const { return id ? *id : std::to_string(line); }  // JSON
  /// Starts an answer: {"id": …, "status": …}, or "line"; more members may be added.
  JsonLine answer(std::string_view status) const;
};

class Answers {
 public:
  enum class Kind { kReady, kFailed, kCancelled, kOther };
  /// Appends the answer's line, with its newline.
  using Form = std::function<void(std::string& out)>;

  Answers(WriteText write, bool ordered, std::size_t most);
  ~Answers();

  /// Registers a line that was read and returns its number, from 1. Blocks while too many are unanswered.
  std::uint64_t begin();
  /// Registers a line without an answer, an empty one. It has a number, too.
  void skip();
  void put(std::uint64_t line, Kind kind, Form form);
  void put(const AnswerLabel& asker, Kind kind, JsonLine answer);
  void put_error(const AnswerLabel& asker, Kind kind, std::string_view status, const Error& error);
  /// Answers "ready" with a value, which may be written to files. If that fails, the error is the answer.
  using AppendValue = std::function<Result<void>(std::string&)>;
  void put_value(const AnswerLabel& asker, AppendValue append);
  /// Sets the memory of a line until it is answered; with large lines, fewer may be unanswered.
  void expect(std::size_t bytes);
  /// Lets the reader past the limit, or no longer: while a failure is to be raised, which its next line does,
  /// closures that wait aren't answered.
  void pass_limit(bool passes);
  /// Blocks until every line is answered and written.
  Result<void> finish();
  bool broken() const;  // writing failed
  /// Counts of the lines' outcomes; a value that couldn't be written counts as failed.
  ClosureStreamSummary summary() const;

 private:
  struct Item {
    std::uint64_t line = 0;
    Form form;
  };
  void run();
  void write_batch(std::vector<Item> batch);
  void flush(std::string& text, std::size_t answers, std::size_t largest);
  void see_size(std::size_t bytes) TFD_REQUIRES(mutex_);
  /// Number of unanswered lines at which a reader that was blocked goes on: it reads several then.
  std::size_t low() const TFD_REQUIRES(mutex_) { return limit_ - limit_ / 8 - 1; }

  const WriteText write_;
  const bool ordered_;
  const std::size_t most_;

  std::map<std::uint64_t, Form> waiting_;  // used by the writer only: ordered answers behind an unanswered line
  std::uint64_t next_line_ = 1;            // writer only

  mutable Mutex mutex_;
  std::condition_variable changed_;  // for the writer
  std::condition_variable written_;  // notified when answers were written
  std::vector<Item> items_ TFD_GUARDED_BY(mutex_);
  std::size_t unanswered_ TFD_GUARDED_BY(mutex_) = 0;
  std::size_t limit_ TFD_GUARDED_BY(mutex_);
  std::size_t largest_ TFD_GUARDED_BY(mutex_) = 1;  // largest memory of a line, or of its answer as text
  bool passes_limit_ TFD_GUARDED_BY(mutex_) = false;
  bool ending_ TFD_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ TFD_GUARDED_BY(mutex_);
  ClosureStreamSummary summary_ TFD_GUARDED_BY(mutex_);
  std::jthread writer_;  // last: uses all of the above
};

}  // namespace tfd::coordinator
