// SPDX-License-Identifier: Apache-2.0
//
// Who speaks ZeroMQ and means us no good, with the cluster's key and without one: what he costs has an end, and others
// are served.
#include <zmq.h>

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
    REQUIRE(zmq_connect(socket_, ("tcp://" + address).c_str()) == 0);
  }
  ~Stranger() {
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

 private:
  void* context_;
  void* socket_;
};

std::unique_ptr<Endpoint> serve(ZmqBed& bed, const Key& key) {
  EndpointOptions options;
  options.name = "ps:0";
  options.bind = "127.0.0.1:0";
  options.handler = echo;
  options.key = key;
  return bed.make(std::move(options));
}

void check_serves(const Endpoint& server, const Key& key) {
  Client client(key);
  CHECK(client.endpoint->call(client.endpoint->add_peer("ps:0", server.address()), text_message("x"), soon())->meta ==
        "x");
}

}  // namespace

TEST_CASE("strangers: who begins thousands of messages and goes on with none is cut off") {
  const Key key = with_and_without_key();
  ZmqBed bed("tcp");
  const auto server = serve(bed, key);
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

}  // namespace tfd::transport
