// SPDX-License-Identifier: Apache-2.0
#include "curves.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tfd/base/text.hpp"

namespace tfd::plot {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// The settings in a `start` event, without those that differ between any two runs, such as the directory.
std::map<std::string, std::string> settings_in(const Json& start) {
  std::map<std::string, std::string> out;
  for (const char* const key : {"program", "workers", "replicas"})
    if (const auto found = start.find(key); found != start.end()) out[key] = text_of(*found);
  const auto settings = start.find("settings");
  if (settings == start.end() || !settings->is_object()) return {};
  for (const auto& [key, value] : settings->items()) {
    if (key == "program_sha256") out[key] = text_of(value).substr(0, 8);
    if (value.is_primitive() && key != "program_sha256") out[key] = text_of(value);
    if (key == "versions" && value.is_object())
      for (const auto& [name, version] : value.items()) out[name] = text_of(version);
    if (key != "overrides" || !value.is_array()) continue;
    for (const Json& one : value) {
      const std::string text = text_of(one);
      const std::size_t end = std::min(text.find('='), text.size());
      if (text.substr(0, end) != "train.checkpoint.dir")
        out[text.substr(0, end)] = text.substr(std::min(end + 1, text.size()));
    }
  }
  return out;
}

std::optional<std::string> value_in(const std::map<std::string, std::string>& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

/// The last part of the key, where no other one ends so.
std::string shortened(const std::string& key, const std::vector<std::string>& keys) {
  const auto last_part = [](const std::string& one) { return one.substr(one.rfind('.') + 1); };
  const std::string part = last_part(key);
  return std::ranges::count(keys, part, last_part) == 1 ? part : key;
}

}  // namespace

Result<void> Charts::add(std::string_view text, const std::string& run) {
  runs_.emplace_back(run, Settings());
  std::size_t number = 0;
  bool has_points = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    has_points = TFD_TRY(add_line(line, run), fmt::format("{}:{}", printable(run), number)) || has_points;
  }
  if (!has_points) return fail(Code::kInvalidArgument, "{}: no event has a metric", printable(run));
  choose_between_steps_and_epochs();
  return {};
}

/// True if it had a metric.
Result<bool> Charts::add_line(std::string_view line, const std::string& run) {
  const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("event") || !json["event"].is_string())
    return fail(Code::kInvalidArgument,
                "not an event: must be the JSON lines that tfd-run and tfd-coordinate print ({{\"event\": …}})");
  const auto event = json["event"].get<std::string>();
  if (event == "start") runs_.back().second = settings_in(json);
  if ((event != "step" && event != "eval" && event != "epoch") || !json.contains("metrics")) return false;
  if (event == "eval" && !json.contains("step")) return false;  // of initial values
  if (!json.contains("step") || !json["step"].is_number_integer() || !json["metrics"].is_object())
    return fail(Code::kInvalidArgument, "not a {} event: 'step' must be a number and 'metrics' an object", event);
  const bool is_of_task = json.contains("task") && json["task"].is_string() && json["task"] != "local";
  const Curve whose{run, is_of_task ? json["task"].get<std::string>() : std::string(), event == "eval",
                    event == "epoch"};
  bool has_points = false;
  for (const auto& [metric, value] : json["metrics"].items()) {
    if (!value.is_number()) continue;  // "NaN", "Infinity"
    add_point(metric, whose, json["step"].get<std::int64_t>(), value.get<double>());
    has_points = true;
  }
  return has_points;
}

Result<void> keep_positive(std::vector<Chart>& charts) {
  for (Chart& chart : charts) {
    for (Curve& curve : chart.curves) std::erase_if(curve.points, [](const auto& point) { return point.second <= 0; });
    std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  }
  std::erase_if(charts, [](const Chart& chart) { return chart.curves.empty(); });
  if (charts.empty()) return fail(Code::kInvalidArgument, "--log-scale: no value is above 0");
  return {};
}

void Charts::add_point(const std::string& metric, const Curve& of, std::int64_t step, double value) {
  auto chart = std::ranges::find(charts_, metric, &Chart::metric);
  if (chart == charts_.end()) chart = charts_.insert(metric == "loss" ? charts_.begin() : charts_.end(), {metric, {}});
  auto curve = std::ranges::find_if(chart->curves, [&](const Curve& one) {
    return one.run == of.run && one.task == of.task && one.is_eval == of.is_eval && one.is_of_epochs == of.is_of_epochs;
  });
  if (curve == chart->curves.end()) curve = chart->curves.insert(curve, of);
  curve->points.insert_or_assign(step, value);
}

void Charts::choose_between_steps_and_epochs() {
  for (Chart& chart : charts_) {
    for (auto epochs = std::ranges::find_if(chart.curves, &Curve::is_of_epochs); epochs != chart.curves.end();
         epochs = std::ranges::find_if(chart.curves, &Curve::is_of_epochs)) {
      epochs->is_of_epochs = false;
      const auto steps = std::ranges::find_if(chart.curves, [&](const Curve& one) {
        return &one != &*epochs && one.run == epochs->run && one.task == epochs->task && !one.is_eval;
      });
      if (steps == chart.curves.end()) continue;
      if (steps->points.size() < epochs->points.size()) std::swap(steps->points, epochs->points);
      chart.curves.erase(epochs);
    }
  }
}

std::map<std::string, std::string> Charts::names_of_runs() const {
  std::vector<std::string> keys;  // that differ
  for (const auto& [run, settings] : runs_)
    for (const auto& [key, value] : settings) {
      const auto is_same = [&](const auto& other) {
        return other.second.empty() || value_in(other.second, key) == value;  // it may state none
      };
      if (!std::ranges::all_of(runs_, is_same) && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  std::map<std::string, std::string> names;
  std::map<std::string, int> uses;
  for (const auto& [run, settings] : runs_) {
    std::string name;
    for (const std::string& key : keys)
      if (const auto value = value_in(settings, key))
        name += fmt::format("{}{}={}", name.empty() ? "" : " ", shortened(key, keys), *value);
    names[run] = name.empty() ? run : name;
    if (!name.empty()) ++uses[name];
  }
  for (auto& [run, name] : names)
    if (name != run && uses[name] > 1) name += fmt::format(" ({})", run);
  return names;
}

Result<std::vector<Chart>> Charts::of(const std::vector<std::string>& metrics) const {
  const auto names = names_of_runs();
  const auto named = [&](Chart chart) {
    for (Curve& curve : chart.curves) curve.run = names.at(curve.run) + (curve.task.empty() ? "" : " " + curve.task);
    return chart;
  };
  if (metrics.empty()) {
    std::vector<Chart> all;
    for (const Chart& chart : charts_) all.push_back(named(chart));
    return all;
  }
  std::vector<std::string> known;
  for (const Chart& chart : charts_) known.push_back(chart.metric);
  std::vector<Chart> out;
  for (const std::string& metric : metrics) {
    const auto found = std::ranges::find(charts_, metric, &Chart::metric);
    if (found == charts_.end())
      return fail(Code::kNotFound, "no metric '{}'{} (there: {})", printable(metric), did_you_mean(metric, known),
                  printable(join_words(known)));
    out.push_back(named(*found));
  }
  return out;
}

}  // namespace tfd::plot
