#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Connections between hosts that move large tensors: once they do, everything goes over a TCP socket of their own
// instead of libzmq's, encrypted by AES-256-GCM where there is a key. A link begins with libzmq, which brings it up and
// tells the end of a process. The side that asked connects to the port that the welcome names; until both have, or
// where nobody gets through, all stays as it was. Thread rule: see Wire.
//
// Order: each side says by an empty message, its last one through libzmq, that the others come by the stream, the one
// that answered first; what comes by the stream is read after that.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "stream/stream_door.hpp"
#include "stream/stream_link.hpp"
#include "wire.hpp"
#include "zmq/zmq_wire.hpp"

namespace tfd::transport {

class StreamWire final : public Wire, private Wire::Sink, private Poller::Watcher {
 public:
  /// `is_sealed`: the endpoint has a key.
  StreamWire(std::unique_ptr<ZmqWire> beyond, std::shared_ptr<Poller> poller, bool is_sealed);

  std::string address() const override { return beyond_->address(); }
  LinkId connect(const std::string& address) override { return beyond_->connect(address); }
  bool is_of_this_host(LinkId link) override { return beyond_->is_of_this_host(link); }
  void disconnect(LinkId link) override;
  bool send(LinkId link, Parcel parcel) override;
  void forget(LinkId link) override;
  void has_greeted(LinkId link) override { beyond_->has_greeted(link); }
  std::string offer(LinkId link) override;
  void take_up(LinkId link, std::string_view offer) override;
  bool receive(Wire::Sink& sink, int most) override;
  void wait(Clock::time_point until) override;
  void close() override;

  /// Links that have a stream, for tests.
  std::size_t count() const { return lines_.size(); }
  /// Sends as no peer does that keeps to the protocol, for tests.
  void send_past_stream(LinkId link, Parcel parcel) { beyond_->send(link, std::move(parcel)); }

 private:
  struct Line {
    std::unique_ptr<StreamLink> link;
    bool sends = false;   // by the stream
    bool reads = false;   // by the stream
    bool is_hot = false;  // among hot_
    bool is_broken = false;
    bool is_gone = false;  // dropped, perhaps while one of its messages is being handled
    std::uint32_t watched = 0;
    std::optional<Clock::time_point> ends_at = {};  // libzmq's connection has ended: messages sent before still come
    std::string reason = {};
  };
  using LinePtr = std::shared_ptr<Line>;  // with a loop over them
  struct Attempt {
    process::Fd socket;
    StreamOffer offer;
  };

  LinePtr find(LinkId link) const;
  void drop(LinkId link);
  LinePtr add(std::unique_ptr<StreamLink> link);
  void heat(const LinePtr& line);
  /// Has this side's messages go by the stream from now on.
  void begin_sending(Line& line);
  /// A large message is on its way: takes up the offer, if there is one.
  void connect_stream(LinkId link);
  void on_connected(LinkId link);
  /// A stream can be read or written, a connection stands, or somebody is at the door.
  void on_ready(std::uint64_t whose, std::uint32_t events) override;
  void let_in();
  /// Has the poller wait for everything that the line waits for.
  void watch(Line& line);
  void on_broken(Line& line);
  /// Hands over at most `most` messages of a stream. True: there may be more.
  bool receive_from(Line& line, int most);
  /// Sends kept messages and hands over received ones. True: there may be more.
  bool move(Line& line, int most);
  void end(Line& line, const std::string& reason);

  // Events of libzmq.
  void on_message(LinkId link, std::span<const std::byte> bytes) override;
  Place place_piece(LinkId link, std::size_t size) override { return sink_->place_piece(link, size); }
  void on_piece(LinkId link, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) override {
    sink_->on_piece(link, bytes, std::move(keep));
  }
  void on_closed(LinkId link, const std::string& reason) override;
  void on_refused(LinkId link, const std::string& reason, bool certain) override;
  void on_stands(LinkId link) override { sink_->on_stands(link); }

  std::unique_ptr<ZmqWire> beyond_;
  std::shared_ptr<Poller> poller_;  // with `beyond`
  bool is_sealed_;
  std::unique_ptr<StreamDoor> door_;  // once something was offered
  bool at_the_door_ = false;          // somebody is
  bool offers_ = true;                // false: it can't be, or no descriptors are left for it
  std::size_t most_lines_;
  std::unordered_map<LinkId, LinePtr> lines_;
  std::vector<LinePtr> hot_;                         // that may have something to read, or are to end
  std::unordered_map<LinkId, StreamOffer> offered_;  // to this side, and not taken up
  std::unordered_map<LinkId, Attempt> attempts_;
  Wire::Sink* sink_ = nullptr;  // of the receive() that runs
};

}  // namespace tfd::transport
