// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>

#include "tfd/rendezvous/rendezvous.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::rendezvous;

namespace {

/// A launcher that starts no processes, over TCP.
struct Launcher {
  std::vector<Command> commands;
  std::optional<Error> failure;
  std::vector<std::string> lines;
  std::unique_ptr<Rendezvous> rendezvous;

  bool has(Command::Kind kind) const {
    for (const Command& one : commands)
      if (one.kind == kind) return true;
    return false;
  }
};

RendezvousOptions options_of(Launcher& launcher, const cluster::Address& at, std::string host) {
  RendezvousOptions options{.at = at, .bring = [host = std::move(host)]() -> Result<Joining> {
                              return Joining{.host = host, .addresses = {host + ":1"}};
                            }};
  options.on_command = [&launcher](const Command& command) { launcher.commands.push_back(command); };
  options.on_failure = [&launcher](Error error) { launcher.failure = std::move(error); };
  options.say = [&launcher](const std::string& line) { launcher.lines.push_back(line); };
  options.agreement.bounds = {.least = 2, .most = 2};
  return options;
}

struct Pair {
  process::EventLoop loop;
  cluster::Address at;
  Launcher holder, guest;

  void open_holder() {
    auto listener = launch::listen_on({.host = "127.0.0.1", .port = 0});
    REQUIRE(listener);
    at = listener->address;
    auto options = options_of(holder, at, "h0");
    options.listener = std::move(*listener);
    auto opened = Rendezvous::open(loop, std::move(options));
    REQUIRE(opened);
    holder.rendezvous = std::move(*opened);
  }
  void open_guest(std::function<void(RendezvousOptions&)> change = {}) {
    auto options = options_of(guest, at, "h1");
    if (change) change(options);
    auto opened = Rendezvous::open(loop, std::move(options));
    REQUIRE(opened);
    guest.rendezvous = std::move(*opened);
  }
  template <class Done>
  void turn_until(const Done& done) {
    const Deadline deadline = Deadline::after(20s);
    bool is_late = false;
    const auto timer = loop.at(deadline.when(), [&is_late] { is_late = true; });
    while (!done() && !is_late) REQUIRE(loop.turn());
    loop.cancel(timer);
    REQUIRE(!is_late);
  }
};

}  // namespace

TEST_CASE("meeting: two launchers start together and end together") {
  Pair pair;
  pair.open_holder();
  pair.open_guest();
  pair.turn_until([&] { return pair.holder.has(Command::Kind::kStart) && pair.guest.has(Command::Kind::kStart); });
  CHECK(pair.guest.commands.back().plan.node == 1);
  CHECK(pair.guest.commands.back().plan.addresses == std::vector<std::string>{"h0:1", "h1:1"});
  pair.guest.rendezvous->report(
      {.kind = Report::Kind::kFailed, .task = "worker:1", .line = "worker:1 exited with 7", .code = 7});
  pair.turn_until([&] { return pair.holder.has(Command::Kind::kHalt) && pair.guest.has(Command::Kind::kHalt); });
  CHECK(pair.holder.commands.back().line == "worker:1 exited with 7");
  pair.guest.rendezvous->report({.kind = Report::Kind::kIdle});
  pair.holder.rendezvous->report({.kind = Report::Kind::kIdle});
  const auto begun = Clock::now();
  pair.turn_until([&] { return pair.holder.rendezvous->is_done() && pair.guest.rendezvous->is_done(); });
  CHECK(Clock::now() - begun < 10s);
  CHECK(pair.guest.commands.back().code == 7);
  CHECK(pair.holder.commands.back().code == 7);
}

TEST_CASE("meeting: a guest that is there first waits, and says so; one that goes is lost, and so is a holder") {
  Pair pair;
  {
    auto listener = launch::listen_on({.host = "127.0.0.1", .port = 0});
    REQUIRE(listener);
    pair.at = listener->address;  // nobody listens there then
  }
  pair.open_guest([](RendezvousOptions& options) { options.agreement.report = 50ms; });
  pair.turn_until([&] { return !pair.guest.lines.empty(); });
  CHECK(pair.guest.lines.front().starts_with(fmt::format("waiting for the rendezvous at 127.0.0.1:{}", pair.at.port)));
  auto listener = launch::listen_on(pair.at);
  REQUIRE(listener);
  auto options = options_of(pair.holder, pair.at, "h0");
  options.listener = std::move(*listener);
  auto opened = Rendezvous::open(pair.loop, std::move(options));
  REQUIRE(opened);
  pair.holder.rendezvous = std::move(*opened);
  pair.turn_until([&] { return pair.guest.has(Command::Kind::kStart); });
  SUBCASE("a guest") {
    pair.guest.rendezvous.reset();
    pair.turn_until([&] { return pair.holder.has(Command::Kind::kHalt); });
    CHECK(pair.holder.commands.back().line.starts_with("the launcher of h1 is lost ("));
    pair.holder.rendezvous->report({.kind = Report::Kind::kIdle});
    pair.turn_until([&] { return pair.holder.rendezvous->is_done(); });
    CHECK(pair.holder.commands.back().code == 69);
  }
  SUBCASE("a holder") {
    pair.holder.rendezvous.reset();
    pair.turn_until([&] { return pair.guest.failure.has_value(); });
    CHECK(pair.guest.failure->code == Code::kUnavailable);
    CHECK(pair.guest.failure->message.starts_with(
        fmt::format("the launcher at 127.0.0.1:{}, which holds the rendezvous, is lost (", pair.at.port)));
  }
}

TEST_CASE("meeting: a guest gives up after --join, and is told why it is refused") {
  Pair pair;
  pair.open_holder();
  SUBCASE("nobody is there") {
    pair.holder.rendezvous.reset();
    pair.open_guest([](RendezvousOptions& options) { options.agreement.join = 100ms; });
    pair.turn_until([&] { return pair.guest.failure.has_value(); });
    CHECK(pair.guest.failure->code == Code::kDeadlineExceeded);
    CHECK(pair.guest.failure->message.find("for the rendezvous at 127.0.0.1:") != std::string::npos);
  }
  SUBCASE("it differs") {
    pair.open_guest([](RendezvousOptions& options) {
      options.bring = []() -> Result<Joining> {
        return Joining{.host = "h1", .addresses = {"h1:1"}, .same = {{"--nnodes", "3"}}};
      };
    });
    pair.turn_until([&] { return pair.guest.failure.has_value(); });
    CHECK(pair.guest.failure->code == Code::kFailedPrecondition);
    CHECK(pair.guest.failure->message == "h0 and h1 have different versions of tfd");
  }
  SUBCASE("it has a key, and the others have none") {
    pair.open_guest([](RendezvousOptions& options) {
      options.make_endpoint = [](transport::EndpointOptions endpoint) {
        endpoint.key = transport::make_curve_key().value();
        return transport::make_zmq_endpoint(std::move(endpoint));
      };
    });
    pair.turn_until([&] { return pair.guest.failure.has_value(); });
    CHECK(pair.guest.failure->code == Code::kPermissionDenied);
  }
}

TEST_CASE("meeting: the loop doesn't call a side that was destroyed with work posted") {
  Pair pair;
  pair.open_holder();  // it has posted its first work
  pair.holder.rendezvous.reset();
  REQUIRE(pair.loop.turn(Deadline::after(Duration::zero())));
  CHECK(pair.holder.commands.empty());
}
