// SPDX-License-Identifier: Apache-2.0
//
// Shared memory between endpoints: its users, that it is used, and attempts of a hostile other side.
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <fstream>
#include <functional>
#include <set>

#include "frame.hpp"
#include "processes.hpp"
#include "ring/ring_door.hpp"
#include "ring/ring_link.hpp"
#include "ring/ring_wire.hpp"
#include "tfd/process/local_socket.hpp"
#include "zmq/zmq_wire.hpp"

namespace tfd::transport {
namespace {

using process::SharedRings;

/// How many rings this process maps: twice as many as connections, where both ends are its own.
int mapped_rings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:tfd-ring") != std::string::npos && line.find(" 00000000 ") != std::string::npos) ++count;
  return count;
}

struct Pair {
  std::unique_ptr<Endpoint> server, client;
  PeerId peer{};
  explicit Pair(EndpointOptions serving, EndpointOptions asking) {
    serving.name = "ps:0";
    serving.bind = "127.0.0.1:0";
    serving.handler = echo;
    asking.name = "coordinator";
    server = std::move(*make_zmq_endpoint(std::move(serving)));
    client = std::move(*make_zmq_endpoint(std::move(asking)));
    peer = client->add_peer("ps:0", server->address());
  }
};

EndpointOptions options_with(Transport transport, const Key& key = {}) {
  EndpointOptions options;
  options.transport = transport;
  options.key = key;
  return options;
}

/// A link, and the other side of its memory in the hands of the test.
struct Hostile {
  Hostile() {
    process::LocalPair ends = process::make_local_pair().value();
    const process::Fd memory = SharedRings::make_memory(RingLink::kRingBytes).value();
    link =
        std::make_unique<RingLink>(LinkId{1}, std::move(ends.one),
                                   SharedRings::map(memory, RingLink::kRingBytes, SharedRings::Side::kTaker).value());
    bell = std::move(ends.other);
    rings = std::make_unique<SharedRings>(
        SharedRings::map(memory, RingLink::kRingBytes, SharedRings::Side::kMaker).value());
  }
  void write(std::string_view bytes) {
    std::memcpy(rings->room().value().data(), bytes.data(), bytes.size());
    rings->publish(bytes.size());
  }
  std::unique_ptr<RingLink> link;
  process::Fd bell;
  std::unique_ptr<SharedRings> rings;
};

/// A wire's events.
struct Heard final : Wire::Sink {
  std::vector<std::pair<LinkId, std::string>> messages;
  std::set<LinkId> closed;
  void on_message(LinkId link, std::span<const std::byte> bytes) override {
    messages.emplace_back(link, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  Place place_piece(LinkId, std::size_t) override { return {}; }
  void on_piece(LinkId, std::span<const std::byte>, std::shared_ptr<const void>) override {}
  void on_closed(LinkId link, const std::string&) override { closed.insert(link); }
  void on_refused(LinkId, const std::string&, bool) override {}
  void on_stands(LinkId) override {}
};

std::unique_ptr<RingWire> ring_wire(const std::string& bind) {
  auto poller = make_poller();
  auto network = ZmqWire::make({.bind = bind}, poller).value();
  return std::make_unique<RingWire>(std::move(network), poller, false);
}

/// Receives until `is_done`, or for a while.
void receive_until(RingWire& wire, Heard& heard, const std::function<bool()>& is_done) {
  for (const Deadline deadline = soon(); !is_done() && !deadline.expired();) {
    wire.wait(Clock::now() + 1ms);
    wire.receive(heard, 8);
  }
}

std::string record(std::uint32_t head, std::string_view bytes, std::size_t padding = 0) {
  std::string out;
  put<std::uint32_t>(out, head);
  return out.append(bytes).append(padding, '\0');
}

}  // namespace

TEST_CASE("ring: two processes of a host share memory, with a key too, and tensors of any size arrive whole") {
  Key key;
  SUBCASE("without a key") {}
  SUBCASE("with one") { key = make_curve_key().value(); }
  const Pair both(options_with(Transport::kAuto, key), options_with(Transport::kAuto, key));
  for (const std::int64_t size : {0, 1, 5000, 70'000, 1'000'000}) {
    const tensor::Tensor value = ramp(size);
    const Result<Message> answer = both.client->call(both.peer, {1, "x", {value, value}}, soon());
    REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
    CHECK(tensor::same_bytes(answer->tensors.at(1), value));
  }
  CHECK(mapped_rings() == 2);
}

TEST_CASE("ring: where one side says tcp all goes over the network, and who says ring refuses that") {
  const auto tcp = options_with(Transport::kTcp), any = options_with(Transport::kAuto);
  SUBCASE("the server") {
    const Pair both(tcp, any);
    CHECK(both.client->call(both.peer, text_message("x"), soon())->meta == "x");
    CHECK(mapped_rings() == 0);
  }
  SUBCASE("the client") {
    const Pair both(any, tcp);
    CHECK(both.client->call(both.peer, text_message("x"), soon())->meta == "x");
    CHECK(mapped_rings() == 0);
  }
  SUBCASE("who says ring") {
    const Pair both(tcp, options_with(Transport::kRing));
    const Result<Message> answer = both.client->call(both.peer, text_message("x"), soon());
    CHECK(answer.error().code == Code::kPermissionDenied);
    CHECK(answer.error().message == "ps:0 isn't on this host, or is another user's, and TFD_TRANSPORT says ring");
  }
}

TEST_CASE("ring: what comes over the network is received by who is too busy with rings to wait, too") {
  const auto busy = ring_wire("127.0.0.1:0"), other = ring_wire("");
  Heard heard, nothing;
  while (busy->receive(heard, 1)) {
  }
  const LinkId link = other->connect(busy->address());
  for (std::size_t sent = 1; sent <= 3; ++sent) {
    REQUIRE(other->send(link, {.bytes = "a message"}));
    for (const Deadline deadline = soon(); heard.messages.size() < sent && !deadline.expired();
         busy->receive(heard, 1)) {
      other->wait(Clock::now() + 1ms);
      other->receive(nothing, 1);
    }
    REQUIRE(heard.messages.size() == sent);
  }
}

TEST_CASE("ring: a hundred processes that end at once are told of, each") {
  constexpr std::size_t kClients = 100;  // more than are looked at in one go
  const auto server = ring_wire("127.0.0.1:0");
  std::vector<std::unique_ptr<RingWire>> clients;
  std::set<LinkId> links;
  for (std::size_t i = 0; i < kClients; ++i) {
    RingWire& client = *clients.emplace_back(ring_wire(""));
    const LinkId to_server = client.connect(server->address());
    REQUIRE(client.send(to_server, {.bytes = client.offer(to_server)}));
    Heard offer, answer;
    receive_until(*server, offer, [&] { return !offer.messages.empty(); });
    REQUIRE(offer.messages.size() == 1);
    const auto& [link, door] = offer.messages.front();
    server->take_up(link, door);
    REQUIRE(server->send(link, {.bytes = "by the ring"}));
    server->flush(link);
    receive_until(client, answer, [&] { return !answer.messages.empty(); });
    REQUIRE(answer.messages.size() == 1);
    CHECK(answer.messages.front().second == "by the ring");
    links.insert(link);
  }
  CHECK(mapped_rings() == 2 * static_cast<int>(kClients));
  clients.clear();
  Heard heard;
  receive_until(*server, heard, [&] { return heard.closed.size() == kClients; });
  CHECK(heard.closed == links);
}

TEST_CASE("ring: what a transport is called") {
  CHECK(parse_transport("") == Transport::kAuto);
  CHECK(parse_transport("auto") == Transport::kAuto);
  CHECK(parse_transport("tcp") == Transport::kTcp);
  CHECK(parse_transport("ring") == Transport::kRing);
  CHECK(parse_transport("shm").error().message == "'shm' is no transport: auto, tcp and ring are");
}

TEST_CASE("ring: who enters needs the token, and hands over memory as it has to be") {
  const auto poller = make_poller();
  Counted wire;
  auto door = RingDoor::open(*poller, wire).value();
  const std::string offer = door->offer(LinkId{7});
  const std::string name = "tfd-ring-" + offer.substr(0, 32), token = offer.substr(32);
  const auto enter_with = [&](std::string_view said, int descriptor) {
    const process::Fd socket = process::connect_locally(name).value();
    REQUIRE(process::send_with_descriptor(socket.get(), as_bytes(said), descriptor).has_value());
    return door->let_in().value().size();
  };
  const process::Fd memory = SharedRings::make_memory(RingLink::kRingBytes).value();
  SUBCASE("all is as it has to be") {
    CHECK(enter_with(token, memory.get()) == 1);
    CHECK(!door->has_offers());
    CHECK(enter_with(token, memory.get()) == 0);  // once
  }
  SUBCASE("another token") { CHECK(enter_with(std::string(32, '0'), memory.get()) == 0); }
  SUBCASE("a part of it") { CHECK(enter_with(token.substr(1), memory.get()) == 0); }
  SUBCASE("something else than memory") { CHECK(enter_with(token, poller->waker()->fd()) == 0); }
  SUBCASE("memory that could be cut off") {
    const process::Fd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(loose.get(), ::lseek(memory.get(), 0, SEEK_END)) == 0);
    CHECK(enter_with(token, loose.get()) == 0);
  }
  SUBCASE("sealed memory of another size") {
    CHECK(enter_with(token, SharedRings::make_memory(2 * RingLink::kRingBytes).value().get()) == 0);
  }
  SUBCASE("an offer that was withdrawn") {
    CHECK(door->withdraw(LinkId{7}));
    CHECK(enter_with(token, memory.get()) == 0);
  }
  SUBCASE("who says nothing and goes") {
    process::connect_locally(name).value().reset();
    CHECK(door->let_in().value().empty());
    wire.told = 0;
    poller->wait(Clock::time_point{});
    CHECK(wire.told == 0);
  }
}

TEST_CASE("ring: where no memory is left to share, who waits behind the door is told") {
  const auto poller = make_poller();
  Counted wire;
  auto door = RingDoor::open(*poller, wire).value();
  const auto entered = RingDoor::enter(door->offer(LinkId{7}), LinkId{1});
  REQUIRE(entered.has_value());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  sizes >> pages;
  const rlimit little{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + RingLink::kRingBytes, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &little) == 0);
  const auto in = door->let_in();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE(!in.has_value());
  CHECK(in.error().code == Code::kResourceExhausted);
  CHECK(door->waiting() == std::vector{LinkId{7}});
}

TEST_CASE("ring: all who come at once are let in, and those who say nothing don't keep them out") {
  const auto poller = make_poller();
  Counted wire;
  auto door = RingDoor::open(*poller, wire).value();
  std::vector<process::Fd> silent;
  std::vector<std::unique_ptr<RingLink>> entered;
  for (int i = 1; i <= 150; ++i) {
    const std::string offer = door->offer(static_cast<LinkId>(i));
    silent.push_back(process::connect_locally("tfd-ring-" + offer.substr(0, 32)).value());
    entered.push_back(RingDoor::enter(offer, LinkId{1}).value());
  }
  CHECK(door->let_in().value().size() == 150);
  CHECK(!door->has_offers());
}

TEST_CASE("ring: an offer that nobody can take up is no link") {
  CHECK(RingDoor::enter("", LinkId{1}).error().code == Code::kInvalidArgument);
  CHECK(RingDoor::enter(std::string(64, '0'), LinkId{1}).error().code == Code::kUnavailable);
}

TEST_CASE("ring: records that can't be are errors, and those before them are read") {
  Hostile other;
  other.write(record(3, "abc", 1));
  const auto first = other.link->next().value();
  REQUIRE(first);
  CHECK(as_text(first->bytes) == "abc");
  other.link->done();
  SUBCASE("longer than what is there") { other.write(record(100, "abc", 1)); }
  SUBCASE("longer than any") { other.write(record(0x7fffffff, std::string(4096, 'x'))); }
  SUBCASE("not even a size") { other.write("xy"); }
  CHECK(other.link->next().error().code == Code::kInvalidArgument);
}

TEST_CASE("ring: positions that can't be are errors, for who reads and for who writes") {
  Hostile other;
  SUBCASE("more written than a ring holds") {
    other.rings->publish(RingLink::kRingBytes + 8);
    CHECK(other.link->next().error().message == "positions of shared memory that can't be");
  }
  SUBCASE("more read than was written") {
    other.rings->consume(8);
    CHECK(!other.link->send({"x", nullptr, {}}));
  }
}

TEST_CASE("ring: a message is copied before it is looked at, a piece of a buffer isn't") {
  Hostile other;
  other.write(record(3, "abc", 1));
  std::byte* const start = other.rings->room().value().data() - 8;
  const auto message = other.link->next().value();
  start[4] = std::byte{'X'};
  CHECK(as_text(message->bytes) == "abc");
  CHECK(!message->is_piece);
  other.link->done();
  other.write(record(0x80000003, "abc", 1));
  const auto piece = other.link->next().value();
  start[8 + 4] = std::byte{'X'};
  CHECK(as_text(piece->bytes) == "Xbc");
  CHECK(piece->is_piece);
}

TEST_CASE("ring: what has no room waits for it, in order, and the bell rings when there is") {
  Hostile other;
  const auto large = std::make_shared<std::string>(300'000, 'p');
  for (int i = 0; i < 6; ++i) REQUIRE(other.link->send({{}, large, as_bytes(*large)}));
  REQUIRE(other.link->send({"end", nullptr, {}}));
  CHECK(other.link->has_unsent());
  CHECK(other.link->prepare_to_sleep());
  std::size_t got = 0;
  int bells = 0;
  while (got < 6 * 300'008) {
    const std::size_t there = other.rings->arrived().value().size();
    REQUIRE(there > 0);
    got += 300'008;
    if (!other.rings->consume(300'008)) continue;
    ++bells;
    other.link->answer_bell();
    REQUIRE(other.link->flush());
    if (other.link->has_unsent()) CHECK(other.link->prepare_to_sleep());
  }
  CHECK(bells > 0);
  CHECK(!other.link->has_unsent());
  CHECK(as_text(other.rings->arrived().value().subspan(4, 3)) == "end");
}

TEST_CASE("ring: a bell is heard every time, though it is read now and then") {
  Hostile other;
  const auto poller = make_poller();
  Counted bells;
  REQUIRE(poller->add(other.link->fd(), EPOLLIN | EPOLLET, &bells).has_value());
  int unread = 0, most_unread = 0;
  for (int i = 1; i <= 1000; ++i) {  // many times what the socket takes
    REQUIRE(other.link->prepare_to_sleep());
    other.write(record(3, "abc", 1));
    process::ring_bell(other.bell.get());
    poller->wait(Clock::time_point{});
    REQUIRE(bells.told == i);
    other.link->on_bell(false);
    REQUIRE(other.link->next().value().has_value());
    other.link->done();
    REQUIRE(::ioctl(other.link->fd(), FIONREAD, &unread) == 0);
    most_unread = std::max(most_unread, unread);
  }
  CHECK(process::hears_unread_bells());
  CHECK(most_unread > 1);
  CHECK(most_unread <= process::kUnreadBells);
  CHECK(!other.link->has_ended());
}

TEST_CASE("ring: a heap that comes with a bell is taken at once") {
  Hostile other;
  const process::Fd heap = process::make_sealed_memory("heap", 1 << 20).value();
  const char one = 1;
  other.rings->announce_gift();
  REQUIRE(process::send_with_descriptor(other.bell.get(), std::as_bytes(std::span(&one, 1)), heap.get()).has_value());
  CHECK(!other.link->loans().has_heap());
  other.link->on_bell(false);
  CHECK(other.link->loans().has_heap());
  CHECK(other.rings->may_lend());
}

TEST_CASE("ring: what was written before its process ended is read, then it has ended") {
  Hostile other;
  other.write(record(3, "abc", 1));
  process::ring_bell(other.bell.get());
  other.bell.reset();
  SUBCASE("by its bell") { other.link->on_bell(true); }
  SUBCASE("by what can be read") {
    other.link->answer_bell();
    other.link->answer_bell();
  }
  CHECK(other.link->has_ended());
  CHECK(!other.link->prepare_to_sleep());
  CHECK(other.link->next().value().has_value());
}

}  // namespace tfd::transport
