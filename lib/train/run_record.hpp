#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training's record beside its checkpoints: settings-0001.json for the first process that trained there,
// settings-0002.json for the next one, and so on, and events.jsonl, to which all of them add their events. A failure to
// write is a warning: the training continues without the record. Private to the room. Thread rule: the training's
// thread.
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/log.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::train {

inline constexpr std::string_view kEventsName = "events.jsonl";
/// True for "settings-0001.json" and its like, and for kEventsName.
bool is_run_record(std::string_view name);
/// The newest settings in the directory, if their program is not that of `settings` (TrainOptions::settings); nullopt:
/// the program is the same, or there is nothing to compare.
std::optional<std::string> find_other_program(const std::string& directory, std::string_view settings);

class RunRecord {
 public:
  RunRecord() = default;  // records nothing
  /// Writes the settings of this process: `run` is its run's id, `start` its `start` event, a line of JSON.
  RunRecord(std::string directory, const std::string& run, std::string_view start, Log log);
  void add(std::string_view event);

 private:
  void give_up(const std::string& why);

  std::string directory_;
  process::Fd events_;
  Log log_;
};

}  // namespace tfd::train
