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

namespace tfd::training {

class Events {
 public:
  /// `file`: of --events, to which lines are added; empty: none. `io` outlives it. kNotFound and others name the file.
  static Result<std::shared_ptr<Events>> open(const std::string& format, const std::string& file, cli::Io& io);

  /// Writes an event, one line of JSON with its newline. Errors of stdout; a full disk under the file is warned of.
  Result<void> write(std::string_view line);

 private:
  explicit Events(cli::Io& io) : io_(io) {}

  cli::Io& io_;
  std::optional<train::EventText> text_;  // none: JSON
  std::string path_;
  process::Fd file_;
};

}  // namespace tfd::training
