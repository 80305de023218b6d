// SPDX-License-Identifier: Apache-2.0
//
// Liveness: silent peers, lost peers, and traffic meanwhile.
#include <zmq.h>

#include <atomic>
#include <random>
#include <set>

#include "bed.hpp"
#include "core.hpp"
#include "link.hpp"
#include "processes.hpp"
#include "zmq/zmq_wire.hpp"

namespace tfd::transport {
namespace {

using Events = Seen<PeerEvent>;

EndpointOptions asking(Events& events) {
  EndpointOptions options;
  options.name = "coordinator";
  options.heartbeat_interval = 50ms;
  options.heartbeat_timeout = 300ms;
  options.on_peer = [&](const PeerEvent& event) { events.add(event); };
  return options;
}

std::vector<PeerState> states_of(const std::vector<PeerEvent>& events) {
  std::vector<PeerState> out;
  for (const PeerEvent& event : events) out.push_back(event.state);
  return out;
}

using States = std::vector<PeerState>;

/// A wire that always has more to be received, as if its peers never stopped sending.
struct BusyWire final : Wire {
  explicit BusyWire(std::unique_ptr<Wire> wire) : real(std::move(wire)) {}
  std::string address() const override { return real->address(); }
  LinkId connect(const std::string& address) override { return real->connect(address); }
  void disconnect(LinkId link) override { real->disconnect(link); }
  bool send(LinkId link, Parcel parcel) override { return real->send(link, std::move(parcel)); }
  bool receive(Sink& sink, int most) override {
    real->receive(sink, most);
    return true;
  }
  void wait(Clock::time_point until) override { real->wait(until); }
  void close() override { real->close(); }
  std::unique_ptr<Wire> real;
};

}  // namespace

TEST_CASE("liveness: a frozen task that is waited for costs time and nothing else") {
  const Way way = every_way();
  Task task(-1, way.key);
  Events events;
  EndpointOptions options = asking(events);
  options.key = way.key;
  options.transport = way.transport;
  auto client = std::move(*make_zmq_endpoint(std::move(options)));
  const PeerId peer = client->add_peer("ps:0", task.address(), {.patience = 60s});
  const Result<Message> who = client->call(peer, text_message("who"), soon());
  REQUIRE(who.has_value());
  Seen<std::string> answers;
  const auto ask = [&] {
    client->request(peer, text_message("x"), soon(),
                    [&](Result<Message> answer) { answers.add(answer ? answer->meta : answer.error().message); });
  };
  task.signal(SIGSTOP);
  ask();
  const auto silent = events.wait(2)[1];
  CHECK(silent.state == PeerState::kSilent);
  CHECK(silent.reason == "no heartbeat for 300ms");
  CHECK(client->state(peer) == PeerState::kSilent);
  ask();  // and requests meanwhile
  std::this_thread::sleep_for(1s);
  CHECK(answers.now().empty());
  task.signal(SIGCONT);
  CHECK(answers.wait(2) == std::vector<std::string>{"x", "x"});
  CHECK(client->call(peer, text_message("count"), soon())->meta == "2");  // each of them once
  CHECK(client->call(peer, text_message("who"), soon())->meta == who->meta);
  CHECK(states_of(events.wait(3)) == States{PeerState::kUp, PeerState::kSilent, PeerState::kUp});
}

TEST_CASE("liveness: who is never done reading notices that a task is frozen, too") {
  Task task;
  Events events;
  const auto waker = std::make_shared<Waker>();
  auto wire = ZmqWire::make({}, Poller::make(waker).value()).value();
  Core client(asking(events), std::make_unique<BusyWire>(std::move(wire)), waker);
  const PeerId peer = client.add_peer("ps:0", task.address(), {});
  REQUIRE(client.call(peer, text_message("who"), soon()).has_value());
  task.signal(SIGSTOP);
  CHECK(states_of(events.wait(2)) == States{PeerState::kUp, PeerState::kLost});
  task.signal(SIGCONT);
}

TEST_CASE("liveness: patience has an end, and a task that dies while it is silent is gone at once") {
  Task task;
  Events events;
  EndpointOptions options = asking(events);
  SUBCASE("over the network") { options.transport = Transport::kTcp; }
  SUBCASE("in memory") { options.transport = Transport::kRing; }
  auto client = std::move(*make_zmq_endpoint(std::move(options)));
  SUBCASE("an end") {
    const PeerId peer = client->add_peer("ps:0", task.address(), {.patience = 500ms});
    REQUIRE(client->call(peer, text_message("who"), soon()).has_value());
    task.signal(SIGSTOP);
    const Result<Message> answer = client->call(peer, text_message("x"), soon());
    REQUIRE(!answer);
    CHECK(answer.error().message == "ps:0 is lost: no heartbeat for 800ms");
    const auto seen = events.wait(3);
    CHECK(states_of(seen) == States{PeerState::kUp, PeerState::kSilent, PeerState::kLost});
    CHECK(!seen[2].is_gone);
  }
  SUBCASE("dies") {
    const PeerId peer = client->add_peer("ps:0", task.address(), {.patience = 60s});
    REQUIRE(client->call(peer, text_message("who"), soon()).has_value());
    task.signal(SIGSTOP);
    events.wait(2);
    task.kill(SIGKILL);
    CHECK(client->call(peer, text_message("x"), soon()).error().code == Code::kUnavailable);
    for (std::size_t count = 3; !events.wait(count).back().is_gone;) ++count;  // "reset", then "refused"
    CHECK(client->state(peer) == PeerState::kLost);
  }
  SUBCASE("dies, and another one takes its place on the same socket") {
    const int listener = listen_on_loopback();
    auto first = std::make_unique<Task>(listener);
    const PeerId peer = client->add_peer("ps:0", first->address(), {.patience = 60s});
    const Result<Message> who = client->call(peer, text_message("who"), soon());
    REQUIRE(who.has_value());
    first->signal(SIGSTOP);
    events.wait(2);
    first->kill(SIGKILL);
    const Task second(listener);
    for (std::size_t count = 3; events.wait(count).back().state != PeerState::kUp;) ++count;
    CHECK(client->call(peer, text_message("who"), soon())->meta != who->meta);
    close(listener);
  }
}

EVERY_TRANSPORT("a peer that said goodbye, or whose address nobody serves any more, is gone") {
  auto server = bed.serve(echo);
  Events events;
  auto client = bed.make(asking(events));
  const PeerId peer = client->add_peer("worker:0", server->address(), {.patience = 60s});
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  server.reset();
  for (std::size_t count = 2; !events.wait(count).back().is_gone;) ++count;
  CHECK(events.now().back().state == PeerState::kLost);
}

TEST_CASE("liveness: a cut connection is silent, and whole again as if nothing had been") {
  InprocBed bed;
  auto server = bed.serve(echo, "ps:0", "p0:1");
  Events events;
  auto client = bed.make(asking(events));
  const PeerId peer = client->add_peer("ps:0", "p0:1", {.patience = 60s});
  REQUIRE(client->call(peer, text_message("x"), soon()).has_value());
  bed.network->cut("p0:1", true);
  Seen<std::string> answers;
  client->request(peer, text_message("held"), soon(),
                  [&](Result<Message> answer) { answers.add(answer ? answer->meta : answer.error().message); });
  CHECK(events.wait(2)[1].state == PeerState::kSilent);
  bed.network->cut("p0:1", false);
  CHECK(answers.wait(1)[0] == "held");
  CHECK(events.wait(3)[2].state == PeerState::kUp);
}

TEST_CASE("liveness: among thousands of peers those that are awaited are missed as soon as among few") {
  constexpr int kOthers = 3000;
  InprocBed bed;
  auto server = bed.serve(echo, "ps:0", "p0:1");
  std::vector<Responder> kept;
  const auto keep = [&](const Caller&, const Message&, Responder responder) { kept.push_back(std::move(responder)); };
  std::vector<std::unique_ptr<Endpoint>> tasks;
  Events events;
  auto client = bed.make(asking(events));
  std::vector<PeerId> peers;
  for (int i = 0; i < kOthers; ++i) peers.push_back(client->add_peer(fmt::format("idle:{}", i), "p0:1"));
  const std::set<std::string> names{"awaited", "holds", "idle"};
  for (const std::string& name : names) {
    tasks.push_back(bed.serve(keep, name, name + ":1"));
    peers.push_back(client->add_peer(name, name + ":1", {.patience = 60s, .is_awaited = name == "awaited"}));
  }
  REQUIRE(client->wait_up(peers, soon()).has_value());
  client->request(peers[kOthers + 1], text_message("x"), Deadline::never(), [](const Result<Message>&) {});
  for (const std::string& name : names) bed.network->cut(name + ":1", true);
  std::set<std::string> silent;
  for (std::size_t seen = peers.size(); silent.size() < 2; ++seen)
    if (const PeerEvent event = events.wait(seen + 1)[seen];
        event.state == PeerState::kSilent && names.contains(event.name))
      silent.insert(event.name);
  CHECK(silent == std::set<std::string>{"awaited", "holds"});  // the third is noticed within 9 seconds
}

TEST_CASE("liveness: a process that was frozen itself loses nobody") {
  Task task;
  Events events;
  auto client = std::move(*make_zmq_endpoint(asking(events)));
  const PeerId peer = client->add_peer("worker:0", task.address());
  REQUIRE(client->call(peer, text_message("who"), soon()).has_value());
  Flag blocked, go_on;
  client->post([&] {  // its I/O thread stands still, as all of a frozen process does
    blocked.raise();
    go_on.wait();
  });
  blocked.wait();
  std::this_thread::sleep_for(1500ms);
  go_on.raise();
  CHECK(client->call(peer, text_message("x"), soon())->meta == "x");
  std::this_thread::sleep_for(500ms);
  CHECK(states_of(events.now()) == States{PeerState::kUp});
}

TEST_CASE("liveness: a caller is pinged when it is asked for, and a silent one is given up and told") {
  InprocBed bed;
  Seen<std::uint64_t> connections;
  Seen<std::string> gone;
  EndpointOptions options;
  options.name = "ps:0";
  options.bind = "p0:1";
  options.heartbeat_interval = 20ms;
  options.heartbeat_timeout = 200ms;
  options.caller_timeout = 400ms;
  options.handler = [&](const Caller& caller, Message request, Responder responder) {
    connections.add(caller.connection);
    responder.reply(std::move(request));
  };
  options.on_caller_gone = [&](const Caller& caller) { gone.add(caller.name); };
  auto server = bed.make(std::move(options));
  EndpointOptions of_client;
  of_client.name = "first";
  auto client = bed.make(std::move(of_client));
  const PeerId peer = client->add_peer("ps:0", "p0:1", {.patience = 60s});
  REQUIRE(client->call(peer, text_message("x"), soon()).has_value());
  const std::uint64_t connection = connections.wait(1)[0];
  Seen<bool> answers;
  const auto ping = [&](std::uint64_t of) { server->ping_caller(of, [&](bool answer) { answers.add(answer); }); };
  ping(connection);
  CHECK(answers.wait(1)[0]);
  ping(connection + 1);  // nobody's
  CHECK(!answers.wait(2)[1]);
  bed.network->cut("first", true);
  const auto begin = Clock::now();
  ping(connection);
  CHECK(!answers.wait(3)[2]);
  CHECK(Clock::now() - begin >= 200ms);
  CHECK(gone.wait(1)[0] == "first");
  bed.network->cut("first", false);
  // It goes on on a connection that is no more, is told so, and comes again.
  Result<Message> again = client->call(peer, text_message("again"), soon());
  while (!again && again.error().code == Code::kUnavailable) {
    CHECK(client->wait_up(std::vector{peer}, soon()).has_value());
    again = client->call(peer, text_message("again"), soon());
  }
  CHECK(again->meta == "again");
  CHECK(connections.now().back() != connection);
}

EVERY_TRANSPORT("two large transfers in opposite directions never wait for each other") {
  auto server = bed.serve([](const Caller&, Message request, Responder responder) {
    const auto size = std::stoll(request.meta);
    Message answer = text_message(request.tensors.empty() ? "" : std::to_string(request.tensors[0].size()));
    if (size > 0) answer.tensors.push_back(tensor::Tensor::zeros(tensor::DType::kF32, {size}));
    responder.reply(std::move(answer));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("ps:0", server->address());
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  std::mt19937_64 random(20261122);
  const tensor::Tensor most = tensor::Tensor::zeros(tensor::DType::kF32, {52 << 20});  // 208 MiB
  struct Wanted {
    std::int64_t pull, push;
  };
  const auto exchange = [&](const std::vector<Wanted>& wanted) {
    Seen<int> done;
    for (const Wanted& one : wanted) {
      Message request = text_message(std::to_string(one.pull));
      if (one.push > 0) request.tensors.push_back(most.slice_rows(0, one.push));
      client->request(peer, std::move(request), soon(), [&, one](Result<Message> answer) {
        const bool is_right = answer && (one.pull == 0 || answer->tensors.at(0).size() == one.pull) &&
                              (one.push == 0 || answer->meta == std::to_string(one.push));
        done.add(is_right ? 1 : 0);
      });
    }
    for (const int right : done.wait(wanted.size())) CHECK(right == 1);
  };
  exchange({{52 << 20, 0}, {0, 52 << 20}});  // a pull and a push of 208 MiB at once
  for (int round = 0; round < 6; ++round) {
    std::vector<Wanted> wanted;
    for (int i = 0; i < 8; ++i) {
      const auto draw = [&] { return random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % (6 << 20)); };
      wanted.push_back({draw(), draw()});
    }
    exchange(wanted);
  }
}

TEST_CASE("liveness: a deadline that waits for bytes is not over while they move") {
  Task task;
  SlowLink link(task.address(), 8 << 20);
  Client client;
  const tensor::Tensor value = ramp(3000000);  // 12 MB: one and a half seconds in each direction
  const auto ask = [&](const char* name, bool waits) {
    const PeerId peer = client.endpoint->add_peer(name, link.address(), {.deadlines_wait_for_bytes = waits});
    REQUIRE(client.endpoint->wait_up(std::vector{peer}, soon()).has_value());
    return client.endpoint->call(peer, {1, "large", {value}}, Deadline::after(900ms));
  };
  SUBCASE("waits") { CHECK(ask("ps:0", true).has_value()); }
  SUBCASE("doesn't") { CHECK(ask("ps:0", false).error().code == Code::kDeadlineExceeded); }
  SUBCASE("waits, but nothing moves") {
    const PeerId peer = client.endpoint->add_peer("ps:0", link.address(), {.deadlines_wait_for_bytes = true});
    REQUIRE(client.endpoint->wait_up(std::vector{peer}, soon()).has_value());
    const auto begin = Clock::now();
    const auto answer = client.endpoint->call(peer, text_message("never"), Deadline::after(300ms));
    CHECK(answer.error().code == Code::kDeadlineExceeded);
    CHECK(Clock::now() - begin >= 300ms);
  }
}

TEST_CASE("liveness: an endpoint with thousands of unread events ends") {
  // libzmq's own thread waited at the monitor's mark while the end of the socket waited for it.
  auto client = ZmqBed("tcp").client();
  Flag blocked, go_on;
  client->post([&] {
    blocked.raise();
    go_on.wait();
  });
  blocked.wait();
  constexpr int kPeers = 1500;  // each fails several times: refused, again and again
  for (int i = 0; i < kPeers; ++i) client->add_peer("worker:" + std::to_string(i), "127.0.0.1:1");
  go_on.raise();
  Flag again, end;
  client->post([&] {
    again.raise();
    end.wait();
  });
  again.wait();
  std::this_thread::sleep_for(500ms);
  end.raise();
  const auto begin = Clock::now();
  client.reset();
  CHECK(Clock::now() - begin < 30s);
}

TEST_CASE("liveness: a peer that ignores its credit is cut off") {
  ZmqBed bed("tcp");
  std::atomic<int> warnings{0};
  EndpointOptions options;
  options.name = "ps:0";
  options.bind = "127.0.0.1:0";
  options.handler = echo;
  options.log = Log("transport", [&](LogLevel level, std::string_view, std::string_view text) {
    if (level == LogLevel::kWarning && text.find("without credit") != std::string_view::npos) ++warnings;
  });
  auto server = bed.make(std::move(options));
  void* context = zmq_ctx_new();
  void* dealer = zmq_socket(context, ZMQ_DEALER);
  const int now = 0, unbounded = 0, patience = 20000;
  zmq_setsockopt(dealer, ZMQ_LINGER, &now, sizeof now);
  zmq_setsockopt(dealer, ZMQ_SNDHWM, &unbounded, sizeof unbounded);
  zmq_setsockopt(dealer, ZMQ_RCVTIMEO, &patience, sizeof patience);
  REQUIRE(zmq_connect(dealer, ("tcp://" + server->address()).c_str()) == 0);
  std::string hello;
  append_frame(hello, {.type = FrameType::kHello, .incarnation = 5}, "greedy");
  zmq_send(dealer, hello.data(), hello.size(), 0);
  // Replies that it never takes: its requests get no more credit, and it goes on all the same.
  const EncodedMessage request =
      *encode_message({.type = FrameType::kRequest, .id = 1, .incarnation = server->incarnation()},
                      {1, "", {tensor::Tensor::zeros(tensor::DType::kF32, {20 << 20})}});
  for (std::uint64_t id = 1; id <= 4; ++id) {
    std::string head = request.head;
    for (int i = 0; i < 8; ++i) head[16 + static_cast<std::size_t>(i)] = static_cast<char>(id >> (8 * i));
    zmq_send(dealer, head.data(), head.size(), 0);
    const Block& block = request.blocks.at(0);
    for (std::size_t at = 0; at < block.bytes.size(); at += kChunkBytes) {
      const std::size_t size = std::min(kChunkBytes, block.bytes.size() - at);
      std::string chunk;
      append_header(chunk, {.type = FrameType::kChunk,
                            .flags = kDetached,
                            .block = block.index,
                            .body_size = static_cast<std::uint32_t>(size),
                            .id = id,
                            .position = at});
      zmq_send(dealer, chunk.data(), chunk.size(), 0);
      zmq_send(dealer, block.bytes.data() + at, size, 0);
    }
  }
  bool told = false;
  for (int i = 0; i < 100000 && !told; ++i) {
    std::string bytes(kWireMessageBytes, '\0');
    const int size = zmq_recv(dealer, bytes.data(), bytes.size(), 0);
    if (size < 0) break;
    std::span<const std::byte> rest = as_bytes(std::string_view(bytes).substr(0, static_cast<std::size_t>(size)));
    while (!rest.empty()) {
      const Result<FrameView> frame = take_frame(rest);
      if (!frame) break;  // the body of a chunk
      told = told || frame->header.type == FrameType::kGoodbye;
    }
  }
  CHECK(told);
  CHECK(warnings >= 1);
  auto other = bed.client();
  CHECK(other->call(other->add_peer("ps:0", server->address()), text_message("x"), soon())->meta == "x");
  zmq_close(dealer);
  zmq_ctx_term(context);
}

}  // namespace tfd::transport
