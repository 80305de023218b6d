// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <vector>

#include "tfd/process/event_loop.hpp"
#include "tfd/process/notify.hpp"
#include "tfd/process/relay.hpp"

#include "temporary_directory.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::process;

TEST_CASE("relay: lines come whole, whatever the pieces, and the last one without a newline") {
  Pipe pipe = make_pipe().value();
  LineReader reader(std::move(pipe.read));
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  CHECK(reader.read(keep));
  REQUIRE(::write(pipe.write.get(), "one\ntw", 6) == 6);
  CHECK(reader.read(keep));
  CHECK(lines == std::vector<std::string>{"one"});
  REQUIRE(::write(pipe.write.get(), "o\n\nthree", 8) == 8);
  pipe.write.reset();
  CHECK(!reader.read(keep));
  CHECK(lines == std::vector<std::string>{"one", "two", "", "three"});
}

TEST_CASE("relay: a full pipe never blocks the writer, and what is lost is counted") {
  Pipe pipe = make_pipe().value();
  QueuedOutput output(pipe.write.get(), 100000);
  const std::string line(999, 'x');
  for (int i = 0; i < 300; ++i) output.add(line + "\n");
  CHECK(output.has_pending());
  CHECK((::fcntl(pipe.write.get(), F_GETFL) & O_NONBLOCK) == 0);  // as we found it

  LineReader reader(std::move(pipe.read));
  std::size_t whole = 0;
  std::string last;
  const auto count = [&](std::string_view text) {
    whole += text == line ? 1 : 0;
    last = text;
  };
  while (output.has_pending()) {
    CHECK(reader.read(count));
    output.flush();
  }
  output.add("end\n");
  CHECK(reader.read(count));
  CHECK(last == "end");
  CHECK(whole < 300);
  CHECK(whole >= 160);  // the pipe's 64 KiB and the queue's 100 000 bytes
}

TEST_CASE("relay: a reader that is gone is no error") {
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe = make_pipe().value();
  pipe.read.reset();
  QueuedOutput output(pipe.write.get());
  output.add("text\n");
  CHECK(!output.has_pending());
  ::signal(SIGPIPE, old);
}

TEST_CASE("relay: flush_until waits for a slow reader, up to the deadline") {
  Pipe pipe = make_pipe().value();
  QueuedOutput output(pipe.write.get());
  output.add(std::string(200000, 'x'));
  CHECK(!output.flush_until(Deadline::after(10ms)));
  const Fd file(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  QueuedOutput other(file.get());
  other.add("x");
  CHECK(other.flush_until(Deadline::after(1s)));
}

TEST_CASE("event loop: descriptors and timers, and forgetting inside of a callback") {
  EventLoop loop;
  Pipe first = make_pipe().value();
  Pipe second = make_pipe().value();
  std::string order;
  loop.watch(first.read.get(), POLLIN, [&](short) {
    order += "a";
    loop.forget(first.read.get());
    loop.forget(second.read.get());  // due as well, but no more
  });
  loop.watch(second.read.get(), POLLIN, [&](short) { order += "b"; });
  REQUIRE(::write(first.write.get(), "x", 1) == 1);
  REQUIRE(::write(second.write.get(), "x", 1) == 1);
  const auto soon = Clock::now() + 5ms;
  loop.at(soon + 1ms, [&] { order += "2"; });
  loop.at(soon, [&] { order += "1"; });
  const auto cancelled = loop.at(soon, [&] { order += "never"; });
  loop.cancel(cancelled);
  const Deadline deadline = Deadline::after(10s);
  while (order.size() < 3 && !deadline.expired()) REQUIRE(loop.turn(deadline));
  CHECK(order == "a12");
}

TEST_CASE("relay: a full disk is told, a reader that went isn't a failure") {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  QueuedOutput out(full.get());
  CHECK(out.saved_errno() == 0);
  out.add("lost\n");
  CHECK(out.saved_errno() == ENOSPC);
  CHECK(!out.has_pending());

  Pipe pipe = make_pipe().value();
  pipe.read.reset();
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  QueuedOutput gone(pipe.write.get());
  gone.add("lost\n");
  ::signal(SIGPIPE, old);
  CHECK(gone.saved_errno() == 0);
  CHECK(!gone.has_pending());
}

TEST_CASE("notify: the service manager's socket gets the state, without one nothing happens") {
  CHECK(notify_service_manager(Environment(), "READY=1").has_value());
  const test::TemporaryDirectory directory;
  const std::string path = directory / "s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd server(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  Environment env;
  env.set("NOTIFY_SOCKET", path);
  CHECK(notify_service_manager(env, "READY=1").has_value());
  char text[32];
  CHECK(std::string(text, static_cast<std::size_t>(::recv(server.get(), text, sizeof text, 0))) == "READY=1");
  env.set("NOTIFY_SOCKET", directory / "none");
  CHECK(!notify_service_manager(env, "READY=1"));
  env.set("NOTIFY_SOCKET", "relative");
  CHECK(notify_service_manager(env, "READY=1").error().code == Code::kInvalidArgument);
}
