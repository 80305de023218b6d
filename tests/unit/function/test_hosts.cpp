// SPDX-License-Identifier: Apache-2.0
//
// Devices of several hosts: how their clients are made, and programs over all of them, by a plug-in whose clients are
// hosts of one system.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>

#include "engines.hpp"
#include "pjrt/cache.hpp"
#include "pjrt/client_options.hpp"
#include "temporary_directory.hpp"

namespace tfd::function::test {
namespace {

using EnginePtr = std::shared_ptr<Engine>;

class MemoryExchange final : public HostExchange {
 public:
  Result<void> put(const std::string& key, const std::string& value) override {
    const std::scoped_lock lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
    return {};
  }
  Result<std::string> get(const std::string& key, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, deadline.remaining(), [&] { return values_.contains(key); });
    if (!values_.contains(key)) return fail(Code::kDeadlineExceeded, "no host has put '{}'", key);
    return values_[key];
  }
  Result<std::string> try_get(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    return values_.contains(key) ? Result<std::string>(values_[key]) : fail(Code::kNotFound, "no '{}'", key);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

/// One engine for each host, made at the same time.
std::vector<EnginePtr> make_hosts(int count, const EngineOptions& options = {}) {
  ::setenv("TFD_TEST_PLUGIN", plugin_path().c_str(), 1);
  const auto exchange = std::make_shared<MemoryExchange>();
  std::vector<std::future<Result<EnginePtr>>> made;
  for (int i = 0; i < count; ++i)
    made.push_back(std::async(std::launch::async, [=] {
      EngineOptions own = options;
      own.plugin = TFD_TEST_MULTI_HOST_PLUGIN;
      if (own.positions.empty()) own.device_count = 2;
      own.hosts = {.count = count, .index = i, .exchange = exchange};
      return make_engine(own);
    }));
  std::vector<EnginePtr> out;
  for (auto& one : made) {
    auto engine = one.get();
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().message));
    out.push_back(*engine);
  }
  return out;
}

hlo::Module sum_module() {
  return hlo::make_module("sum.mlir",
                          R"(module @sum attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %sum = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<3xf32>) -> tensor<3xf32>
    return %sum : tensor<3xf32>
  }
})",
                          std::nullopt)
      .value();
}

const std::vector<std::vector<int>> kAll{{0}, {1}, {2}, {3}};
const ProgramOptions kHere{.assignment = {{0}, {1}}, .system = kAll};

std::vector<std::string> names_of(const ClientAttempt& one) {
  std::vector<std::string> out;
  for (const ClientOption& option : one.options) out.push_back(option.name);
  return out;
}

using Names = std::vector<std::string>;

// Each process is one worker of the slice, as TPU_WORKER_ID says: no option and no exchange tells it so.
TEST_CASE("hosts: those of a slice find each other, without options and without an exchange") {
  const tfd::test::TemporaryDirectory directory;
  ::setenv("TFD_TEST_PLUGIN", plugin_path().c_str(), 1);
  ::setenv("TFD_TEST_PLATFORM", "tpu", 1);
  ::setenv("TFD_TEST_HOSTS", "2", 1);
  ::setenv("TFD_TEST_MEETING", (directory / "slice").c_str(), 1);
  const auto sum_of = [](int worker) -> float {
    ::setenv("TPU_WORKER_ID", std::to_string(worker).c_str(), 1);
    EngineOptions options;
    options.plugin = TFD_TEST_MULTI_HOST_PLUGIN;
    options.device_kind = "tpu";
    options.device_count = 2;
    options.hosts = {.count = 2, .index = worker};
    const auto engine = make_engine(options);
    if (!engine || (*engine)->system_devices().size() != 4 || (*engine)->devices()[1].id != 2 * worker + 1) return -1;
    const auto program = (*engine)->compile_program(sum_module(), kHere);
    std::vector<DeviceBuffers> arguments(2);
    for (int d : {0, 1}) arguments[static_cast<std::size_t>(d)].push_back((*engine)->put(filled({3}, 1), d).value());
    return (*program)->execute(arguments).value()[1].front()->to_host()->as<float>()[0];
  };
  const pid_t other = ::fork();  // so this case is the first one: there is no XLA yet
  if (other == 0) std::_Exit(static_cast<int>(sum_of(1)));
  CHECK(sum_of(0) == 4);
  int status = 0;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(WEXITSTATUS(status) == 4);
  ::unsetenv("TFD_TEST_PLATFORM");
}

