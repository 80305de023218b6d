#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The protocol of an endpoint, over any Wire: peers and their states, requests in flight, deadlines, replies.
// Thread rule: everything but the public functions of Endpoint lives on the I/O thread, which this owns, or on a thread
// in drive() instead: whoever holds loop_mutex_. Callbacks of the user are called with no lock held and with all state
// consistent; what they ask for is queued (local_), never done inside.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "buffer_pool.hpp"
#include "link.hpp"
#include "mailbox.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/transport/endpoint.hpp"
#include "timers.hpp"
#include "wire.hpp"

namespace tfd::transport {

/// The reason that peers see when an endpoint ends.
inline constexpr std::string_view kFarewell = "it said goodbye";

class Core final : public Endpoint, private Wire::Sink {
 public:
  Core(EndpointOptions options, std::unique_ptr<Wire> wire, std::shared_ptr<Waker> waker);
  ~Core() override;

  std::string address() const override { return address_; }
  Incarnation incarnation() const override { return options_.incarnation; }
  PeerId add_peer(const std::string& name, const std::string& address, PeerOptions options) override;
  void remove_peer(PeerId peer) override;
  PeerState state(PeerId peer) const override;
  Incarnation incarnation_of(PeerId peer) const override;
  std::string reason(PeerId peer) const override;
  void request(PeerId peer, Message message, Deadline deadline, ReplyCallback callback) override;
  Result<void> wait_up(std::span<const PeerId> peers, Deadline deadline, const std::stop_token& stop) override;
  void ping_caller(std::uint64_t connection, std::function<void(bool answers)> callback) override;
  bool drive(const std::function<bool()>& is_over, const std::stop_token& stop, Duration most) noexcept override;
  void post(std::function<void()> action) override;
  void post_at(Clock::time_point when, std::function<void()> action) override;
  Clock::time_point moved(PeerId peer) override;

 private:
  class Reply;

  // State of a peer that other threads may read.
  struct PeerCard {
    std::string name;
    std::string address;
    PeerState state = PeerState::kConnecting;
    Incarnation incarnation = 0;
    std::string reason;  // why it isn't up
    bool is_removed = false;
    std::optional<Code> refused;  // as in PeerEvent: waiting won't help
  };
  struct Pending {
    Deadline deadline;
    Clock::time_point asked;
    ReplyCallback callback;
    Message message;  // until it is sent
  };
  struct Peer {
    PeerId id{};
    std::string name;
    std::string address;
    PeerState state = PeerState::kConnecting;
    Incarnation incarnation = 0;
    std::string reason;  // why it isn't up now
    std::string loss;    // why it was lost last
    PeerOptions options;
    bool is_gone = false;  // since it was lost: its process has ended
    std::optional<Code> refused;
    std::string complaint;  // the last logged complaint about its messages
    int doubts = 0;         // consecutive handshakes that failed, perhaps because of a key
    LinkId link = LinkId::kNone;
    LinkId second = LinkId::kNone;  // while it is silent: a connection to find out whether it is the same, live process
    Clock::time_point second_since{};
    std::uint64_t attempt = 0;  // the number of this link, so that a timer knows whether it is about it
    Duration back_off{};
    std::unordered_map<std::uint64_t, Pending> pending;
    std::deque<std::uint64_t> unsent;  // in order, while it is connecting
  };
  /// True if there is a connection on which the handshake succeeded.
  static bool is_standing(PeerState state) { return state == PeerState::kUp || state == PeerState::kSilent; }
  struct Due {
    PeerId peer{};
    std::uint64_t id = 0;
  };

  /// The thread that does the I/O: the I/O thread; one in drive(); one that was a moment ago, and will be again.
  enum class At : std::uint8_t { kIoThread, kDriver, kBetween };
  class AtLoop;

  // core.cpp: the thread and what it does in turn.
  void run();
  void turn();
  void stay_away();
  void hand_over(MailItem item);
  Error late(std::span<const PeerId> peers, Clock::time_point since) const TFD_REQUIRES(cards_mutex_);
  bool on_io_thread() const { return mailbox_->is_reader(); }
  void do_items();
  void do_item(MailItem& item);
  void do_timers();
  void ship_all();
  template <class IsAwaited>
  void sleep(Clock::time_point until, const IsAwaited& is_awaited);
  void shut_down();

  // core_liveness.cpp: heartbeats and silent peers.
  void check_liveness();
  bool is_awaited(LinkId link);
  Duration ping_interval() const;
  Duration awaited_ping_interval() const;
  void send_ping(Link& link);
  bool is_silent(Link& link, Clock::time_point now) const;
  void on_silent(LinkId id, Clock::time_point now);
  void on_answer(LinkId id);
  void on_heard(Peer& peer);
  std::optional<Clock::time_point> seen_elsewhere(const Link& silent) const;
  void look_for(Peer& peer, Clock::time_point now);
  void on_second_greeting(Peer& peer, Link& link);
  /// True if a link that ended, or didn't come up, shows that the peer's process has ended.
  bool proves_end(LinkId link, const std::string& reason);
  void on_second_closed(Peer& peer, const std::string& reason);
  void drop_second(Peer& peer);
  void begin_ping(LinkId id, std::function<void(bool answers)> callback);
  void end_pings(LinkId id, bool answers, Clock::time_point until = Clock::time_point::max());

