#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How two processes that have greeted each other come to a stream of their own: the answering side's welcome offers a
// port, a secret token, and, under a key, two secrets that encrypt the stream, since the welcome is encrypted itself.
// The connecting side connects there and names the token. Thread rule: lives on the I/O thread; nothing blocks.
#include <array>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "stream/stream_link.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::transport {

/// The parts of an offer.
struct StreamOffer {
  static constexpr std::size_t kTokenBytes = 16, kSecretBytes = 32;
  using Secret = std::array<std::byte, kSecretBytes>;

  std::uint16_t port = 0;
  std::string token;
  struct Secrets {
    Secret of_asker, of_answerer;  // each encrypts what that side sends
  };
  std::optional<Secrets> secrets = {};

  std::string encode() const;
  /// kInvalidArgument: it is something else.
  static Result<StreamOffer> decode(std::string_view text);
  /// The stream over a connection on which the token was named.
  Result<std::unique_ptr<process::Stream>> make_stream(process::Fd socket, bool is_asker) const;
};

class StreamDoor {
 public:
  /// Listens beside the endpoint, at a port of its own; notifies `wire`, with 0, of pending connections.
  static Result<std::unique_ptr<StreamDoor>> open(Poller& poller, Poller::Watcher& wire, const std::string& host,
                                                  bool is_sealed);

  static constexpr std::size_t kMostOffers = 4096;

  /// The offer in the welcome on this link. Beyond kMostOffers the oldest is withdrawn: offers to killed processes stay
  /// among them.
  std::string offer(LinkId link);
  /// The link is gone.
  void withdraw(LinkId link);

  /// Connections that have named their token by now. kResourceExhausted: no descriptor is left to accept one.
  Result<std::vector<std::unique_ptr<StreamLink>>> let_in();

 private:
  struct Visitor {
    process::Fd socket;
    Clock::time_point until;
    std::string token = {};
  };
  StreamDoor(Poller& poller, Poller::Watcher& wire, process::Fd listener, std::uint16_t port, bool is_sealed)
      : poller_(poller), wire_(wire), listener_(std::move(listener)), port_(port), is_sealed_(is_sealed) {}
  Result<void> accept_all();
  /// Whether a connection is no longer pending: it is in, was turned away, or took too long.
  bool has_left(Visitor& visitor, std::vector<std::unique_ptr<StreamLink>>& in);

  Poller& poller_;
  Poller::Watcher& wire_;  // the owner
  process::Fd listener_;
  std::uint16_t port_;
  bool is_sealed_;
  std::list<Visitor> visitors_;  // connected, and haven't named a token; the oldest first
  std::unordered_map<std::string, std::pair<LinkId, StreamOffer>> offers_;  // by token
  std::map<LinkId, std::string> offered_;                                   // tokens; the oldest first
};

}  // namespace tfd::transport
