// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/group.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "directory.hpp"
#include "group_keys.hpp"
#include "held_meeting.hpp"
#include "join_call.hpp"
#include "listen_host.hpp"
#include "meeting.hpp"
#include "messages/protocol.hpp"
#include "messages/status.hpp"
#include "roster.hpp"
#include "tfd/base/notifier.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::task {
namespace {

constexpr Duration kNamedAfter = std::chrono::seconds(3);   // of silence
constexpr Duration kPoll = std::chrono::milliseconds(200);  // of a wait's deadline, interruption and report
constexpr Duration kFarewell = std::chrono::seconds(5);     // of a member that is asked to end, for those that are left
constexpr Duration kPause = std::chrono::milliseconds(50);  // before a task is asked again that holds no meeting yet
constexpr Duration kAskAgain = std::chrono::seconds(1);     // who else has a group: it may have gone on meanwhile

class GroupImpl final : public Group {
 public:
  explicit GroupImpl(GroupOptions options)
      : options_(std::move(options)),
        started_(Clock::now()),
        directory_(options_.members, options_.rank),
        held_(options_.settle),
        keys_(own_name(), is_first() && !is_elastic()) {}

  ~GroupImpl() override {
    expect_losses();
    keys_.close();
    endpoint_.reset();  // after this no handler runs
  }

  Result<void> form(Deadline deadline) {
    const std::string host = TFD_TRY(host_to_listen_at(options_));
    listener_ = TFD_TRY(collective::Listener::bind(host));
    if (is_first() && !is_elastic()) begin_meeting();  // before anybody can ask
    TFD_TRY(make_endpoint(host));
    if (!is_elastic()) keys_.begin(*endpoint_, is_first() ? std::nullopt : std::optional(peer_of(first())));
    if (is_elastic()) watch();
    return begin_generation(deadline);
  }

  /// Watches the others from now on.
  void watch() {
    for (const std::string& name : names())
      if (name != own_name()) peer_of(name);
  }

  collective::Communicator& communicator() override { return *communicator_; }
  void cancel(Error error) override {
    const MutexLock lock(mutex_);
    if (communicator_) communicator_->cancel(std::move(error));
  }
  const std::vector<int>& devices() const override { return devices_; }
  void leave() override {
    expect_losses();
    if (communicator_) communicator_->leave();
  }
  Result<void> regroup(Deadline deadline) override { return begin_generation(deadline); }
  bool has_newcomers() const override { return has_newcomers_; }
  // An interruption of the wait is the caller's affair: it ends what it does next.
  std::shared_ptr<function::HostExchange> host_exchange() override {
    (void)await_watched();
    return keys_.exchange();
  }
  std::optional<Error> find_lost() const override {
    const MutexLock lock(mutex_);
    return gone_;
  }

 private:
  void expect_losses() {
    const MutexLock lock(mutex_);
    has_left_ = true;
  }
  bool is_first() const { return options_.rank == 0; }
  bool is_elastic() const { return options_.least > 0; }
  bool is_open() const { return options_.most > 0; }
  const std::vector<std::string>& names() const { return directory_.names(); }
  const std::string& own_name() const { return directory_.own(); }
  const std::string& first() const { return directory_.first(); }
  transport::PeerId peer_of(const std::string& name) {
    const Duration patience = std::max(options_.silence - kNamedAfter, Duration::zero());
    return endpoint_->add_peer(name, directory_.address_of(name), {.patience = patience});
  }
  bool is_up(const std::string& name) { return endpoint_->state(peer_of(name)) == transport::PeerState::kUp; }

  Result<void> make_endpoint(const std::string& host) {
    const auto& [name, text] = options_.members[static_cast<std::size_t>(options_.rank)];
    transport::EndpointOptions options;
    options.name = name;
    options.bind = cluster::format_address({.host = host, .port = TFD_TRY(cluster::parse_address(text)).port});
    options.listen_fd = options_.listen_fd;
    options.log = options_.log.for_room("transport");
    options.heartbeat_timeout = kNamedAfter;
    options.handler = [this](const transport::Caller& caller, const transport::Message& request,
                             transport::Responder responder) { handle(caller, request, std::move(responder)); };
    options.on_peer = [this](const transport::PeerEvent& event) { peer_changed(event); };
    options.on_caller_gone = [this](const transport::Caller& caller) {
      keys_.caller_gone(caller);
      const MutexLock lock(mutex_);
      held_.forget(caller.connection);
      has_newcomers_ = held_.has_newcomers();
    };
    endpoint_ = TFD_TRY(options_.make_endpoint(std::move(options)), name);
    incarnation_ = endpoint_->incarnation();
    return {};
  }

