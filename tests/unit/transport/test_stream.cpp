// SPDX-License-Identifier: Apache-2.0
//
// Streams between endpoints: their users, that nothing is lost or overtaken when one begins, and attempts of
// strangers.
#include <sys/socket.h>

#include <deque>
#include <optional>

#include "bed.hpp"
#include "frame.hpp"
#include "stream/stream_door.hpp"
#include "stream/stream_link.hpp"
#include "stream/stream_wire.hpp"
#include "tfd/process/local_socket.hpp"
#include "tfd/process/tcp_socket.hpp"

namespace tfd::transport {
namespace {

/// A wire, the messages that it has heard, and their senders.
struct Side final : Wire::Sink {
  Side(const std::string& bind, bool is_sealed)
      : poller(make_poller()),
        wire(std::make_unique<StreamWire>(ZmqWire::make({.bind = bind}, poller).value(), poller, is_sealed)) {}
  void on_message(LinkId from, std::span<const std::byte> bytes) override {
    link = from;
    heard.emplace_back(as_text(bytes.first(std::min<std::size_t>(bytes.size(), 20))));
  }
  Place place_piece(LinkId, std::size_t size) override {
    if (!room || room->size() != size) return {};
    return {std::as_writable_bytes(std::span(*room)), room};
  }
  void on_piece(LinkId from, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) override {
    if (keep) {
      CHECK(keep == room);
      CHECK(bytes.data() == as_bytes(*room).data());
      ++placed;
    }
    on_message(from, bytes);
  }
  void on_closed(LinkId from, const std::string& reason) override {
    link = from;
    closed = reason;
  }
  void on_refused(LinkId, const std::string& reason, bool) override { closed = reason; }
  void on_stands(LinkId) override {}

  std::shared_ptr<Poller> poller;
  std::unique_ptr<StreamWire> wire;
  LinkId link{};
  std::deque<std::string> heard;
  std::string closed;
  std::shared_ptr<std::string> room;  // where pieces of its size go
  int placed = 0;
};

struct Sides {
  explicit Sides(bool is_sealed) : server("127.0.0.1:0", is_sealed), client("", is_sealed) {
    client.link = client.wire->connect(server.wire->address());
    REQUIRE(client.wire->send(client.link, {.bytes = "hello"}));
    REQUIRE(until([&] { return !server.heard.empty(); }));
    server.heard.clear();
  }
  template <class Is>
  bool until(Is is) {
    for (const Deadline deadline = soon(); !is();) {
      if (deadline.expired()) return false;
      for (Side* side : {&server, &client}) {
        side->wire->receive(*side, 16);
        side->wire->wait(Clock::now() + 1ms);
      }
    }
    return true;
  }
  Side server, client;
};

Parcel large(char with) {
  const auto bytes = std::make_shared<std::string>(256 << 10, with);
  return {.keep = bytes, .piece = as_bytes(*bytes)};
}

/// A link that has received a half of a piece of 1 000 bytes, where the sink has said.
struct HalfPiece {
  HalfPiece() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    there = process::Fd(ends[1]);
    link.emplace(LinkId{1}, process::make_plain_stream(process::Fd(ends[0])));
    sink.room = std::make_shared<std::string>(1000, '-');
    put<std::uint32_t>(record, 1000 | std::uint32_t{1} << 31);
    record.append(1000, 'x');
    REQUIRE(::send(there.get(), record.data(), 500, MSG_NOSIGNAL) == 500);
    CHECK_FALSE(link->next(sink).value());
  }
  void send_rest() const {
    REQUIRE(::send(there.get(), record.data() + 500, record.size() - 500, MSG_NOSIGNAL) == 504);
  }

  process::Fd there;
  std::optional<StreamLink> link;
  Side sink{"", false};
  std::string record;
};

}  // namespace