  void at(Clock::time_point when, std::function<void()> action) { actions_.add(when, std::move(action)); }

  // core_peers.cpp: connecting, up, lost; requests in flight.
  void begin_peer(PeerId id, std::string name, std::string address, PeerOptions options);
  void end_peer(PeerId id, Code code, const std::string& why);
  void connect(Peer& peer);
  void retry(Peer& peer, const std::string& reason);
  void on_up(Peer& peer, Link& link);
  void on_lost(Peer& peer, const std::string& reason, bool is_gone);
  void on_gone(Peer& peer, const std::string& reason);
  void refuse(PeerId id, LinkId link, Code code, const std::string& reason);
  void publish(const Peer& peer);
  void tell(const Peer& peer);
  void fail_all(Peer& peer, Code code, const std::string& message);
  void start_request(RequestItem& item);
  void send_request(Peer& peer, std::uint64_t id, Pending& pending);
  void finish_request(Peer& peer, std::uint64_t id, Result<Message> answer);
  void on_deadline(Due due);
  Peer* find_peer(PeerId id);
  Peer* peer_of(LinkId link);
  LinkId begin_link(const Peer& peer);  // says hello

  // core_frames.cpp: what arrives, and replies.
  void on_message(LinkId id, std::span<const std::byte> bytes) override;
  Place place_piece(LinkId id, std::size_t size) override;
  void on_piece(LinkId id, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) override;
  void on_closed(LinkId id, const std::string& reason) override;
  void on_refused(LinkId id, const std::string& reason, bool certain) override;
  void on_stands(LinkId id) override;
  void on_heard(Link& link);
  Result<void> on_chunk(Link& link, std::span<const std::byte> bytes, std::shared_ptr<const void> keep = nullptr);
  Result<void> on_frame(Link& link, const FrameView& frame);
  Result<void> on_greeting(Link& link, const FrameView& frame);
  void on_arrived(Link& link, Link::Arrived arrived);
  void on_request(Link& link, Link::Arrived arrived);
  void on_violation(Link& link, const Error& error);
  void send_reply(LinkId link, std::uint64_t id, Result<Message> answer, std::uint64_t promised);
  Link& open_link(LinkId id);
  Link* find_link(LinkId id);
  void drop_link(LinkId id);
  void caller_gone(const Link& link);
  void on_goodbye(Link& link, const std::string& reason);
  void mark_dirty(Link& link);

  EndpointOptions options_;
  std::string address_;
  std::shared_ptr<BufferPool> pool_;
  std::unique_ptr<Wire> wire_;
  std::shared_ptr<Waker> waker_;      // shared with the wire and the mailbox
  std::shared_ptr<Mailbox> mailbox_;  // shared with Responders, which may live longer

  mutable Mutex cards_mutex_;
  std::condition_variable cards_changed_;
  std::vector<PeerCard> cards_ TFD_GUARDED_BY(cards_mutex_);  // by PeerId
  /// Peers that aren't removed, by name.
  std::unordered_map<std::string, PeerId> ids_ TFD_GUARDED_BY(cards_mutex_);

  // The I/O thread's.
  std::vector<MailItem> taken_;
  std::deque<MailItem> local_;
  std::unordered_map<LinkId, std::unique_ptr<Link>> links_;
  std::vector<LinkId> dirty_;
  std::vector<LinkId> shipping_;  // those that were dirty, in ship_all()
  std::unordered_map<std::uint32_t, std::unique_ptr<Peer>> peers_;
  std::unordered_map<LinkId, PeerId> peer_of_link_;
  Timers<Due> deadlines_;
  Timers<std::function<void()>> actions_;
  std::uint64_t next_request_ = 1;
  std::uint64_t attempts_ = 0;
  std::size_t pauses_ = 0;  // before attempts of peers that are away
  std::size_t in_flight_ = 0;
  bool more_to_receive_ = false;
  bool is_closing_ = false;
  struct CallerPing {
    Clock::time_point until;
    std::function<void(bool)> callback;
  };
  std::unordered_multimap<LinkId, CallerPing> pings_;  // of ping_caller()
  Clock::time_point checked_ = Clock::now();           // the links, last

  std::atomic<bool> stop_{false};
  Mutex loop_mutex_;  // held by the thread that does the I/O
  std::atomic<At> at_{At::kIoThread};
  std::atomic<std::uint64_t> drives_{0};  // that have ended
  Mutex away_mutex_;
  std::condition_variable away_changed_;  // at_ or stop_ has, while the I/O thread stays away
  std::thread thread_;
};

}  // namespace tfd::transport