  JoinRequest own_request() const TFD_REQUIRES(mutex_) {
    return {.name = own_name(),
            .host = collective::host_id(),
            .address = listener_->address(),
            .at = directory_.address_of(own_name()),
            .pid = ::getpid(),
            .devices = options_.devices,
            .incarnation = incarnation_,
            .agreement = options_.agreement,
            .last = roster_.generation(),
            .ended = roster_.ended()};
  }

  // ---- on the I/O thread

  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder) {
    switch (static_cast<Kind>(request.kind)) {
      case Kind::kStatus:
        return responder.reply(encode(status()));
      case Kind::kMeet:
        return join(caller, request, std::move(responder));
      case Kind::kCoordinate:
        return keys_.handle(caller, request, std::move(responder));
      default:
        return responder.reply(fail(Code::kFailedPrecondition,
                                    "{} makes steps with its group (multi-worker-mirrored) and takes no other work",
                                    own_name()));
    }
  }

  void join(const transport::Caller& caller, const transport::Message& request, transport::Responder responder) {
    const MutexLock lock(mutex_);
    if (request.meta.empty()) {  // who only asks
      if (roster_.has_generation() || !held_.is_held()) return responder.reply(meeting_message(refer()));
      return responder.reply(meeting_message(format_referral({.to = own_name()})));
    }
    auto asked = parse_join(request.meta);
    if (!asked) return responder.reply(fail(asked.error()));
    if (held_.is_held()) {
      lost_meanwhile_.erase(asked->name);  // it is there again
      held_.admit(caller.connection, *asked, std::move(responder));
      news_.notify();
    } else if (!is_elastic()) {
      responder.reply(fail(Code::kFailedPrecondition, "{} isn't the chief", own_name()));
    } else if (const auto agrees = roster_.has_generation() ? check_agreement(own_request(), *asked) : Result<void>();
               !agrees) {
      responder.reply(fail(agrees.error()));                         // the members needn't meet for it
    } else if (asking_.empty() && roster_.holder() == own_name()) {  // it waits until this generation ends
      held_.keep(caller.connection, *std::move(asked), std::move(responder));
      has_newcomers_ = true;
    } else {
      responder.reply(meeting_message(refer()));
    }
  }

  /// Says whom this task asks to join; else who holds the next meeting of its generation.
  std::string refer() const TFD_REQUIRES(mutex_) {
    const std::string to = asking_.empty() ? roster_.holder() : asking_;
    return format_referral({to, roster_.generation().number, to.empty() ? "" : directory_.address_of(to)});
  }

  void peer_changed(const transport::PeerEvent& event) {
    if (event.state == transport::PeerState::kSilent && options_.say)
      options_.say(fmt::format("{} doesn't answer ({}): it is lost after {}", event.name, event.reason,
                               format_duration(options_.silence)));
    const MutexLock lock(mutex_);  // who is told looks only after it
    news_.notify();
    if (event.state == transport::PeerState::kUp) {
      roster_.up(event.name, event.incarnation);
      if (held_.is_held()) held_.meeting().set_lost(event.name, false);
    }
    if (event.state != transport::PeerState::kLost) return;
    if (!roster_.lost(event.name, event.incarnation, event.is_gone)) return;
    lost_meanwhile_[event.name] = event.incarnation;
    if (held_.is_held() && is_elastic()) {
      held_.meeting().set_lost(event.name, true);
      static_cast<void>(held_.meeting().join(own_request()));  // says who has ended
    }
    // The communicator may see the end of a process first, and says this of it.
    const bool has_ended = event.is_gone || event.reason == transport::kConnectionReset;
    const std::string_view reason = has_ended ? "its connection has ended" : std::string_view(event.reason);
    Error lost{Code::kUnavailable, fmt::format("{} is lost ({})", event.name, reason), event.name};
    miss(lost);
    // The end of a process is seen by the communicator, behind all that it sent before.
    if (!event.is_gone) lose(std::move(lost));
  }

  void miss(const Error& lost) TFD_REQUIRES(mutex_) {
    if (gone_ || has_left_ || !roster_.has_generation() || !roster_.is_member(lost.task)) return;
    gone_ = lost;
    keys_.fail_all(lost);
  }

  void lose(Error error) TFD_REQUIRES(mutex_) {
    miss(error);
    if (has_left_ || lost_ || (roster_.has_generation() && !roster_.is_member(error.task))) return;
    lost_ = std::move(error);
    if (communicator_) communicator_->cancel(*lost_);
  }

