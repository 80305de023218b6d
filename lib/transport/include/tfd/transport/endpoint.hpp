#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Requests and replies between the tasks of a cluster. An Endpoint serves requests (if it is bound) and asks other
// endpoints (peers). It does not know what the messages mean.
// Thread rule: an Endpoint owns one I/O thread. request(), call(), post() and Responder::reply() may be called from any
// thread; handlers and callbacks run on the I/O thread, or on one that does its work by drive(), and must not block.
//
//   auto endpoint = TFD_TRY(make_zmq_endpoint({.handler = serve}));
//   PeerId ps = endpoint->add_peer("ps:0", "127.0.0.1:41234");
//   Message answer = TFD_TRY(endpoint->call(ps, std::move(question), Deadline::after(5s)));
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/curve_key.hpp"

namespace tfd::transport {

/// Identifies one start of a task: tells a restarted task from its predecessor. 0 is unknown.
using Incarnation = std::uint64_t;
/// Unique per process start.
Incarnation make_incarnation();

struct Message {
  std::uint16_t kind = 0;               // the application's
  std::string meta;                     // small: the application's, at most 1 MiB
  std::vector<tensor::Tensor> tensors;  // sent without copying, received 64-byte aligned
  std::uint64_t epoch = 0;              // epoch of the run that it belongs to, in the frame's header; 0: none
  /// True: whoever receives this request, or its answer, lets go of the tensors soon. Within a host large ones of
  /// floats may then be read where they lie in the sender's memory, which keeps them meanwhile.
  bool may_lend = false;
};

/// True if a request of this message leaves in one piece: later requests to the same peer arrive later.
bool leaves_whole(const Message& message);

enum class PeerId : std::uint32_t {};

enum class PeerState {
  kConnecting,  // never been up: requests wait for it until their deadline
  kUp,          // said hello
  kSilent,      // is up, and hasn't answered pings for the heartbeat timeout: requests keep waiting, for `patience`
  kLost,  // was up and is gone (connection reset, silent for too long, goodbye): requests fail at once until it is up
          // again
};

struct PeerOptions {
  /// Grace period for a peer that has been silent for the heartbeat timeout while its connection is up, so that a
  /// suspended process isn't lost. Zero: it is lost at once.
  Duration patience{};
  /// If true, a request's deadline counts from the last byte that moved on the peer's connection, not from the request:
  /// a large message, or one on a slow shared network, doesn't time out while it progresses.
  bool deadlines_wait_for_bytes = false;
  /// If true, its silence is noticed as soon as if it held a request, however many peers exist.
  bool is_awaited = false;
};

/// The reason of kLost if a connection has ended without a goodbye: so it does when a process dies.
inline constexpr std::string_view kConnectionReset = "connection reset";
/// True for a reason of kLost, or kSilent: nothing was heard of the peer.
inline constexpr std::string_view kNoHeartbeat = "no heartbeat for ";
inline bool is_silence(std::string_view reason) { return reason.starts_with(kNoHeartbeat); }
/// The reasons why a peer isn't up whose host's name doesn't resolve: nobody knows it, or nobody could be asked.
inline constexpr std::string_view kNoSuchHost = "no such host", kCannotLookUp = "cannot look up the host";
inline bool is_unresolved(std::string_view reason) {
  return reason == kNoSuchHost || reason.starts_with(kCannotLookUp);
}

struct PeerEvent {
  PeerId peer{};
  std::string name;  // as given to add_peer
  PeerState state = PeerState::kConnecting;
  Incarnation incarnation = 0;  // of the task that is up now, or was
  std::string reason;           // for kLost and kSilent: "connection reset", "no heartbeat for 2s"
  /// In kConnecting: set if the peer refuses us and will until it is replaced. `reason` says why. kPermissionDenied:
  /// one side has no key or another one; kProtocolMismatch.
  std::optional<Code> refused = {};
  /// In kLost: true if the process is known to have ended: it sent goodbye, another process has taken its place, or its
  /// port of this host refuses connections. A refusal by another host proves nothing, since firewalls refuse, too. If
  /// it becomes known later, there is a second event.
  bool is_gone = false;
};

/// The requester: the asking endpoint's own name for itself, and its incarnation.
struct Caller {
  std::string name;
  Incarnation incarnation = 0;
  Deadline deadline = Deadline::never();  // when the caller stops waiting for the answer
  bool has_key = false;  // its connection proved that it has the cluster's key, which an endpoint with one requires
  std::uint64_t connection = 0;  // id of the caller's connection to this endpoint; never reused
};

/// Answers one request, once, from any thread. Destroyed without an answer, it replies kInternal. An answer to a caller
/// that is gone is dropped.
class Responder {
 public:
  class Impl {
   public:
    virtual ~Impl() = default;
    virtual void reply(Result<Message> answer) = 0;
    virtual void when_room([[maybe_unused]] std::uint64_t bytes, std::function<void()> begin) { begin(); }
  };
  explicit Responder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) noexcept = default;
  ~Responder();
  void reply(Result<Message> answer);
  /// Back-pressure for large answers: calls `begin`, which makes the answer, once earlier answers on the same
  /// connection, queued or being made, leave room. Calls it at once if nothing is queued; never, if the connection ends
  /// first.
  void when_room(std::uint64_t bytes, std::function<void()> begin) { impl_->when_room(bytes, std::move(begin)); }

