// SPDX-License-Identifier: Apache-2.0
//
// TCP between real processes that are killed, stopped and started again; and what else may talk to a listening port.
#include <zmq.h>

#include <atomic>

#include "bed.hpp"
#include "frame.hpp"
#include "processes.hpp"

namespace tfd::transport {
namespace {

struct Outcome {
  Clock::time_point when;
  Result<Message> answer;
};

}  // namespace

TEST_CASE("processes: a killed task is seen at once, and each of 1 000 requests in flight fails once") {
  const Way way = every_way();
  Task task(-1, way.key);
  Client client(way);
  const PeerId peer = client.endpoint->add_peer("worker:0", task.address());
  constexpr std::size_t kCount = 1000;
  Seen<Outcome> outcomes;
  for (std::size_t i = 0; i < kCount; ++i)
    client.endpoint->request(peer, text_message("never"), Deadline::never(), [&](Result<Message> answer) {
      outcomes.add({Clock::now(), std::move(answer)});
    });
  CHECK(client.endpoint->call(peer, text_message("who"), soon()).has_value());  // in order: they are all there
  const auto killed = Clock::now();
  task.kill(SIGKILL);
  const auto seen = outcomes.wait(kCount);
  for (const Outcome& outcome : seen) {
    REQUIRE(!outcome.answer);
    REQUIRE(outcome.answer.error().code == Code::kUnavailable);
    REQUIRE(outcome.answer.error().task == "worker:0");
    REQUIRE(outcome.answer.error().message == "worker:0 is lost: connection reset");
  }
  CHECK(seen[0].when - killed < kHeartbeatTimeout / 2);
  client.endpoint.reset();
  CHECK(outcomes.now().size() == kCount);
}

TEST_CASE("processes: a frozen task is seen within the heartbeat limit, and is up again when it thaws") {
  const Way way = every_way();
  Task task(-1, way.key);
  Client client(way);
  const PeerId peer = client.endpoint->add_peer("worker:0", task.address());
  const Result<Message> who = client.endpoint->call(peer, text_message("who"), soon());
  REQUIRE(who.has_value());
  const auto frozen = Clock::now();
  task.signal(SIGSTOP);
  const Result<Message> answer = client.endpoint->call(peer, text_message("x"), soon());
  const auto after = Clock::now() - frozen;
  task.signal(SIGCONT);
  REQUIRE(!answer);
  CHECK(answer.error().code == Code::kUnavailable);
  CHECK(answer.error().message == "worker:0 is lost: no heartbeat for 1s");
  CHECK(after >= kHeartbeatTimeout / 2);
  CHECK(after < 3 * kHeartbeatTimeout);
  CHECK(client.endpoint->wait_up(std::vector{peer}, soon()).has_value());
  const Result<Message> same = client.endpoint->call(peer, text_message("who"), soon());
  REQUIRE(same.has_value());
  CHECK(same->meta == who->meta);
}

TEST_CASE("processes: what was sent to a dead task is never executed by its successor on the same socket") {
  const Way way = every_way();
  const int listener = listen_on_loopback();
  auto first = std::make_unique<Task>(listener, way.key);
  Client client(way);
  const PeerId peer = client.endpoint->add_peer("worker:0", first->address());
  REQUIRE(client.endpoint->wait_up(std::vector{peer}, soon()).has_value());
  const Incarnation before = client.endpoint->incarnation_of(peer);
  first->signal(SIGSTOP);  // so that these are sent, and not read
  Seen<Outcome> outcomes;
  for (int i = 0; i < 100; ++i)
    client.endpoint->request(peer, {1, "old", {ramp(i * 1000)}}, soon(), [&](Result<Message> answer) {
      outcomes.add({Clock::now(), std::move(answer)});
    });
  client.endpoint->post([] {});
  first->kill(SIGKILL);
  for (const Outcome& outcome : outcomes.wait(100)) {
    REQUIRE(!outcome.answer);
    REQUIRE(outcome.answer.error().code == Code::kUnavailable);
  }
  const Task second(listener, way.key);
  REQUIRE(client.endpoint->wait_up(std::vector{peer}, soon()).has_value());
  CHECK(client.endpoint->incarnation_of(peer) > before);
  const Result<Message> count = client.endpoint->call(peer, text_message("count"), soon());
  REQUIRE(count.has_value());
  CHECK(count->meta == "0");
  close(listener);
}

TEST_CASE("processes: a task that listens but doesn't serve yet is waited for, and is silent") {
  const Way way = every_way();
  const int listener = listen_on_loopback();
  sockaddr_in name{};
  socklen_t size = sizeof name;
  getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size);
  Client client(way);
  const PeerId peer = client.endpoint->add_peer("worker:0", "127.0.0.1:" + std::to_string(ntohs(name.sin_port)));
  Seen<Outcome> outcomes;
  client.endpoint->request(peer, text_message("hello"), soon(), [&](Result<Message> answer) {
    outcomes.add({Clock::now(), std::move(answer)});
  });
  const Result<void> up = client.endpoint->wait_up(std::vector{peer}, Deadline::after(100ms));
  CHECK(up.error().code == Code::kDeadlineExceeded);
  CHECK(up.error().message.find("for worker:0 (silent)") != std::string::npos);
  const Task task(listener, way.key);
  CHECK(outcomes.wait(1)[0].answer.has_value());
  close(listener);
}

