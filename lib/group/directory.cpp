// SPDX-License-Identifier: Apache-2.0
#include "directory.hpp"

#include <algorithm>

#include "tfd/cluster/task_id.hpp"

namespace tfd::group {
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
