// SPDX-License-Identifier: Apache-2.0
//
// Connections under the key of a cluster: clients with it are served, others are told so and get nothing.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <atomic>
#include <cstring>

#include "bed.hpp"
#include "message.hpp"
#include "processes.hpp"

namespace tfd::transport {
namespace {

CurveKey new_key() {
  auto made = make_curve_key();
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message));
  return *made;
}

EndpointOptions with_key(std::optional<CurveKey> key, std::string name = "coordinator") {
  EndpointOptions options;
  options.name = std::move(name);
  options.key = std::move(key);
  return options;
}

// An endpoint that counts what it is asked.
struct Server {
  std::atomic<int> handled{0};
  std::atomic<bool> has_key{false};
  std::unique_ptr<Endpoint> endpoint;
  Server(Bed& bed, std::optional<CurveKey> key, std::string bind = "") {
    EndpointOptions options = with_key(std::move(key), "ps:0");
    options.bind = bind.empty() ? bed.any_address() : std::move(bind);
    options.handler = [this](const Caller& caller, Message request, Responder responder) {
      ++handled;
      has_key = caller.has_key;
      responder.reply(std::move(request));
    };
    endpoint = bed.make(std::move(options));
  }
};

// The refusal that a client with `key` gets from that server.
Error refusal_of(Bed& bed, const Server& server, std::optional<CurveKey> key) {
  Seen<PeerEvent> events;
  EndpointOptions options = with_key(std::move(key));
  options.on_peer = [&](const PeerEvent& event) { events.add(event); };
  auto client = bed.make(std::move(options));
  const PeerId peer = client->add_peer("ps:0", server.endpoint->address());
  const Result<Message> answer = client->call(peer, text_message("let me in"), soon());
  REQUIRE(!answer);
  const Result<void> up = client->wait_up(std::vector{peer}, soon());
  REQUIRE(!up);
  CHECK(up.error().code == answer.error().code);
  CHECK(up.error().task == "ps:0");
  CHECK(up.error().message.starts_with("ps:0 at " + server.endpoint->address() + " "));
  const PeerEvent event = events.wait(1)[0];
  CHECK(event.state == PeerState::kConnecting);
  CHECK(event.refused == Code::kPermissionDenied);
  CHECK("ps:0 " + event.reason == answer.error().message);
  const Result<Message> again = client->call(peer, text_message("let me in"), soon());
  REQUIRE(!again);
  CHECK(server.handled == 0);
  return answer.error();
}

// Events of the monitor of a plain ZeroMQ socket, until one of `wanted`.
std::pair<int, std::uint32_t> wait_event(void* monitor, int wanted) {
  for (;;) {
    char event[6], endpoint[512];
    if (zmq_recv(monitor, event, sizeof event, 0) != sizeof event) return {0, 0};
    zmq_recv(monitor, endpoint, sizeof endpoint, 0);
    std::uint16_t kind = 0;
    std::uint32_t value = 0;
    std::memcpy(&kind, event, sizeof kind);
    std::memcpy(&value, event + sizeof kind, sizeof value);
    if ((kind & wanted) != 0) return {kind, value};
  }
}

}  // namespace

TEST_CASE("keys: a new one is whole, and unlike any other; others are refused with a reason") {
  const CurveKey key = new_key();
  CHECK(check_curve_key(key).has_value());
  CHECK(key != new_key());
  CHECK(check_curve_key({key.public_key, new_key().secret_key}).error().message == "its halves don't belong together");
  CHECK(check_curve_key({key.secret_key, key.public_key}).error().message == "its halves don't belong together");
  CHECK(check_curve_key({key.public_key, ""}).error().message == "not 40 characters of Z85");
  std::string odd = key.public_key;
  odd[7] = '"';  // none of Z85's
  CHECK(check_curve_key({odd, key.secret_key}).error().message == "not 40 characters of Z85");
  CHECK(check_curve_key({key.public_key, std::string(40, '\0')}).error().code == Code::kInvalidArgument);
}

