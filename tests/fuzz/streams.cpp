// SPDX-License-Identifier: Apache-2.0
//
// The other side's writes to a stream: records that are cut or too large, frames and pieces that don't fit
// together, bytes that nobody encrypted; and messages that are given up while a piece of them is being received.

#include <algorithm>
#include <memory>
#include <optional>

#include "checks.hpp"
#include "link.hpp"
#include "stream/stream_door.hpp"
#include "stream/stream_link.hpp"
#include "targets.hpp"
#include "tfd/process/local_socket.hpp"

namespace tfd::fuzz {
namespace {

using namespace transport;

constexpr std::uint64_t kMostBytes = 1 << 20;

/// Reads frames as Core does.
class Reader final : public Wire::Sink {
 public:
  bool is_bad() const { return is_bad_; }
  /// Gives up the message whose chunk is being received.
  void give_up() {
    if (awaited_) link_.drop_partial(*awaited_);
  }
  void on_message(LinkId, std::span<const std::byte> bytes) override {
    if (link_.awaits_chunk()) return take_chunk(bytes);
    while (!bytes.empty() && !is_bad_) {
      const auto frame = take_frame(bytes);
      if (!frame) return be_bad(frame.error());
      const FrameType type = frame->header.type;
      if (type == FrameType::kRequest) {
        if (const auto arrived = link_.on_head(*frame); !arrived) be_bad(arrived.error());
      } else if (type == FrameType::kChunk && (frame->header.flags & kLent) == 0) {
        link_.await_chunk(frame->header);
        awaited_ = frame->header.id;
      }
    }
  }
  Place place_piece(LinkId, std::size_t size) override {
    if (is_bad_ || !link_.awaits_chunk()) return {};
    const Place place = link_.place_chunk(size);
    expect(!place.keep || place.bytes.size() == size, "a place is as large as its piece");
    return place;
  }
  void on_piece(LinkId, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) override {
    if (!link_.awaits_chunk()) is_bad_ = true;
    if (!is_bad_) take_chunk(bytes);
    keep.reset();
  }
  void on_closed(LinkId, const std::string&) override {}
  void on_refused(LinkId, const std::string&, bool) override {}
  void on_stands(LinkId) override {}

 private:
  void take_chunk(std::span<const std::byte> bytes) {
    awaited_.reset();
    const auto arrived = link_.on_chunk(bytes);
    if (!arrived) be_bad(arrived.error());
  }
  void be_bad(const Error& error) {
    expect_readable(error);
    is_bad_ = true;
  }

  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(kMostBytes);
  Link link_{LinkId{1}, {kMostBytes, 2 * kMostBytes}, *pool_};
  std::optional<std::uint64_t> awaited_;
  bool is_bad_ = false;
};

/// Reads the available bytes. False: it is over.
bool read(StreamLink& link, Reader& reader) {
  for (;;) {
    auto record = link.next(reader);
    if (!record) {
      expect_readable(record.error());
      return false;
    }
    if (!*record) return true;
    expect((*record)->bytes.size() <= kWireMessageBytes, "no record is larger than a message of the wire");
    if ((*record)->is_piece)
      reader.on_piece(link.id(), (*record)->bytes, std::move((*record)->keep));
    else
      reader.on_message(link.id(), (*record)->bytes);
    if (reader.is_bad()) return false;
  }
}

}  // namespace

// The first byte: 1: under a key, 2: the bytes aren't encrypted, 4: messages are given up at every turn. The second:
// how many bytes come at a time, in sixteens.
void streams(std::string_view bytes) {
  if (const auto offer = StreamOffer::decode(bytes))
    expect(offer->encode() == bytes, "an offer is read as it is written");
  if (bytes.size() < 2) return;
  const int options = bytes[0];
  const std::size_t portion = 16 * (1 + static_cast<std::size_t>(static_cast<unsigned char>(bytes[1])));
  bytes.remove_prefix(2);
  Result<process::LocalPair> ends = process::make_local_pair();
  if (!ends) return;
  StreamOffer offer{.port = 1, .token = std::string(StreamOffer::kTokenBytes, 't')};
  if ((options & 1) != 0 && process::can_seal()) offer.secrets.emplace();
  auto stream = offer.make_stream(std::move(ends->one), false);
  if ((options & 2) != 0) offer.secrets.reset();
  const auto other = offer.make_stream(std::move(ends->other), true);
  expect(stream && other, "streams can be made");
  StreamLink link(LinkId{1}, std::move(*stream));
  Reader reader;
  while (!bytes.empty()) {
    const auto sent = (*other)->send({}, as_bytes(bytes.substr(0, portion)));
    if (!sent) return;
    bytes.remove_prefix(*sent);
    if (!read(link, reader)) return;
    if ((options & 4) != 0) reader.give_up();
  }
}

}  // namespace tfd::fuzz
