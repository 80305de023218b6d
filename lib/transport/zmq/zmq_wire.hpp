#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Links over libzmq: a ROUTER that listens, with the gate in front of it if there is a key, a ROUTER that connects to
// many peers, its monitor. Thread rule: see Wire.
//
// libzmq reconnects by itself, but keeps queued messages and gives them to whoever answers next. So it never reconnects
// here: every connection is a zmq_connect() of its own with a routing id of its own, and is dropped with all that was
// queued for it.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "tfd/base/error.hpp"
#include "tfd/transport/curve_key.hpp"
#include "wire.hpp"
#include "zmq/callers.hpp"
#include "zmq/greeting.hpp"
#include "zmq/probe.hpp"
#include "zmq/resolver.hpp"

namespace tfd::transport {

struct ZmqOptions {
  std::string bind;
  int listen_fd = -1;
  std::optional<CurveKey> key = {};
  std::function<void()> on_turned_away = {};
  Log log = {};
};

class ZmqWire final : public Wire, private Poller::Watcher {
 public:
  /// Makes the wire. kSystem (or another code of fail_errno()) when it can't bind; kInvalidArgument for a malformed
  /// address.
  static Result<std::unique_ptr<ZmqWire>> make(const ZmqOptions& options, std::shared_ptr<Poller> poller);
  ~ZmqWire() override { close(); }

  std::string address() const override { return address_; }
  LinkId connect(const std::string& address) override;
  bool is_of_this_host(LinkId link) override;
  void disconnect(LinkId link) override;
  bool send(LinkId link, Parcel parcel) override;
  void has_greeted(LinkId link) override;
  bool receive(Sink& sink, int most) override;
  void wait(Clock::time_point until) override;
  void close() override;
  /// The numeric host that a link of ours connects to, over TCP; empty: none, or not yet.
  std::string host_of(LinkId link) const;

 private:
  // Reason why a handshake failed (before both sides know each other).
  enum class Failure { kNone, kUnknown, kMechanism, kKey };
  struct Connection {
    std::string address;       // as given to connect()
    std::string numeric;       // without names of hosts
    std::string endpoint;      // as given to zmq_connect(); empty while its host's name is looked up
    std::vector<Parcel> held;  // sent meanwhile
    bool failed = false;       // before it began
    bool stands = false;       // TCP is connected; the process behind it may be silent
    Failure failure = Failure::kNone;
  };
  struct Event {
    std::uint16_t kind = 0;
    std::uint32_t value = 0;
    std::string endpoint;
  };
  // Every check of an idle libzmq socket is a system call. A drained socket has nothing until its descriptor signals
  // (`ready`), unless it was used to send or connect since (`touched`), which may consume the signal.
  struct Socket {
    void* handle = nullptr;
    bool ready = true;
    bool touched = false;
  };
  ZmqWire(ZmqOptions options, std::shared_ptr<Poller> poller)
      : options_(std::move(options)),
        poller_(std::move(poller)),
        callers_(options_.log),
        probes_(*poller_),
        greetings_(*poller_),
        resolver_(poller_->waker()) {}
  Result<void> open();
  Result<void> listen();
  Result<void*> make_router() const;
  Result<void> monitor(Socket& socket, const char* name, int events, Socket& monitor);
  bool receive_from(Socket& socket, bool accepted, Sink& sink, int most);
  void answer_at_the_gate();
  static std::vector<Event> read_events(Socket& monitor);
  void on_event(Sink& sink, const Event& event);
  void on_callers();
  void on_caller(const Event& event);
  void on_failed_handshake(const Event& event) const;
  static Failure failure_of(const Event& event);
  void on_hang_up(Sink& sink, LinkId link, const std::string& address, Failure failure);
  Result<void> watch(Socket& socket);
  /// A ready socket may have messages that nothing signals again.
  void on_ready(std::uint64_t which, std::uint32_t events) override;
  static bool has_events(void* socket);
  void look_at_touched();
  void begin(LinkId link, Connection& connection);
  void on_resolved(Resolver::Answer answer);
  std::string unique_endpoint(const std::string& address);

  ZmqOptions options_;
  std::shared_ptr<Poller> poller_;  // with those that are built on this
  std::string address_;
  void* context_ = nullptr;
  Socket listener_;
  Socket gate_;
  Socket asker_;
  Socket monitor_;  // of the asker
  Socket door_;     // the monitor of the listener
  std::vector<Socket*> watched_;
  int turns_ = 0;  // of receive() since it waited
  Callers callers_;
  void* received_ = nullptr;  // the message that is being handed over
  Probes probes_;
  Greetings greetings_;
  Resolver resolver_;
  std::unordered_map<std::string, std::size_t> tries_;  // of a host with several addresses, one after the other
  std::unordered_map<std::string, bool> own_hosts_;     // whether an address is this host's
  Clock::time_point own_since_{};
  std::uint64_t next_link_ = 1;
  std::unordered_map<LinkId, Connection> connections_;
  std::unordered_map<std::string, LinkId> by_endpoint_;
  std::vector<Event> events_;                           // read from the monitor, not yet handled
  std::vector<std::pair<LinkId, std::string>> failed_;  // could not even begin: reported by the next receive()
};

}  // namespace tfd::transport
