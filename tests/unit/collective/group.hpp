#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A group of members in one process, each on a thread of its own.
#include <doctest/doctest.h>

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "tfd/collective/communicator.hpp"

namespace tfd::collective {

/// A plug-in in which threads play MPI's processes; `how`: its fault, as in meson.build.
inline Engine fake_mpi(const std::string& how = "good") {
  return {EngineKind::kMpi, load_mpi_plugin(TFD_TEST_PLUGINS "/fake-mpi-" + how + ".so").value()};
}

inline Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

/// Listeners of a group, and the members as each of them sees them.
struct Group {
  /// `hosts`: by rank, as the members say; empty: all on one.
  explicit Group(int size, bool is_encrypted = false, const std::vector<std::string>& hosts = {}) {
    members.is_encrypted = is_encrypted;
    members.generation = 5;
    members.secret.fill(std::byte{7});
    for (int rank = 0; rank < size; ++rank) {
      listeners.push_back(Listener::bind("127.0.0.1").value());
      members.all.push_back({"worker:" + std::to_string(rank),
                             hosts.empty() ? "here" : hosts[static_cast<std::size_t>(rank)],
                             listeners.back()->address()});
    }
  }
  int size() const { return static_cast<int>(members.all.size()); }
  Members of(int rank) const {
    Members out = members;
    out.rank = rank;
    return out;
  }
  Result<std::unique_ptr<Communicator>> connect(int rank, const Engine& engine = EngineKind::kTcp,
                                                Deadline deadline = soon()) {
    return collective::connect(of(rank), listeners[static_cast<std::size_t>(rank)].get(), engine, deadline);
  }
  /// Runs `work` for each member on its own thread, once all are connected.
  void run(const std::function<void(Communicator&)>& work, const Engine& engine = EngineKind::kTcp) {
    std::vector<std::thread> threads;
    std::latch connected(size());
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back([&, rank] {
        auto communicator = connect(rank, engine);
        connected.arrive_and_wait();
        if (!communicator) {
          MESSAGE(communicator.error().message);
          FAIL_CHECK("not connected");
          return;
        }
        work(**communicator);
      });
    for (std::thread& thread : threads) thread.join();
  }

  Members members;
  std::vector<std::unique_ptr<Listener>> listeners;
};

}  // namespace tfd::collective