TEST_CASE("hosts: a client's options are its platform's, and go together") {
  const std::vector<int> visible{1, 3};
  const std::vector<ClientOption> own{{"memory_fraction", 0.5F}};
  const ClientWish wish{.cpu_devices = 4, .visible = visible, .hosts = 2, .host = 1, .has_exchange = true, .own = own};
  const auto of = [&](std::string_view kind) {
    ClientWish one = wish;
    one.kind = kind;
    return client_attempts(one);
  };
  const auto gpu = of("gpu");
  REQUIRE(gpu.size() == 2);
  CHECK(names_of(gpu[0]) == Names{"node_id", "num_nodes", "visible_devices", "memory_fraction"});
  CHECK(gpu[0].exchanges);
  CHECK(gpu[0].chooses_devices);
  CHECK_FALSE(gpu[1].exchanges);
  const auto values = named_values(gpu[0].options);
  CHECK(values[0].int64_value == 1);
  CHECK(values[1].int64_value == 2);
  CHECK(values[2].type == PJRT_NamedValue_kInt64List);
  CHECK(values[2].int64_array_value[1] == 3);
  CHECK(values[3].float_value == 0.5F);

  const auto tpu = of("tpu");
  REQUIRE(tpu.size() == 1);
  CHECK(names_of(tpu[0]) == Names{"memory_fraction"});
  CHECK_FALSE(tpu[0].exchanges);

  const auto cpu = of("cpu");
  REQUIRE(cpu.size() == 3);
  CHECK(names_of(cpu[0]) == Names{"cpu_device_count", "asynchronous", "memory_fraction"});
  CHECK(names_of(cpu[1]) == Names{"cpu_device_count", "memory_fraction"});
  for (const auto& one : cpu) CHECK_FALSE(one.exchanges);

  // Where the platform isn't known a CPU's come first, which others refuse. Its devices can't be chosen then.
  const auto any = of("");
  REQUIRE(any.size() == 4);
  CHECK(names_of(any[0]).front() == "cpu_device_count");
  CHECK(names_of(any[2]) == Names{"node_id", "num_nodes", "memory_fraction"});
  CHECK(any[2].exchanges);
  CHECK_FALSE(any[2].chooses_devices);
  CHECK(client_attempts({}).size() == 1);
}

TEST_CASE("hosts: a user's options have the types that they look like") {
  const auto parsed =
      parse_client_options("memory_fraction=0.5,allocator=bfc,preallocate=false,max_inflight=3").value();
  REQUIRE(parsed.size() == 4);
  CHECK(std::get<float>(parsed[0].value) == 0.5F);
  CHECK(std::get<std::string>(parsed[1].value) == "bfc");
  CHECK(std::get<bool>(parsed[2].value) == false);
  CHECK(std::get<std::int64_t>(parsed[3].value) == 3);
  CHECK(parse_client_options("")->empty());
  CHECK(parse_client_options("preallocate").error().message == "'preallocate' is not NAME=VALUE");
}

TEST_CASE("hosts: each has its own devices, and knows all of them") {
  const auto hosts = make_hosts(2);
  for (int i = 0; i < 2; ++i) {
    const Engine& one = *hosts[static_cast<std::size_t>(i)];
    CHECK(one.plugin().platform == "cuda");
    REQUIRE(one.system_devices().size() == 4);
    REQUIRE(one.devices().size() == 2);
    CHECK(one.devices()[0].id == 2 * i);
    CHECK(one.devices()[1].process_index == i);
    CHECK(one.system_devices()[3].process_index == 1);
    CHECK_FALSE(hosts[0]->put(s32(1), 2));  // it is the other host's
  }
}

TEST_CASE("hosts: a program over all devices sums over hosts; each gives its own arguments and gets its own results") {
  const auto hosts = make_hosts(2);
  std::vector<std::future<std::vector<float>>> done;
  for (int i = 0; i < 2; ++i)
    done.push_back(std::async(std::launch::async, [&, i] {
      Engine& engine = *hosts[static_cast<std::size_t>(i)];
      const auto program = engine.compile_program(sum_module(), kHere).value();
      CHECK(program->devices() == std::vector<int>{0, 1});
      std::vector<DeviceBuffers> arguments(2);
      for (int d : {0, 1})
        arguments[static_cast<std::size_t>(d)].push_back(
            engine.put(filled({3}, static_cast<float>(1 << (2 * i + d))), d).value());
      std::vector<float> out;
      for (int run = 0; run < 3; ++run) {
        const auto results = program->execute(arguments).value();
        for (const DeviceBuffers& slot : results) out.push_back(slot.front()->to_host()->as<float>()[2]);
      }
      return out;
    }));
  for (auto& one : done) CHECK(one.get() == std::vector<float>(6, 15.0F));
}

