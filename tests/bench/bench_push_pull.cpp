// SPDX-License-Identifier: Apache-2.0
//
// A push and a pull of 4 MiB between two processes of this host: a coordinator and its parameter server, beside the
// bare ring (the memory that tfd shares, with nothing around it), bare ZeroMQ over TCP, and memcpy.
//   tfd-serve --jobs worker=1,ps=1 --output spec.json & bench-push-pull spec.json tests/bench/closures/program.json
//   w_4mib
// All take turns in each round. Prints one JSON object. Not a test: it asserts nothing.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "closures.hpp"
#include "tfd/process/shared_rings.hpp"
#include "tfd/task/key.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kBytes = 4 << 20;
constexpr std::size_t kPiece = 256 << 10;  // as the transport's
constexpr std::size_t kRing = 1 << 20;
constexpr int kRounds = 200, kWarmUp = 20;
constexpr char kPush = 'p', kPull = 'g';

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

/// One side of a ring, which sleeps at a socket.
class BareRing {
 public:
  BareRing(const process::Fd& memory, int bell, process::SharedRings::Side side)
      : rings_(process::SharedRings::map(memory, kRing, side).value()), bell_(bell) {}

  void write(const char* from, std::size_t size) {
    while (size > 0) {
      const std::size_t piece = std::min(size, kPiece);
      std::span<std::byte> room = rings_.room().value();
      while (room.size() < piece) {
        if (rings_.prepare_to_sleep(false, piece)) sleep();
        rings_.wake_up();
        room = rings_.room().value();
      }
      std::memcpy(room.data(), from, piece);
      if (rings_.publish(piece)) ring();
      from += piece;
      size -= piece;
    }
  }
  void read(char* to, std::size_t size) {
    while (size > 0) {
      std::span<const std::byte> there = rings_.arrived().value();
      while (there.empty()) {
        if (rings_.prepare_to_sleep(true, 0)) sleep();
        rings_.wake_up();
        there = rings_.arrived().value();
      }
      const std::size_t piece = std::min(size, there.size());
      std::memcpy(to, there.data(), piece);
      if (rings_.consume(piece)) ring();
      to += piece;
      size -= piece;
    }
  }

 private:
  void sleep() const {
    char byte = 0;
    if (::read(bell_, &byte, 1) != 1) std::_Exit(0);  // the other side has ended
  }
  void ring() const {
    if (::write(bell_, "", 1) != 1) std::_Exit(0);
  }

  process::SharedRings rings_;
  int bell_;
};

pid_t in_child(const std::function<void()>& serve) {
  const pid_t pid = ::fork();
  if (pid < 0) give_up("fork");
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  serve();
  std::_Exit(0);
}

/// Something that a tensor is pushed to and pulled from.
struct Peer {
  std::string name;
  std::function<Result<void>()> push, pull;
  std::vector<double> pushed = {}, pulled = {};  // seconds
};

Result<void> measure(std::vector<Peer>& peers) {
  const auto timed = [](const std::function<Result<void>()>& what) -> Result<double> {
    const auto start = Clock::now();
    TFD_TRY(what());
    return bench::seconds_since(start);
  };
  for (int round = 0; round < kRounds + kWarmUp; ++round)
    for (Peer& peer : peers) {
      const double pushed = TFD_TRY(timed(peer.push)), pulled = TFD_TRY(timed(peer.pull));
      if (round < kWarmUp) continue;
      peer.pushed.push_back(pushed);
      peer.pulled.push_back(pulled);
    }
  return {};
}

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

/// The bare ring's other process keeps what was pushed.
struct RingPeer {
  RingPeer() {
    int bells[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, bells) != 0) give_up("socketpair");
    const process::Fd memory = process::SharedRings::make_memory(kRing).value();
    child = in_child([&] {
      ::close(bells[0]);
      BareRing ring(memory, bells[1], process::SharedRings::Side::kTaker);
      std::vector<char> kept(kBytes);
      for (char what = 0;;) {
        ring.read(&what, 1);
        if (what == kPull) {
          ring.write(kept.data(), kBytes);
        } else {
          ring.read(kept.data(), kBytes);
          ring.write(&what, 1);
        }
      }
    });
    ::close(bells[1]);
    ours.emplace(memory, bells[0], process::SharedRings::Side::kMaker);
  }
  pid_t child = 0;
  std::optional<BareRing> ours;
};

