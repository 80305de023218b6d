// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "internal.hpp"
#include "tfd/base/text.hpp"

namespace tfd::cli {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

Result<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return fail(Code::kUsage, "'{}' is not a number", text);
  return number;
}

Result<bool> parse_switch(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "0", "no", "off"})
    if (text == no) return false;
  return fail(Code::kUsage, "takes no value, got '{}'", text);
}

/// A class's name as an option's value: "MultiWorkerMirroredStrategy" is "multi-worker-mirrored".
std::string plain_name(std::string_view name) {
  constexpr std::string_view kStrategy = "Strategy";
  if (name.size() > kStrategy.size() && name.ends_with(kStrategy)) name.remove_suffix(kStrategy.size());
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto is_upper = [&](std::size_t at) { return std::isupper(static_cast<unsigned char>(name[at])) != 0; };
    if (i > 0 && is_upper(i) && (!is_upper(i - 1) || (i + 1 < name.size() && !is_upper(i + 1)))) out += '-';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out;
}

Result<void> check_choice(const Option& option, const std::string& value) {
  if (option.choices.empty() || std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end())
    return {};
  const std::string plain = plain_name(value);
  for (const auto& [name, here] : option.meant)
    if (plain == name || value == name) return fail(Code::kUsage, "invalid value '{}': {}", printable(value), here);
  if (std::ranges::find(option.choices, plain) != option.choices.end())
    return fail(Code::kUsage, "invalid value '{}', did you mean '{}'?", printable(value), plain);
  const std::string meant = did_you_mean(value, option.choices);
  if (!meant.empty()) return fail(Code::kUsage, "invalid value '{}'{}", value, meant);
  return fail(Code::kUsage, "invalid value '{}' (one of {})", value, join_words(option.choices));
}

template <class T, class Value>
Result<void> put(T* target, Result<Value>&& value) {
  if (!value) return fail(std::move(value).error());
  *target = static_cast<T>(*std::move(value));
  return {};
}

std::vector<std::string> without_aliases(const Option& option, std::span<const std::string> values) {
  std::vector<std::string> out(values.begin(), values.end());
  for (std::string& value : out)
    for (const auto& [alias, meant] : option.aliases)
      if (value == alias) value = meant;
  return out;
}

bool holds_text(const Option& option) {
  return std::holds_alternative<std::string*>(option.target) || is_repeatable(option) ||
         std::holds_alternative<std::optional<std::string>*>(option.target);
}

/// The last value for a target that holds one; all of them for a list.
Result<void> convert(const Option& option, std::span<const std::string> given) {
  const std::vector<std::string> values = without_aliases(option, given);
  for (const std::string& value : values) {
    if (value.empty() && holds_text(option) && option.choices.empty() && !option.allows_empty && !is_positional(option))
      return fail(Code::kUsage, "the value is empty: give {}, or leave the option out",
                  option.placeholder.empty() ? "one" : option.placeholder);
    TFD_TRY(check_choice(option, value));
  }
  const std::string& last = values.back();
  const auto integer = [&](auto limits) {
    return parse_integer(last, std::max<std::int64_t>(limits.min(), option.least),
                         std::min<std::int64_t>(limits.max(), option.most));
  };
  const std::numeric_limits<int> of_int;
  const std::numeric_limits<std::int64_t> of_int64;
  return std::visit(Overloaded{
                        [&](bool* target) { return put(target, parse_switch(last)); },
                        [&](int* target) { return put(target, integer(of_int)); },
                        [&](std::int64_t* target) { return put(target, integer(of_int64)); },
                        [&](std::optional<std::int64_t>* target) { return put(target, integer(of_int64)); },
                        [&](double* target) { return put(target, parse_number(last)); },
                        [&](std::string* target) { return put(target, Result<std::string>(last)); },
                        [&](std::optional<std::string>* target) { return put(target, Result<std::string>(last)); },
                        [&](std::vector<std::string>* target) {
                          return put(target, Result<std::vector<std::string>>(
                                                 std::vector<std::string>(values.begin(), values.end())));
                        },
                        [&](Duration* target) { return put(target, parse_duration(last)); },
                        [&](std::optional<Duration>* target) { return put(target, parse_duration(last)); },
                        [&](Bytes* target) { return put(target, parse_bytes(last)); },
                        [&](std::optional<Bytes>* target) { return put(target, parse_bytes(last)); },
                    },
                    option.target);
}

}  // namespace

std::vector<std::string> names_of(const Option& option) { return split(option.names, ','); }

bool is_positional(const Option& option) { return !option.names.starts_with('-'); }

bool is_switch(const Option& option) {
  return std::holds_alternative<bool*>(option.target) || option.value_is_optional;
}

bool is_repeatable(const Option& option) { return std::holds_alternative<std::vector<std::string>*>(option.target); }

std::string title_of(const Option& option) { return names_of(option).back(); }

std::string default_of(const Option& option) {
  if (!option.shown_default.empty()) return option.shown_default;
  return std::visit(
      Overloaded{
          [](const bool*) { return std::string(); },
          [](const int* value) { return *value == 0 ? "" : fmt::format("{}", *value); },
          [](const std::int64_t* value) { return *value == 0 ? "" : fmt::format("{}", *value); },
          [](const double* value) { return *value == 0 ? "" : fmt::format("{}", *value); },
          [](const std::string* value) { return *value; },
          [](const std::optional<std::string>* value) { return value->value_or(""); },
          [](const std::optional<std::int64_t>* value) { return *value ? fmt::format("{}", **value) : ""; },
          [](const std::vector<std::string>* value) { return fmt::format("{}", fmt::join(*value, " ")); },
          [](const Duration* value) { return value->count() == 0 ? "" : format_duration(*value); },
          [](const std::optional<Duration>* value) { return *value ? format_duration(**value) : ""; },
          [](const Bytes* value) { return value->count == 0 ? "" : format_bytes(*value); },
          [](const std::optional<Bytes>* value) { return *value ? format_bytes(**value) : ""; },
      },
      option.target);
}

std::string completion_of(const Option& option) {
  if (!option.complete.empty() || !option.choices.empty()) return option.complete;
  if (option.placeholder.find("FILE") != std::string::npos || option.names == "PROGRAM") return "file";
  if (option.placeholder.find("DIR") != std::string::npos) return "dir";
  return "";
}

Result<void> assign(const Option& option, std::string_view title, std::span<const std::string> values) {
  Result<void> done = convert(option, values);
  if (done) return done;
  done.error().code = Code::kUsage;
  return fail(std::move(done.error()).within(title));
}

}  // namespace tfd::cli