TEST_CASE("stream: once a large message moves all goes by a stream, in the order in which it was sent") {
  bool is_sealed = false, asks = false;
  SUBCASE("plain, the side that asked sends it") { asks = true; }
  SUBCASE("plain, the other one") {}
  SUBCASE("encrypted, the side that asked sends it") { is_sealed = asks = true; }
  SUBCASE("encrypted, the other one") { is_sealed = true; }
  Sides sides(is_sealed);
  sides.client.wire->take_up(sides.client.link, sides.server.wire->offer(sides.server.link));
  CHECK(sides.until([&, round = 0]() mutable { return ++round > 5; }));
  CHECK(sides.client.wire->count() == 0);  // small messages need none
  Side& sender = asks ? sides.client : sides.server;
  REQUIRE(sender.wire->send(sender.link, large('x')));
  int sent = 0, after = 0;
  // Both send all the while.
  REQUIRE(sides.until([&] {
    for (Side* side : {&sides.server, &sides.client})
      REQUIRE(side->wire->send(side->link, {.bytes = std::to_string(sent)}));
    ++sent;
    return sides.client.wire->count() == 1 && sides.server.wire->count() == 1 && ++after > 20;
  }));
  REQUIRE(sender.wire->send(sender.link, large('y')));
  REQUIRE(sides.until([&] { return sides.server.heard.size() + sides.client.heard.size() == 2U * sent + 2U; }));
  for (Side* side : {&sides.server, &sides.client}) {
    CHECK(side->closed.empty());
    if (side != &sender) {
      CHECK(side->heard.front() == std::string(20, 'x'));
      side->heard.pop_front();
      CHECK(side->heard.back() == std::string(20, 'y'));
      side->heard.pop_back();
    }
    for (int i = 0; i < sent; ++i) CHECK(side->heard.at(static_cast<std::size_t>(i)) == std::to_string(i));
  }
}

TEST_CASE("stream: a piece is received where it goes, and that is kept until it is there") {
  bool is_sealed = false;
  SUBCASE("plain") {}
  SUBCASE("encrypted") { is_sealed = true; }
  Sides sides(is_sealed);
  sides.client.wire->take_up(sides.client.link, sides.server.wire->offer(sides.server.link));
  REQUIRE(sides.client.wire->send(sides.client.link, large('x')));
  REQUIRE(sides.until([&] { return sides.server.wire->count() == 1; }));
  for (const char with : {'y', 'z'})  // the first may still go the other way
    REQUIRE(sides.client.wire->send(sides.client.link, large(with)));
  REQUIRE(sides.until([&] { return sides.server.heard.size() == 3; }));
  sides.server.room = std::make_shared<std::string>(256 << 10, '-');
  REQUIRE(sides.client.wire->send(sides.client.link, large('a')));
  REQUIRE(sides.until([&] { return sides.server.placed == 1; }));
  CHECK(*sides.server.room == std::string(256 << 10, 'a'));
  CHECK(sides.server.room.use_count() == 1);  // it is let go of with the piece
}

TEST_CASE("stream: where a piece is being received stays, though nobody wants it any more") {
  HalfPiece half;
  const std::weak_ptr<std::string> room = half.sink.room;
  half.sink.room.reset();
  CHECK_FALSE(room.expired());
  half.send_rest();
  auto whole = half.link->next(half.sink).value();
  REQUIRE(whole);
  CHECK(as_text(whole->bytes) == std::string(1000, 'x'));
  CHECK(whole->keep == room.lock());
  whole.reset();
  CHECK(room.expired());
}

TEST_CASE("stream: a place is let go of while a piece is being received there, if nobody wants that any more") {
  HalfPiece half;
  CHECK(half.sink.room.use_count() == 2);
  half.link->let_go();
  CHECK(half.sink.room.use_count() == 1);
  half.send_rest();
  const auto whole = half.link->next(half.sink).value();  // the next record begins where it should
  REQUIRE(whole);
  CHECK(whole->bytes.size() == 1000);
  CHECK(as_text(whole->bytes.subspan(500)) == std::string(500, 'x'));
  CHECK(as_text(std::as_bytes(std::span(*half.sink.room))).substr(496) == std::string(504, '-'));
}

TEST_CASE("stream: who sends the other way after its last message there is cut off") {
  Sides sides(false);
  sides.client.wire->take_up(sides.client.link, sides.server.wire->offer(sides.server.link));
  REQUIRE(sides.client.wire->send(sides.client.link, large('x')));
  REQUIRE(sides.until([&] { return sides.server.wire->count() == 1 && sides.client.wire->count() == 1; }));
  REQUIRE(sides.client.wire->send(sides.client.link, {.bytes = "by the stream"}));
  REQUIRE(sides.until([&] { return !sides.server.heard.empty() && sides.server.heard.back() == "by the stream"; }));
  sides.client.wire->send_past_stream(sides.client.link, {.bytes = "by libzmq"});
  REQUIRE(sides.until([&] { return !sides.server.closed.empty(); }));
  CHECK(sides.server.closed == "a message came after the last one");
}

