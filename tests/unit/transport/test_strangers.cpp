// SPDX-License-Identifier: Apache-2.0
//
// Hostile ZeroMQ clients, with the cluster's key and without one: their cost is bounded, and others are served.
#include <sys/resource.h>
#include <zmq.h>

#include <future>

#include "frame.hpp"
#include "link.hpp"
#include "message.hpp"
#include "processes.hpp"

namespace tfd::transport {
namespace {

/// A connection that says what the test wants.
class Stranger {
 public:
  Stranger(const std::string& address, const Key& key)
      : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_DEALER)) {
    const int now = 0, unbounded = 0, patience = 20000;
    zmq_setsockopt(socket_, ZMQ_LINGER, &now, sizeof now);
    zmq_setsockopt(socket_, ZMQ_SNDHWM, &unbounded, sizeof unbounded);
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &patience, sizeof patience);
    if (key) {
      zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, key->public_key.data(), key->public_key.size());
      zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, key->public_key.data(), key->public_key.size());
      zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, key->secret_key.data(), key->secret_key.size());
    }
    monitor_ = zmq_socket(context_, ZMQ_PAIR);
    zmq_setsockopt(monitor_, ZMQ_RCVTIMEO, &patience, sizeof patience);
    REQUIRE(zmq_socket_monitor(socket_, "inproc://events", ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED) ==
            0);
    REQUIRE(zmq_connect(monitor_, "inproc://events") == 0);
    REQUIRE(zmq_connect(socket_, ("tcp://" + address).c_str()) == 0);
  }
  ~Stranger() {
    zmq_close(monitor_);
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  void say(const std::string& bytes) { zmq_send(socket_, bytes.data(), bytes.size(), 0); }
  void say_hello() {
    std::string hello;
    append_frame(hello, {.type = FrameType::kHello, .incarnation = 5}, "stranger");
    say(hello);
  }
  /// The next frame of this type; its body. Nothing where none comes.
  std::optional<std::string> hear(FrameType type) {
    for (;;) {
      std::string bytes(kWireMessageBytes, '\0');
      const int size = zmq_recv(socket_, bytes.data(), bytes.size(), 0);
      if (size < 0) return std::nullopt;
      std::span<const std::byte> rest = as_bytes(std::string_view(bytes).substr(0, static_cast<std::size_t>(size)));
      while (!rest.empty()) {
        const Result<FrameView> frame = take_frame(rest);
        if (!frame) break;
        if (frame->header.type == type) return std::string(as_text(frame->body));
      }
    }
  }

  /// Whether the server ends the connection.
  bool was_left() { return sees(ZMQ_EVENT_DISCONNECTED); }
  /// Whether ZeroMQ's handshake succeeds.
  bool was_let_in() { return sees(ZMQ_EVENT_HANDSHAKE_SUCCEEDED); }

 private:
  bool sees(int what) {
    for (;;) {
      char event[6], endpoint[512];
      if (zmq_recv(monitor_, event, sizeof event, 0) < 0) return false;
      zmq_recv(monitor_, endpoint, sizeof endpoint, 0);
      std::uint16_t kind = 0;
      std::memcpy(&kind, event, sizeof kind);
      if (kind == what) return true;
    }
  }

  void* context_;
  void* socket_;
  void* monitor_;
};

/// Options of a server under the key, which answers what it is sent.
EndpointOptions serving(const Key& key) {
  EndpointOptions options;
  options.name = "ps:0";
  options.bind = "127.0.0.1:0";
  options.handler = echo;
  options.key = key;
  return options;
}

void check_serves(const Endpoint& server, const Key& key) {
  Client client({key});
  CHECK(client.endpoint->call(client.endpoint->add_peer("ps:0", server.address()), text_message("x"), soon())->meta ==
        "x");
}

}  // namespace

TEST_CASE("strangers: who begins thousands of messages and goes on with none is cut off") {
  const Key key = with_and_without_key();
  ZmqBed bed("tcp");
  const auto server = bed.make(serving(key));
  Stranger stranger(server->address(), key);
  stranger.say_hello();
  // Each announces one byte, in a chunk.
  std::string body, heads;
  for (const std::uint32_t number : {0U, 10U, 1U}) put<std::uint32_t>(body, number);
  put<std::uint8_t>(body, static_cast<std::uint8_t>(tensor::DType::kU8));
  put<std::uint8_t>(body, 1);
  put<std::uint64_t>(body, 1);
  for (std::uint64_t id = 1; id <= 2 * kMostBegun; ++id)
    append_frame(heads, {.type = FrameType::kRequest, .id = id}, body);
  stranger.say(heads);
  const auto told = stranger.hear(FrameType::kGoodbye);
  REQUIRE(told);
  CHECK(*told == "1025 messages begun, where 1024 are allowed");
  check_serves(*server, key);
}