TEST_CASE("processes: a 20 MB tensor over a slow link doesn't starve the heartbeats") {
  const Key key = with_and_without_key();
  Task task(-1, key);
  SlowLink link(task.address(), 20 << 20);
  Client client({key});
  const PeerId peer = client.endpoint->add_peer("worker:0", link.address());
  const tensor::Tensor value = ramp(5000000);
  const auto begin = Clock::now();
  const Result<Message> answer = client.endpoint->call(peer, {1, "large", {value}}, soon());
  REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
  CHECK(tensor::same_bytes(answer->tensors.at(0), value));
  CHECK(Clock::now() - begin > 2 * kHeartbeatTimeout);
  for (const PeerEvent& event : client.events.now()) CHECK(event.state != PeerState::kLost);
}

TEST_CASE("port: garbage, half a greeting and endless bytes from strangers are survived") {
  ZmqBed bed("tcp");
  auto server = bed.serve(echo);
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  REQUIRE(client->call(peer, text_message("x"), soon()).has_value());
  std::vector<int> strangers;
  const auto send_text = [](int fd, std::string_view bytes) {
    [[maybe_unused]] const auto sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  };
  for (const std::string_view bytes :
       {std::string_view("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string_view("\xFF\0\0\0\0\0\0\0\1\x7F", 10),
        std::string_view("\xF7TFD\1\1"), std::string_view("\0", 1)}) {
    strangers.push_back(connect_to(server->address()));
    send_text(strangers.back(), bytes);
  }
  strangers.push_back(connect_to(server->address()));
  for (int i = 0; i < 64; ++i) send_text(strangers.back(), std::string(65536, static_cast<char>(i * 37)));
  // A ZMTP 3.0 greeting as it should be, then a frame that says it has 2^40 bytes.
  strangers.push_back(connect_to(server->address()));
  std::string greeting("\xFF\0\0\0\0\0\0\0\1\x7F\3\0NULL", 16);
  greeting.resize(64, '\0');
  send_text(strangers.back(), greeting + std::string("\x02\0\0\1\0\0\0\0\0", 9) + std::string(10000, 'x'));
  CHECK(client->call(peer, text_message("still there"), soon())->meta == "still there");
  for (const int fd : strangers) close(fd);
  CHECK(client->call(peer, text_message("still there"), soon())->meta == "still there");
}

TEST_CASE("port: a ZeroMQ client that doesn't keep to the protocol is told or ignored, and can't make us allocate") {
  ZmqBed bed("tcp");
  std::atomic<int> handled{0};
  auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
    ++handled;
    responder.reply(std::move(request));
  });
  void* context = zmq_ctx_new();
  const auto dealer = [&](const std::string& endpoint) {
    void* socket = zmq_socket(context, ZMQ_DEALER);
    const int now = 0, patience = 5000;
    zmq_setsockopt(socket, ZMQ_LINGER, &now, sizeof now);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof patience);
    REQUIRE(zmq_connect(socket, endpoint.c_str()) == 0);
    return socket;
  };
  const auto send_frame = [](void* socket, const std::string& bytes, bool more = false) {
    zmq_send(socket, bytes.data(), bytes.size(), more ? ZMQ_SNDMORE : 0);
  };
  const auto receive = [](void* socket) {
    char bytes[4096];
    const int size = zmq_recv(socket, bytes, sizeof bytes, 0);
    const std::string text(bytes, size < 0 ? 0 : static_cast<std::size_t>(size));
    std::span<const std::byte> rest = as_bytes(text);
    const Result<FrameView> frame = take_frame(rest);
    return frame ? std::make_pair(frame->header.type, std::string(as_text(frame->body)))
                 : std::make_pair(FrameType::kPing, std::string("nothing"));
  };
  const std::string endpoint = "tcp://" + server->address();
  std::string hello, request, early;
  append_frame(hello, {.type = FrameType::kHello, .incarnation = 5}, "stranger");
  const auto request_of = [&](std::uint64_t id, Incarnation incarnation, std::string_view body) {
    std::string out;
    append_frame(out, {.type = FrameType::kRequest, .id = id, .incarnation = incarnation}, body);
    return out;
  };
  const std::string empty_body(12, '\0');

  void* silent = dealer(endpoint);  // requests without a greeting are ignored
  send_frame(silent, request_of(1, server->incarnation(), empty_body));
  void* many = dealer(endpoint);  // and so are messages of many parts
  for (int i = 0; i < 50; ++i) send_frame(many, hello, true);
  send_frame(many, hello);
  void* odd = dealer(endpoint);
  send_frame(odd, hello);
  CHECK(receive(odd).first == FrameType::kWelcome);
  send_frame(odd, request_of(1, server->incarnation() - 1, empty_body));  // for a predecessor
  const auto refused = receive(odd);
  CHECK(refused.first == FrameType::kFailure);
  CHECK(decode_error(as_bytes(refused.second)).code == Code::kUnavailable);
  send_frame(odd, request_of(2, server->incarnation(), empty_body));
  CHECK(receive(odd).first == FrameType::kReply);
  CHECK(handled == 1);
  send_frame(odd, request_of(3, server->incarnation(), "short"));
  CHECK(receive(odd).first == FrameType::kGoodbye);
  send_frame(odd, request_of(4, server->incarnation(), empty_body));  // no longer heard

  void* newer = dealer(endpoint);
  hello[4] = 9;
  send_frame(newer, hello);
  CHECK(receive(newer).first == FrameType::kWelcome);  // its version shows it the mismatch

  ZmqBed other("tcp");
  auto client = other.client();
  CHECK(client->call(client->add_peer("worker:0", server->address()), text_message("x"), soon()).has_value());
  CHECK(handled == 2);
  for (void* socket : {silent, many, odd, newer}) zmq_close(socket);
  zmq_ctx_term(context);
}

