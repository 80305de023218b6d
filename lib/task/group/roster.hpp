#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a member knows of the others: who is in its generation, as which process, who is lost, and who has ended.
// Private to the room. Thread rule: a state machine without threads or clocks.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "meeting.hpp"

namespace tfd::task {

class Roster {
 public:
  const Generation& generation() const { return generation_; }
  bool has_generation() const { return generation_.number > 0; }
  /// The holder of the next meeting, as far as this member knows: the first of its generation that isn't lost. Empty:
  /// there is no generation yet.
  std::string holder() const;
  bool is_lost(const std::string& name) const { return lost_.contains(name); }
  /// Tasks whose processes are known to have ended: those of the generation's members, where there is one.
  std::vector<std::string> ended() const { return {ended_.begin(), ended_.end()}; }

  /// A task answers, as this process.
  void up(const std::string& name, std::uint64_t incarnation);
  /// A task is lost. False: it is news of a process that a member has replaced. `has_ended`: its process has.
  bool lost(const std::string& name, std::uint64_t incarnation, bool has_ended);
  /// Takes on the generation that a meeting ended with: who has met is there, even if this process hasn't connected to
  /// it again yet.
  void adopt(const MeetingResult& met);
  bool is_member(const std::string& name) const { return incarnations_.contains(name); }

 private:
  Generation generation_;
  std::map<std::string, std::uint64_t> incarnations_;  // of its members
  std::set<std::string> lost_, ended_;                 // who has ended is lost, too
};

}  // namespace tfd::task