  TaskStatus status() const {
    TaskStatus out = status_of_process(cluster::parse_task(own_name()).value_or(cluster::TaskId()), started_);
    out.incarnation = incarnation_;
    out.replicas = options_.devices;
    if (options_.describe) options_.describe(out);
    return out;
  }

  // ---- on the caller's thread

  /// Meets, and connects, until both succeed: a member may be lost between them.
  Result<void> begin_generation(Deadline deadline) {
    for (;;) {
      {
        const MutexLock lock(mutex_);
        communicator_.reset();
        lost_meanwhile_.clear();
      }
      MeetingResult met = TFD_TRY(find_members(deadline));
      if (!is_elastic() && met.members.size() != names().size())
        return fail(Code::kInvalidArgument, "{} has a group of {}, this process one of {}: they differ in the cluster",
                    first(), met.members.size(), names().size());
      TFD_TRY(adopt(met));
      const auto rank = std::ranges::find(met.members, own_name(), &collective::Member::name) - met.members.begin();
      auto communicator =
          collective::connect({.generation = met.generation,
                               .rank = static_cast<int>(rank),
                               .all = std::move(met.members),
                               .secret = met.secret,
                               .is_encrypted = options_.has_key},
                              listener_.get(), options_.engine,
                              is_elastic() ? deadline.earlier_of(Deadline::after(options_.silence)) : deadline);
      if (!communicator) {
        const Code code = communicator.error().code;
        const bool is_lost = code == Code::kDeadlineExceeded || code == Code::kUnavailable;
        if (!is_elastic() || !is_lost || deadline.expired()) return fail(std::move(communicator).error());
        if (options_.say) options_.say(communicator.error().message + ": meeting again");
        continue;
      }
      (*communicator)->on_stall(options_.stall_report, 3 * options_.stall_report, options_.say);
      {
        const MutexLock lock(mutex_);
        communicator_ = *std::move(communicator);
        if (lost_) communicator_->cancel(*lost_);
      }
      return is_elastic() ? await_watched() : Result<void>();
    }
  }

  /// Waits until this member watches all others: whom it doesn't would be waited for without an end if it froze. One
  /// that can't be reached is lost.
  Result<void> await_watched() {
    std::vector<std::string> unseen;
    const auto all_seen = wait(Deadline::after(options_.silence), [&] {
      unseen.clear();
      const MutexLock lock(mutex_);
      if (lost_) return unseen;
      for (const std::string& name : roster_.generation().members)
        if (name != own_name() && !is_up(name)) unseen.push_back(name);
      return unseen;
    });
    if (all_seen || all_seen.error().code != Code::kDeadlineExceeded) return all_seen;
    const MutexLock lock(mutex_);
    lose({Code::kUnavailable, fmt::format("{} is lost (it can't be reached)", unseen.front()), unseen.front()});
    return {};
  }

  /// Takes on the generation that a meeting ended with.
  Result<void> adopt(const MeetingResult& met) {
    const MutexLock lock(mutex_);
    roster_.adopt(met);
    if (!roster_.is_member(own_name())) return fail(Code::kProtocolMismatch, "the group has no {}", own_name());
    devices_ = met.devices;
    lost_.reset();
    gone_.reset();
    // One that was lost before, and met all the same, is there, though this process may not have connected to it again.
    for (std::size_t i = 0; i < met.members.size() && is_elastic(); ++i) {
      const std::string& name = met.members[i].name;
      if (is_open()) directory_.learn(name, met.at[i]);
      const auto found = lost_meanwhile_.find(name);
      if (found != lost_meanwhile_.end() && found->second == met.incarnations[i])
        lose({Code::kUnavailable, name + " is lost", name});
    }
    return {};
  }

  /// Finds who holds the meeting, or holds it, and returns what it ended with.
  Result<MeetingResult> find_members(Deadline deadline) {
    const auto begun = Clock::now();
    std::string next;  // whom somebody has named
    for (;;) {
      const std::string host = next.empty() ? TFD_TRY(find_holder(deadline)) : std::exchange(next, {});
      Met met = TFD_TRY(host == own_name() ? hold_meeting(deadline) : ask_to_join(host, deadline));
      if (auto* const result = std::get_if<MeetingResult>(&met)) return std::move(*result);
      if (const Referral& referral = std::get<Referral>(met); may_be_asked(referral)) next = referral.to;
      if (gives_up(begun)) return fail(Code::kCancelled, "interrupted");
      if (deadline.expired())
        return fail(Code::kDeadlineExceeded, "found nobody who begins, or has, a group: asked {}", host);
      news_.wait(Deadline::after(kPause));
    }
  }