TEST_CASE("keys: with the same key everything is as without") {
  for (const char* kind : {"tcp", "ipc", "ipv6"}) {
    ZmqBed bed(kind);
    const CurveKey key = new_key();
    Server server(bed, key);
    auto client = bed.make(with_key(key));
    const PeerId peer = client->add_peer("ps:0", server.endpoint->address());
    const Result<Message> small = client->call(peer, text_message("small"), soon());
    REQUIRE_MESSAGE(small.has_value(), (small ? "" : small.error().message));
    CHECK(small->meta == "small");
    CHECK(server.has_key);
    const Message large{3, std::string(kMostMetaBytes, 'm'), {ramp(1 << 20), ramp(1 << 20), ramp(7)}};  // 4 MiB each
    const Result<Message> back = client->call(peer, large, soon());
    REQUIRE_MESSAGE(back.has_value(), (back ? "" : back.error().message));
    CHECK(back->meta == large.meta);
    REQUIRE(back->tensors.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(tensor::same_bytes(back->tensors[i], large.tensors[i]));
    Seen<int> answers;
    for (int i = 0; i < 1000; ++i)
      client->request(peer, text_message("many"), soon(), [&](Result<Message> answer) { answers.add(answer ? 1 : 0); });
    for (const int answered : answers.wait(1000)) REQUIRE(answered == 1);
  }
}

TEST_CASE("keys: another key, none at all, and one too many are refused at once, with the reason") {
  ZmqBed bed("tcp");
  const CurveKey key = new_key();
  const Server keyed(bed, key), open(bed, std::nullopt);
  const Error other = refusal_of(bed, keyed, new_key());
  CHECK(other.code == Code::kPermissionDenied);
  CHECK(other.message == "ps:0 uses a different key; pass the cluster's key with --key-file");
  const Error none = refusal_of(bed, keyed, std::nullopt);
  CHECK(none.code == Code::kPermissionDenied);
  CHECK(none.message == "ps:0 requires the cluster's key, and none was found here; pass it with --key-file");
  const Error needless = refusal_of(bed, open, key);
  CHECK(needless.code == Code::kPermissionDenied);
  CHECK(needless.message ==
        "ps:0 serves without a key, and one was found here; connect without it with --key-file none");
  // Nobody was bothered by it.
  auto client = bed.make(with_key(key));
  CHECK(client->call(client->add_peer("ps:0", keyed.endpoint->address()), text_message("x"), soon()).has_value());
}

TEST_CASE("keys: a server hears of those whom it turns away, and of nobody else") {
  ZmqBed bed("tcp");
  const CurveKey key = new_key();
  for (const std::optional<CurveKey>& asked_with :
       {std::optional(key), std::optional(new_key()), std::optional<CurveKey>()}) {
    Seen<bool> turned_away;
    EndpointOptions options = with_key(key, "ps:0");
    options.bind = bed.any_address();
    options.handler = [](const Caller&, Message request, Responder responder) { responder.reply(std::move(request)); };
    options.on_turned_away = [&] { turned_away.add(true); };
    const auto server = bed.make(std::move(options));
    const auto client = bed.make(with_key(asked_with));
    const auto answer = client->call(client->add_peer("ps:0", server->address()), text_message("x"), soon());
    CHECK(answer.has_value() == (asked_with == key));
    if (asked_with == key)
      CHECK(turned_away.now().empty());
    else
      turned_away.wait(1);
  }
}

TEST_CASE("keys: a server without a key knows of nobody that he has it") {
  ZmqBed bed("tcp");
  Server open(bed, std::nullopt);
  auto client = bed.client();
  CHECK(client->call(client->add_peer("ps:0", open.endpoint->address()), text_message("x"), soon()).has_value());
  CHECK(!open.has_key);
}

TEST_CASE("keys: whoever takes a server's place decides anew") {
  ZmqBed bed("tcp");
  const CurveKey key = new_key();
  auto server = std::make_unique<Server>(bed, key);
  const std::string address = server->endpoint->address();
  Seen<PeerEvent> events;
  EndpointOptions options = with_key(key);
  options.on_peer = [&](const PeerEvent& event) { events.add(event); };
  auto client = bed.make(std::move(options));
  const PeerId peer = client->add_peer("ps:0", address);
  REQUIRE(client->call(peer, text_message("first"), soon()).has_value());
  const Incarnation first = client->incarnation_of(peer);

  server.reset();
  server = std::make_unique<Server>(bed, key, address);  // restarted with the same key
  events.wait(3);                                        // up, lost, up
  CHECK(client->call(peer, text_message("second"), soon()).has_value());
  CHECK(client->incarnation_of(peer) > first);

  server.reset();
  server = std::make_unique<Server>(bed, new_key(), address);
  const Deadline deadline = soon();
  Result<Message> refused;
  do refused = client->call(peer, text_message("third"), soon());
  while (!refused && refused.error().code == Code::kUnavailable && !deadline.expired());  // lost, not yet refused
  CHECK(refused.error().code == Code::kPermissionDenied);

  server.reset();
  server = std::make_unique<Server>(bed, key, address);
  events.wait(5);  // lost, up
  CHECK(client->call(peer, text_message("fourth"), soon()).has_value());
  CHECK(server->handled == 1);
}

TEST_CASE("keys: long silence is no loss, for heartbeats are sealed too") {
  ZmqBed bed("tcp");
  const CurveKey key = new_key();
  EndpointOptions serving = with_key(key, "ps:0");
  serving.bind = bed.any_address();
  serving.heartbeat_interval = 30ms;
  serving.heartbeat_timeout = 150ms;
  Endpoint* self = nullptr;
  serving.handler = [&self](const Caller&, Message request, Responder responder) {
    auto later = std::make_shared<Responder>(std::move(responder));  // with the timer
    self->post_at(Clock::now() + 900ms, [later, request = std::move(request)] { later->reply(Message(request)); });
  };
  auto server = bed.make(std::move(serving));
  self = server.get();
  Seen<PeerEvent> events;
  EndpointOptions asking = with_key(key);
  asking.heartbeat_interval = 30ms;
  asking.heartbeat_timeout = 150ms;
  asking.on_peer = [&](const PeerEvent& event) { events.add(event); };
  auto client = bed.make(std::move(asking));
  const PeerId peer = client->add_peer("ps:0", server->address());
  const Result<Message> answer = client->call(peer, text_message("slow"), soon());
  CHECK_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
  for (const PeerEvent& event : events.now()) CHECK(event.state == PeerState::kUp);
}

TEST_CASE("keys: who knows the public half alone, or nothing, gets no answer from ZeroMQ") {
  ZmqBed bed("tcp");
  const CurveKey key = new_key(), own = new_key();
  const Server server(bed, key);
  void* context = zmq_ctx_new();
  const auto knock = [&](bool with_public_half) {
    void* socket = zmq_socket(context, ZMQ_DEALER);
    const int now = 0, patience = 20000;
    zmq_setsockopt(socket, ZMQ_LINGER, &now, sizeof now);
    if (with_public_half) {
      zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key.public_key.data(), key.public_key.size());
      zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, own.public_key.data(), own.public_key.size());
      zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own.secret_key.data(), own.secret_key.size());
    }
    const std::string events = with_public_half ? "inproc://half" : "inproc://none";
    zmq_socket_monitor(socket, events.c_str(),
                       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                           (with_public_half ? 0 : ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) |
                           ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    void* monitor = zmq_socket(context, ZMQ_PAIR);
    zmq_setsockopt(monitor, ZMQ_RCVTIMEO, &patience, sizeof patience);
    REQUIRE(zmq_connect(monitor, events.c_str()) == 0);
    REQUIRE(zmq_connect(socket, ("tcp://" + server.endpoint->address()).c_str()) == 0);
    zmq_send(socket, "hello", 5, ZMQ_DONTWAIT);
    const auto seen = wait_event(monitor, 0xFFFF);
    zmq_close(monitor);
    zmq_close(socket);
    return seen;
  };
  const auto half = knock(true);
  CHECK(half.first == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
  CHECK(half.second == 400);
  const auto none = knock(false);
  // The latter where the server hangs up before its own greeting is read.
  CHECK((none.second == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ||
         none.first == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL));
  CHECK(server.handled == 0);
  zmq_ctx_term(context);
}

