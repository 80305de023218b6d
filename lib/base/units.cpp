// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace tfd {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

// The longest names first, so that "ms" isn't read as "m".
constexpr std::array<Unit, 7> kTimeUnits{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};
constexpr std::array<Unit, 9> kSizeUnits{{{"KiB", 1024.0},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TiB", 1099511627776.0},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"B", 1}}};

template <std::size_t N>
const Unit* unit_at(const std::array<Unit, N>& units, std::string_view text) {
  for (const Unit& unit : units)
    if (text.starts_with(unit.name)) return &unit;
  return nullptr;
}

/// Takes a non-negative decimal number off the front of `text`.
bool take_number(std::string_view& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || number < 0 || !std::isfinite(number)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::kInvalidArgument, "'{}' is not a duration (e.g. 250ms, 30s, 1m30s)", text);
  };
  std::string_view rest = text;
  if (rest.empty()) return bad();
  double total = 0;
  while (!rest.empty()) {
    double number = 0;
    if (!take_number(rest, number)) return bad();
    if (rest.empty()) {
      if (total != 0) return bad();  // "1m30" is ambiguous
      total = number * 1e9;
      break;
    }
    const Unit* unit = unit_at(kTimeUnits, rest);
    if (unit == nullptr) return bad();
    rest.remove_prefix(unit->name.size());
    total += number * unit->size;
  }
  if (total >= 9.2e18) return fail(Code::kInvalidArgument, "duration '{}' is too long", text);
  return Duration(std::llround(total));
}

std::string format_duration(Duration duration) {
  auto left = duration.count();
  if (left == 0) return "0s";
  std::string out;
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kUnits{{{"d", 86400000000000},
                                                                             {"h", 3600000000000},
                                                                             {"m", 60000000000},
                                                                             {"s", 1000000000},
                                                                             {"ms", 1000000},
                                                                             {"us", 1000},
                                                                             {"ns", 1}}};
  for (const auto& [name, size] : kUnits) {
    if (left < size) continue;
    out += fmt::format("{}{}", left / size, name);
    left %= size;
  }
  return out;
}

std::string rounded_duration(Duration duration) {
  using std::chrono::milliseconds, std::chrono::seconds;
  return format_duration(duration < seconds(10) ? Duration(std::chrono::round<milliseconds>(duration) / 10 * 10)
                                                : Duration(std::chrono::round<seconds>(duration)));
}

Result<Bytes> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  double number = 0;
  if (!take_number(rest, number))
    return fail(Code::kInvalidArgument, "'{}' is not a size (e.g. 65536, 256KiB, 1GB)", text);
  double size = 1;
  if (!rest.empty()) {
    const Unit* unit = unit_at(kSizeUnits, rest);
    if (unit == nullptr || rest.size() != unit->name.size())
      return fail(Code::kInvalidArgument, "'{}' is not a size (e.g. 65536, 256KiB, 1GB)", text);
    size = unit->size;
  }
  if (number * size >= 1.8e19) return fail(Code::kInvalidArgument, "size '{}' is too large", text);
  return Bytes{static_cast<std::uint64_t>(std::llround(number * size))};
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kPowers{"", "KiB", "MiB", "GiB", "TiB"};
  std::uint64_t count = bytes.count;
  std::size_t power = 0;
  while (count != 0 && count % 1024 == 0 && power + 1 < kPowers.size()) {
    count /= 1024;
    ++power;
  }
  return fmt::format("{}{}", count, kPowers[power]);
}

std::string rounded_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kPowers{"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes.count < 1000) return fmt::format("{} byte{}", bytes.count, bytes.count == 1 ? "" : "s");
  double size = static_cast<double>(bytes.count) / 1000;
  std::size_t power = 0;
  for (; size >= 999.5 && power + 1 < kPowers.size(); ++power) size /= 1000;
  return fmt::format("{:.3g} {}", size, kPowers[power]);
}

std::string rounded_rate(double rate) {
  if (!(std::abs(rate) >= 999.5) || !(std::abs(rate) < 1e15)) return fmt::format("{:.4g}", rate);
  std::string text = fmt::format("{:.0f}", rate);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ' ');
  return text;
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return fail(Code::kInvalidArgument, "'{}' is not a whole number", text);
  if (error == std::errc::result_out_of_range || value < least || value > most)
    return fail(Code::kInvalidArgument, "{} is out of range ({} to {})", text, least, most);
  return value;
}

}  // namespace tfd
