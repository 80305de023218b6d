#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Label selectors, as far as one request can serve several of them: "job-name=a" and "job-name=b" are
// "job-name in (a,b)", and a pod's labels say whose it is. One list then is one moment, and one watch one connection.
// Thread rule: plain values.
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tfd::resolve::kubernetes {

using Labels = std::map<std::string, std::string>;

/// "a=b,c==d"; nullopt for any other form (the API understands it, we need not).
std::optional<Labels> parse_equalities(const std::string& selector);

/// Selectors of one request.
struct Joint {
  std::string selector;  // sent to the API
  /// One for each selector that is joined; empty: just one, whatever its form.
  std::vector<Labels> parts = {};
  /// Whether the labels satisfy every requirement of that part.
  bool takes(std::size_t part, const Labels& labels) const;
};

struct Joined {
  std::vector<Joint> requests;
  /// The request of each given selector, and the part that it is of it.
  std::vector<std::pair<std::size_t, std::size_t>> places;
};
/// Joins what differs in the value of one label alone: the request then matches nothing more than they do together.
Joined join_selectors(const std::vector<std::string>& selectors);
/// Each on its own.
Joined keep_apart(const std::vector<std::string>& selectors);

}  // namespace tfd::resolve::kubernetes
