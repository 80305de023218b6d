// SPDX-License-Identifier: Apache-2.0
#include "roster.hpp"

#include <algorithm>
#include <utility>

#include "tfd/cluster/task_id.hpp"

namespace tfd::group {

std::string Roster::holder() const {
  const auto found = std::ranges::find_if(
      generation_.members, [this](const std::string& name) { return !lost_.contains(name) && !ended_.contains(name); });
  return found == generation_.members.end() ? std::string() : *found;
}

void Roster::up(const std::string& name, std::uint64_t incarnation) {
  lost_.erase(name);
  refusals_.erase(name);
  reasons_.erase(name);
  silent_.erase(name);
  up_.insert(name);
  const auto member = incarnations_.find(name);
  if (member != incarnations_.end() && member->second != incarnation)
    ended_.insert(name);  // another process has the member's name and address now
  else
    ended_.erase(name);
}

std::vector<std::pair<std::string, std::uint64_t>> Roster::unreached() const {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (const auto& [name, incarnation] : incarnations_)
    if (silent_.contains(name) || unconnected_.contains(name)) out.emplace_back(name, incarnation);
  return out;
}

bool Roster::lost(const std::string& name, std::uint64_t incarnation, bool has_ended, std::string reason,
                  bool was_silent) {
  up_.erase(name);
  const auto member = incarnations_.find(name);
  if (member != incarnations_.end() && incarnation != 0 && member->second != incarnation) return false;
  lost_.insert(name);
  if (has_ended) ended_.insert(name);
  if (was_silent && !has_ended) silent_.insert(name);
  lost_meanwhile_[name] = incarnation;
  reasons_[name] = std::move(reason);
  return true;
}

std::string Roster::why_lost(const std::string& name) const {
  const auto found = reasons_.find(name);
  return found == reasons_.end() ? "" : found->second;
}

std::vector<std::string> Roster::adopt(const MeetingResult& met) {
  std::vector<std::string> lost;
  generation_ = {.number = met.generation, .members = {}};
  incarnations_.clear();
  for (std::size_t i = 0; i < met.members.size(); ++i) {
    const std::string& name = generation_.members.emplace_back(met.members[i].name);
    incarnations_.emplace(name, met.incarnations[i]);
    lost_.erase(name);
    ended_.erase(name);
    const auto found = lost_meanwhile_.find(name);
    if (found != lost_meanwhile_.end() && found->second == met.incarnations[i]) lost.push_back(name);
  }
  return lost;
}

namespace {

/// True if `a` stands before `b` in a cluster. False where one of them is no task's name.
bool stands_before(const std::string& a, const std::string& b) {
  const auto left = cluster::parse_task(a), right = cluster::parse_task(b);
  if (!left || !right) return false;
  if (left->job != right->job) return left->job == "chief";
  return left->index < right->index;
}

}  // namespace

Directory::Directory(const std::vector<std::pair<std::string, std::string>>& tasks, int own)
    : addresses_(tasks.begin(), tasks.end()) {
  for (const auto& [name, address] : tasks) names_.push_back(name);
  own_ = names_[static_cast<std::size_t>(own)];
}

bool Directory::comes_before_own(const std::string& name) const {
  return std::ranges::find(names_, name) < std::ranges::find(names_, own_);
}

void Directory::learn(const std::string& name, const std::string& address) {
  if (name == own_ || address.empty()) return;
  if (!addresses_.insert_or_assign(name, address).second) return;
  names_.insert(std::ranges::find_if(names_, [&](const std::string& other) { return stands_before(name, other); }),
                name);
}

}  // namespace tfd::group
