#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Man pages and guides, shown by man or as text. Thread rule: main thread.
#include <optional>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::general {

/// Shows the page tfd-NAME, or the guide NAME.md, from a heading on where one is given: on a terminal in a pager, which
/// begins there, elsewhere on stdout. Becomes man or the pager where that is all there is to do. nullopt: no such page.
Result<std::optional<int>> show_page(const std::string& name, const std::string& heading, cli::Io& io);

}  // namespace tfd::general