TEST_CASE("keys: bytes of strangers are survived, and a frame before the handshake ends it") {
  ZmqBed bed("tcp");
  const CurveKey key = new_key();
  const Server server(bed, key);
  // Whether the server hangs up on a sender of this.
  const auto hangs_up_on = [&](const std::string& bytes) {
    const int fd = connect_to(server.endpoint->address());
    [[maybe_unused]] const auto sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char any[4096];
    bool over = false;
    const Deadline deadline = soon();
    while (!over && !deadline.expired()) {
      pollfd readable{fd, POLLIN, 0};
      if (poll(&readable, 1, deadline.poll_ms()) > 0) over = recv(fd, any, sizeof any, 0) <= 0;
    }
    close(fd);
    return over;
  };
  std::string greeting("\xFF\0\0\0\0\0\0\0\1\x7F\3\0CURVE", 17);
  greeting.resize(64, '\0');
  std::string null_greeting("\xFF\0\0\0\0\0\0\0\1\x7F\3\0NULL", 16);
  null_greeting.resize(64, '\0');
  CHECK(hangs_up_on(null_greeting));
  // A frame that says it has 2^40 bytes, one of 2 MiB, and a HELLO that nobody sealed.
  CHECK(hangs_up_on(greeting + std::string("\x06\0\0\1\0\0\0\0\0", 9) + std::string(10000, 'x')));
  CHECK(hangs_up_on(greeting + std::string("\x06\0\0\0\0\0\x20\0\0", 9) + std::string(10000, 'x')));
  CHECK(hangs_up_on(greeting + std::string("\x04\xC8\5HELLO\1", 9) + std::string(193, 'x')));
  CHECK(hangs_up_on(greeting + std::string("\x00\5hello", 7)));
  auto client = bed.make(with_key(key));
  CHECK(client->call(client->add_peer("ps:0", server.endpoint->address()), text_message("x"), soon()).has_value());
  CHECK(server.handled == 1);
}

}  // namespace tfd::transport