TEST_CASE("hosts: an assignment that isn't the system's is refused") {
  const auto hosts = make_hosts(2);
  const auto refused = [&](const ProgramOptions& options) {
    const auto made = hosts[0]->compile_program(sum_module(), options);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == Code::kInvalidArgument);
    return made.error().message;
  };
  CHECK(refused({.assignment = {{0}, {1}}, .system = {{0}, {1}, {2}, {7}}}).find("with device 4: there are 4") !=
        std::string::npos);
  CHECK(refused({.assignment = {{0}, {1}}, .system = {{0}, {1}, {2}, {2}}}).find("twice") != std::string::npos);
  const std::string others = "without this host's devices, or in another order";
  CHECK(refused({.assignment = {{0}}, .system = kAll}).find(others) != std::string::npos);
  CHECK(refused({.assignment = {{1}, {0}}, .system = kAll}).find(others) != std::string::npos);
  CHECK(refused({.assignment = {{0}, {1}}, .system = {{0}, {1}, {2}}}).find("for 1 partitions and 4 replicas") !=
        std::string::npos);
}

TEST_CASE("hosts: functions and programs of one host's devices need no other host") {
  const auto hosts = make_hosts(2);
  const auto both = hosts[1]->compile_for_devices(module_of("mlp_grads.mlir")).value();
  REQUIRE(both.size() == 2);
  for (const auto& one : both) check_mlp_results(called(*one, mlp_arguments()));
  CHECK(hosts[1]->compile_for_each_device(module_of("mlp_grads.mlir"))->size() == 2);
}

TEST_CASE("hosts: the cache's keys tell apart whose part of which system a program is") {
  const tfd::test::TemporaryDirectory cache;
  const EngineOptions options{.plugin = {}, .cache_directory = cache.path()};
  const auto compile = [&](int count, std::size_t host, const ProgramOptions& program) {
    const auto hosts = make_hosts(count, options);
    REQUIRE(hosts[host]->compile_program(sum_module(), program));
    return hosts[host]->compile_stats().compiled;
  };
  CHECK(compile(2, 0, kHere) == 1);
  CHECK(compile(2, 0, kHere) == 0);  // it is the same
  CHECK(compile(2, 1, kHere) == 1);  // another process's
  CHECK(compile(3, 0, kHere) == 1);  // another system's
  const DeviceInfo one{.id = 0, .process_index = 0, .kind = "A"}, other{.id = 1, .process_index = 1, .kind = "A"};
  const DeviceInfo newer{.id = 1, .process_index = 1, .kind = "B"};
  CHECK(describe_system(0, {one, other}) == describe_system(0, {one, other}));
  CHECK(describe_system(0, {one, other}) != describe_system(1, {one, other}));
  CHECK(describe_system(0, {one, other}) != describe_system(0, {one, newer}));
  CHECK(describe_system(0, {one, other}) != describe_system(0, {one}));
}

TEST_CASE("hosts: with an exchange the plug-in gets devices and the user's options, too") {
  EngineOptions options;
  options.positions = {1};
  options.device_kind = "gpu";
  options.client_options = parse_client_options("memory_fraction=0.25,preallocate=false").value();
  const auto hosts = make_hosts(2, options);
  CHECK(hosts[1]->devices().size() == 1);
  CHECK(hosts[1]->system_devices().size() == 2);
  options.client_options = {{"no_such_option", true}};
  options.plugin = TFD_TEST_MULTI_HOST_PLUGIN;
  const auto refused = make_engine(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("no_such_option") != std::string::npos);
}

TEST_CASE("hosts: a plug-in that knows its own devices only is one host, where that is enough") {
  EngineOptions options;
  options.plugin = plugin_path();
  options.device_count = 2;
  options.hosts = {.count = 2, .index = 1, .exchange = std::make_shared<MemoryExchange>(), .may_be_alone = true};
  const auto engine = make_engine(options);
  REQUIRE(engine);
  CHECK((*engine)->system_devices().size() == 2);
  CHECK((*engine)->devices().size() == 2);
  options.hosts.may_be_alone = false;
  const auto refused = make_engine(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kUnimplemented);
  CHECK(refused.error().message.find("the devices of its own host only, not of 2 hosts") != std::string::npos);
}

}  // namespace
}  // namespace tfd::function::test
