// SPDX-License-Identifier: Apache-2.0
#include "stop_record.hpp"

#include <algorithm>
#include <filesystem>

#include "notes.hpp"
#include "tfd/base/json_line.hpp"

namespace tfd::strategy {
namespace {

constexpr std::uint64_t kMostBytes = 16 << 20;

std::string rule_of(const program::StopDef& stop) {
  return fmt::format("{} {} min_delta {}{}", stop.by.higher ? "max" : "min", stop.by.metric, stop.min_delta,
                     stop.restore_best ? " restore_best" : "");
}

std::string format_state(const StopState& state) {
  JsonLine line;
  line.add("step", state.step).add("since", state.since);
  if (state.best) line.add("best", *state.best);
  if (state.best_step) line.add("best_step", *state.best_step).add("best_metrics", state.best_metrics);
  std::string text = std::move(line).text();
  text.pop_back();
  return text;
}

std::optional<StopState> parse_state(const cluster::JsonValue& json) {
  const auto step = number_in<std::int64_t>(json, "step");
  const auto since = number_in<std::int64_t>(json, "since");
  if (!step || !since) return std::nullopt;
  StopState state{.step = *step, .since = *since, .best = number_in<double>(json, "best")};
  state.best_step = number_in<std::int64_t>(json, "best_step");
  if (const cluster::JsonValue* metrics = json.find("best_metrics"))
    for (std::size_t i = 0; i < metrics->keys.size(); ++i)
      if (const auto value = number_of<double>(metrics->items[i]))
        state.best_metrics.emplace_back(metrics->keys[i], *value);
  return state;
}

}  // namespace

StopRecord::StopRecord(const program::TrainDef& train)
    : directory_(train.checkpoint->directory), rule_(rule_of(*train.stop)) {}

std::optional<StopState> StopRecord::find(std::int64_t step) {
  states_.clear();
  const auto note = load_note(path(), kMostBytes);
  if (!note || text_in(*note, "v") != "1" || text_in(*note, "rule") != rule_) return std::nullopt;
  const cluster::JsonValue* all = note->find("evaluations");
  if (all == nullptr) return std::nullopt;
  for (const cluster::JsonValue& one : all->items) {
    auto state = parse_state(one);
    if (state && state->step <= step) states_.push_back(std::move(*state));
  }
  std::ranges::sort(states_, {}, &StopState::step);
  return states_.empty() ? std::nullopt : std::optional(states_.back());
}

void StopRecord::forget() {
  states_.clear();
  std::error_code ignored;
  std::filesystem::remove(path(), ignored);
  remove_states();  // a later run may have a best evaluation at the same step
}

Result<void> StopRecord::add(StopState state) {
  states_.push_back(std::move(state));
  forget_unneeded();
  std::string evaluations;
  for (const StopState& one : states_) evaluations += (evaluations.empty() ? "" : ",\n ") + format_state(one);
  JsonLine line;
  line.add("v", 1).add("rule", rule_).add_raw("evaluations", "[" + evaluations + "]");
  std::error_code ignored;  // the write says it
  std::filesystem::create_directories(directory_, ignored);
  TFD_TRY(save_file(path(), std::move(line).text()));
  remove_states();
  return {};
}

// A run may go on from any checkpoint: how things stood then. And from the next one: how they stand now.
void StopRecord::forget_unneeded() {
  const auto checkpoints = variable::list_checkpoints(directory_);
  if (!checkpoints) return;
  std::vector<StopState> needed;
  for (auto state = states_.begin(); state != states_.end(); ++state) {
    const bool is_last = std::next(state) == states_.end();
    const auto is_of = [&](const auto& checkpoint) {
      return checkpoint.first >= state->step && checkpoint.first < std::next(state)->step;
    };
    if (is_last || std::ranges::any_of(*checkpoints, is_of)) needed.push_back(std::move(*state));
  }
  states_ = std::move(needed);
}

void StopRecord::remove_states() const {
  const auto there = variable::list_checkpoints(states_directory());
  if (!there) return;
  for (const auto& [step, path] : *there) {
    std::error_code ignored;
    if (std::ranges::find(states_, std::optional(step), &StopState::best_step) == states_.end())
      std::filesystem::remove(path, ignored);
  }
}

Result<void> StopRecord::save_best(const variable::Checkpoint& best) const {
  TFD_TRY(variable::save_checkpoint(states_directory(), best, 0, false));
  return {};
}

bool StopRecord::has_best(std::int64_t step) const {
  const auto there = variable::list_checkpoints(states_directory());
  return there && std::ranges::any_of(*there, [&](const auto& one) { return one.first == step; });
}

Result<variable::Checkpoint> StopRecord::load_best(std::int64_t step) const {
  for (const auto& [known, path] : TFD_TRY(variable::list_checkpoints(states_directory())))
    if (known == step) return variable::load_checkpoint(path);
  return fail(Code::kNotFound, "{}: the state of the best evaluation, at step {}, is gone", states_directory(), step);
}

}  // namespace tfd::strategy
