// SPDX-License-Identifier: Apache-2.0
//
// When tasks start, and what those that do are told.
#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/rendezvous/agreement.hpp"

namespace tfd::rendezvous {
namespace {

constexpr int kLongestSettling = 3;  // times the settling time

}  // namespace

/// "worker:2 and worker:3".
std::string Agreement::names_of_tasks(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(fmt::format("worker:{}", rank));
  if (names.size() > 3) names = {names.front(), fmt::format("{} more", names.size() - 1)};
  return join_words(names);
}

/// Start time of the launchers that have joined: at once if nobody else can come, or nobody has come or gone.
std::optional<Clock::time_point> Agreement::start_time() const {
  if (!enough_since_) return std::nullopt;
  Clock::time_point when = *enough_since_;
  if (has_changed_ && count() < options_.bounds.most)
    when = std::min(last_change_ + options_.settle, *enough_since_ + kLongestSettling * options_.settle);
  return not_before_ ? std::max(when, *not_before_) : when;
}

void Agreement::start() {
  std::vector<std::pair<int, LauncherId>> in_order;
  for (const auto& [id, launcher] : launchers_) in_order.emplace_back(launcher.place, id);
  std::ranges::sort(in_order);
  places_.clear();
  std::size_t largest = 0;
  for (const auto& [place, id] : in_order) {
    Launcher& launcher = launchers_.at(id);
    const auto& addresses = launcher.joining.addresses;
    launcher = Launcher{
        .joining = launcher.joining, .place = place, .is_idle = false, .started = generation_, .told = generation_};
    for (const std::string& address : addresses) {
      launcher.ranks.push_back(static_cast<int>(places_.size()));
      places_.push_back(address);
    }
    largest = std::max(largest, launcher.ranks.size());
  }
  const Bounds& bounds = options_.bounds;
  // Where hosts are counted, enough tasks are more than one host less could have.
  const int of_host = bounds.counts_tasks ? 1 : static_cast<int>(largest);
  least_tasks_ = bounds.is_elastic ? (bounds.least - 1) * of_host + 1 : 0;
  most_tasks_ = bounds.is_elastic ? bounds.most * of_host : 0;
  Plan plan{.generation = generation_,
            .nodes = static_cast<int>(launchers_.size()),
            .addresses = places_,
            .own = {},
            .least = least_tasks_,
            .most = most_tasks_};
  for (const auto& [place, id] : in_order) {
    plan.own = launchers_.at(id).ranks;
    commands_.emplace_back(id, Command{.kind = Command::Kind::kStart, .plan = plan});
    ++plan.node;
  }
  phase_ = Phase::kRunning;
  ++generation_;
  has_changed_ = is_short_ = false;
  not_before_.reset();
}

/// The plan for tasks that join running ones.
Plan Agreement::plan_to_join(const Launcher& launcher) const {
  return {.generation = generation_,
          .node = launcher.place,
          .nodes = std::max(static_cast<int>(launchers_.size()), launcher.place + 1),
          .addresses = places_,
          .own = launcher.ranks,
          .least = least_tasks_,
          .most = most_tasks_,
          .joins = true};
}

/// A newcomer's tasks join those that run, with the lowest ranks that are free.
void Agreement::admit(LauncherId newcomer) {
  Launcher& launcher = launchers_.at(newcomer);
  std::vector<bool> is_taken(places_.size());
  for (const auto& [id, other] : launchers_)
    for (const int rank : other.ranks) is_taken[static_cast<std::size_t>(rank)] = true;
  for (const std::string& address : launcher.joining.addresses) {
    // An address is nobody else's: where a lost task's is used again, its place is, too.
    auto at = static_cast<std::size_t>(std::ranges::find(places_, address) - places_.begin());
    if (at == places_.size() || is_taken[at])
      at = static_cast<std::size_t>(std::ranges::find(is_taken, false) - is_taken.begin());
    if (at == places_.size()) {
      places_.emplace_back();
      is_taken.push_back(true);
    }
    places_[at] = address;
    is_taken[at] = true;
    launcher.ranks.push_back(static_cast<int>(at));
  }
  launcher.is_idle = false;
  launcher.started = launcher.told = generation_;
  const std::string names = names_of_tasks(launcher.ranks);
  for (const auto& [id, other] : launchers_)
    if (id != newcomer)
      commands_.emplace_back(id,
                             Command{.kind = Command::Kind::kSay,
                                     .line = fmt::format("{} joins with {}", printable(launcher.joining.host), names)});
  commands_.emplace_back(newcomer, Command{.kind = Command::Kind::kStart, .plan = plan_to_join(launcher)});
  ++generation_;
  is_short_ = is_short_ && count() < options_.bounds.least;
}

}  // namespace tfd::rendezvous
