// SPDX-License-Identifier: Apache-2.0
#include "curves.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"

namespace tfd::plot {

Result<void> Charts::add(std::string_view text, const std::string& run) {
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
  return {};
}

/// True if it had a metric.
Result<bool> Charts::add_line(std::string_view line, const std::string& run) {
  const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("event") || !json["event"].is_string())
    return fail(Code::kInvalidArgument,
                "not an event: must be the JSON lines that tfd-run and tfd-coordinate print ({{\"event\": …}})");
  const auto event = json["event"].get<std::string>();
  if ((event != "step" && event != "eval") || !json.contains("metrics")) return false;
  if (event == "eval" && !json.contains("step")) return false;  // of initial values
  if (!json.contains("step") || !json["step"].is_number_integer() || !json["metrics"].is_object())
    return fail(Code::kInvalidArgument, "not a {} event: 'step' must be a number and 'metrics' an object", event);
  const bool is_of_task = json.contains("task") && json["task"].is_string() && json["task"] != "local";
  const std::string whose = is_of_task ? fmt::format("{} {}", run, json["task"].get<std::string>()) : run;
  bool has_points = false;
  for (const auto& [metric, value] : json["metrics"].items()) {
    if (!value.is_number()) continue;  // "NaN", "Infinity"
    add_point(metric, whose, event == "eval", json["step"].get<std::int64_t>(), value.get<double>());
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

void Charts::add_point(const std::string& metric, const std::string& run, bool is_eval, std::int64_t step,
                       double value) {
  auto chart = std::ranges::find(charts_, metric, &Chart::metric);
  if (chart == charts_.end()) chart = charts_.insert(metric == "loss" ? charts_.begin() : charts_.end(), {metric, {}});
  auto curve =
      std::ranges::find_if(chart->curves, [&](const Curve& one) { return one.run == run && one.is_eval == is_eval; });
  if (curve == chart->curves.end()) curve = chart->curves.insert(curve, {run, is_eval, {}});
  curve->points.insert_or_assign(step, value);
}

Result<std::vector<Chart>> Charts::of(const std::vector<std::string>& metrics) const {
  if (metrics.empty()) return charts_;
  std::vector<std::string> known;
  for (const Chart& chart : charts_) known.push_back(chart.metric);
  std::vector<Chart> out;
  for (const std::string& metric : metrics) {
    const auto found = std::ranges::find(charts_, metric, &Chart::metric);
    if (found == charts_.end())
      return fail(Code::kNotFound, "no metric '{}'{} (there: {})", printable(metric), did_you_mean(metric, known),
                  printable(join_words(known)));
    out.push_back(*found);
  }
  return out;
}

}  // namespace tfd::plot
