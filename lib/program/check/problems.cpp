// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tfd::program {

std::string mention_of(std::string_view name) { return nlohmann::json(name).dump(); }

void Problems::note(const Node& part, const Mentions& mentions, Error error) {
  const std::string text = part.dump();
  const bool is_consequence = std::any_of(broken_.begin(), broken_.end(), [&](const std::string& mention) {
    return text.find(mention) != std::string::npos;
  });
  if (!is_consequence) errors_.push_back(std::move(error));
  broken_.insert(mentions.begin(), mentions.end());
}

bool Problems::check_form(const Mentions& mentions, Result<void> result) {
  if (result) return true;
  errors_.push_back(std::move(result).error());
  broken_.insert(mentions.begin(), mentions.end());
  return false;
}

}  // namespace tfd::program
