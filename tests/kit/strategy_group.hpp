#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The processes of a MultiWorkerMirroredStrategy, each on a thread of this one: they meet on loopback, by their cluster
// spec, as real ones do. Thread rule: a test's thread.
//
//   run_workers({.replicas = {1, 2}}, [&](strategy::Strategy& strategy, std::size_t rank) { … });
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tfd/strategy/strategy.hpp"

namespace tfd::kit {

struct Workers {
  std::vector<int> replicas = {1, 1};  // of each, by rank
  bool has_chief = false;              // the first one is chief:0
  Compat compat = Compat::kNone;
  std::function<Result<std::shared_ptr<function::Engine>>(int replicas)> make_engine = {};  // of each, for functions
  strategy::CommunicationOptions communication = {.join = std::chrono::seconds(30),
                                                  .timeout = std::chrono::seconds(60)};
};

/// A listening socket on loopback, and its address.
inline std::pair<int, std::string> listen_on_loopback() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, raw, size) != 0 || ::listen(fd, 16) != 0 || ::getsockname(fd, raw, &size) != 0)
    throw std::runtime_error("cannot listen on loopback");
  return {fd, "127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
}

/// Each worker's options: its task of the cluster, at a socket of its own.
inline std::vector<strategy::StrategyOptions> options_of(const Workers& workers) {
  std::vector<int> sockets;
  std::vector<cluster::TaskId> tasks;
  cluster::ClusterConfig config;
  for (std::size_t rank = 0; rank < workers.replicas.size(); ++rank) {
    const auto [fd, address] = listen_on_loopback();
    const bool is_chief = rank == 0 && workers.has_chief;
    tasks.push_back({is_chief ? "chief" : "worker", static_cast<int>(rank) - (workers.has_chief && !is_chief ? 1 : 0)});
    config.cluster.add_task(tasks.back().job, tasks.back().index, address);
    sockets.push_back(fd);
  }
  std::vector<strategy::StrategyOptions> out;
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    config.task = tasks[rank];
    strategy::StrategyOptions options{.kind = &strategy::kMultiWorkerMirroredKind,
                                      .devices = function::first_devices(workers.replicas[rank]),
                                      .cluster_resolver = config,
                                      .communication = workers.communication,
                                      .compat = workers.compat};
    options.communication.listen_fd = sockets[rank];
    if (workers.make_engine)
      options.make_engine = [make = workers.make_engine, replicas = workers.replicas[rank]] { return make(replicas); };
    out.push_back(std::move(options));
  }
  return out;
}

/// Runs `work` for each of them, at the same time; each ends when it is done. Throws where one doesn't come.
inline void run_workers(const Workers& workers,
                        const std::function<void(strategy::Strategy&, std::size_t rank)>& work) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(workers.replicas.size());
  auto all = options_of(workers);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    threads.emplace_back([&, rank] {
      auto strategy = strategy::Strategy::make(std::move(all[rank]));
      if (strategy)
        work(**strategy, rank);
      else
        errors[rank] = strategy.error().message;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    if (!error.empty()) throw std::runtime_error(error);
}

}  // namespace tfd::kit
