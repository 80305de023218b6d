#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How two processes of one host and one user come to share rings. The connecting side offers it in its hello: the name
// of a Unix socket, and a secret token. The answering side connects there, names the token and hands over memory; a
// process on another host, in another network namespace, or of another user answers over the network as before. So the
// hello's connection has proven the cluster's key already. Thread rule: lives on the I/O thread; nothing blocks.
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "ring/ring_link.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::transport {

class RingDoor {
 public:
  /// `wire` is told, with 0, that somebody is at the door.
  static Result<std::unique_ptr<RingDoor>> open(Poller& poller, Poller::Watcher& wire);

  /// The offer in the hello on this link.
  std::string offer(LinkId link);
  /// Its answer came another way, or the link is gone. False: nothing was offered, or it was taken up.
  bool withdraw(LinkId link);
  bool has_offers() const { return !tokens_.empty(); }
  std::size_t offers() const { return tokens_.size(); }

  /// Links whose offer was taken up by now. kResourceExhausted, once there are none: no descriptor or memory is left to
  /// let anybody else in.
  Result<std::vector<std::unique_ptr<RingLink>>> let_in();
  /// Links whose offer is open.
  std::vector<LinkId> waiting() const;

  /// Takes up an offer: the other side. Any error means that it can't.
  static Result<std::unique_ptr<RingLink>> enter(std::string_view offer, LinkId link);

 private:
  struct Visitor {
    process::Fd socket;
    Clock::time_point until;
  };
  RingDoor(Poller& poller, Poller::Watcher& wire, std::string name, process::Fd listener)
      : poller_(poller), wire_(wire), name_(std::move(name)), listener_(std::move(listener)) {}
  /// False: nobody waits to be accepted. Else the last visitor is a new one.
  Result<bool> accept_one();
  /// Reads from a pending connection. kUnavailable: nothing yet.
  Result<std::unique_ptr<RingLink>> admit(Visitor& visitor);
  /// Whether a connection is no longer pending: it is in, was turned away, or took too long.
  bool has_left(Visitor& visitor, std::vector<std::unique_ptr<RingLink>>& in);

  Poller& poller_;
  Poller::Watcher& wire_;  // the owner
  std::string name_;
  process::Fd listener_;
  bool is_full_ = false;                             // no descriptor or memory was left for somebody
  std::list<Visitor> visitors_;                      // connected, and haven't named a token; the oldest first
  std::unordered_map<std::string, LinkId> tokens_;   // of open offers
  std::unordered_map<LinkId, std::string> offered_;  // the same by link
};

}  // namespace tfd::transport