TEST_CASE("stream: where nobody gets through, all stays as it was") {
  Sides sides(false);
  StreamOffer offer = StreamOffer::decode(sides.server.wire->offer(sides.server.link)).value();
  SUBCASE("nobody listens") {
    process::TcpListener closed = process::listen_by_tcp("127.0.0.1").value();
    offer.port = static_cast<std::uint16_t>(std::stoi(closed.address.substr(closed.address.rfind(':') + 1)));
    closed.socket.reset();
  }
  SUBCASE("another token") { offer.token[0] ^= 1; }
  sides.client.wire->take_up(sides.client.link, offer.encode());
  for (std::size_t i = 1; i <= 50; ++i) {
    REQUIRE(sides.client.wire->send(sides.client.link, large('x')));
    REQUIRE(sides.server.wire->send(sides.server.link, large('y')));
    REQUIRE(sides.until([&] { return sides.server.heard.size() == i && sides.client.heard.size() == i; }));
  }
  CHECK(sides.server.wire->count() + sides.client.wire->count() == 0);
  CHECK(sides.server.closed + sides.client.closed == "");
}

TEST_CASE("stream: what was sent before the end arrives before it") {
  Sides sides(false);
  sides.client.wire->take_up(sides.client.link, sides.server.wire->offer(sides.server.link));
  REQUIRE(sides.client.wire->send(sides.client.link, large('x')));
  REQUIRE(sides.until([&] { return sides.server.wire->count() == 1 && sides.client.wire->count() == 1; }));
  REQUIRE(sides.until([&, round = 0]() mutable { return ++round > 20; }));
  sides.client.heard.clear();
  REQUIRE(sides.server.wire->send(sides.server.link, large('z')));
  REQUIRE(sides.server.wire->send(sides.server.link, {.bytes = "farewell"}));
  sides.server.wire->close();
  REQUIRE(sides.until([&] {
    sides.server.wire =
        std::make_unique<StreamWire>(ZmqWire::make({}, sides.server.poller).value(), sides.server.poller, false);
    return !sides.client.closed.empty();
  }));
  CHECK(sides.client.closed == kConnectionReset);
  REQUIRE(sides.client.heard.size() == 2);
  CHECK(sides.client.heard.back() == "farewell");
}

