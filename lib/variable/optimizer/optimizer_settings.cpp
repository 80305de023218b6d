// SPDX-License-Identifier: Apache-2.0
#include "optimizer_settings.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/tensor/json_object.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::variable {
namespace {

using tensor::JsonObject;
using tensor::JsonValue;
using tensor::kNotNegative;
using tensor::kPositive;

struct Read {
  Group group;
  std::vector<double> numbers;  // its settings, in the order of the table
};

/// Reads settings that a group may state, too. Without `base` the defaults are the table's.
Read read_group(JsonObject& settings, const OptimizerInfo& info, const Read* base) {
  Read out;
  if (base != nullptr) out.group = base->group;
  const bool needs_rate = base == nullptr && info.learning_rate < 0;
  if (const auto* rate = needs_rate ? settings.required("learning_rate") : settings.find("learning_rate")) {
    auto schedule = parse_schedule(*rate, settings.path() + ".learning_rate");
    if (schedule)
      out.group.rate = std::move(*schedule);
    else
      settings.note(std::move(schedule).error());
  } else if (base == nullptr) {
    out.group.rate = Schedule(std::max(info.learning_rate, 0.0));
  }
  for (std::size_t i = 0; i < info.settings.size(); ++i) {
    const Setting& setting = info.settings[i];
    const double fallback = base != nullptr ? base->numbers[i] : setting.initial;
    out.numbers.push_back(setting.is_flag ? static_cast<double>(settings.flag(setting.name, fallback != 0))
                                          : settings.number(setting.name, setting.range).value_or(fallback));
  }
  const double decay = base != nullptr ? base->group.weight_decay : info.weight_decay;
  const bool none = settings.is_null("weight_decay");
  out.group.weight_decay = settings.nullable_number("weight_decay", kNotNegative).value_or(none ? 0 : decay);
  const bool states_clip = settings.has("clipnorm") || settings.has("clipvalue");
  const auto norm = settings.nullable_number("clipnorm", kPositive);
  const auto value = settings.nullable_number("clipvalue", kPositive);
  if (states_clip) {
    out.group.clipnorm = norm;
    out.group.clipvalue = value;
  }
  out.group.rule = info.make(Values(info, out.numbers));
  return out;
}

void check_clipping(JsonObject& settings, const Group& group, const std::optional<double>& global) {
  std::vector<std::string> stated;
  const auto add = [&](std::string_view key, const std::optional<double>& value) {
    if (value) stated.push_back(fmt::format("{} ({})", key, *value));
  };
  add("clipnorm", group.clipnorm);
  add("clipvalue", group.clipvalue);
  add("global_clipnorm", global);
  if (stated.size() > 1)
    settings.note(Error{Code::kInvalidArgument,
                        fmt::format("{}: sets {}, but may set only one of them", settings.path(), join_words(stated)),
                        {}});
}

/// "loss_scale": 1024 is a fixed one, {"initial": …, "growth_steps": …} moves; a program that skips has one that moves.
void read_nonfinite(JsonObject& settings, OptimizerSettings& out) {
  const std::string rule = settings.choice("on_nonfinite", "", {"stop", "skip", "continue"});
  if (rule == "stop") out.on_nonfinite = OnNonfinite::kStop;
  if (rule == "skip") out.on_nonfinite = OnNonfinite::kSkip;
  if (rule == "continue") out.on_nonfinite = OnNonfinite::kContinue;
  const auto* scale = settings.find("loss_scale");
  if (scale == nullptr) {
    if (out.on_nonfinite == OnNonfinite::kSkip) out.loss_scale = LossScale{};
    return;
  }
  const JsonValue scaling(*scale, settings.path() + ".loss_scale");
  if (!scaling.is_object()) {
    const auto fixed = settings.nullable_number("loss_scale", kPositive);
    if (fixed) out.loss_scale = LossScale{*fixed, 0};
    return;
  }
  JsonObject own(scaling);
  LossScale moving;
  moving.initial = own.number("initial", kPositive).value_or(moving.initial);
  moving.growth_steps = own.nullable_integer("growth_steps", 1).value_or(moving.growth_steps);
  if (!rule.empty() && out.on_nonfinite != OnNonfinite::kSkip)
    own.note(Error{
        Code::kInvalidArgument,
        fmt::format("{}.loss_scale: a dynamic one needs \"on_nonfinite\": \"skip\", not \"{}\"", settings.path(), rule),
        {}});
  if (auto read = own.finish(); !read) settings.note(std::move(read).error());
  out.on_nonfinite = OnNonfinite::kSkip;
  out.loss_scale = moving;
}

Result<const OptimizerInfo*> find_info(const std::string& name, bool v1) {
  std::vector<std::string> names;
  for (const OptimizerInfo& info : kOptimizers) {
    if (info.name == name && info.v1 == v1) return &info;
    if (std::find(names.begin(), names.end(), info.name) == names.end()) names.emplace_back(info.name);
  }
  if (std::find(names.begin(), names.end(), name) != names.end())
    return fail(Code::kInvalidArgument, "{}.v1: tf.compat.v1 has no such optimizer", name);
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "{}: no such optimizer{}", printable(name),
              hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
}

}  // namespace

Result<OptimizerSettings> parse_optimizer_settings(const nlohmann::ordered_json& optimizer) {
  const auto [name, body] = TFD_TRY(JsonValue(optimizer, "").only_member(R"({"sgd": {"learning_rate": 0.01}})"));
  JsonObject settings(body);
  OptimizerSettings out;
  out.info = TFD_TRY(find_info(name, settings.flag("v1", false)));
  Read all = read_group(settings, *out.info, nullptr);
  out.global_clipnorm = settings.nullable_number("global_clipnorm", kPositive);
  check_clipping(settings, all.group, out.global_clipnorm);
  out.use_ema = settings.flag("use_ema", false);
  out.ema_momentum = settings.number("ema_momentum", tensor::kUnitInterval).value_or(0.99);
  out.ema_overwrite = settings.nullable_integer("ema_overwrite_frequency", 1);
  out.accumulation = settings.nullable_integer("gradient_accumulation_steps", 2).value_or(1);
  out.lazy_rows = settings.flag("lazy_rows", false);
  out.no_decay = settings.texts("exclude_from_weight_decay");
  for (const auto& [pattern, group] : settings.members("groups")) {
    JsonObject own(group);
    out.groups.push_back(read_group(own, *out.info, &all).group);
    out.groups.back().pattern = pattern;
    check_clipping(own, out.groups.back(), out.global_clipnorm);
    if (pattern.empty()) own.note(Error{Code::kInvalidArgument, name + ".groups: a group needs a pattern", {}});
    if (auto read = own.finish(); !read) settings.note(std::move(read).error());
  }
  settings.refuse("loss_scale_factor", Code::kUnimplemented, "is called loss_scale here");
  read_nonfinite(settings, out);
  TFD_TRY(settings.finish());
  out.groups.push_back(std::move(all.group));
  out.clips = out.global_clipnorm.has_value() ||
              std::any_of(out.groups.begin(), out.groups.end(),
                          [](const Group& group) { return group.clipnorm || group.clipvalue; });
  return out;
}

}  // namespace tfd::variable
