// SPDX-License-Identifier: Apache-2.0
//
// Members that are killed and stopped in the middle of large sums: real processes.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::collective {
namespace {

/// Processes that add up without end. Each writes a point after its first sums, and its error when it has one.
struct Processes {
  Processes(Group& group, EngineKind engine, Duration patience) {
    for (int rank = 0; rank < group.size(); ++rank) {
      pipes.push_back(process::make_pipe().value());
      const pid_t pid = ::fork();
      if (pid == 0) {
        add_up(group, rank, engine, patience, pipes.back().write.get());
        ::_exit(0);
      }
      pipes.back().write.reset();
      pids.push_back(pid);
    }
  }
  ~Processes() {
    for (const pid_t pid : pids) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  static void add_up(Group& group, int rank, EngineKind engine, Duration patience, int out) {
    const auto communicator = group.connect(rank, engine);
    std::string line = communicator ? "." : communicator.error().message;
    std::vector<float> values(1'000'000, 1);
    auto* const bytes = reinterpret_cast<std::byte*>(values.data());
    const tensor::SumPart part{.leaves = {rank, 1}, .data = bytes};
    SumLayout layout{group.size(), {}, {}};
    for (int i = 0; i < group.size(); ++i) layout.shares.push_back({i, 1});
    for (int step = 0; communicator; ++step) {
      const auto done = (*communicator)
                            ->all_reduce({"w", step, {tensor::DType::kF32, {1'000'000}}}, layout, {&part, 1}, bytes,
                                         step < 3 ? soon() : Deadline::after(patience));
      if (step == 3) (void)!::write(out, line.data(), line.size());
      if (done) continue;
      line = std::string(code_name(done.error().code)) + " " + done.error().message;
      break;
    }
    (void)!::write(out, line.data(), line.size());
  }
  void wait_until_all_add() {
    char point = 0;
    for (process::Pipe& pipe : pipes) REQUIRE((::read(pipe.read.get(), &point, 1) == 1 && point == '.'));
  }
  std::string error_of(std::size_t rank) { return process::read_all(pipes[rank].read.get(), soon()).value(); }

  std::vector<process::Pipe> pipes;
  std::vector<pid_t> pids;
};

}  // namespace

TEST_CASE("faults: a killed member is named by all others, over TCP, by shared memory, and by both") {
  struct Case {
    EngineKind engine;
    std::vector<std::string> hosts = {};
  };
  for (const Case& one : {Case{EngineKind::kTcp}, Case{EngineKind::kShm}, Case{EngineKind::kAuto, {"a", "a", "b"}}}) {
    Group group(3, false, one.hosts);
    Processes processes(group, one.engine, std::chrono::seconds(20));
    processes.wait_until_all_add();
    ::kill(processes.pids[1], SIGKILL);
    for (const std::size_t rank : {std::size_t{0}, std::size_t{2}})
      CHECK(processes.error_of(rank) == "UNAVAILABLE worker:1 is lost (its connection has ended)");
  }
}

TEST_CASE("faults: a stopped member is named at the deadline") {
  for (const EngineKind engine : {EngineKind::kTcp, EngineKind::kShm}) {
    Group group(3);
    Processes processes(group, engine, std::chrono::seconds(2));
    processes.wait_until_all_add();
    ::kill(processes.pids[1], SIGSTOP);
    const std::string error = processes.error_of(0);
    CHECK(error.starts_with("DEADLINE_EXCEEDED all_reduce \"w\", step "));
    CHECK(error.find("worker:1") != std::string::npos);
  }
}

}  // namespace tfd::collective