  /// True if this is a task of the group that isn't known to be lost.
  bool may_be_asked(const Referral& to) {
    const MutexLock lock(mutex_);
    if (is_open() && !to.to.empty()) directory_.learn(to.to, to.at);
    return to.to != own_name() && directory_.knows(to.to) && !roster_.is_lost(to.to);
  }

  /// The task to ask next. A newcomer asks whoever is up, in turns; if nobody has a group, and none that stands before
  /// it in the cluster has come for a while, it holds the first meeting.
  Result<std::string> find_holder(Deadline deadline) {
    {
      const MutexLock lock(mutex_);
      if (roster_.has_generation()) return roster_.holder();
    }
    if (is_first() || !is_elastic()) return first();
    std::string found;
    TFD_TRY(wait(deadline, [&]() -> std::vector<std::string> {
      const auto is_first_here = [&] {
        return std::ranges::none_of(names(),
                                    [&](const auto& name) { return directory_.comes_before_own(name) && is_up(name); });
      };
      for (std::size_t i = 0; i < names().size() && found.empty(); ++i) {
        const std::string& name = names()[asked_++ % names().size()];
        const bool is_own_turn = name == own_name() && Clock::now() >= started_ + options_.settle && is_first_here();
        if (is_own_turn || (name != own_name() && is_up(name))) found = name;
      }
      return found.empty() ? std::vector<std::string>{first()} : std::vector<std::string>();
    }));
    return found;
  }

  void begin_meeting() {
    const MutexLock lock(mutex_);
    Meeting meeting(names(), options_.least, options_.most);
    if (is_elastic())
      for (const std::string& name : names())
        if (name != own_name()) meeting.set_lost(name, endpoint_->state(peer_of(name)) == transport::PeerState::kLost);
    referred_ = {};
    held_.begin(std::move(meeting), own_request());
    has_newcomers_ = false;
  }

  /// Holds the meeting. A referral: another one is held, or its group is making steps.
  Result<Met> hold_meeting(Deadline deadline) {
    if (is_elastic()) begin_meeting();
    std::map<std::string, Deadline> asked;
    TFD_TRY(wait(deadline, [&]() -> std::vector<std::string> {
      if (is_elastic()) look_for_others(asked);
      const MutexLock lock(mutex_);
      if (held_.meeting().difference()) return {};
      // One that stands before this member answers again.
      if (is_elastic() && roster_.has_generation() && roster_.holder() != own_name())
        referred_ = {roster_.holder(), roster_.generation().number};
      if (!referred_.to.empty() || (is_elastic() && held_.meeting().is_enough() && held_.has_settled())) return {};
      return held_.meeting().missing();
    }));
    TFD_TRY(tell_difference());
    const collective::Secret secret = collective::make_secret();
    const MutexLock lock(mutex_);
    if (!referred_.to.empty()) {
      Referral referral = std::exchange(referred_, {});
      held_.end(format_referral(referral), !is_elastic());
      return referral;
    }
    MeetingResult result = held_.meeting().end(secret);
    held_.end(format_result(result), !is_elastic());
    return result;
  }

  /// An error if members differ, so that there is no group; those who come a little later are told, too.
  Result<void> tell_difference() {
    std::optional<Error> difference;
    {
      const MutexLock lock(mutex_);
      if (referred_.to.empty()) difference = held_.meeting().difference();
    }
    if (!difference) return {};
    const Deadline until = Deadline::after(kFarewell);
    const auto is_told = [this] {
      const MutexLock lock(mutex_);
      return held_.meeting().has_seen_all();
    };
    while (!is_told() && !until.expired() && !options_.interruption.stop_requested())
      news_.wait(Deadline::after(kPoll));
    return fail(*difference);
  }

  /// Asks each task that is up whether others have a newer generation, or a first one, while this one waits: after a
  /// cut they may go on without this member at any time. `asked`: until when nobody is asked again.
  void look_for_others(std::map<std::string, Deadline>& asked) {
    for (const std::string& name : names()) {
      if (name == own_name()) continue;
      if (!is_up(name)) asked.erase(name);
      const auto found = asked.find(name);
      if (!is_up(name) || (found != asked.end() && !found->second.expired())) continue;
      asked.insert_or_assign(name, Deadline::after(kAskAgain));
      endpoint_->request(peer_of(name), meeting_message(""), Deadline::after(options_.silence),
                         [this](const Result<transport::Message>& answer) {
                           const auto referral = answer ? parse_referral(answer->meta) : std::nullopt;
                           const MutexLock lock(mutex_);
                           if (referral && referral->to != own_name() && is_ahead(*referral)) referred_ = *referral;
                           news_.notify();
                         });
    }
  }

