// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/kept_best.hpp"

#include <algorithm>

#include "notes.hpp"
#include "tfd/base/json_line.hpp"

namespace tfd::strategy {
namespace {

std::string note_in(const std::string& best_directory) {
  return best_directory + ".json";
}  // beside it, as end.json is
std::string_view mode_of(const program::BestDef& by) { return by.higher ? "max" : "min"; }

/// The value of the checkpoint that is there, of this run and by the same metric. Whatever is missing or doesn't fit:
/// none. An older tfd's doesn't say whose it is.
std::optional<double> recall(const std::string& directory, const program::BestDef& by, const std::string& run) {
  const auto note = load_note(note_in(directory));
  if (!note) return std::nullopt;
  if (const std::string whose = text_in(*note, "run"); !whose.empty() && whose != run) return std::nullopt;
  if (text_in(*note, "metric") != by.metric || text_in(*note, "mode") != mode_of(by)) return std::nullopt;
  const auto step = number_in<std::int64_t>(*note, "step");
  const auto there = variable::list_checkpoints(directory);
  const bool is_there =
      step && there && std::ranges::any_of(*there, [&](const auto& one) { return one.first == *step; });
  return is_there ? number_in<double>(*note, "value") : std::nullopt;
}

}  // namespace

KeptBest::KeptBest(const program::CheckpointDef& checkpoint)
    : directory_(checkpoint.directory + "/best"), by_(*checkpoint.keep_best), best_(by_) {}

void KeptBest::go_on(const std::string& run) {
  best_ = Best(by_);
  if (const auto value = recall(directory_, by_, run)) best_.observe({{by_.metric, *value}});
}

Result<std::string> KeptBest::save(const variable::Checkpoint& checkpoint) const {
  std::string path = TFD_TRY(variable::save_checkpoint(directory_, checkpoint, 1, false));
  JsonLine note;
  note.add("metric", by_.metric).add("mode", mode_of(by_)).add("value", *best_.value()).add("step", checkpoint.step);
  note.add("run", checkpoint.run);
  TFD_TRY(save_file(note_in(directory_), std::move(note).text()));
  return path;
}

}  // namespace tfd::strategy
