#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Moves bytes between endpoints over connections (links), which carry messages in order until they are closed. zmq/,
// ring/ and inproc/ are the kinds; the protocol above is the same (core.hpp). A link is one connection: it never comes
// back, and its messages never reach any process but the one at its other end. Thread rule: lives on the I/O
// thread of its endpoint; only made on another.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "buffer_pool.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::transport {

/// Never reused. Bit 63 marks links that the other side began.
enum class LinkId : std::uint64_t { kNone = 0 };
inline constexpr std::uint64_t kAcceptedBit = std::uint64_t{1} << 63;
inline bool is_accepted(LinkId link) { return (static_cast<std::uint64_t>(link) & kAcceptedBit) != 0; }

/// True if the reason why a link couldn't be established means that whoever answers for the address says that nobody
/// listens there. Only this host's own kernel knows that: of another host a firewall, or a router, may say so.
inline bool is_nobody_there(std::string_view reason) {
  return reason == "connection refused" || reason == "no such file or directory";
}

/// One message of the wire on its way out: bytes, or a piece of a buffer that `keep` holds.
struct Parcel {
  std::string bytes;
  std::shared_ptr<const void> keep;
  std::span<const std::byte> piece;

  std::span<const std::byte> content() const { return keep ? piece : std::as_bytes(std::span(bytes)); }
};

/// Bytes that the other side of a link reads where they lie.
struct Loan {
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;
};

class Wire {
 public:
  class Sink {
   public:
    virtual void on_message(LinkId link, std::span<const std::byte> bytes) = 0;
    /// Where the next piece, of this size, could be received instead of being copied there.
    virtual Place place_piece(LinkId link, std::size_t size) = 0;
    /// A piece of a buffer. With `keep` it was received where place_piece() had said. It may lie in memory which the
    /// other process can change: it is copied, and not looked at before.
    virtual void on_piece(LinkId link, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) = 0;
    virtual void on_closed(LinkId link, const std::string& reason) = 0;
    /// The link was closed because one side has no key, or the keys differ. Not `certain`: the peer may have died just
    /// then.
    virtual void on_refused(LinkId link, const std::string& reason, bool certain) = 0;
    /// The connection was accepted; whether the peer speaks our protocol shows later.
    virtual void on_stands(LinkId link) = 0;

   protected:
    ~Sink() = default;
  };

  virtual ~Wire() = default;
  virtual std::string address() const = 0;
  /// Starts connecting. Parcels sent before the link is up are queued; messages or on_closed() follow.
  virtual LinkId connect(const std::string& address) = 0;
  /// True if the address of a link that this side began is this host's: a refusal proves that the process has ended.
  virtual bool is_of_this_host(LinkId /*link*/) { return true; }
  /// Drops a link and its queued messages, without on_closed().
  virtual void disconnect(LinkId link) = 0;
  /// The other side of an accepted link is gone, or says that it goes: it no longer takes up an offer.
  virtual void forget(LinkId /*link*/) {}
  /// False if the link is gone.
  virtual bool send(LinkId link, Parcel parcel) = 0;
  /// Called after the last one of several parcels: until then the other side needn't be woken.
  virtual void flush(LinkId /*link*/) {}
  /// Lends bytes instead of sending them: `keep` stays until the other side lets go of them. nullopt: it can't.
  virtual std::optional<Loan> lend(LinkId, const std::shared_ptr<const tensor::Storage>& /*keep*/,
                                   std::span<const std::byte> /*bytes*/) {
    return std::nullopt;
  }
  /// Memory that the other side lends, which is only read. kInvalidArgument: there is none.
  virtual Result<std::shared_ptr<tensor::Storage>> borrow(LinkId, const Loan&, std::size_t /*bytes*/) {
    return fail(Code::kInvalidArgument, "something is lent where nothing can be");
  }
  /// The offer in the greeting on this link, so that messages go another way; empty: none.
  virtual std::string offer(LinkId) { return {}; }
  /// Takes up the offer of the other side's greeting, if it can: messages go that way from now on, or soon.
  virtual void take_up(LinkId, std::string_view /*offer*/) {}
  /// Called while a valid greeting on this accepted link is being delivered: a link without one is closed soon.
  virtual void has_greeted(LinkId) {}
  /// Delivers at most `most` messages; returns whether there may be more.
  virtual bool receive(Sink& sink, int most) = 0;
  /// Waits for an event, the waker, or `until`. Call Waker::prepare_to_sleep() first.
  virtual void wait(Clock::time_point until) = 0;
  /// Closes the wire; parcels already sent still leave, if that takes only a moment.
  virtual void close() = 0;
};

}  // namespace tfd::transport