TEST_CASE("port: a server of another version is a protocol mismatch, at once") {
  void* context = zmq_ctx_new();
  void* router = zmq_socket(context, ZMQ_ROUTER);
  REQUIRE(zmq_bind(router, "tcp://127.0.0.1:*") == 0);
  char endpoint[256];
  std::size_t size = sizeof endpoint;
  zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &size);
  ZmqBed bed("tcp");
  Seen<std::string> warnings;
  EndpointOptions options;
  options.name = "coordinator";
  options.log = Log("transport", [&](LogLevel level, std::string_view, std::string_view text) {
    if (level == LogLevel::kWarning) warnings.add(std::string(text));
  });
  auto client = bed.make(std::move(options));
  const std::string address = std::string(endpoint).substr(6);
  const PeerId peer = client->add_peer("worker:0", address);
  Seen<Error> errors;
  client->request(peer, text_message("x"), soon(),
                  [&](Result<Message> answer) { errors.add(answer ? Error{} : answer.error()); });
  const auto greet_back = [&](char version) {
    char id[16], bytes[256];
    const int id_size = zmq_recv(router, id, sizeof id, 0);
    zmq_recv(router, bytes, sizeof bytes, 0);
    std::string welcome;
    append_frame(welcome, {.type = FrameType::kWelcome, .incarnation = 1}, "worker:0");
    welcome[4] = version;
    zmq_send(router, id, static_cast<std::size_t>(id_size), ZMQ_SNDMORE);
    zmq_send(router, welcome.data(), welcome.size(), 0);
  };
  greet_back(7);
  CHECK(errors.wait(1)[0].code == Code::kProtocolMismatch);
  const Result<void> up = client->wait_up(std::vector{peer}, soon());
  REQUIRE(!up);
  CHECK(up.error().code == Code::kProtocolMismatch);
  CHECK(up.error().message.find("speaks protocol version 7; this is version 6") != std::string::npos);
  // It is tried again and again; the log says it once, and when it is something else.
  greet_back(7);
  greet_back(8);
  CHECK(warnings.wait(2) ==
        std::vector<std::string>{"worker:0 at " + address + ": speaks protocol version 7; this is version 6",
                                 "worker:0 at " + address + ": speaks protocol version 8; this is version 6"});
  const int now = 0;
  zmq_setsockopt(router, ZMQ_LINGER, &now, sizeof now);
  zmq_close(router);
  zmq_ctx_term(context);
}

