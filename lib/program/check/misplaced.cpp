// SPDX-License-Identifier: Apache-2.0
#include "misplaced.hpp"

#include <algorithm>
#include <array>

#include "draft.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr std::size_t kDeepest = 16;  // keys of a path
constexpr std::size_t kMostNamed = 3;

using Visit = std::function<void(const Place&)>;

void visit_all(const Node& node, std::vector<std::string> keys, const Visit& visit) {
  visit({node.path(), keys, !node.is_object() && !node.is_list()});
  if (keys.size() == kDeepest) return;
  if (node.is_list())
    for (const Node& element : node.elements())
      if (element.is_object() || element.is_list()) visit_all(element, keys, visit);
  if (!node.is_object()) return;
  keys.emplace_back();
  for (const auto& [key, child] : node.members()) {
    keys.back() = key;
    visit_all(child, keys, visit);
  }
}

}  // namespace

void visit_places(const Node& root, const Visit& visit) {
  for (const char* const key : {"seed", "optimizer", "datasets", "train"})
    if (const auto node = root.find(key)) visit_all(*node, {key}, visit);
  if (!root.has("seed")) visit({"seed", {"seed"}});
  if (const auto train = root.find("train"))
    for (const std::string_view key : kTrainKeys)
      if (!train->has(key)) visit({fmt::format("train.{}", key), {"train", std::string(key)}});
  const auto optimizer = root.find("optimizer");
  if (!optimizer || !optimizer->is_object()) return;
  for (const auto& [name, settings] : optimizer->members())
    if (constexpr std::string_view kRate = "learning_rate"; settings.is_object() && !settings.has(kRate))
      visit({fmt::format("{}.{}", settings.path(), kRate), {"optimizer", name, std::string(kRate)}});
}

namespace {

enum class Fit { kNone, kNear, kSame };

Fit fit_of(std::string_view word, const Place& place) {
  std::string text = "_" + place.keys.back();
  for (std::size_t i = place.keys.size() - 1; i-- > 0 && text.size() <= word.size();)
    text.insert(0, "_" + place.keys[i]);
  if (text.ends_with("_" + std::string(word))) return Fit::kSame;
  std::vector<std::string> names{place.keys.back()};
  if (place.keys.size() > 1) names.push_back(place.keys[place.keys.size() - 2] + "_" + place.keys.back());
  return find_nearest(word, names) || find_abbreviated(word, names) ? Fit::kNear : Fit::kNone;
}

}  // namespace

std::string elsewhere_text(const Node& root, std::string_view key, std::string_view path) {
  Fit best = Fit::kNear;
  std::size_t depth = kDeepest;
  std::vector<std::string> found;  // the best ones, those of the fewest keys
  visit_places(root, [&](const Place& place) {
    const bool is_own =
        (place.path + ".").starts_with(fmt::format("{}.", path)) || place.path.starts_with(fmt::format("{}[", path));
    if (is_own) return;
    const Fit fit = fit_of(key, place);
    if (fit < best || (fit == best && place.keys.size() > depth)) return;
    if (fit > best || place.keys.size() < depth) found.clear();
    best = fit;
    depth = place.keys.size();
    if (found.size() < kMostNamed) found.push_back(fmt::format("'{}'", printable(place.path)));
  });
  return found.empty() ? "" : fmt::format(", did you mean {}?", fmt::join(found, " or "));
}

Result<void> expect_keys(const Node& node, std::span<const std::string_view> known, const Node& root) {
  if (!node.is_object()) return expect_object(node, known);
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, child] : node.members()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    if (find_nearest(key, names) || find_synonym(key, known)) break;
    if (const auto meant = find_synonym(key, kTrainKeys))
      return child.fail("unknown key, did you mean 'train.{}'?", *meant);
    return child.fail("unknown key{}", elsewhere_text(root, key, child.path()));
  }
  return expect_object(node, known);
}

}  // namespace tfd::program
