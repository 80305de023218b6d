// SPDX-License-Identifier: Apache-2.0
//
// Hosts whose PJRT clients find each other through the coordination service, by a plug-in that exchanges as a GPU's
// does.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "tfd/function/function.hpp"
#include "tfd/hlo/module.hpp"
#include "tfd/task/host_exchange.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::task {
namespace {

using namespace std::chrono_literals;
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
  EndpointFactory endpoints() {
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
      return ExchangeBed::engine(TFD_TEST_EXCHANGING_PLUGIN, kHosts, i, exchange);
    }));
  for (auto& one : made) {
    const auto engine = one.get();
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().message));
    CHECK((*engine)->compile(hlo::make_module("add.mlir", kAdd, std::nullopt).value()));
  }
  const auto looks = bed.client("looker");
  CHECK(looks.get("system/global_topology/test", Deadline::after(20s))->version > 0);
  CHECK(looks.get("system/clique/2", Deadline::after(20s))->version > 0);
  CHECK(looks.get("system/local_topology/test/2", Deadline::after(20s))->value.starts_with("1:"));
}

TEST_CASE("hosts: one that doesn't come is named") {
  ExchangeBed bed;
  ::setenv("TFD_TEST_WAIT_MS", "200", 1);
  const auto engine = bed.engine(TFD_TEST_EXCHANGING_PLUGIN, 2, 0, bed.exchange(0));
  ::unsetenv("TFD_TEST_WAIT_MS");
  REQUIRE_FALSE(engine);
  CHECK(engine.error().code == Code::kDeadlineExceeded);
  CHECK(engine.error().message.find("no host has put 'local_topology/test/1'") != std::string::npos);
}

TEST_CASE("hosts: a service that has gone is unavailable, and nobody waits for it for long") {
  ExchangeBed bed;
  auto exchange = bed.exchange(0);
  bed.stop();
  const auto engine = bed.engine(TFD_TEST_EXCHANGING_PLUGIN, 2, 0, exchange);
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

}  // namespace
}  // namespace tfd::task
