#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Real processes that serve, to be killed, stopped and started again; and a slow network before them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "bed.hpp"

namespace tfd::transport {

inline constexpr auto kHeartbeatTimeout = 1000ms;

using Key = std::optional<CurveKey>;

/// A way of connections: the test runs once with each.
struct Way {
  Key key;
  Transport transport = Transport::kTcp;
};
inline Way every_way() {
  Way way;
  SUBCASE("in the clear") {}
  SUBCASE("with a key") { way.key = make_curve_key().value(); }
  SUBCASE("in memory") { way.transport = Transport::kRing; }
  SUBCASE("in memory, with a key") { way = {make_curve_key().value(), Transport::kRing}; }
  return way;
}
inline Key with_and_without_key() {
  Key key;
  SUBCASE("in the clear") {}
  SUBCASE("with a key") { key = make_curve_key().value(); }
  return key;
}

inline int listen_on_loopback(in_addr_t host = INADDR_LOOPBACK) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(fd, 128) == 0);
  return fd;
}

inline int connect_to(const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

// An echo-task process; killed at the end of the test at the latest, or when the test dies (its stdin ends).
class Task {
 public:
  explicit Task(int listen_fd = -1, const Key& key = {}) {
    int in[2], out[2];
    REQUIRE(pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    constexpr int kThere = 9;
    if (listen_fd >= 0) posix_spawn_file_actions_adddup2(&actions, listen_fd, kThere);
    std::string program = TFD_ECHO_TASK, bind = "127.0.0.1:0", fd = listen_fd >= 0 ? std::to_string(kThere) : "-1";
    CurveKey pair = key.value_or(CurveKey{});
    char* const arguments[] = {program.data(),         bind.data(), fd.data(), key ? pair.public_key.data() : nullptr,
                               pair.secret_key.data(), nullptr};
    REQUIRE(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    stdin_ = in[1];
    char byte = 0;
    while (read(out[0], &byte, 1) == 1 && byte != '\n') address_ += byte;
    close(out[0]);
    REQUIRE(!address_.empty());
  }
  ~Task() {
    kill(SIGKILL);
    close(stdin_);
  }
  const std::string& address() const { return address_; }
  void signal(int number) {
    ::kill(pid_, number);
    if (number == SIGSTOP) waitpid(pid_, nullptr, WUNTRACED);  // it may go on for a while
  }
  void kill(int number) {
    if (pid_ <= 0) return;
    ::kill(pid_, number);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int stdin_ = -1;
  std::string address_;
};

// Carries one connection to `address`, at a rate in bytes a second each way. It has a host of its own, so that the
// other ports of the one behind it can't be reached.
class SlowLink {
 public:
  SlowLink(const std::string& address, std::size_t bytes_per_s)
      : listener_(listen_on_loopback(INADDR_LOOPBACK + 1)), step_(bytes_per_s / 1000) {
    sockaddr_in name{};
    socklen_t size = sizeof name;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    address_ = "127.0.0.2:" + std::to_string(ntohs(name.sin_port));
    thread_ = std::jthread([this, address](const std::stop_token& stop) { carry(stop, address); });
  }
  ~SlowLink() {
    thread_.request_stop();
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  const std::string& address() const { return address_; }

 private:
  void carry(const std::stop_token& stop, const std::string& address) const {
    const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return;
    const int far = connect_to(address);
    std::vector<char> bytes(step_);
    while (!stop.stop_requested()) {
      for (const auto& [from, to] : {std::pair(near, far), std::pair(far, near)}) {
        const ssize_t got = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got > 0) [[maybe_unused]]
          const auto sent = send(to, bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
      }
      poll(nullptr, 0, 1);  // what makes it slow
    }
    close(near);
    close(far);
  }
  int listener_;
  std::size_t step_;
  std::string address_;
  std::jthread thread_;
};

struct Client {
  Seen<PeerEvent> events;
  std::unique_ptr<Endpoint> endpoint;
  explicit Client(const Way& way = {}) {
    EndpointOptions options;
    options.key = way.key;
    options.transport = way.transport;
    options.name = "coordinator";
    options.heartbeat_interval = 200ms;
    options.heartbeat_timeout = kHeartbeatTimeout;
    options.on_peer = [this](const PeerEvent& event) { events.add(event); };
    endpoint = std::move(*make_zmq_endpoint(std::move(options)));
  }
};

}  // namespace tfd::transport