 private:
  std::unique_ptr<Impl> impl_;
};

using Handler = std::function<void(const Caller& caller, Message request, Responder responder)>;
using ReplyCallback = std::function<void(Result<Message> answer)>;

/// The way of connections to processes of this host, in its network namespace and of its user. kAuto: shared
/// memory, where both sides can, else the network. kTcp: the network. kRing: as kAuto, but a peer that can't is
/// refused.
enum class Transport { kAuto, kTcp, kRing };
/// Reads "auto", "tcp" or "ring"; empty is auto. kInvalidArgument.
Result<Transport> parse_transport(std::string_view text);

struct EndpointOptions {
  std::string name;             // "worker:1", "coordinator": what peers see
  Incarnation incarnation = 0;  // 0: make_incarnation()
  Handler handler = {};         // empty: serves nothing
  std::function<void(const PeerEvent&)> on_peer = {};
  /// Called on the I/O thread when a caller's connection has ended: answers to its requests are dropped. A caller that
  /// died is noticed after four silent heartbeat intervals; one that is suspended, or whose host is, after
  /// caller_timeout.
  std::function<void(const Caller&)> on_caller_gone = {};
  /// Address to listen on; empty: none. "127.0.0.1:0", "[::1]:2222" or "ipc:///path".
  std::string bind = {};
  int listen_fd =
      -1;  // a listening socket bound elsewhere (ZMQ_USE_FD); `bind` may state its address; closed at the end
  /// The cluster's key. With it every connection is encrypted, and peers without the same key are refused, in both
  /// directions. The in-process twin trusts everybody.
  std::optional<CurveKey> key = {};
  /// Called on the I/O thread when somebody without the key wanted to connect to this endpoint, which has one: with
  /// another key, or with none. Its identity isn't known.
  std::function<void()> on_turned_away = {};
  /// Over shared memory nothing is encrypted: the connection on which both agreed to use it was.
  Transport transport = Transport::kAuto;
  /// Interval of pings to a silent peer (longer with thousands of peers: those that hold no request are sent at most
  /// about 300 pings a second, and the interval of the others doubles), and time without an answer after which it
  /// counts as silent. Silence is counted from an unanswered ping, after everything that has arrived was read, and not
  /// while this process itself didn't run.
  Duration heartbeat_interval = std::chrono::milliseconds(500);
  Duration heartbeat_timeout = std::chrono::seconds(2);
  Duration caller_timeout = std::chrono::seconds(30);
  /// Limits on what a peer may send: one message, and all its messages that are still arriving. Checked before memory
  /// is taken.
  std::uint64_t max_message_bytes = std::uint64_t{4} << 30;
  std::uint64_t max_peer_bytes = std::uint64_t{8} << 30;
  Log log = {};
};

class Endpoint {
 public:
  /// Completes promptly; callbacks of requests in flight get kCancelled first. A reply made before it still leaves. Not
  /// for the I/O thread.
  virtual ~Endpoint() = default;
  /// The address it listens on ("127.0.0.1:41234"); empty if none.
  virtual std::string address() const = 0;
  virtual Incarnation incarnation() const = 0;

