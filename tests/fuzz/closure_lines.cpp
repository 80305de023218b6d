// SPDX-License-Identifier: Apache-2.0
//
// Lines of --closures.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "checks.hpp"
#include "closures/closure_line.hpp"
#include "targets.hpp"

namespace tfd::fuzz {

void closure_line(std::string_view bytes) {
  std::optional<std::string> id, id_again;
  const auto line = coordinator::parse_closure_line(bytes, &id);
  if (id) expect(nlohmann::json::accept(*id), "an id can be written as it is into the answer");
  if (!line) return expect_readable(line.error());
  const auto again = coordinator::parse_closure_line(line->fields.dump(), &id_again);
  expect(again.has_value(), "what was read can be read again");
  expect(again->op == line->op && again->fields == line->fields && id == id_again, "and is the same");
}

}  // namespace tfd::fuzz
