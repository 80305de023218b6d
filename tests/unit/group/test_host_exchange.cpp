// SPDX-License-Identifier: Apache-2.0
//
// Hosts whose PJRT clients find each other through the coordination service, or their group's first member, by a
// plug-in that exchanges as a GPU's does.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "tfd/function/function.hpp"
#include "tfd/group/group.hpp"
#include "tfd/hlo/module.hpp"
#include "tfd/task/host_exchange.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::group {
namespace {

using namespace std::chrono_literals;
using namespace task;
using EnginePtr = std::shared_ptr<function::Engine>;

constexpr const char* kAdd = R"(module @add {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = stablehlo.add %x, %x : tensor<2xf32>
    return %y : tensor<2xf32>
  }
})";

class ExchangeBed {
 public:
  ExchangeBed() {
    ::setenv("TFD_TEST_PLUGIN", function::find_plugin(Environment::of_process()).value().c_str(), 1);
    TaskServerOptions options;
    options.task = {"ps", 0};
    options.bind = "service:1";
    options.make_endpoint = endpoints();
    server_ = start_task_server(std::move(options)).value();
  }
  CoordinationClient client(const std::string& name) {
    ParameterServersOptions options;
    options.name = name;
    options.make_endpoint = endpoints();
    options.rejoin = 1s;
    clients_.push_back(ParameterServers::connect(placement_, std::move(options), Deadline::after(20s)).value());
    return clients_.back()->coordination(CoordinationScope::kProcess);
  }
  std::shared_ptr<function::HostExchange> exchange(int index) {
    return make_host_exchange(client(fmt::format("host {}", index)), "system");
  }
  static Result<EnginePtr> engine(std::string plugin, int count, int index,
                                  std::shared_ptr<function::HostExchange> exchange) {
    function::EngineOptions options;
    options.plugin = std::move(plugin);
    options.hosts = {.count = count, .index = index, .exchange = std::move(exchange)};
    return function::make_engine(options);
  }
  void stop() { server_.reset(); }

 private:
  transport::EndpointFactory endpoints() {
    return [this](transport::EndpointOptions options) { return network_->make_endpoint(std::move(options)); };
  }
  Placement placement_{.ps = {{"ps:0", "service:1"}}, .variables = {}, .placed = {}};
  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  std::unique_ptr<TaskServer> server_;
  std::vector<std::unique_ptr<ParameterServers>> clients_;
};

TEST_CASE("hosts: their clients find each other, and tell each other more later") {
  constexpr int kHosts = 3;
  ExchangeBed bed;
  std::vector<std::future<Result<EnginePtr>>> made;
  for (int i = 0; i < kHosts; ++i)
    made.push_back(std::async(std::launch::async, [exchange = bed.exchange(i), i] {
      return ExchangeBed::engine(TFD_TEST_MULTI_HOST_PLUGIN, kHosts, i, exchange);
    }));
  for (auto& one : made) {
    const auto engine = one.get();
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().message));
    CHECK((*engine)->compile(hlo::make_module("add.mlir", kAdd, std::nullopt).value()));
  }
  const auto looks = bed.client("looker");
  CHECK(looks.get("system/global_topology/cuda", Deadline::after(20s))->version > 0);
  CHECK(looks.get("system/autotuned/2", Deadline::after(20s))->version > 0);
  CHECK(looks.get("system/local_topology/cuda/2", Deadline::after(20s))->value.starts_with("1:"));
}

TEST_CASE("hosts: one that doesn't come is named") {
  ExchangeBed bed;
  ::setenv("TFD_TEST_WAIT_MS", "200", 1);
  const auto engine = bed.engine(TFD_TEST_MULTI_HOST_PLUGIN, 2, 0, bed.exchange(0));
  ::unsetenv("TFD_TEST_WAIT_MS");
  REQUIRE_FALSE(engine);
  CHECK(engine.error().code == Code::kDeadlineExceeded);
  CHECK(engine.error().message.find("no host has put 'local_topology/cuda/1'") != std::string::npos);
}

