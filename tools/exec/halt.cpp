// SPDX-License-Identifier: Apache-2.0
#include "halt.hpp"

#include <string>

#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::exec {
namespace {

constexpr NameTable<Halt::When, 2> kWhens{{{{Halt::When::kSoon, "soon"}, {Halt::When::kNow, "now"}}}};
constexpr NameTable<Halt::What, 3> kWhats{
    {{{Halt::What::kFail, "fail"}, {Halt::What::kSuccess, "success"}, {Halt::What::kDone, "done"}}}};

}  // namespace

Result<Halt> parse_halt(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::kUsage,
                "--halt: '{}' is not valid: expected never, or WHEN,WHAT=N with WHEN soon or now, and WHAT fail, "
                "success or done (e.g. now,fail=1 or soon,fail=10%)",
                printable(text));
  };
  Halt halt;
  if (text.empty() || text == "never") return halt;
  const std::size_t comma = text.find(',');
  const std::size_t equals = text.find('=', comma == std::string_view::npos ? 0 : comma);
  if (comma == std::string_view::npos || equals == std::string_view::npos) return wrong();
  const auto when = kWhens.find(text.substr(0, comma));
  const auto what = kWhats.find(text.substr(comma + 1, equals - comma - 1));
  std::string_view number = text.substr(equals + 1);
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.remove_suffix(1);
  const auto count = parse_integer(number, 1, is_percent ? 100 : INT64_MAX);
  if (!when || !what || !count) return wrong();
  halt.when = *when;
  halt.what = *what;
  (is_percent ? halt.percent : halt.count) = static_cast<std::uint64_t>(*count);
  return halt;
}

}  // namespace tfd::exec
