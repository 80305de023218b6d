// SPDX-License-Identifier: Apache-2.0
#include "tfd/cli/columns.hpp"

#include <sys/ioctl.h>

#include "internal.hpp"
#include "tfd/base/units.hpp"

namespace tfd::cli {
namespace {

constexpr std::size_t kUsual = 80;

}  // namespace

std::size_t columns_of(const Output& out) {
  winsize size{};
  return out.is_terminal() && ::ioctl(out.fd(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

std::size_t columns_of(const Output& out, const Environment& env) {
  const auto asked = parse_integer(env.get("COLUMNS"), 20, 1000);
  return asked && !out.is_terminal() ? static_cast<std::size_t>(*asked) : columns_of(out);
}

std::size_t columns_of(std::string_view text) { return width_of(text); }

}  // namespace tfd::cli
