#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Brings this task to the next meeting of its group: finds out which task holds it, asks to join it or holds it, and
// answers tasks that ask here. It knows which tasks are up (Roster) and where (Directory); the caller handles
// a meeting's result, and losses. Private to the room. Thread rule: handle(), caller_gone() and
// peer_changed() on the endpoint's I/O thread, has_newcomers() and is_member() on any; the others on the
// caller's one thread.
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "held_meeting.hpp"
#include "holder_search.hpp"
#include "join_call.hpp"
#include "tfd/base/notifier.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/group/group.hpp"

namespace tfd::group {

inline constexpr Duration kNamedAfter = std::chrono::seconds(3);  // of silence, a member is named

class Convener {
 public:
  using Names = std::vector<std::string>;

  /// The options outlive it.
  explicit Convener(const GroupOptions& options);

  /// Sets the address of this member's collective::Listener. Where all must come, the first member begins the meeting
  /// here, before anybody can ask.
  void begin(std::string listener);
  /// Sets the endpoint, which handles requests already, and outlives what is called from now on.
  void use(transport::Endpoint& endpoint);
  /// Watches the others from now on.
  void watch();
  /// Sets what is called, on the endpoint's I/O thread, if this is the first member of a generation and others turn out
  /// to be a generation of the same number: two sides of a cut have gone on, or begun, and this one has to end.
  void on_second_group(std::function<void(Error)> end) { end_ = std::move(end); }
  bool is_elastic() const { return options_.min_members > 0; }
  bool is_first() const { return options_.rank == 0; }
  const Names& names() const { return directory_.names(); }
  const std::string& own_name() const { return directory_.own(); }
  const std::string& first() const { return directory_.first(); }
  transport::Incarnation incarnation() const { return incarnation_; }
  transport::PeerId peer_of(const std::string& name);
  bool is_up(const std::string& name) { return endpoint_->state(peer_of(name)) == transport::PeerState::kUp; }

  /// Sends this to all other members of the generation, and doesn't wait for answers. For any thread.
  void tell(const transport::Message& message);
  /// Asks all other members of the generation, and waits for the answers of those that aren't lost. Not for the I/O
  /// thread.
  std::vector<Result<transport::Message>> ask_all(const transport::Message& question, Deadline deadline);

  /// A request of a meeting.
  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  void caller_gone(const transport::Caller& caller);
  /// Returns the loss of a task: "worker:1 is lost (its connection has ended)". nullopt: none is, or the news is of a
  /// process that another one has replaced.
  std::optional<Error> peer_changed(const transport::PeerEvent& event);

  bool has_newcomers() const { return has_newcomers_; }
  /// True if this is a member of the generation, or if there is none yet.
  bool may_be_member(const std::string& name) const;
  bool is_member(const std::string& name) const;
  /// The error that peer_changed() reported of a task that isn't up again.
  std::optional<Error> loss_of(const std::string& name) const;

  /// The members that a generation's collectives couldn't connect to; none, once they are connected.
  void set_unconnected(Names names);
  /// Losses are counted from now on for adopt().
  void begin_round();
  /// Finds the task that holds the meeting, or holds it, and returns its result. Errors of Group::form().
  Result<MeetingResult> meet(Deadline deadline);
  /// Takes on the generation that a meeting ended with. Returns members that were lost meanwhile. kProtocolMismatch:
  /// this task is none of them.
  Result<Names> adopt(const MeetingResult& met);
  /// Members of the generation, by rank.
  Names members() const;

  /// Begins a wait that isn't meet()'s.
  void begin_wait() { report_.begin(); }
  /// Waits until nobody is missing, and says for whom. kDeadlineExceeded and kCancelled name them.
  Result<void> wait(Deadline deadline, const std::function<Names()>& missing);

 private:
  bool is_open() const { return options_.max_members > 0; }
  JoinRequest own_request() const TFD_REQUIRES(mutex_);
  Names described(Names missing) TFD_REQUIRES(mutex_);
  Names joined();  // in the meeting that is held here
  bool note(const transport::PeerEvent& event);
  void refused(const transport::PeerEvent& event);
  void look_for_second_group(const std::string& name);
  std::optional<Error> second_group(const Referral& other) const TFD_REQUIRES(mutex_);
  Error refusal_of(const std::string& name) const TFD_REQUIRES(mutex_);
  std::optional<Error> find_hopeless() const TFD_REQUIRES(mutex_);

  /// The members of a generation, as its first one says.
  struct ToldMembers {
    Mutex mutex;
    Names names TFD_GUARDED_BY(mutex);
  };
  Result<void> stand_apart(const Referral& from, Deadline deadline);
  Result<std::string> find_holder(Deadline deadline);
  void begin_meeting();
  Result<Met> hold_meeting(Deadline deadline);
  Result<void> tell_difference();
  void look_for_others();
  Result<Met> ask_to_join(const std::string& host, Deadline deadline);
  Result<Met> ask(transport::PeerId peer, const JoinRequest& request, Deadline deadline);
  tl::unexpected<Error> end_refused(Error refusal);
  void linger(const std::function<bool()>& is_told);
  bool gives_up(Clock::time_point since) const;

  const GroupOptions& options_;
  const Clock::time_point started_ = Clock::now();
  JoinReport report_;     // of the caller's thread
  Duration apart_for_{};  // how long stand_apart() has waited last; of the caller's thread
  Directory directory_;   // the caller's thread alone changes it, under the lock, and reads it without
  std::string listener_;
  transport::Endpoint* endpoint_ = nullptr;  // the caller's thread sets it, under the lock
  std::atomic<bool> has_newcomers_ = false;  // written under the lock
  const transport::Incarnation incarnation_ = transport::make_incarnation();  // what the endpoint is to have
  std::function<void(Error)> end_;                                            // of on_second_group()
  Notifier news_;                                                             // what a wait looks at may have changed

  mutable Mutex mutex_;
  Roster roster_ TFD_GUARDED_BY(mutex_);
  HeldMeeting held_ TFD_GUARDED_BY(mutex_);
  HolderSearch search_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::group
