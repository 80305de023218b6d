// SPDX-License-Identifier: Apache-2.0
//
// The supervisor with shell scripts for tasks: descriptors 4 (readiness) and 5 (lifeline) as it promises.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>

#include "tfd/launch/listen.hpp"
#include "tfd/launch/supervisor.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::launch;

namespace {

struct Fixture {
  process::EventLoop loop;
  SupervisorOptions options;
  std::vector<std::string> said;  // warnings and output of tasks
  bool ready = false;
  bool end = false;
  std::optional<Error> failure;
  std::unique_ptr<Supervisor> supervisor;

  Fixture() {
    options.environment.set("PATH", "/usr/bin:/bin");
    options.log = Log("launch", [this](LogLevel level, std::string_view, std::string_view message) {
      if (level <= LogLevel::kWarning) said.emplace_back(message);
    });
    options.on_output = [this](const std::string& task, std::string_view line) {
      said.push_back(task + ": " + std::string(line));
    };
    options.on_ready = [this] { ready = true; };
    options.on_failure = [this](Error error) { failure = std::move(error); };
    options.on_end = [this] { end = true; };
  }

  Result<void> start(const std::vector<std::string>& scripts) {
    std::vector<TaskCommand> tasks;
    for (const std::string& script : scripts) {
      const int index = static_cast<int>(tasks.size());
      tasks.push_back({{"worker", index}, {"sh", "-c", script}, std::move(listen_on({"127.0.0.1", 0}).value().fd)});
    }
    supervisor = std::make_unique<Supervisor>(loop, options, std::move(tasks));
    return supervisor->start();
  }

  template <class Condition>
  bool until(Condition condition) {
    const Deadline deadline = Deadline::after(20s);
    while (!condition() && !deadline.expired()) REQUIRE(loop.turn(deadline));
    return condition();
  }

  bool has_said(const std::string& text) const {
    for (const std::string& line : said)
      if (line.find(text) != std::string::npos) return true;
    return false;
  }
};

constexpr const char* kServe = "echo ready >&4; exec sleep 60";

}  // namespace

TEST_CASE("supervisor: ready when all are, ends all with SIGTERM") {
  Fixture f;
  REQUIRE(f.start({kServe, "echo hello >&2; echo ready >&4; exec sleep 60"}));
  CHECK(f.until([&] { return f.ready; }));
  CHECK(f.has_said("worker:1: hello"));
  f.supervisor->stop(10s);
  CHECK(f.until([&] { return f.end; }));
  CHECK(!f.failure);
}

TEST_CASE("supervisor: a task that ignores SIGTERM is killed after the grace") {
  Fixture f;
  REQUIRE(f.start({"trap '' TERM; echo ready >&4; while :; do sleep 60; done"}));
  CHECK(f.until([&] { return f.ready; }));
  f.supervisor->stop(20ms);
  CHECK(f.until([&] { return f.end; }));
}

TEST_CASE("supervisor: a task that dies is started again, with back-off") {
  Fixture f;
  REQUIRE(f.start({"echo pid $$ >&2; echo ready >&4; exec sleep 60", kServe}));
  REQUIRE(f.until([&] { return f.ready; }));
  for (const char* wait : {"100ms", "200ms"}) {
    const std::string line = f.said.back();
    REQUIRE(line.starts_with("worker:0: pid "));
    const int pid = std::stoi(line.substr(14));
    REQUIRE(::kill(pid, SIGKILL) == 0);
    CHECK(f.until([&] { return f.said.back().starts_with("worker:0: pid ") && f.said.back() != line; }));
    CHECK(f.has_said(fmt::format("worker:0 died of signal 9 (killed); restarting in {}", wait)));
  }
}

TEST_CASE("supervisor: a task that dies before it is ready fails the start, after its last words") {
  Fixture f;
  REQUIRE(f.start({kServe, "echo 'cannot do it' >&2; exit 71"}));
  CHECK(f.until([&] { return f.failure.has_value(); }));
  CHECK(f.failure->code == Code::kSystem);
  CHECK(f.failure->message == "worker:1 exited with 71 before it was ready");
  CHECK(f.has_said("worker:1: cannot do it"));
  CHECK(!f.ready);
}

TEST_CASE("supervisor: a task that never becomes ready is named") {
  Fixture f;
  f.options.ready_timeout = 300ms;
  REQUIRE(f.start({kServe, "exec sleep 60"}));
  CHECK(f.until([&] { return f.failure.has_value(); }));
  CHECK(f.failure->code == Code::kDeadlineExceeded);
  CHECK(f.failure->message == "worker:1 not ready after 300ms");
}

TEST_CASE("supervisor: goodbye ends a task for good with once, else it is started fresh") {
  Fixture f;
  f.options.once = true;
  REQUIRE(f.start({"echo ready >&4; exit 0", "echo ready >&4; exit 0"}));
  CHECK(f.until([&] { return f.end; }));
  CHECK(f.ready);
  CHECK(f.said.empty());

  Fixture again;
  REQUIRE(again.start({"echo $$ >&2; echo ready >&4; exit 0"}));
  CHECK(again.until([&] { return again.said.size() >= 2; }));
  CHECK(!again.end);
}

TEST_CASE("supervisor: a program that can't be run is an error of start") {
  Fixture f;
  f.options.program = "/nonexistent/tfd";
  const auto started = f.start({"true"});
  REQUIRE(!started);
  CHECK(started.error().message == "worker:0: cannot run /nonexistent/tfd: no such file or directory");
}
