// SPDX-License-Identifier: Apache-2.0
//
// The holder of a directory of checkpoints: processes of this kernel, of others, and ones that are gone.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "bed.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/file.hpp"
#include "tfd/train/directory_lock.hpp"

namespace tfd::train {
namespace {

namespace fs = std::filesystem;
using strategy::test::Directory;

constexpr Duration kNever = std::chrono::hours(1);

/// Options of a process whose kernel has this name. A short beat, and a watch that is much longer.
DirectoryLockOptions on(const std::string& kernel, Duration beat = std::chrono::milliseconds(5),
                        Duration watch = std::chrono::minutes(1)) {
  DirectoryLockOptions options;
  options.kernel = kernel;
  options.beat = beat;
  options.watch = watch;
  return options;
}

using Lock = std::unique_ptr<DirectoryLock>;

Lock acquire(const Directory& directory, Claim claim, DirectoryLockOptions options) {
  auto lock = DirectoryLock::acquire(directory.path(), claim, std::move(options));
  if (!lock) FAIL(lock.error().message);
  REQUIRE(*lock != nullptr);
  return std::move(*lock);
}

/// The file that a process on another host has left; no lock of it is known here.
void leave_file(const Directory& directory) {
  std::ofstream(directory / ".lock") << R"({"v":1,"host":"far","pid":7,"kernel":"other","beat":3})"
                                     << "\n";
}

}  // namespace

TEST_CASE("directory lock: a second training is refused, and told who holds it; after the first one it comes in") {
  const Directory directory;
  Lock first = acquire(directory, Claim::kWatchHosts, on("here"));
  for (const Claim claim : {Claim::kAtOnce, Claim::kWatchHosts, Claim::kWatchAll}) {
    const auto refused = DirectoryLock::acquire(directory.path(), claim, on("here"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kPermissionDenied);
    CHECK(refused.error().message.starts_with(
        fmt::format("{} is in use by process {} on {}, ", directory.path(), ::getpid(), host_name())));
    CHECK(refused.error().message.find("--take-over") != std::string::npos);
  }
  first.reset();
  acquire(directory, Claim::kAtOnce, on("here"));
}

TEST_CASE("directory lock: one that is taken over is the other's from then on, whenever the first one ends") {
  const Directory directory;
  Lock first = acquire(directory, Claim::kWatchHosts, on("here"));
  Lock second = acquire(directory, Claim::kTake, on("here"));
  CHECK_FALSE(DirectoryLock::acquire(directory.path(), Claim::kAtOnce, on("here")));
  first.reset();
  CHECK_FALSE(DirectoryLock::acquire(directory.path(), Claim::kAtOnce, on("here")));
  second.reset();
  acquire(directory, Claim::kAtOnce, on("here"));
}

TEST_CASE("directory lock: what a process of this kernel has left when it was killed is in nobody's way") {
  const Directory directory;
  std::ofstream(directory / ".lock") << R"({"v":1,"host":"h","pid":7,"kernel":"here","beat":3})"
                                     << "\n";
  acquire(directory, Claim::kAtOnce, on("here"));
  std::ofstream(directory / ".lock") << "no JSON";
  acquire(directory, Claim::kAtOnce, on("here"));
}

TEST_CASE("directory lock: a process on another host holds it for as long as its beat changes") {
  const Directory directory;
  const Lock far = acquire(directory, Claim::kWatchHosts, on("other"));
  const auto refused = DirectoryLock::acquire(directory.path(), Claim::kWatchHosts, on("here"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
}

TEST_CASE("directory lock: without a beat a process on another host is gone, with a lock that is left or without") {
  const Directory directory;
  std::vector<std::string> said;
  auto watching = on("here", kNever, std::chrono::milliseconds(50));
  watching.say = [&](const std::string& line) { said.push_back(line); };
  const Lock locked = acquire(directory, Claim::kWatchHosts, on("other", kNever));
  acquire(directory, Claim::kWatchHosts, watching);
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("was held by process ") != std::string::npos);
  leave_file(directory);
  CHECK_FALSE(DirectoryLock::acquire(directory.path(), Claim::kAtOnce, watching));
  acquire(directory, Claim::kWatchHosts, watching);
  CHECK(said[1] == directory.path() + " was held by process 7 on far: watching for 50ms whether it still trains");
}

TEST_CASE("directory lock: a frozen process of this kernel holds it, unless its beat is what is asked") {
  const Directory directory;
  const Lock frozen = acquire(directory, Claim::kWatchHosts, on("here", kNever));
  const auto watching = on("here", kNever, std::chrono::milliseconds(50));
  CHECK_FALSE(DirectoryLock::acquire(directory.path(), Claim::kWatchHosts, watching));
  acquire(directory, Claim::kWatchAll, watching);
}

TEST_CASE("directory lock: a watch ends where the training is told to end") {
  const Directory directory;
  leave_file(directory);
  auto watching = on("here");
  watching.is_stopping = [] { return true; };
  const auto cancelled = DirectoryLock::acquire(directory.path(), Claim::kWatchHosts, watching);
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().code == Code::kCancelled);
}

TEST_CASE("directory lock: where no file can be written there is none") {
  CHECK(DirectoryLock::acquire("/proc", Claim::kWatchHosts, on("here")).value() == nullptr);
}

}  // namespace tfd::train