TEST_CASE("stream: endpoints move tensors of any size, with a key too") {
  EndpointOptions serving, asking;
  SUBCASE("without a key") {}
  SUBCASE("with one") { serving.key = asking.key = make_curve_key().value(); }
  serving.transport = asking.transport = Transport::kTcp;
  serving.name = "ps:0";
  serving.bind = "127.0.0.1:0";
  serving.handler = echo;
  asking.name = "coordinator";
  const auto server = std::move(*make_zmq_endpoint(std::move(serving)));
  const auto client = std::move(*make_zmq_endpoint(std::move(asking)));
  const PeerId peer = client->add_peer("ps:0", server->address());
  for (int round = 0; round < 5; ++round)
    for (const std::int64_t size : {0, 1, 5000, 70'000, 3'000'000}) {
      const tensor::Tensor value = ramp(size);
      const Result<Message> answer = client->call(peer, {1, "x", {value, value}}, soon());
      REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
      CHECK(tensor::same_bytes(answer->tensors.at(1), value));
    }
}

TEST_CASE("stream: an offer is what it was, and nothing else is one") {
  StreamOffer offer{.port = 4711, .token = std::string("0123456789abcde\0", 16)};
  SUBCASE("plain") {}
  SUBCASE("encrypted") { offer.secrets.emplace().of_asker[3] = std::byte{7}; }
  const std::string text = offer.encode();
  const StreamOffer read = StreamOffer::decode(text).value();
  CHECK(read.port == offer.port);
  CHECK(read.token == offer.token);
  REQUIRE(read.secrets.has_value() == offer.secrets.has_value());
  if (read.secrets) CHECK(read.secrets->of_asker == offer.secrets->of_asker);
  for (const std::string& other : {std::string(), text.substr(1), text + "x", text.substr(0, text.size() - 1)})
    CHECK(StreamOffer::decode(other).error().code == Code::kInvalidArgument);
}

TEST_CASE("stream: who enters needs the token, once, and may take its time") {
  const auto poller = make_poller();
  Counted wire;
  auto door = StreamDoor::open(*poller, wire, "127.0.0.1", false).value();
  const StreamOffer offer = StreamOffer::decode(door->offer(LinkId{7})).value();
  const auto enter = [&] {
    process::Fd socket = process::start_connecting_by_tcp(fmt::format("127.0.0.1:{}", offer.port)).value();
    pollfd stands{socket.get(), POLLOUT, 0};
    REQUIRE(::poll(&stands, 1, 10'000) == 1);
    return socket;
  };
  const auto say = [&](const process::Fd& socket, std::string_view text) {
    REQUIRE(::send(socket.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    const auto is_heard = [&](Duration within) {
      wire.told = 0;
      poller->wait(Clock::now() + within);
      return wire.told > 0;
    };
    REQUIRE(is_heard(10s));
    auto in = door->let_in().value();
    for (int i = 0; i < 100 && in.empty() && is_heard(20ms); ++i) in = door->let_in().value();
    return in;
  };
  const process::Fd silent = enter(), first = enter();
  CHECK(say(first, offer.token.substr(0, 5)).empty());
  SUBCASE("all of it") {
    const auto in = say(first, offer.token.substr(5));
    REQUIRE(in.size() == 1);
    CHECK(in.front()->id() == LinkId{7});
    const process::Fd second = enter();
    CHECK(say(second, offer.token).empty());
  }
  SUBCASE("another one") { CHECK(say(first, std::string(11, 'x')).empty()); }
  SUBCASE("it was withdrawn") {
    door->withdraw(LinkId{7});
    CHECK(say(first, offer.token.substr(5)).empty());
  }
  SUBCASE("there were too many after it") {
    for (std::uint64_t i = 8; i < 8 + StreamDoor::kMostOffers; ++i) door->offer(LinkId{i});
    CHECK(say(first, offer.token.substr(5)).empty());
  }
}

TEST_CASE("stream: records come whole, however they are cut, and false ones are errors") {
  process::LocalPair ends = process::make_local_pair().value();
  const process::Fd other = std::move(ends.other);
  Side sink("", false);
  StreamLink link(LinkId{1}, process::make_plain_stream(std::move(ends.one)));
  const auto write = [&](std::string_view text) {
    REQUIRE(::send(other.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  };
  std::string bytes;
  put<std::uint32_t>(bytes, 5);
  bytes += "abcde";
  put<std::uint32_t>(bytes, 0x80000003);
  bytes += "xyz";
  for (const char one : bytes.substr(0, bytes.size() - 1)) {
    write({&one, 1});
    if (const auto record = link.next(sink).value()) CHECK(as_text(record->bytes) == "abcde");
  }
  write("z");
  const auto piece = link.next(sink).value();
  REQUIRE(piece);
  CHECK(piece->is_piece);
  CHECK(as_text(piece->bytes) == "xyz");
  CHECK(!link.next(sink).value());
  std::string longer;
  put<std::uint32_t>(longer, kWireMessageBytes + 1);
  write(longer);
  CHECK(link.next(sink).error().code == Code::kInvalidArgument);
}

TEST_CASE("stream: what doesn't go at once is kept, and comes in order") {
  process::LocalPair ends = process::make_local_pair().value();
  StreamLink sender(LinkId{1}, process::make_plain_stream(std::move(ends.one)));
  Side sink("", false);
  StreamLink receiver(LinkId{2}, process::make_plain_stream(std::move(ends.other)));
  constexpr int kCount = 40;
  for (int i = 0; i < kCount; ++i) REQUIRE(sender.send(large(static_cast<char>('A' + i))).has_value());
  CHECK(sender.has_unsent());
  for (int i = 0; i < kCount;) {
    const auto record = receiver.next(sink).value();
    if (record) {
      CHECK(record->bytes.size() == 256 << 10);
      CHECK(record->bytes.back() == static_cast<std::byte>('A' + i++));
    } else {
      REQUIRE(sender.flush().has_value());
    }
  }
  CHECK(!sender.has_unsent());
}

}  // namespace tfd::transport