/// Bare ZeroMQ: a REP that keeps what was pushed.
struct ZmqPeer {
  ZmqPeer() {
    int ends[2];
    if (::pipe(ends) != 0) give_up("pipe");
    child = in_child([&] {
      void* replier = ::zmq_socket(::zmq_ctx_new(), ZMQ_REP);
      ::zmq_bind(replier, "tcp://127.0.0.1:*");
      char text[256];
      std::size_t size = sizeof text;
      ::zmq_getsockopt(replier, ZMQ_LAST_ENDPOINT, text, &size);
      if (::write(ends[1], text, size) < 0) return;
      std::vector<char> kept(kBytes);
      for (;;) {
        zmq_msg_t asked;
        ::zmq_msg_init(&asked);
        if (::zmq_msg_recv(&asked, replier, 0) < 0) return;
        const bool is_push = ::zmq_msg_size(&asked) == kBytes;
        if (is_push) std::memcpy(kept.data(), ::zmq_msg_data(&asked), kBytes);
        ::zmq_msg_close(&asked);
        ::zmq_send(replier, kept.data(), is_push ? 1 : kBytes, 0);
      }
    });
    char address[256] = {};
    if (::read(ends[0], address, sizeof address) <= 0) give_up("no address");
    for (const int end : ends) ::close(end);
    at = address;
  }
  /// After all children were forked: it has threads from here on.
  void connect() {
    socket = ::zmq_socket(::zmq_ctx_new(), ZMQ_REQ);
    ::zmq_connect(socket, at.c_str());
  }
  void ask(const char* bytes, std::size_t size, char* answer, std::size_t room) const {
    ::zmq_send(socket, bytes, size, 0);
    ::zmq_recv(socket, answer, room, 0);
  }
  pid_t child = 0;
  std::string at;
  void* socket = nullptr;
};

Result<void> run(const bench::Trivial& subject) {
  RingPeer ring;
  ZmqPeer zmq;
  zmq.connect();
  coordinator::CoordinatorOptions options;
  options.keep_servers = true;
  options.make_endpoint = TFD_TRY(task::endpoints_under(std::nullopt, Environment::of_process()));
  const auto coordinator =
      TFD_TRY(coordinator::ClusterCoordinator::connect(subject.program, subject.config, std::move(options)));
  const tensor::Tensor value = tensor::Tensor::zeros(tensor::DType::kF32, {kBytes / 4});
  std::vector<char> from(kBytes, 1), to(kBytes, 2);
  char answer = 0;
  const auto deadline = [] { return Deadline::after(30s); };
  const auto always = [](auto what) {
    return [what]() -> Result<void> {
      what();
      return {};
    };
  };
  std::vector<Peer> peers{{"tfd", [&] { return coordinator->assign(subject.function, value, deadline()); },
                           [&]() -> Result<void> {
                             TFD_TRY(coordinator->read(subject.function, deadline()));
                             return {};
                           }},
                          {"bare_ring", always([&] {
                             ring.ours->write(&kPush, 1);
                             ring.ours->write(from.data(), kBytes);
                             ring.ours->read(&answer, 1);
                           }),
                           always([&] {
                             ring.ours->write(&kPull, 1);
                             ring.ours->read(to.data(), kBytes);
                           })},
                          {"bare_zeromq", always([&] { zmq.ask(from.data(), kBytes, &answer, 1); }),
                           always([&] { zmq.ask(&kPull, 1, to.data(), kBytes); })},
                          {"memcpy", always([&] { std::memcpy(to.data(), from.data(), kBytes); }),
                           always([&] { std::memcpy(to.data(), from.data(), kBytes); })}};
  const auto measured = measure(peers);
  for (const pid_t child : {ring.child, zmq.child}) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  TFD_TRY(measured);
  std::string fields;
  for (const Peer& peer : peers)
    fields += fmt::format("\"{0}_push_us\": {1:.0f}, \"{0}_pull_us\": {2:.0f}, ", peer.name, median(peer.pushed) * 1e6,
                          median(peer.pulled) * 1e6);
  fmt::print("{{{}\"push_by_bare_ring\": {:.2f}, \"pull_by_bare_ring\": {:.2f}}}\n", fields,
             median(peers[0].pushed) / median(peers[1].pushed), median(peers[0].pulled) / median(peers[1].pulled));
  return {};
}

}  // namespace

int main(int argc, char** argv) { return bench::run_trivial("bench-push-pull", argc, argv, 0, run); }
