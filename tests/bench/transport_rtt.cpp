// SPDX-License-Identifier: Apache-2.0
//
// Round trips and throughput of an endpoint beside a bare DEALER/ROUTER pair, over TCP on loopback, between processes.
// Prints one line per figure; the ratio is what the design's budget speaks of (at most 1.5).
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tfd/transport/endpoint.hpp"

namespace {

using namespace tfd;
using namespace tfd::transport;
using namespace std::chrono_literals;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double print_median(const char* what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2];
  fmt::print("{:<48} {:8.1f} us median {:8.1f} us p99\n", what, median, us[us.size() * 99 / 100]);
  return median;
}

// A child that runs `serve(write end)` forever; its first output is its address.
template <class Serve>
std::string start(std::vector<pid_t>& children, Serve serve) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve(ends[1]);
    _exit(0);
  }
  children.push_back(pid);
  char text[256];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  close(ends[1]);
  return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

void say(int fd, const std::string& text) {
  if (write(fd, text.data(), text.size()) < 0) _exit(1);
}

void serve_bare(int fd) {
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_ROUTER);
  zmq_bind(socket, "tcp://127.0.0.1:*");
  char address[256];
  std::size_t size = sizeof address;
  zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address, &size);
  say(fd, address);
  for (;;) {
    zmq_msg_t id, body;
    zmq_msg_init(&id);
    zmq_msg_init(&body);
    zmq_msg_recv(&id, socket, 0);
    zmq_msg_recv(&body, socket, 0);
    zmq_msg_send(&id, socket, ZMQ_SNDMORE);
    zmq_msg_send(&body, socket, 0);
  }
}

void serve_under(std::optional<CurveKey> key, int fd) {
  EndpointOptions options;
  options.key = std::move(key);
  options.name = "worker:0";
  options.bind = "127.0.0.1:0";
  options.handler = [](const Caller&, Message request, Responder responder) { responder.reply(std::move(request)); };
  const auto endpoint = make_zmq_endpoint(std::move(options));
  if (!endpoint) _exit(1);
  say(fd, (*endpoint)->address());
  for (;;) pause();
}

void serve_endpoint(int fd) { serve_under(std::nullopt, fd); }

const CurveKey& bench_key() {
  static const CurveKey key = make_curve_key().value();
  return key;
}

void serve_with_key(int fd) { serve_under(bench_key(), fd); }

double bare_round_trip(const std::string& address, int count) {
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_DEALER);
  zmq_connect(socket, address.c_str());
  char bytes[80] = {};
  std::vector<double> us;
  for (int i = 0; i < count + 200; ++i) {
    const auto begin = Clock::now();
    zmq_send(socket, bytes, sizeof bytes, 0);
    zmq_recv(socket, bytes, sizeof bytes, 0);
    if (i >= 200) us.push_back(us_since(begin));
  }
  const int now = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &now, sizeof now);
  zmq_close(socket);
  zmq_ctx_term(context);
  return print_median("bare DEALER/ROUTER round trip", us);
}

double call_round_trip(Endpoint& client, PeerId peer, int count) {
  std::vector<double> us;
  for (int i = 0; i < count + 200; ++i) {
    const auto begin = Clock::now();
    if (!client.call(peer, {1, std::string(32, 'x'), {}}, Deadline::after(5s))) std::exit(1);
    if (i >= 200) us.push_back(us_since(begin));
  }
  return print_median("call() from another thread", us);
}

// Returns when all callbacks that began before have ended.
void settle(Endpoint& endpoint) {
  const auto settled = std::make_shared<std::atomic<bool>>(false);
  endpoint.post([settled] {
    *settled = true;
    settled->notify_one();
  });
  settled->wait(false);
}

