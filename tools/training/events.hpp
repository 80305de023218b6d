#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a training's events go: stdout, as JSON lines or as text, and the file of --events. Thread rule: one thread.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/cli/tool.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/train/event_text.hpp"
#include "tfd/train/training.hpp"

namespace tfd::training {

class Events {
 public:
  /// `file`: of --events, to which lines are added; empty: none. `interrupts`: of the training. `io` outlives it.
  /// kNotFound and others name the file.
  static Result<std::shared_ptr<Events>> open(const std::string& format, const std::string& file,
                                              std::shared_ptr<train::Interrupts> interrupts, cli::Io& io);

  /// Writes an event, one line of JSON with its newline. Errors of stdout; a full disk under the file is warned of.
  /// No error: a terminal that was closed, which gets nothing more; a reader that is gone, for which this process gets
  /// SIGPIPE; anything once the training is stopping, for it has something to save.
  Result<void> write(std::string_view line);

 private:
  Events(std::shared_ptr<train::Interrupts> interrupts, cli::Io& io)
      : interrupts_(std::move(interrupts)), io_(io), is_terminal_(io.out.is_terminal()) {}
  Result<void> write_out(std::string_view text);

  const std::shared_ptr<train::Interrupts> interrupts_;
  cli::Io& io_;
  const bool is_terminal_;                // stdout was one
  bool is_unread_ = false;                // stdout has lost its reader
  std::optional<train::EventText> text_;  // none: JSON
  std::string path_;
  process::Fd file_;
};

}  // namespace tfd::training
