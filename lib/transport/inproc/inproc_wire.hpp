#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Links within the process, and the network that they are in. Thread rule: InprocNet is thread-safe; InprocWire: see
// Wire.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "wire.hpp"

namespace tfd::transport {

/// The endpoints by address, and events in transit between them. One lock suffices: this is for tests.
class InprocNet {
 public:
  using NodeId = std::uint64_t;
  struct Event {
    LinkId link{};
    Parcel parcel;
    std::optional<std::string> closed;
  };

  /// `address` may be empty; a port 0 is given a number. kSystem if the address is taken.
  Result<NodeId> add(const std::string& address, const std::string& name, std::shared_ptr<Waker> waker);
  std::string address_of(NodeId node) const;
  void remove(NodeId node);
  LinkId connect(NodeId node, const std::string& address);
  void disconnect(NodeId node, LinkId link);
  bool send(NodeId node, LinkId link, Parcel parcel);
  std::optional<Event> take(NodeId node);
  bool has_events(NodeId node) const;
  void cut(const std::string& address, bool is_cut);
  void kill(const std::string& address);

 private:
  struct Node {
    std::string address;
    std::string name;
    std::shared_ptr<Waker> waker;  // the endpoint's: woken from other endpoints' threads
    std::deque<Event> inbox;
    bool is_cut = false;
    bool is_dead = false;
  };
  struct Wired {
    NodeId asker = 0, server = 0;  // server 0: the address is cut, so connecting hangs
    bool asker_open = true, server_open = false;
    std::deque<std::pair<bool, Event>> held;  // while it is cut: (to the server, what)
  };
  Node* find_node(NodeId node) TFD_REQUIRES(mutex_);
  const Node* find_node(NodeId node) const TFD_REQUIRES(mutex_);
  bool is_cut(const Wired& wired) const TFD_REQUIRES(mutex_);
  void deliver(NodeId to, Event event) TFD_REQUIRES(mutex_);
  void close_side(LinkId link, Wired& wired, bool to_server, const std::string& reason) TFD_REQUIRES(mutex_);
  void drop_links_of(NodeId node, const std::string& reason) TFD_REQUIRES(mutex_);
  void take_up(Wired& wired) TFD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<NodeId, Node> nodes_ TFD_GUARDED_BY(mutex_);
  std::map<std::string, NodeId> bound_ TFD_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Wired> links_ TFD_GUARDED_BY(mutex_);  // by LinkId without kAcceptedBit
  std::uint64_t next_ TFD_GUARDED_BY(mutex_) = 1;
  std::uint32_t next_port_ TFD_GUARDED_BY(mutex_) = 40000;
};

class InprocWire final : public Wire {
 public:
  InprocWire(std::shared_ptr<InprocNet> net, InprocNet::NodeId node, std::shared_ptr<Poller> poller)
      : net_(std::move(net)), node_(node), poller_(std::move(poller)), address_(net_->address_of(node)) {}
  ~InprocWire() override { close(); }
  std::string address() const override { return address_; }
  LinkId connect(const std::string& address) override { return net_->connect(node_, address); }
  void disconnect(LinkId link) override { net_->disconnect(node_, link); }
  bool send(LinkId link, Parcel parcel) override { return net_->send(node_, link, std::move(parcel)); }
  bool receive(Sink& sink, int most) override;
  void wait(Clock::time_point until) override;
  void close() override { net_->remove(node_); }

 private:
  std::shared_ptr<InprocNet> net_;  // with the network's owner and other endpoints
  InprocNet::NodeId node_;
  std::shared_ptr<Poller> poller_;
  std::string address_;
};

}  // namespace tfd::transport
