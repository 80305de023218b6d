#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The search for the task that holds the meeting to join: which task this one asks next, to which it refers tasks that
// ask it, and whether it gives up its own meeting for another one. Within one generation, the first member that isn't
// lost holds the next meeting, and each finds that out by itself; a task without a generation asks whoever is up.
// Private to the room. Thread rule: a state machine without threads or clocks; one thread at a time.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meeting.hpp"
#include "roster.hpp"
#include "tfd/base/deadline.hpp"

namespace tfd::group {

class HolderSearch {
 public:
  using IsUp = std::function<bool(const std::string& name)>;

  /// Both outlive it; the directory learns from referrals where `learns`, and may change meanwhile, like the roster.
  HolderSearch(Directory& directory, const Roster& roster, bool learns)
      : directory_(directory), roster_(roster), learns_(learns) {}

  /// The task to ask to join, or this one: it holds the meeting. Members of a generation know; so does a newcomer that
  /// was told. Another one asks whoever is up, in turns, and takes a turn of its own if `may_begin`, unless one that
  /// stands before it in the cluster is up. nullopt: nobody is there to ask.
  std::optional<std::string> next(const IsUp& is_up, bool may_begin);
  /// Asks whom this refers to next, if it is a task of the group that isn't known to be lost, or to refuse this one.
  void follow(const Referral& referral);
  bool may_be_asked(const std::string& name) const;

  /// While this task waits for another one's answer, tasks that ask it are sent there: they would wait in turn.
  void begin_asking(const std::string& host) { asking_ = host; }
  void end_asking() { asking_.clear(); }
  bool is_asking() const { return !asking_.empty(); }
  /// The task that this one asks to join; else the holder of the next meeting of its generation.
  Referral refer() const;

  /// This task holds a meeting from now on.
  void begin_holding();
  /// Tasks to ask now whether others have a newer generation, or a first one: after a cut they may go on without this
  /// task at any time. Each that is up is asked now and then.
  std::vector<std::string> due(const IsUp& is_up, Clock::time_point now);
  /// Takes one's answer. True: others are ahead.
  bool heard(const Referral& other);
  /// True if others are ahead, or one that stands before this member answers again: their meeting is the one to join.
  bool gives_way();
  /// The meeting to join instead.
  const Referral& referred() const { return referred_; }

 private:
  bool is_ahead(const Referral& other) const;

  Directory& directory_;
  const Roster& roster_;
  const bool learns_;
  std::size_t turns_ = 0;                           // tasks that a newcomer has asked
  std::string named_;                               // the task that another one has named
  std::string asking_;                              // the task that this one has asked to join
  Referral referred_;                               // the task to join instead of holding this meeting
  std::map<std::string, Clock::time_point> asked_;  // when the others were asked last, while this task holds a meeting
};

}  // namespace tfd::group
