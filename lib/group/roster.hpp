#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A member's knowledge of the others: which are in its generation, as which process, which are lost, and which have
// ended. Private to the room. Thread rule: a state machine without threads or clocks.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meeting.hpp"
#include "tfd/base/error.hpp"

namespace tfd::group {

class Roster {
 public:
  const Generation& generation() const { return generation_; }
  bool has_generation() const { return generation_.number > 0; }
  /// The holder of the next meeting, as far as this member knows: the first of its generation that isn't lost. Empty:
  /// there is no generation yet.
  std::string holder() const;
  bool is_lost(const std::string& name) const { return lost_.contains(name); }
  bool is_up(const std::string& name) const { return up_.contains(name); }
  /// Members that answer, but refuse this process, with the reason: "uses a different key".
  const std::map<std::string, Error>& refusals() const { return refusals_; }
  /// Tasks whose processes are known to have ended: those of the generation's members, where there is one.
  std::vector<std::string> ended() const { return {ended_.begin(), ended_.end()}; }

  /// Members of the generation, as these processes, that were lost in silence and aren't up again, or that this one
  /// couldn't connect to for its collectives.
  std::vector<std::pair<std::string, std::uint64_t>> unreached() const;
  /// The members that this process couldn't connect to; empty, once it is connected to all.
  void set_unconnected(std::vector<std::string> names) { unconnected_ = {names.begin(), names.end()}; }

  /// A task answers, as this process.
  void up(const std::string& name, std::uint64_t incarnation);
  /// A task answers, and refuses this process, until it is up. False: that is known already.
  bool refused(const std::string& name, Error why) { return refusals_.insert_or_assign(name, std::move(why)).second; }
  /// A task doesn't answer at present; it isn't lost yet.
  void silent(const std::string& name) { up_.erase(name); }
  /// A task is lost. False: it is news of a process that a member has replaced. `has_ended`: its process has. `reason`:
  /// "its connection has ended". `was_silent`: nothing was heard of it, so that others may well hear it.
  bool lost(const std::string& name, std::uint64_t incarnation, bool has_ended, std::string reason = {},
            bool was_silent = false);
  /// The reason why a task that isn't up again was lost; empty if none is known.
  std::string why_lost(const std::string& name) const;
  /// The members meet from now on.
  void begin_meeting() { lost_meanwhile_.clear(); }
  /// A task that was lost since has come all the same.
  void has_come(const std::string& name) { lost_meanwhile_.erase(name); }
  /// Adopts the generation that a meeting ended with: members that met are alive, even if this process hasn't
  /// reconnected to them yet. Returns members that were lost since the meeting began, and not before they came.
  std::vector<std::string> adopt(const MeetingResult& met);
  bool is_member(const std::string& name) const { return incarnations_.contains(name); }

 private:
  Generation generation_;
  std::map<std::string, std::uint64_t> incarnations_;  // of its members
  std::set<std::string> lost_, ended_;                 // a member that has ended is lost, too
  std::set<std::string> silent_, unconnected_;         // of unreached()
  std::map<std::string, std::string> reasons_;         // of losses
  std::set<std::string> up_;
  std::map<std::string, Error> refusals_;
  std::map<std::string, std::uint64_t> lost_meanwhile_;  // since the members meet: incarnations
};

// ---- The tasks that are, were or may be members of a group, and where each is reached. A group whose members come and
// go learns new ones, and new addresses of those that come again elsewhere.

class Directory {
 public:
  /// `tasks`: names and addresses, in the cluster's order; `own`: which of them this process is.
  Directory(const std::vector<std::pair<std::string, std::string>>& tasks, int own);

  /// All that are known, in the cluster's order: the chief, then workers by their indices.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& first() const { return names_.front(); }
  const std::string& own() const { return own_; }
  bool knows(const std::string& name) const { return addresses_.contains(name); }
  /// The address of a task that is known.
  const std::string& address_of(const std::string& name) const { return addresses_.at(name); }
  /// True if this task stands before the own one, and so holds a first meeting rather than this process.
  bool comes_before_own(const std::string& name) const;
  /// Adds a task, or replaces its address. The own one's stays, and an empty address says nothing.
  void learn(const std::string& name, const std::string& address);

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> addresses_;
  std::string own_;
};

}  // namespace tfd::group
