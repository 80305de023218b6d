// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/event_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::train {
namespace {

using Json = nlohmann::ordered_json;

/// Numbers; "NaN" and its like are strings.
double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return value == "Infinity" ? HUGE_VAL : value == "-Infinity" ? -HUGE_VAL : std::nan("");
}

Metrics metrics_in(const Json& event, const char* key) {
  Metrics out;
  const auto found = event.find(key);
  if (found == event.end()) return out;
  for (const auto& [name, value] : found->items()) out.emplace_back(name, number_of(value));
  return out;
}

std::string text_in(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string start_text(const Json& event) {
  if (const std::string directory = text_in(event, "follows"); !directory.empty())
    return fmt::format("evaluating the checkpoints of {}", directory);
  std::string text = "training " + text_in(event, "program");
  const auto count_in = [&event](const char* key) -> std::optional<std::uint64_t> {
    const auto count = event.find(key);
    if (count == event.end() || !count->is_number_unsigned()) return std::nullopt;
    return count->get<std::uint64_t>();
  };
  if (const auto workers = count_in("workers")) {
    const std::uint64_t expected = count_in("expected_workers").value_or(*workers);
    text += expected > *workers ? fmt::format(", {} of {}", *workers, counted(expected, "worker"))
                                : fmt::format(", {}", counted(*workers, "worker"));
  }
  if (const auto replicas = count_in("replicas")) text += fmt::format(", {}", counted(*replicas, "replica"));
  return text;
}

std::string step_text(const Json& event) {
  std::string text = format_metrics(metrics_in(event, "metrics"));
  const Metrics rates = metrics_in(event, "rates");
  if (!rates.empty()) text += fmt::format("{}{}/s", text.empty() ? "" : "  ", rounded_rate(rates.front().second));
  return text;
}

std::string evaluation_text(const Metrics& metrics) { return "evaluation: " + format_metrics(metrics); }

std::string seconds_text(const Json& event) {
  const auto seconds = event.find("seconds");
  return seconds != event.end() && seconds->is_number() ? fmt::format("  {:.2f}s", seconds->get<double>()) : "";
}

std::string epoch_text(const Json& event) {
  const auto number_in = [&event](const char* key) {
    const auto found = event.find(key);
    return found != event.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  const Metrics metrics = metrics_in(event, "metrics"), evaluation = metrics_in(event, "eval");
  std::string text = fmt::format("epoch {}/{}", number_in("epoch"), number_in("epochs"));
  if (!metrics.empty()) text += ": " + format_metrics(metrics);
  if (!evaluation.empty()) text += "; " + evaluation_text(evaluation);
  if (const auto rate = event.find("learning_rate"); rate != event.end())
    text += fmt::format("; learning rate {:.4g}", number_of(*rate));
  return text + seconds_text(event);
}

std::string worker_text(const Json& event) {
  const std::string task = text_in(event, "task");
  return text_in(event, "state") == "lost" ? fmt::format("{} lost: {}", task, text_in(event, "reason"))
                                           : task + " is back";
}

std::string server_text(const Json& event) {
  const auto count_in = [&event](const char* key) { return event.value(key, std::int64_t{0}); };
  return fmt::format("{}; failure {}, at most {}", text_in(event, "reason"), count_in("failure"),
                     count_in("max_failures"));
}

/// Why a training ended, in words.
std::string reason_text(const std::string& reason) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kWords{{
      {"end_of_data", "the data ended"},
      {"max_time", "the time is over"},
      {"nothing_left", "nothing is left to do"},
      {"left", "the others go on"},
  }};
  for (const auto& [known, words] : kWords)
    if (reason == known) return std::string(words);
  return reason;
}

std::string end_text(const Json& event) {
  if (const auto error = event.find("error"); error != event.end())
    return "ended by an error: " + text_in(*error, "message");
  std::string text = reason_text(text_in(event, "reason"));
  const Metrics metrics = metrics_in(event, "metrics"), evaluation = metrics_in(event, "eval");
  if (!metrics.empty()) text += ": " + format_metrics(metrics);
  if (!evaluation.empty()) text += "; " + evaluation_text(evaluation);
  return text + seconds_text(event);
}

}  // namespace

std::string format_metrics(const Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics)  // the sign of a NaN is meaningless
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, std::isnan(value) ? std::abs(value) : value);
  return text;
}

std::string EventText::line_of(std::string_view line) {
  const Json event = Json::parse(line, nullptr, false);
  const std::string kind = event.is_object() ? text_in(event, "event") : "";
  std::string text;
  if (kind == "start") {
    const auto steps = event.find("steps");
    if (steps != event.end() && steps->is_number_integer()) steps_ = steps->get<std::int64_t>();
    text = start_text(event);
  } else if (kind == "step") {
    text = step_text(event);
  } else if (kind == "eval") {
    text = evaluation_text(metrics_in(event, "metrics")) + seconds_text(event);
  } else if (kind == "epoch") {
    text = epoch_text(event);
  } else if (kind == "checkpoint") {
    const bool is_best = event.contains("best");
    std::string path = text_in(event, "path");
    if (!is_best && path == saved_) return "";  // with the variables of the best evaluation
    text = (is_best ? "best so far: saved " : "saved ") + path;
    if (!is_best) saved_ = std::move(path);
  } else if (kind == "worker" || kind == "server" || kind == "end") {
    if (!options_.says_news) return "";
    text = kind == "worker" ? worker_text(event) : kind == "server" ? server_text(event) : end_text(event);
  } else {
    return std::string(line);
  }
  const std::string task = kind == "worker" || kind == "server" ? "" : text_in(event, "task");
  std::string out = options_.names_tasks && !task.empty() && task != "local" ? task + "  " : "";
  if (const auto step = event.find("step"); step != event.end() && step->is_number_integer()) {
    const std::string number = std::to_string(step->get<std::int64_t>());
    const std::string all = steps_ ? fmt::format("/{}", *steps_) : "";
    out += fmt::format("step {:>{}}{}  ", number, all.empty() ? 0 : all.size() - 1, all);
  }
  return printable(out + text) + "\n";
}

}  // namespace tfd::train