double callback_round_trip(Endpoint& client, PeerId peer, int count) {
  std::vector<double> us;
  std::atomic<bool> done{false};
  std::function<void()> ask = [&] {
    client.request(peer, {1, std::string(32, 'x'), {}}, Deadline::after(5s),
                   [&, begin = Clock::now()](Result<Message>) {
                     us.push_back(us_since(begin));
                     if (us.size() < static_cast<std::size_t>(count)) return ask();
                     done = true;
                     done.notify_one();
                   });
  };
  client.post(ask);
  done.wait(false);
  settle(client);
  return print_median("request() from the I/O thread", us);
}

void windowed(Endpoint& client, const std::vector<PeerId>& peers, int window, int count) {
  std::atomic<int> answered{0};
  std::atomic<bool> done{false};
  int sent = 0;  // on the I/O thread
  std::function<void(PeerId)> ask = [&](PeerId peer) {
    if (sent == count) return;
    ++sent;
    client.request(peer, {1, std::string(32, 'x'), {}}, Deadline::after(60s), [&, peer](Result<Message>) {
      if (++answered == count) {
        done = true;
        done.notify_one();
      }
      ask(peer);
    });
  };
  const auto begin = Clock::now();
  client.post([&] {
    for (const PeerId peer : peers)
      for (int i = 0; i < window; ++i) ask(peer);
  });
  done.wait(false);
  const double us = us_since(begin);
  settle(client);
  fmt::print("{:<48} {:8.0f} requests/s\n", fmt::format("window {}, {} server(s)", window, peers.size()),
             count / us * 1e6);
}

void tensors(Endpoint& client, PeerId peer, int count) {
  const tensor::Tensor value = tensor::Tensor::zeros(tensor::DType::kF32, {1024, 1024});
  const auto once = [&] {
    const Result<Message> answer = client.call(peer, {1, "", {value}}, Deadline::after(30s));
    if (!answer || answer->tensors.size() != 1) std::exit(1);
  };
  for (int i = 0; i < 10; ++i) once();
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i) once();
  const double us = us_since(begin);
  fmt::print("{:<48} {:8.2f} GB/s (there and back, {:.0f} us each)\n", "4 MiB tensor, one at a time",
             2.0 * 4.194304e6 * count / us / 1e3, us / count);
}

/// The cost of encryption.
bool measure_with_key(const std::string& address) {
  EndpointOptions options;
  options.name = "bench";
  options.key = bench_key();
  const auto client = make_zmq_endpoint(std::move(options));
  if (!client) return false;
  const PeerId peer = (*client)->add_peer("worker:2", address);
  if (!(*client)->wait_up(std::vector{peer}, Deadline::after(10s))) return false;
  fmt::print("with a key:\n");
  call_round_trip(**client, peer, 4000);
  windowed(**client, {peer}, 64, 200000);
  tensors(**client, peer, 100);
  return true;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<pid_t> children;
  const std::string bare = start(children, serve_bare);
  const std::string first = start(children, serve_endpoint);
  const std::string second = start(children, serve_endpoint);
  bench_key();  // before the fork: both sides have it
  const std::string keyed = start(children, serve_with_key);
  int code = 1;
  EndpointOptions options;
  options.name = "bench";
  if (auto client = make_zmq_endpoint(std::move(options))) {
    const std::vector<PeerId> peers{(*client)->add_peer("worker:0", first), (*client)->add_peer("worker:1", second)};
    if ((*client)->wait_up(peers, Deadline::after(10s))) {
      for (int round = 0; round < 3; ++round) {
        const double base = bare_round_trip(bare, 4000);
        const double call = call_round_trip(**client, peers[0], 4000);
        const double callback = callback_round_trip(**client, peers[0], 4000);
        fmt::print("{:<48} {:8.2f} call, {:.2f} on the I/O thread\n", "ratio to bare", call / base, callback / base);
      }
      for (const int window : {1, 8, 64, 512}) windowed(**client, {peers[0]}, window, 200000 / (window == 1 ? 20 : 1));
      windowed(**client, peers, 64, 400000);
      tensors(**client, peers[0], 200);
      if (measure_with_key(keyed)) code = 0;
    }
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return code;
}
