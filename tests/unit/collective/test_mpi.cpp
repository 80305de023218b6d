// SPDX-License-Identifier: Apache-2.0
//
// Collectives by MPI, whose processes are threads here: tests/cluster/mpi.bats has the real ones.
#include <fmt/ranges.h>

#include <algorithm>
#include <latch>
#include <mutex>
#include <numeric>
#include <regex>

#include "group.hpp"

namespace tfd::collective {
namespace {

using std::chrono::milliseconds;

std::string load_error(const std::string& path) {
  const auto plugin = load_mpi_plugin(path);
  REQUIRE_FALSE(plugin);
  CHECK(plugin.error().code == Code::kFailedPrecondition);
  return plugin.error().message;
}

SumLayout layout_of(int members) {
  SumLayout layout{.replicas = members, .shares = {}};
  for (int i = 0; i < members; ++i) layout.shares.push_back({i, 1});
  return layout;
}

/// A sum of `elements` ones.
Result<void> add_up(Communicator& communicator, std::int64_t elements, const std::string& name = "w",
                    Deadline deadline = soon()) {
  std::vector<float> data(static_cast<std::size_t>(elements), 1);
  auto* const bytes = reinterpret_cast<std::byte*>(data.data());
  const tensor::SumPart part{.leaves = {communicator.rank(), 1}, .data = bytes};
  TFD_TRY(communicator.all_reduce({name, 7, {tensor::DType::kF32, {elements}}}, layout_of(communicator.size()),
                                  {&part, 1}, bytes, deadline));
  CHECK(std::ranges::all_of(data, [&](float one) { return one == static_cast<float>(communicator.size()); }));
  return {};
}

/// The members' errors, a line each in the order of ranks.
std::string errors_of(Group& group, const Engine& engine, const std::function<Result<void>(Communicator&)>& work) {
  std::vector<std::string> out(static_cast<std::size_t>(group.size()));
  group.run(
      [&](Communicator& communicator) {
        const Result<void> done = work(communicator);
        out[static_cast<std::size_t>(communicator.rank())] = done ? "none" : done.error().message;
      },
      engine);
  return fmt::format("{}", fmt::join(out, "\n"));
}

std::string without_times(const std::string& text) { return std::regex_replace(text, std::regex("[0-9.]+m?s "), ""); }

/// The same line of `members` members.
std::string lines_of(int members, const std::string& line) {
  return fmt::format("{}", fmt::join(std::vector<std::string>(static_cast<std::size_t>(members), line), "\n"));
}

}  // namespace

TEST_CASE("mpi: a plug-in that isn't one is refused with how to build it") {
  const std::string build = ": build it by mpicc -shared -fPIC -O2 -o libtfd-mpi.so ";
  const auto says = [&](const std::string& path, const std::string& why) {
    const std::string message = load_error(path);
    CHECK_MESSAGE(message.starts_with((path.empty() ? "" : path + ": ") + why + build), message);
    CHECK_MESSAGE(message.find("tfd-mpi.c") != std::string::npos, message);
  };
  const std::string fakes = TFD_TEST_PLUGINS "/fake-mpi-";
  says("", "no plug-in is named");
  says("/no/such.so", "it can't be read");
  says("/dev/null", "file too short");
  says(fakes + "version.so", "it has version 2 of the interface, but this tfd 1");
  says(fakes + "nothing.so", "tfd_mpi_plugin() returned nothing");
  says(fakes + "no-entry.so", "not a plug-in for MPI: it has no symbol tfd_mpi_plugin");
  CHECK(load_mpi_plugin(fakes + "good.so"));
}

TEST_CASE("mpi: broadcasts and gathers of any size, while others are on their way") {
  Group group(3);
  group.run(
      [](Communicator& communicator) {
        std::vector<std::byte> data(9'000'001, std::byte{static_cast<unsigned char>(communicator.rank())});
        REQUIRE(communicator.begin_all_gather("before", 1, "b"));
        for (const int root : {2, 0}) {
          std::ranges::fill(data, std::byte{static_cast<unsigned char>(10 * communicator.rank())});
          REQUIRE(communicator.broadcast("state", root, root, data, soon()));
          CHECK(std::ranges::all_of(
              data, [&](std::byte one) { return one == std::byte{static_cast<unsigned char>(10 * root)}; }));
        }
        CHECK(communicator.wait_all_gather(soon()).value() == std::vector<std::string>{"b", "b", "b"});
        // Few bytes, and many of two of them.
        for (const std::size_t size : {std::size_t{1}, std::size_t{70'000}, std::size_t{5'000'000}}) {
          const auto text_of = [&](int rank) {
            return rank == 1 ? std::string("x") : std::string(size, static_cast<char>('a' + rank));
          };
          const auto all =
              communicator.all_gather("texts", static_cast<std::int64_t>(size), text_of(communicator.rank()), soon());
          REQUIRE(all);
          for (int rank = 0; rank < 3; ++rank) CHECK((*all)[static_cast<std::size_t>(rank)] == text_of(rank));
        }
        CHECK(communicator.traffic().bytes_sent > 18'000'000);
      },
      fake_mpi());
}

TEST_CASE("mpi: sums that have begun go on together, however large") {
  Group group(3);
  group.run(
      [](Communicator& communicator) {
        constexpr std::int64_t kSizes[] = {10, 3'000'000, 0, 20'000, 1'500'000};
        std::vector<std::vector<float>> data;
        std::vector<tensor::SumPart> parts;
        for (const std::int64_t size : kSizes) {
          data.emplace_back(static_cast<std::size_t>(size));
          std::iota(data.back().begin(), data.back().end(), static_cast<float>(communicator.rank()));
          parts.push_back(
              {.leaves = {communicator.rank(), 1}, .data = reinterpret_cast<const std::byte*>(data.back().data())});
          if (size == 0) parts.back().data = reinterpret_cast<const std::byte*>(&parts);
        }
        for (std::size_t i = 0; i < data.size(); ++i)
          REQUIRE(communicator.begin_all_reduce({"w" + std::to_string(i), 1, {tensor::DType::kF32, {kSizes[i]}}},
                                                layout_of(3), {&parts[i], 1},
                                                reinterpret_cast<std::byte*>(data[i].data())));
        for (auto done = communicator.move_on(); !done.value(); done = communicator.move_on())
          std::this_thread::yield();
        for (std::size_t i = 0; i < data.size(); ++i) {
          REQUIRE(communicator.wait(soon()));
          for (std::size_t k = 0; k < data[i].size(); k += 999)
            CHECK(data[i][k] == doctest::Approx(3.0 * static_cast<double>(k) + 3.0));
        }
      },
      fake_mpi());
}

TEST_CASE("mpi: members whose sums differ have the same error, before MPI is asked for one") {
  Group group(3);
  const auto errors = errors_of(group, fake_mpi(), [](Communicator& communicator) {
    return add_up(communicator, communicator.rank() == 2 ? 11 : 10);
  });
  CHECK(errors == lines_of(3, "all_reduce \"w\", step 7: worker:0 has f32[10], worker:2 f32[11]"));
}

TEST_CASE("mpi: who is late is named; what MPI doesn't end is told as such") {
  Group late(2);
  std::latch has_said(1);
  const auto errors = errors_of(late, fake_mpi(), [&](Communicator& communicator) {
    if (communicator.rank() == 1) has_said.wait();
    const auto done = add_up(communicator, 10, "w", Deadline::after(milliseconds(100)));
    if (communicator.rank() == 0) has_said.count_down();
    return done;
  });
  CHECK(without_times(errors) == lines_of(2, "all_reduce \"w\", step 7: without worker:1"));

  Group never(2);
  std::mutex mutex;
  std::vector<std::string> lines;
  const auto ends = errors_of(never, fake_mpi("never"), [&](Communicator& communicator) {
    if (communicator.rank() == 0)
      communicator.on_stall(milliseconds(20), {}, [&](const Stalled& wait) {
        const std::scoped_lock lock(mutex);
        lines.push_back(wait.call + ": " + wait.whom);
      });
    return add_up(communicator, 10, "w", communicator.rank() == 0 ? Deadline::after(milliseconds(100)) : soon());
  });
  CHECK(without_times(ends) == lines_of(2, "all_reduce \"w\", step 7: without an end of what all have begun in MPI"));
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "all_reduce \"w\", step 7: an end of what all have begun in MPI");
}

TEST_CASE("mpi: a member that dies while MPI adds up is named, and a failing call of MPI ends all") {
  Group group(3);
  const auto ends = errors_of(group, fake_mpi("never"), [&](Communicator& communicator) -> Result<void> {
    if (communicator.rank() < 2) return add_up(communicator, 10);
    std::vector<float> data(10);
    const tensor::SumPart part{.leaves = {2, 1}, .data = reinterpret_cast<const std::byte*>(data.data())};
    TFD_TRY(communicator.begin_all_reduce({"w", 7, {tensor::DType::kF32, {10}}}, layout_of(3), {&part, 1},
                                          reinterpret_cast<std::byte*>(data.data())));
    return {};  // it is gone without waiting
  });
  CHECK(ends == lines_of(2, "worker:2 is lost (its connection has ended)") + "\nnone");

  Group failing(3);
  const auto errors =
      errors_of(failing, fake_mpi("fails"), [](Communicator& communicator) { return add_up(communicator, 10); });
  CHECK(errors == lines_of(3, "all_reduce \"w\", step 7: MPI: MPI_Iallreduce: the fabric is broken"));
}

TEST_CASE("mpi: processes that aren't the members, or don't start it, are an error of connect()") {
  for (const auto& [how, code, message] :
       {std::tuple{"alone", Code::kFailedPrecondition, "MPI: Fake MPI 1.0 has this process alone"},
        std::tuple{"stuck", Code::kDeadlineExceeded, "MPI hasn't begun after "}}) {
    Group group(2);
    const Engine engine = fake_mpi(how);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank, code = code, message = message] {
        const auto communicator = group.connect(rank, engine, Deadline::after(milliseconds(600)));
        REQUIRE_FALSE(communicator);
        CHECK(communicator.error().code == code);
        CHECK_MESSAGE(communicator.error().message.find(message) != std::string::npos, communicator.error().message);
      });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(Group(2).connect(0, EngineKind::kMpi).error().message == "collectives by MPI need its plug-in");
}

TEST_CASE("mpi: who waits for its start hears at once that a member is gone, or why it fails") {
  for (const bool is_killed : {true, false}) {
    Group group(3);
    const Engine engine = fake_mpi("stuck");
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        // The deadline is one that nobody reaches: it fails the test as well.
        const auto communicator = group.connect(rank, engine, Deadline::after(std::chrono::minutes(10)));
        REQUIRE_FALSE(communicator);
        CHECK(communicator.error().code == Code::kUnavailable);
        CHECK(communicator.error().message ==
              (is_killed ? "worker:2 is lost (its connection has ended)" : "worker:2 has lost its fabric"));
      });
    {
      // It has met the others, but doesn't start MPI.
      const auto third = group.connect(2, EngineKind::kAuto);
      REQUIRE(third);
      if (!is_killed) (*third)->cancel({Code::kUnavailable, "worker:2 has lost its fabric"});
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace tfd::collective
