// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/schedules/learning_rate_schedule.py, 3.x; calculated in double.
#include "schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tfd/base/text.hpp"
#include "tfd/tensor/json_object.hpp"

namespace tfd::variable {
namespace {

using tensor::JsonObject;
using tensor::kNotNegative;
using tensor::kPositive;

using Function = std::function<double(double)>;

Result<Function> constant(JsonObject& settings) {
  const double rate = settings.required_number("learning_rate", kNotNegative);
  TFD_TRY(settings.finish());
  return [rate](double) { return rate; };
}

struct Decay {
  double start, steps, rate;
  bool stairs;
  double progress(double step) const { return stairs ? std::floor(step / steps) : step / steps; }
};

Decay read_decay(JsonObject& settings) {
  Decay decay{};
  decay.start = settings.required_number("initial_learning_rate", kNotNegative);
  decay.steps = settings.required_number("decay_steps", kPositive);
  decay.rate = settings.required_number("decay_rate", kNotNegative);
  decay.stairs = settings.flag("staircase", false);
  return decay;
}

Result<Function> exponential(JsonObject& settings) {
  const Decay decay = read_decay(settings);
  TFD_TRY(settings.finish());
  return [decay](double step) { return decay.start * std::pow(decay.rate, decay.progress(step)); };
}

Result<Function> inverse_time(JsonObject& settings) {
  const Decay decay = read_decay(settings);
  TFD_TRY(settings.finish());
  return [decay](double step) { return decay.start / (1 + decay.rate * decay.progress(step)); };
}

Result<Function> polynomial(JsonObject& settings) {
  const double start = settings.required_number("initial_learning_rate", kNotNegative);
  const double steps = settings.required_number("decay_steps", kPositive);
  const double end = settings.number("end_learning_rate", kNotNegative).value_or(0.0001);
  const double power = settings.number("power", kNotNegative).value_or(1);
  const bool cycle = settings.flag("cycle", false);
  TFD_TRY(settings.finish());
  return [=](double step) {
    const double length = cycle ? steps * std::max(1.0, std::ceil(step / steps)) : steps;
    return (start - end) * std::pow(1 - std::min(step, length) / length, power) + end;
  };
}

Result<Function> piecewise(JsonObject& settings) {
  const auto boundaries = settings.required_numbers("boundaries", kNotNegative);
  const auto values = settings.required_numbers("values", kNotNegative);
  if (values.size() != boundaries.size() + 1)
    settings.refuse(
        "values", Code::kInvalidArgument,
        fmt::format("{} boundaries need {} values, not {}", boundaries.size(), boundaries.size() + 1, values.size()));
  if (!std::is_sorted(boundaries.begin(), boundaries.end()))
    settings.refuse("boundaries", Code::kInvalidArgument, "must ascend");
  TFD_TRY(settings.finish());
  return [boundaries, values](double step) {  // a boundary belongs to the piece before it
    return values[static_cast<std::size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), step) -
                                           boundaries.begin())];
  };
}

double half_cosine(double done) { return 0.5 * (1 + std::cos(std::numbers::pi * done)); }

Result<Function> cosine(JsonObject& settings) {
  const double start = settings.required_number("initial_learning_rate", kNotNegative);
  const double steps = settings.required_number("decay_steps", kPositive);
  const double alpha = settings.number("alpha", kNotNegative).value_or(0);
  const auto target = settings.nullable_number("warmup_target", kNotNegative);
  const double warmup = settings.number("warmup_steps", kNotNegative).value_or(0);
  TFD_TRY(settings.finish());
  return [=](double step) {
    const double before = target ? warmup : 0, top = target.value_or(start);
    if (step < before) return (top - start) * (step / before) + start;
    return top * ((1 - alpha) * half_cosine(std::min(step - before, steps) / steps) + alpha);
  };
}

Result<Function> cosine_restarts(JsonObject& settings) {
  const double start = settings.required_number("initial_learning_rate", kNotNegative);
  const double first = settings.required_number("first_decay_steps", kPositive);
  const double longer = settings.number("t_mul", {1, 0x1p1023, "a finite number >= 1"}).value_or(2);
  const double lower = settings.number("m_mul", kNotNegative).value_or(1);
  const double alpha = settings.number("alpha", kNotNegative).value_or(0);
  TFD_TRY(settings.finish());
  return [=](double step) {
    double done = step / first, restarts = std::floor(done);
    if (longer == 1) {
      done -= restarts;
    } else {
      restarts = std::floor(std::log(1 - done * (1 - longer)) / std::log(longer));
      const double scale = std::pow(longer, restarts);
      done = (done - (1 - scale) / (1 - longer)) / scale;
    }
    return start * ((1 - alpha) * std::pow(lower, restarts) * half_cosine(done) + alpha);
  };
}

struct Kind {
  std::string_view name;
  Result<Function> (*read)(JsonObject&);
};
constexpr std::array kKinds{Kind{"constant", constant},
                            Kind{"exponential_decay", exponential},
                            Kind{"inverse_time_decay", inverse_time},
                            Kind{"polynomial_decay", polynomial},
                            Kind{"piecewise_constant_decay", piecewise},
                            Kind{"cosine_decay", cosine},
                            Kind{"cosine_decay_restarts", cosine_restarts}};

}  // namespace

Result<Schedule> parse_schedule(const nlohmann::ordered_json& json, const std::string& path) {
  const tensor::JsonValue value(json, path);
  if (!value.is_object()) {
    if (const auto rate = value.number(kNotNegative)) return Schedule(*rate);
    return value.fail_value(fmt::format("{}, or a schedule", kNotNegative.meaning));
  }
  const auto [name, body] = TFD_TRY(value.only_member(R"({"exponential_decay": {"initial_learning_rate": 0.1, …}})"));
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    names.emplace_back(kind.name);
    if (kind.name != name) continue;
    JsonObject settings(body);
    return Schedule(TFD_TRY(kind.read(settings)));
  }
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "{}.{}: no such schedule{}", path, printable(name),
              hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
}

}  // namespace tfd::variable