TEST_CASE("strangers: who lends something over the network, or in part, is refused") {
  const Key key = with_and_without_key();
  ZmqBed bed("tcp");
  const auto server = bed.make(serving(key));
  const Message message{1, "x", {tensor::Tensor::zeros(tensor::DType::kF32, {100'000})}};
  for (const std::size_t size : {12, 11}) {
    Stranger stranger(server->address(), key);
    stranger.say_hello();
    REQUIRE(stranger.hear(FrameType::kWelcome));
    std::string bytes = encode_message({.type = FrameType::kRequest, .kind = 1, .id = 1}, message)->head;
    append_frame(bytes, {.type = FrameType::kChunk, .flags = kLent, .block = 1, .id = 1}, std::string(size, '\0'));
    stranger.say(bytes);
    const std::string why = size == 12 ? "something is lent where nothing can be" : "a loan of 11 bytes";
    CHECK(stranger.hear(FrameType::kGoodbye) == why);
  }
  check_serves(*server, key);
}

TEST_CASE("strangers: at the limit of descriptors nobody spins, it is said once, and all is well again afterwards") {
  const Key key = with_and_without_key();
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  ZmqBed bed("tcp");
  Seen<std::string> warnings;
  std::atomic<int> asked{0};
  EndpointOptions options = serving(key);
  options.handler = [&](const Caller&, Message request, Responder responder) {
    ++asked;
    responder.reply(std::move(request));
  };
  options.log = Log("transport", [&](LogLevel level, std::string_view, std::string_view text) {
    if (level == LogLevel::kWarning) warnings.add(std::string(text));
  });
  const auto server = bed.make(std::move(options));
  Client known(Way{key});
  const PeerId peer = known.endpoint->add_peer("ps:0", server->address());
  REQUIRE(known.endpoint->call(peer, text_message("x"), soon()).has_value());

  // Sockets of our own first, then a limit that leaves the server eight descriptors for them.
  constexpr int kStrangers = 40;
  std::vector<int> strangers;
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int highest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(highest);
  const rlimit few{static_cast<rlim_t>(highest + 8), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(server->address().substr(server->address().rfind(':') + 1))));
  for (const int fd : strangers) REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  // All are accepted, and hung up on at the latest when they haven't greeted in time.
  for (const int fd : strangers) {
    char any[256];
    ssize_t got = 1;
    while (got > 0) got = recv(fd, any, sizeof any, 0);  // its greeting
    CHECK(known.endpoint->call(peer, text_message("y"), soon()).has_value());
  }
  CHECK(warnings.now().size() == 1);
  CHECK(warnings.now().at(0).find("descriptors are in use") != std::string::npos);
  for (const int fd : strangers) close(fd);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  check_serves(*server, key);
}

TEST_CASE("strangers: who connects and says nothing is hung up on, whoever has greeted is not") {
  const Key key = with_and_without_key();
  ZmqBed bed("tcp");
  const auto server = bed.make(serving(key));
  Stranger polite(server->address(), key);
  polite.say_hello();
  CHECK(polite.hear(FrameType::kWelcome).has_value());
  Stranger mute(server->address(), key);  // ZeroMQ's handshake, and no more
  const int silent = connect_to(server->address());
  char any[256];
  while (recv(silent, any, sizeof any, 0) > 0) continue;
  close(silent);
  CHECK(mute.was_left());
  polite.say(std::string(1, 'x'));  // is answered: what it said makes no sense
  CHECK(polite.hear(FrameType::kGoodbye).has_value());
}

// Greetings of many that come at once are read in one turn, in which each may take long.
TEST_CASE(
    "strangers: who has greeted isn't hung up on, though its greeting is read before the news of its connection") {
  const Key key;  // with one the server's thread, which is held up here, takes part in handshakes
  ZmqBed bed("tcp");
  std::promise<void> begun, all_greeted;
  EndpointOptions options = serving(key);
  options.handler = [&](const Caller&, Message request, Responder responder) {
    begun.set_value();
    all_greeted.get_future().wait();
    responder.reply(std::move(request));
  };
  const auto server = bed.make(std::move(options));
  Client client({key});
  Seen<int> answers;
  client.endpoint->request(client.endpoint->add_peer("ps:0", server->address()), text_message("x"), soon(),
                           [&](const Result<Message>& answer) { answers.add(answer ? 1 : 0); });
  begun.get_future().wait();
  std::vector<std::unique_ptr<Stranger>> many;
  for (int i = 0; i < 8; ++i) {
    many.push_back(std::make_unique<Stranger>(server->address(), key));
    CHECK(many.back()->was_let_in());
    many.back()->say_hello();
  }
  all_greeted.set_value();
  CHECK(answers.wait(1).front() == 1);
  Stranger mute(server->address(), key);
  CHECK(mute.was_left());
  std::string ping;
  append_frame(ping, {.type = FrameType::kPing}, "");
  for (const auto& one : many) {
    one->say(ping);
    CHECK(one->hear(FrameType::kPong).has_value());
  }
}

TEST_CASE("strangers: answers that ask for room are made as they are taken") {
  const Key key = with_and_without_key();
  ZmqBed bed("tcp");
  std::atomic<int> begun{0};
  EndpointOptions options = serving(key);
  options.handler = [&](const Caller&, Message, Responder responder) {
    const auto kept = std::make_shared<Responder>(std::move(responder));
    kept->when_room(1 << 20, [&begun, kept] {
      ++begun;
      kept->reply(Message{1, "", {tensor::Tensor::zeros(tensor::DType::kU8, {1 << 20})}});
    });
  };
  const auto server = bed.make(std::move(options));
  constexpr int kRequests = 1000;
  Stranger stranger(server->address(), key);
  stranger.say_hello();
  std::string requests;
  for (int id = 1; id <= kRequests; ++id)
    requests +=
        encode_message(
            {.type = FrameType::kRequest, .id = static_cast<std::uint64_t>(id), .incarnation = server->incarnation()},
            {1, "", {}})
            ->head;
  stranger.say(requests);
  CHECK(stranger.hear(FrameType::kReply).has_value());
  const int most = static_cast<int>((kBacklogLimit + 2 * kCreditWindow) >> 20);
  CHECK(begun <= most);
  Client client({key});
  const PeerId peer = client.endpoint->add_peer("ps:0", server->address());
  Seen<int> answers;
  for (int i = 0; i < 200; ++i)
    client.endpoint->request(peer, text_message("x"), soon(),
                             [&](const Result<Message>& answer) { answers.add(answer ? 1 : 0); });
  for (const int answer : answers.wait(200)) CHECK(answer == 1);
}

}  // namespace tfd::transport
