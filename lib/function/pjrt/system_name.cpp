// SPDX-License-Identifier: Apache-2.0
#include "system_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/function/topology.hpp"

namespace tfd::function {
namespace {

constexpr std::int64_t kMostChips = std::int64_t{1} << 20;  // 100 times the largest system

/// A generation of TPUs. Source: "TPU configurations" of Cloud TPU's documentation, libtpu 0.0.51.
struct Generation {
  std::string_view name;  // libtpu's
  std::string_view type;  // prefix of its accelerator types
  int axes;               // of its torus
  int counted_per_chip;   // what the number in an accelerator type counts: cores, or chips
  int most_chips;
};
constexpr std::array<Generation, 7> kGenerations{{
    {"v2", "v2", 2, 2, 256},
    {"v3", "v3", 2, 2, 1024},
    {"v4", "v4", 3, 2, 4096},
    {"v5e", "v5litepod", 2, 1, 256},
    {"v5p", "v5p", 3, 2, 8192},
    {"v6e", "v6e", 2, 1, 256},
    {"tpu7x", "tpu7x", 3, 2, 8192},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// The generation for a name in lower case and without "tpu ": libtpu's name, or one of the other names.
const Generation* find_generation(std::string_view name) {
  if (name == "v5lite") name = "v5e";
  if (name == "v7x") name = "tpu7x";
  const auto found =
      std::ranges::find_if(kGenerations, [&](const Generation& one) { return name == one.name || name == one.type; });
  return found == kGenerations.end() ? nullptr : &*found;
}

/// True for what can only be meant as a TPU: "v9", "tpu8".
bool is_like_a_tpu(std::string_view name) {
  return name.starts_with("tpu") || (name.size() > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9');
}

std::string example_of(const Generation& generation) {
  return fmt::format("{}:{}", generation.name, generation.axes == 2 ? "2x4" : "2x2x1");
}

Result<void> check_shape(std::string_view shape) {
  const std::vector<std::string> axes = split(shape, 'x');
  std::int64_t chips = 1;
  bool is_valid = axes.size() == 2 || axes.size() == 3;
  for (const std::string& axis : axes) {
    const auto count = parse_integer(axis, 1, kMostChips);
    is_valid = is_valid && count && chips <= kMostChips / *count;
    if (is_valid) chips *= *count;
  }
  if (!is_valid)
    return fail(Code::kInvalidArgument,
                "'{}' must be two or three numbers of chips from 1, such as 2x4 or 2x2x1, {} chips at most",
                printable(shape), kMostChips);
  return {};
}

/// The default topology of a size: the shortest axis is doubled, of equal ones the last. nullopt: no power of two.
std::optional<std::string> default_shape(int chips, int axes) {
  if (chips == 1) return axes == 2 ? "1x1" : "1x1x1";
  if (chips < 4 || (chips & (chips - 1)) != 0) return std::nullopt;
  std::vector<int> shape(static_cast<std::size_t>(axes), 2);
  if (axes == 3) shape.back() = 1;
  for (int left = chips / 4; left > 1; left /= 2) {
    const auto shortest = std::ranges::min_element(shape.rbegin(), shape.rend());
    *shortest *= 2;
  }
  return fmt::format("{}", fmt::join(shape, "x"));
}

/// "v5litepod-8" as "v5e:2x4".
Result<std::string> name_of_type(const Generation& generation, std::string_view size) {
  const auto counted = parse_integer(size, 1, std::int64_t{generation.most_chips} * generation.counted_per_chip);
  const auto shape = counted && *counted % generation.counted_per_chip == 0
                         ? default_shape(static_cast<int>(*counted) / generation.counted_per_chip, generation.axes)
                         : std::nullopt;
  if (!shape)
    return fail(Code::kInvalidArgument, "no accelerator type {}-N has {} {}: state the chips, as in {}",
                generation.type, printable(size), generation.counted_per_chip == 1 ? "chips" : "cores",
                example_of(generation));
  return fmt::format("{}:{}", generation.name, *shape);
}

std::string without_prefix(std::string_view name) {
  std::string out = lower(name);
  if (out.starts_with("tpu ")) out.erase(0, 4);
  return out;
}

Result<std::string> without_shape(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash != std::string_view::npos)
    if (const Generation* const of_type = find_generation(without_prefix(text.substr(0, dash))))
      return name_of_type(*of_type, text.substr(dash + 1));
  const std::string plain = without_prefix(text);
  const Generation* const generation = find_generation(plain);
  if (generation != nullptr) return fail(Code::kInvalidArgument, "state its chips, as in {}", example_of(*generation));
  if (is_like_a_tpu(plain))
    return fail(Code::kInvalidArgument, "must be a system and its chips, such as v6e:2x4, or a type such as v6e-8");
  return std::string(text);
}

}  // namespace

Result<SystemName> parse_system_name(std::string_view text) {
  std::string_view bare = text;
  for (const std::string_view suffix : {"_twisted", "_untwisted"})
    if (bare.ends_with(suffix)) bare.remove_suffix(suffix.size());
  const std::size_t separator = bare.find_last_of("=_:");
  SystemName out{.name = std::string(text), .options = {}};
  if (separator == std::string_view::npos) {
    out.name = TFD_TRY(without_shape(text));
  } else {
    const std::string plain = without_prefix(bare.substr(0, separator));
    const Generation* const generation = find_generation(plain);
    const std::string_view shape = bare.substr(separator + 1);
    if (generation != nullptr || is_like_a_tpu(plain)) TFD_TRY(check_shape(shape));
    if (generation != nullptr) out.name = fmt::format("{}:{}{}", generation->name, shape, text.substr(bare.size()));
  }
  if (out.name.starts_with("v4:")) out.options.push_back({"chip_config_name", std::string("megacore")});
  return out;
}

Result<std::string> parse_topology_name(std::string_view text) { return TFD_TRY(parse_system_name(text)).name; }

}  // namespace tfd::function