  /// Starts connecting, never blocks. Adding a name again with the same address gives the same peer; with another
  /// address it reconnects.
  virtual PeerId add_peer(const std::string& name, const std::string& address, PeerOptions options = {}) = 0;
  /// Removes a peer; its requests in flight fail with kCancelled.
  virtual void remove_peer(PeerId peer) = 0;
  virtual PeerState state(PeerId peer) const = 0;
  virtual Incarnation incarnation_of(PeerId peer) const = 0;
  /// Why it isn't up, as far as is known: "connection refused", "no such host".
  virtual std::string reason(PeerId peer) const = 0;

  /// `callback` is called exactly once, on the I/O thread: with the answer, with the remote handler's Error (task set),
  /// with kUnavailable when the peer is lost (at once if it is, or while the request is in flight), with
  /// kDeadlineExceeded. Small requests to one peer that are queued together travel in one message. They arrive in the
  /// order they were made, but overtake requests with large tensors. Requests to a task that died are never
  /// executed by its successor. kInvalidArgument: metadata above 1 MiB or too many tensors; kProtocolMismatch: the peer
  /// speaks another version; kPermissionDenied: it has a key and this endpoint another one or none, or the other way
  /// around.
  virtual void request(PeerId peer, Message message, Deadline deadline, ReplyCallback callback) = 0;
  /// Blocks; not for the I/O thread.
  Result<Message> call(PeerId peer, Message message, Deadline deadline);
  /// Blocks until all are up; kDeadlineExceeded names those that aren't and why: "waited 30s for worker:1 (connection
  /// refused)". kProtocolMismatch and kPermissionDenied at once, as request(); kCancelled when `stop` is asked for.
  virtual Result<void> wait_up(std::span<const PeerId> peers, Deadline deadline, const std::stop_token& stop = {}) = 0;

  /// Has the calling thread do the I/O thread's work until `is_over()`, `stop` is asked for, or `most` has passed, and
  /// makes one turn at least: an arriving message wakes its waiter directly, not another thread. Returns is_over(). The
  /// I/O thread takes its work back some milliseconds after the last call, or at once if that took `most`: meanwhile
  /// other threads' messages wait, so this is for the one thread of a task that asks and answers. If another thread
  /// drives already, nothing is done. is_over() is called by this thread, with no lock held. Not for the I/O thread.
  virtual bool drive(const std::function<bool()>& is_over, const std::stop_token& stop, Duration most) = 0;

  /// Pings the caller of the connection with this Caller::connection at once; calls back on the I/O thread, once, with
  /// whether it answered within the heartbeat timeout.
  virtual void ping_caller(std::uint64_t connection, std::function<void(bool answers)> callback) = 0;

  /// Runs `action` on the I/O thread, soon or at a time. Dropped at destruction.
  virtual void post(std::function<void()> action) = 0;
  virtual void post_at(Clock::time_point when, std::function<void()> action) = 0;

  /// Time at which the last byte of a message to or from the peer moved on its present connection; the distant past if
  /// there is none. On the I/O thread.
  virtual Clock::time_point moved(PeerId peer) = 0;
};

/// ZeroMQ over TCP or ipc, and shared memory within a host. kSystem when it can't bind; kUnimplemented for a key where
/// libzmq was built without CURVE.
Result<std::unique_ptr<Endpoint>> make_zmq_endpoint(EndpointOptions options);
/// Makes an endpoint, as make_zmq_endpoint() does.
using EndpointFactory = std::function<Result<std::unique_ptr<Endpoint>>(EndpointOptions)>;

/// In-process twin for tests: endpoints that share a network find each other by their bind address; each still has a
/// thread.
class InprocNetwork {
 public:
  virtual ~InprocNetwork() = default;
  virtual Result<std::unique_ptr<Endpoint>> make_endpoint(EndpointOptions options) = 0;
  /// Fault injection. cut: from now on nothing passes to and from the endpoint at `address` (as a cut cable: peers see
  /// it silent after their heartbeat timeout; whole again before it is lost, nothing is lost). kill: it is gone (as
  /// SIGKILL: peers see it lost at once), and its address is free for a successor. An endpoint that is bound nowhere
  /// goes by its name here.
  virtual void cut(const std::string& address, bool is_cut) = 0;
  virtual void kill(const std::string& address) = 0;
};
std::unique_ptr<InprocNetwork> make_inproc_network();

}  // namespace tfd::transport