  /// True if who holds a meeting should join this one instead. Of one generation, the first member that isn't lost
  /// holds it, and each finds that out by itself.
  bool is_ahead(const Referral& other) const TFD_REQUIRES(mutex_) {
    if (other.generation != roster_.generation().number) return other.generation > roster_.generation().number;
    return !roster_.has_generation() && directory_.comes_before_own(other.to);
  }

  /// Asks a task that may hold the meeting, and waits for its end. A referral: it doesn't, or it is lost meanwhile.
  Result<Met> ask_to_join(const std::string& host, Deadline deadline) {
    const auto peer = peer_of(host);
    bool is_there = false;
    TFD_TRY(wait(deadline, [&]() -> std::vector<std::string> {
      is_there = is_there || endpoint_->state(peer) == transport::PeerState::kUp;
      return is_there || (is_elastic() && !may_be_asked({.to = host})) ? std::vector<std::string>()
                                                                       : std::vector<std::string>{host};
    }));
    JoinRequest request;
    {
      const MutexLock lock(mutex_);
      request = own_request();
      asking_ = host;  // who waits for a meeting here would wait for one that this task waits for
      held_.send_away(refer());
      has_newcomers_ = false;
    }
    const auto answered = ask(peer, request, deadline);
    const MutexLock lock(mutex_);
    asking_.clear();
    return answered;
  }

  Result<Met> ask(transport::PeerId peer, const JoinRequest& request, Deadline deadline) {
    const JoinCall call(*endpoint_, peer, request, deadline, [this] { news_.notify(); });
    TFD_TRY(wait(Deadline::never(), [&call] {
      return call.is_answered() ? std::vector<std::string>() : std::vector<std::string>{"the other members"};
    }));
    auto met = call.answer();
    const Code code = met ? Code::kInternal : met.error().code;
    const bool asks_again = is_elastic() && (code == Code::kUnavailable || code == Code::kAlreadyExists);
    if (!met && asks_again && !deadline.expired()) return Referral{};
    return met;
  }

  /// True if this process was asked to end, and waits no longer. A member of a generation has something to hand over,
  /// so it waits a moment for those that are left.
  bool gives_up(Clock::time_point since) {
    if (!options_.interruption.stop_requested()) return false;
    const MutexLock lock(mutex_);
    return !roster_.has_generation() || Clock::now() >= since + kFarewell;
  }

  /// Waits until nobody is missing.
  template <class Missing>
  Result<void> wait(Deadline deadline, const Missing& missing) {
    WaitReport report(options_.stall_report, options_.say);
    for (;;) {
      const std::vector<std::string> names = missing();
      if (names.empty()) return {};
      if (gives_up(report.since())) return fail(Code::kCancelled, "interrupted");
      TFD_TRY(report.go_on(names, deadline));
      news_.wait(Deadline::after(kPoll));
    }
  }

  const GroupOptions options_;
  const Clock::time_point started_;
  Directory directory_;  // the caller's thread alone changes it, under the lock, and reads it without
  std::vector<int> devices_;
  std::unique_ptr<collective::Listener> listener_;
  std::size_t asked_ = 0;                                // tasks that a newcomer has asked
  std::atomic<bool> has_newcomers_ = false;              // written under the lock
  std::atomic<transport::Incarnation> incarnation_ = 0;  // the endpoint's, once it is there: its handlers come before
  Notifier news_;                                        // what a wait looks at may have changed

  mutable Mutex mutex_;
  Roster roster_ TFD_GUARDED_BY(mutex_);
  HeldMeeting held_ TFD_GUARDED_BY(mutex_);
  std::map<std::string, transport::Incarnation> lost_meanwhile_ TFD_GUARDED_BY(mutex_);  // while the members meet
  Referral referred_ TFD_GUARDED_BY(mutex_);                // whom to join instead of holding this meeting
  std::string asking_ TFD_GUARDED_BY(mutex_);               // whom this task has asked to join
  std::unique_ptr<collective::Communicator> communicator_;  // made under the lock, used by its own thread
  std::optional<Error> lost_ TFD_GUARDED_BY(mutex_);
  std::optional<Error> gone_ TFD_GUARDED_BY(mutex_);  // the first member that was lost, its process's end included
  bool has_left_ TFD_GUARDED_BY(mutex_) = false;

  GroupKeys keys_;
  std::unique_ptr<transport::Endpoint> endpoint_;  // last: its thread uses the others
};

}  // namespace

Result<std::unique_ptr<Group>> Group::form(GroupOptions options, Deadline deadline) {
  auto group = std::make_unique<GroupImpl>(std::move(options));
  TFD_TRY(group->form(deadline));
  group->watch();
  return group;
}

}  // namespace tfd::task