TEST_CASE("hosts: a service that has gone is unavailable, and nobody waits for it for long") {
  ExchangeBed bed;
  auto exchange = bed.exchange(0);
  bed.stop();
  const auto engine = bed.engine(TFD_TEST_MULTI_HOST_PLUGIN, 2, 0, exchange);
  REQUIRE_FALSE(engine);
  CHECK(engine.error().code == Code::kUnavailable);
}

TEST_CASE("hosts: a plug-in that knows its own devices only can't be one of several") {
  ExchangeBed bed;
  const auto engine = bed.engine(std::getenv("TFD_TEST_PLUGIN"), 2, 1, bed.exchange(1));
  REQUIRE_FALSE(engine);
  const bool is_said = engine.error().code == Code::kUnimplemented || engine.error().code == Code::kInvalidArgument;
  CHECK_MESSAGE(is_said, engine.error().message);
}

/// The members of a group, each of which met the others on a thread of its own.
class GroupBed {
 public:
  explicit GroupBed(int count) {
    std::vector<std::pair<std::string, std::string>> members;
    for (int i = 0; i < count; ++i)
      members.emplace_back(fmt::format("worker:{}", i), fmt::format("127.0.0.1:{}", i + 1));
    std::vector<std::future<Result<std::unique_ptr<Group>>>> formed;
    for (int i = 0; i < count; ++i)
      formed.push_back(std::async(std::launch::async, [&, i] {
        GroupOptions options{.members = members, .rank = i};
        options.make_endpoint = [this](transport::EndpointOptions with) {
          return network_->make_endpoint(std::move(with));
        };
        return Group::form(std::move(options), Deadline::after(30s));
      }));
    for (auto& one : formed) groups_.push_back(one.get().value());
  }
  Group& operator[](std::size_t rank) { return *groups_[rank]; }
  /// Ends a member's process.
  void kill(std::size_t rank) {
    network_->kill(fmt::format("127.0.0.1:{}", rank + 1));
    groups_[rank].reset();
  }

 private:
  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  std::vector<std::unique_ptr<Group>> groups_;
};

TEST_CASE("hosts: those of a group share its keys, which the first member has") {
  GroupBed group(3);
  const auto first = group[0].host_exchange(), second = group[1].host_exchange(), third = group[2].host_exchange();
  CHECK(second->try_get("key").error().code == Code::kNotFound);
  auto waits = std::async(std::launch::async, [&] { return third->get("key", Deadline::after(30s)); });
  const std::string large(200'000, '\0');
  CHECK(second->put("key", large));
  CHECK(waits.get() == large);
  CHECK(first->get("key", Deadline::after(30s)) == large);
  CHECK(first->put("later", "from the first"));
  CHECK(third->try_get("later") == std::string("from the first"));
  CHECK(second->get("nobody's", Deadline::after(50ms)).error().code == Code::kDeadlineExceeded);
  CHECK(first->get("nobody's", Deadline::after(50ms)).error().code == Code::kDeadlineExceeded);
}

TEST_CASE("hosts: who waits for another one's key is told that it is lost") {
  GroupBed group(3);
  const auto first = group[0].host_exchange(), third = group[2].host_exchange();
  auto here = std::async(std::launch::async, [&] { return first->get("key", Deadline::after(60s)); });
  auto there = std::async(std::launch::async, [&] { return third->get("key", Deadline::after(60s)); });
  CHECK_FALSE(group[0].find_lost());
  group.kill(1);
  for (auto* one : {&here, &there}) {
    const auto got = one->get();
    REQUIRE_FALSE(got);
    CHECK(got.error().code == Code::kUnavailable);
    CHECK_MESSAGE(got.error().message.find("worker:1 is lost") != std::string::npos, got.error().message);
  }
  REQUIRE(group[0].find_lost());
  CHECK(group[0].find_lost()->task == "worker:1");
}

TEST_CASE("hosts: an exchange may outlive its group") {
  std::shared_ptr<function::HostExchange> exchange;
  {
    GroupBed group(2);
    exchange = group[1].host_exchange();
    CHECK(exchange->put("key", "value"));
  }
  CHECK(exchange->try_get("key").error().code == Code::kUnavailable);
}

}  // namespace
}  // namespace tfd::group
