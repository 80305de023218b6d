// SPDX-License-Identifier: Apache-2.0
#include "holder_search.hpp"

#include <algorithm>
#include <utility>

namespace tfd::group {
namespace {

constexpr Duration kAskAgain = std::chrono::seconds(1);  // for other groups: one may have continued meanwhile

}  // namespace

std::optional<std::string> HolderSearch::next(const IsUp& is_up, bool may_begin) {
  if (!named_.empty()) return std::exchange(named_, {});
  if (roster_.has_generation()) return roster_.holder();
  if (directory_.own() == directory_.first()) return directory_.own();
  const auto& names = directory_.names();
  const auto stands_before = [&](const auto& name) { return directory_.comes_before_own(name) && is_up(name); };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[turns_++ % names.size()];
    if (name == directory_.own() ? may_begin && std::ranges::none_of(names, stands_before) : is_up(name)) return name;
  }
  return std::nullopt;
}

void HolderSearch::follow(const Referral& referral) {
  if (learns_ && !referral.to.empty()) directory_.learn(referral.to, referral.at);
  if (referral.to != directory_.own() && may_be_asked(referral.to)) named_ = referral.to;
}

bool HolderSearch::may_be_asked(const std::string& name) const {
  return directory_.knows(name) && !roster_.is_lost(name) && !roster_.refusals().contains(name);
}

Referral HolderSearch::refer() const {
  const std::string to = asking_.empty() ? roster_.holder() : asking_;
  return {.to = to,
          .generation = roster_.generation().number,
          .at = to.empty() ? "" : directory_.address_of(to),
          .members = roster_.generation().members};
}

void HolderSearch::begin_holding() {
  referred_ = {};
  asked_.clear();
}

std::vector<std::string> HolderSearch::due(const IsUp& is_up, Clock::time_point now) {
  std::vector<std::string> out;
  for (const std::string& name : directory_.names()) {
    if (name == directory_.own()) continue;
    if (!is_up(name)) {
      asked_.erase(name);
      continue;
    }
    const auto [found, is_new] = asked_.try_emplace(name, now);
    if (!is_new && now < found->second + kAskAgain) continue;
    found->second = now;
    out.push_back(name);
  }
  return out;
}

bool HolderSearch::heard(const Referral& other) {
  if (other.to == directory_.own() || !is_ahead(other)) return false;
  referred_ = other;
  return true;
}

bool HolderSearch::is_ahead(const Referral& other) const {
  const std::uint64_t own = roster_.generation().number;
  if (other.generation != own) return other.generation > own;
  return !roster_.has_generation() && directory_.comes_before_own(other.to);
}

bool HolderSearch::gives_way() {
  if (roster_.has_generation() && roster_.holder() != directory_.own())
    referred_ = {roster_.holder(), roster_.generation().number};
  return !referred_.to.empty();
}

}  // namespace tfd::group