TEST_CASE("port: addresses are real, IPv6 too, and a taken one is an error") {
  auto one = make_zmq_endpoint([] {
    EndpointOptions options;
    options.bind = "[::1]:0";
    options.handler = echo;
    return options;
  }());
  REQUIRE_MESSAGE(one.has_value(), (one ? "" : one.error().message));
  CHECK((*one)->address().starts_with("[::1]:"));
  CHECK(!(*one)->address().ends_with(":0"));
  ZmqBed bed("tcp");
  auto client = bed.client();
  CHECK(client->call(client->add_peer("worker:0", (*one)->address()), text_message("six"), soon())->meta == "six");
  const auto bind_error = [](const std::string& address) {
    EndpointOptions options;
    options.bind = address;
    const auto made = make_zmq_endpoint(std::move(options));
    return made ? Error{} : made.error();
  };
  CHECK(bind_error((*one)->address()).message ==
        fmt::format("cannot bind {}: address already in use", (*one)->address()));
  CHECK(bind_error((*one)->address()).code == Code::kSystem);
  CHECK(bind_error("nonsense").code == Code::kInvalidArgument);
  CHECK(bind_error("192.0.2.1:0").code != Code::kUnknown);

  const Result<Message> nowhere =
      client->call(client->add_peer("worker:9", "not an address"), text_message("x"), Deadline::after(50ms));
  CHECK(nowhere.error().message.find("(not an address)") != std::string::npos);
}

TEST_CASE("port: names of hosts are looked up, without holding up anybody") {
  ZmqBed bed("tcp");
  auto server = bed.serve(echo);
  auto client = bed.client();
  const std::string port = server->address().substr(server->address().rfind(':'));
  const PeerId nobody = client->add_peer("worker:1", "no-such-host.invalid:2222");
  CHECK(client->call(client->add_peer("worker:0", "localhost" + port), text_message("by name"), soon())->meta ==
        "by name");
  Result<void> up;
  for (const Deadline deadline = soon();
       !deadline.expired();) {  // the name server says so sooner or later, or nothing at all
    up = client->wait_up(std::vector{nobody}, Deadline::after(100ms));
    REQUIRE(!up);
    if (up.error().message.find("(no answer)") == std::string::npos) break;
  }
  CHECK(up.error().message.find("host") != std::string::npos);
}

TEST_CASE("inproc: a cut cable is noticed after the heartbeat timeout; a kill at once; a short cut loses nothing") {
  InprocBed bed;
  EndpointOptions options;
  options.name = "worker:0";
  options.handler = echo;
  options.bind = "w0:1";
  options.heartbeat_timeout = 100ms;
  auto server = bed.make(std::move(options));
  Seen<PeerEvent> events;
  EndpointOptions asking;
  asking.name = "coordinator";
  asking.heartbeat_interval = 20ms;
  asking.heartbeat_timeout = 100ms;
  asking.on_peer = [&](const PeerEvent& event) { events.add(event); };
  auto client = bed.make(std::move(asking));
  const PeerId peer = client->add_peer("worker:0", "w0:1");
  REQUIRE(client->call(peer, text_message("x"), soon()).has_value());

  bed.network->cut("w0:1", true);
  Seen<std::string> answers;
  client->request(peer, text_message("held"), soon(),
                  [&](Result<Message> answer) { answers.add(answer ? answer->meta : answer.error().message); });
  bed.network->cut("w0:1", false);
  CHECK(answers.wait(1)[0] == "held");

  const auto cut = Clock::now();
  bed.network->cut("w0:1", true);
  const Result<Message> lost = client->call(peer, text_message("lost"), soon());
  CHECK(lost.error().code == Code::kUnavailable);
  CHECK(lost.error().message.find("no heartbeat") != std::string::npos);
  CHECK(Clock::now() - cut >= 100ms);
  bed.network->cut("w0:1", false);
  CHECK(client->wait_up(std::vector{peer}, soon()).has_value());
  CHECK(client->call(peer, text_message("again"), soon()).has_value());

  bed.network->kill("w0:1");
  CHECK(client->call(peer, text_message("dead"), soon()).error().code == Code::kUnavailable);
  CHECK(events.now().back().state == PeerState::kLost);
}

}  // namespace tfd::transport
