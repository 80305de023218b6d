// SPDX-License-Identifier: Apache-2.0
//
// How a member of a group is interrupted, by a signal or since another one stops: GroupMember's part of it. The data
// that it waits for are stopped, and a process that compiles before the first step ends.
#include <thread>

#include "group_member.hpp"
#include "group_messages.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kStopTold = std::chrono::seconds(1);          // for the others to hear that a process ends
constexpr Duration kStopHeard = std::chrono::milliseconds(250);  // until others have read why this one ends

}  // namespace

/// A generation begins, in which nobody has stopped the data yet.
void GroupMember::begin_data() {
  const std::uint64_t generation = group_->communicator().generation();
  {
    const MutexLock lock(data_mutex_);
    if (trainer_.is_open()) trainer_.renew_data();
    data_generation_ = generation;
  }
  if (group_->is_stop_asked()) stop_data(generation);  // before it was known here
  interrupted();                                       // tells this generation, too
}

/// A member of this generation stops: this one's awaited data aren't needed, or not before the next generation.
void GroupMember::stop_data(std::uint64_t generation) {
  const MutexLock lock(data_mutex_);
  if (generation == data_generation_) trainer_.stop_data();
}

void GroupMember::interrupted() {
  if (!is_interrupted()) return;
  interruption_.request_stop();
  {
    const MutexLock lock(data_mutex_);
    trainer_.stop_data();
  }
  if (group::Group* const group = formed_) group->ask_stop();
  end_if_compiling(true);
}

// A compiler can't be interrupted, and takes long; without anything to save there is no need to wait for it. Once a
// step was made, the end of the compilation is waited for.
void GroupMember::end_if_compiling(bool may_wait) {
  group::Group* const group = formed_;
  const auto module = options_.compiling ? options_.compiling->module() : std::nullopt;
  if (group == nullptr || !module || has_made_steps_ || !options_.end_process) return;
  const bool is_own = is_interrupted();
  const bool leaves_others = leaves_others_;
  if (is_own ? !may_wait : leaves_others || !group->is_stop_asked()) return;
  if (is_ending_.exchange(true)) return;
  const std::string& own = options_.group.members[static_cast<std::size_t>(options_.group.rank)].first;
  if (is_own && leaves_others) {
    group->cancel({Code::kUnavailable, own + " has left before its first step", own});
  } else if (is_own) {
    group->tell_stop(Deadline::after(kStopTold));
    group->cancel({Code::kCancelled, own + " was interrupted before the first step; the same command continues", own});
  }
  if (is_own) std::this_thread::sleep_for(kStopHeard);
  options_.end_process(
      {Code::kCancelled,
       fmt::format("{} compiling {}, before the first step; the same command continues",
                   is_own ? "interrupted while" : "another worker was interrupted while this one was", *module),
       {}});
}

void GroupMember::fail_all(const Error& error) {
  if (!group_) return;
  group_->cancel(named(error, options_.group.members[static_cast<std::size_t>(options_.group.rank)].first));
}

}  // namespace tfd::strategy
