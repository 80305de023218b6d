// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/checkpoint_notes.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "tfd/base/file.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::train {
namespace {

constexpr std::uint64_t kMostBytes = 16 << 20;

std::optional<cluster::JsonValue> load_record(const std::string& path) {
  const auto text = load_file(path, kMostBytes);
  if (!text) return std::nullopt;
  auto record = cluster::parse_json(*text, path);
  if (!record) return std::nullopt;
  return std::move(*record);
}

std::string text_in(const cluster::JsonValue& object, std::string_view key) {
  const cluster::JsonValue* value = object.find(key);
  return value != nullptr ? value->text : std::string();
}

template <class T>
std::optional<T> number_of(const cluster::JsonValue& value) {
  T number{};
  const std::string& text = value.text;  // of infinities, too
  if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

template <class T>
std::optional<T> number_in(const cluster::JsonValue& object, std::string_view key) {
  const cluster::JsonValue* value = object.find(key);
  return value != nullptr ? number_of<T>(*value) : std::nullopt;
}

std::string_view mode_of(const program::BestDef& by) { return by.higher ? "max" : "min"; }

std::string rule_of_end(const program::TrainDef& train) {
  if (!train.stop) return {};
  const program::StopDef& stop = *train.stop;
  return fmt::format("{} {} patience {} min_delta {}", mode_of(stop.by), stop.by.metric, stop.patience, stop.min_delta);
}

std::string rule_of_stop(const program::StopDef& stop) {
  return fmt::format("{} {} min_delta {}{}", mode_of(stop.by), stop.by.metric, stop.min_delta,
                     stop.restore_best ? " restore_best" : "");
}

std::string end_in(const std::string& directory) { return directory + "/end.json"; }

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

RunEnd make_run_end(const program::TrainDef& train, const std::string& reason, std::int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {reason,
          step,
          rule_of_end(train),
          fmt::format("{}", std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
          {}};
}

std::string rule_of_epochs(std::int64_t stated) { return fmt::format("{} steps of epochs", stated); }

bool is_over(const RunEnd& end, const program::TrainDef& train) {
  if (end.reason == "stopped") return train.stop && end.rule == rule_of_end(train);
  if (end.reason == "end_of_data") return !train.steps;
  if (end.reason != "done" || !train.steps) return false;
  return end.step >= *train.steps || end.rule == rule_of_epochs(*train.steps);
}

Result<void> save_run_end(const std::string& directory, const RunEnd& end) {
  JsonLine line;
  line.add("v", 1)
      .add("reason", end.reason)
      .add("step", end.step)
      .add("rule", end.rule)
      .add("time", end.time)
      .add("run", end.run);
  return save_file(end_in(directory), std::move(line).text());
}

std::optional<RunEnd> find_run_end(const std::string& directory) {
  const auto json = load_record(end_in(directory));
  if (!json || text_in(*json, "v") != "1") return std::nullopt;
  RunEnd end{text_in(*json, "reason"), 0, text_in(*json, "rule"), text_in(*json, "time"), text_in(*json, "run")};
  const auto step = number_in<std::int64_t>(*json, "step");
  if (!step) return std::nullopt;
  end.step = *step;
  return end;
}

void remove_run_end(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove(end_in(directory), error);
}

StopRecord::StopRecord(const program::TrainDef& train)
    : directory_(train.checkpoint->directory), rule_(rule_of_stop(*train.stop)) {}

std::optional<StopState> StopRecord::find(std::int64_t step) {
  states_.clear();
  const auto record = load_record(path());
  if (!record || text_in(*record, "v") != "1" || text_in(*record, "rule") != rule_) return std::nullopt;
  const cluster::JsonValue* all = record->find("evaluations");
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
  remove_states();  // a later run may have its best evaluation at the same step
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

// States are kept for every checkpoint from which a run may continue, and for the next one.
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

bool Best::observe(const Metrics& metrics) {
  for (const auto& [name, value] : metrics) {
    if (name != by_.metric) continue;
    const double gain = by_.higher ? value - value_.value_or(-INFINITY) : value_.value_or(INFINITY) - value;
    if (std::isnan(value) || !(gain > min_delta_)) {
      ++since_;
      return false;
    }
    value_ = value;
    since_ = 0;
    return true;
  }
  return false;
}

BestExporter::BestExporter(const program::CheckpointDef& checkpoint)
    : directory_(checkpoint.directory + "/best"), by_(*checkpoint.keep_best), best_(by_) {}

// Restores the best of this run by the same metric, if its checkpoint exists. Records of an older tfd don't name the
// run.
void BestExporter::go_on(const std::string& run) {
  best_ = Best(by_);
  const auto record = load_record(directory_ + ".json");
  if (!record) return;
  if (const std::string whose = text_in(*record, "run"); !whose.empty() && whose != run) return;
  if (text_in(*record, "metric") != by_.metric || text_in(*record, "mode") != mode_of(by_)) return;
  const auto step = number_in<std::int64_t>(*record, "step");
  const auto value = number_in<double>(*record, "value");
  const auto there = variable::list_checkpoints(directory_);
  const auto is_it = [&](const auto& one) { return one.first == step; };
  if (step && value && there && std::ranges::any_of(*there, is_it)) best_.observe({{by_.metric, *value}});
}

Result<std::optional<std::string>> BestExporter::observe(std::int64_t step, const Metrics& metrics,
                                                         const TakeState& take, const Log& log) {
  if (!best_.observe(metrics)) return std::nullopt;
  auto path = save(TFD_TRY(take()));
  if (path) return std::move(*path);
  log.error("cannot write the best checkpoint, of step {}: {}", step, path.error().message);
  return std::nullopt;
}

Result<std::string> BestExporter::save(const variable::Checkpoint& checkpoint) const {
  std::string path = TFD_TRY(variable::save_checkpoint(directory_, checkpoint, 1, false));
  JsonLine record;
  record.add("metric", by_.metric).add("mode", mode_of(by_)).add("value", *best_.value()).add("step", checkpoint.step);
  record.add("run", checkpoint.run);
  TFD_TRY(save_file(directory_ + ".json", std::move(record).text()));
  return path;
}

}  // namespace tfd::train
