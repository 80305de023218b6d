// SPDX-License-Identifier: Apache-2.0
#include "selectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tfd/base/text.hpp"

namespace tfd::resolve::kubernetes {
namespace {

bool is_plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '/';
  });
}

/// The one key in which all of them have different values; nullopt if there is none, or more.
std::optional<std::string> differing_key(const std::vector<Labels>& parts) {
  std::set<std::string> keys;
  for (const Labels& part : parts) {
    if (part.size() != parts.front().size()) return std::nullopt;
    for (const auto& [key, value] : part) {
      const auto other = parts.front().find(key);
      if (other == parts.front().end()) return std::nullopt;
      if (other->second != value) keys.insert(key);
    }
  }
  return keys.size() == 1 ? std::optional(*keys.begin()) : std::nullopt;
}

std::string written(const std::vector<Labels>& parts, const std::string& differing) {
  std::vector<std::string> words;
  for (const auto& [key, value] : parts.front()) {
    if (key != differing) {
      words.push_back(key + '=' + value);
      continue;
    }
    std::set<std::string> values;
    for (const Labels& part : parts) values.insert(part.at(key));
    words.push_back(fmt::format("{} in ({})", key, fmt::join(values, ",")));
  }
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace

std::optional<Labels> parse_equalities(const std::string& selector) {
  Labels labels;
  for (const std::string& requirement : split(selector, ',')) {
    const std::size_t equals = requirement.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const std::string key = requirement.substr(0, equals);
    const std::string value = requirement.substr(equals + (requirement.compare(equals, 2, "==") == 0 ? 2 : 1));
    if (!is_plain(key) || !is_plain(value) || !labels.emplace(key, value).second) return std::nullopt;
  }
  return labels;
}

bool Joint::takes(std::size_t part, const Labels& labels) const {
  if (parts.empty()) return true;
  return std::all_of(parts[part].begin(), parts[part].end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

Joined join_selectors(const std::vector<std::string>& selectors) {
  Joined joined;
  for (const std::string& selector : selectors) {
    const auto labels = parse_equalities(selector);
    const auto same = std::find_if(joined.requests.begin(), joined.requests.end(), [&](Joint& request) {
      if (!labels) return false;
      // A request of one selector has no parts yet.
      std::vector<Labels> parts = request.parts;
      if (parts.empty())
        if (const auto first = parse_equalities(request.selector)) parts.push_back(*first);
      if (parts.empty()) return false;
      parts.push_back(*labels);
      const auto key = differing_key(parts);
      if (!key) return false;
      request.selector = written(parts, *key);
      request.parts = std::move(parts);
      return true;
    });
    if (same != joined.requests.end()) {
      joined.places.emplace_back(static_cast<std::size_t>(same - joined.requests.begin()), same->parts.size() - 1);
    } else {
      joined.places.emplace_back(joined.requests.size(), 0);
      joined.requests.push_back({selector});
    }
  }
  return joined;
}

Joined keep_apart(const std::vector<std::string>& selectors) {
  Joined joined;
  for (const std::string& selector : selectors) {
    joined.places.emplace_back(joined.requests.size(), 0);
    joined.requests.push_back({selector});
  }
  return joined;
}

}  // namespace tfd::resolve::kubernetes
