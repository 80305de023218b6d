// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "fake_engine.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/task/server_client.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/task/worker_client.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace std::chrono_literals;
using tensor::DType;
using tensor::Tensor;

namespace {

const std::map<std::string, std::string> kModules{
    {"step.mlir",
     "module { func.func public @main(%w: tensor<2xf32>, %b: tensor<f32>, %x: tensor<2xi64>) -> (tensor<f32>, "
     "tensor<2xf32>, "
     "tensor<f32>) { } }"},
    {"next.mlir", "module { func.func public @main(%x: tensor<2xi64>) -> tensor<2xi64> { } }"},
    {"double.mlir", "module { func.func public @main(%x: tensor<2xi64>) -> tensor<2xi64> { } }"},
    {"sum.mlir", "module { func.func public @main(%x: tensor<2xi64>) -> (tensor<f32>, tensor<f32>) { } }"},
    {"add.mlir", "module { func.func public @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> { } }"}};

constexpr const char* kDocument = R"({"v": 1,
  "variables": {"w": {"shape": [2], "dtype": "f32", "init": {"constant": {"value": 1}}},
                "b": {"shape": [], "dtype": "f32", "init": {"zeros": {}}}},
  "optimizer": {"sgd": {"learning_rate": 0.5}},
  "datasets": {"train": [{"range": 6}, {"batch": {"size": 2, "drop_remainder": true}}],
               "doubled": [{"range": 6}, {"batch": {"size": 2, "drop_remainder": true}},
                           {"map": {"function": "double", "fields": ["value"]}}]},
  "functions": {
    "step": {"module": "step.mlir",
             "inputs": [{"variable": "w"}, {"variable": "b"}, {"dataset": "train", "field": "value"}],
             "outputs": [{"metric": "loss", "reduce": "mean"}, {"gradient": "w"}, {"assign_add": "b"}],
             "returns": ["b"]},
    "next": {"module": "next.mlir", "inputs": [{"arg": 0, "field": "value"}], "outputs": [{"result": 0}]},
    "double": {"module": "double.mlir", "inputs": [{"arg": 0, "field": "value"}], "outputs": [{"result": 0}]},
    "sum": {"module": "sum.mlir", "inputs": [{"dataset": "train", "field": "value"}],
            "outputs": [{"metric": "total", "part": "numerator"}, {"metric": "total", "part": "denominator"}]},
    "add": {"module": "add.mlir", "inputs": [{"arg": 0}, {"kwarg": "b"}], "outputs": [{"result": 0}]}}})";

program::Program test_program() {
  std::string document = kDocument;
  const auto read = [](const std::string& path) -> Result<std::string> { return kModules.at(path); };
  auto program = program::parse_program(document, "test.json", "/", read, {});
  if (!program) FAIL(program.error().message);
  return std::move(*program);
}

std::shared_ptr<function::Engine> test_engine() {
  using Tensors = std::vector<Tensor>;
  std::map<std::string, kit::Body> bodies;
  bodies["step.mlir"] = [](const Tensors& in) -> Result<Tensors> {  // the gradient is the batch, b counts calls
    Tensor gradient = Tensor::uninitialized(DType::kF32, {2});
    for (int i = 0; i < 2; ++i)
      gradient.mutable_as<float>()[i] = static_cast<float>(in[2].as<std::int64_t>()[static_cast<std::size_t>(i)]);
    return Tensors{Tensor::scalar(DType::kF32, in[0].as<float>()[0]), gradient, Tensor::scalar(DType::kF32, 1.0f)};
  };
  bodies["next.mlir"] = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; };
  bodies["double.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    Tensor out = Tensor::uninitialized(DType::kS64, {2});
    for (std::size_t i = 0; i < 2; ++i) out.mutable_as<std::int64_t>()[i] = 2 * in[0].as<std::int64_t>()[i];
    return Tensors{out};
  };
  bodies["sum.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    const auto values = in[0].as<std::int64_t>();
    return Tensors{Tensor::scalar(DType::kF32, static_cast<float>(values[0] + values[1])),
                   Tensor::scalar(DType::kF32, 2.0f)};
  };
  bodies["add.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    return Tensors{Tensor::scalar(DType::kF32, in[0].as<float>()[0] + in[1].as<float>()[0])};
  };
  return std::make_shared<kit::FakeEngine>(std::move(bodies));
}

/// One worker, two parameter servers and a client, in one process.
struct Cluster {
  std::unique_ptr<transport::InprocNetwork> network = transport::make_inproc_network();
  std::vector<std::unique_ptr<TaskServer>> servers;
  std::unique_ptr<transport::Endpoint> client;
  program::Program program = test_program();
  Placement placement;
  std::uint64_t epoch = 0;  // what clients speak for

  TaskServer& serve(const std::string& job, int index, const std::string& address) {
    TaskServerOptions options;
    options.task = {job, index};
    options.bind = address;
    options.make_endpoint = [this](transport::EndpointOptions endpoint) {
      return network->make_endpoint(std::move(endpoint));
    };
    options.make_engine = [] { return Result<std::shared_ptr<function::Engine>>(test_engine()); };
    servers.push_back(start_task_server(std::move(options)).value());
    return *servers.back();
  }

  Cluster() {
    serve("ps", 0, "ps0:1");
    serve("ps", 1, "ps1:1");
    serve("worker", 0, "w0:1");
    transport::EndpointOptions options;
    options.name = "coordinator";
    client = network->make_endpoint(std::move(options)).value();
    placement = place_variables(program, {{"ps:0", "ps0:1"}, {"ps:1", "ps1:1"}});
  }

  template <class Client = TaskClient>
  Client task(const std::string& name, const std::string& address) {
    Client out(*client, client->add_peer(name, address), name);
    out.set_epoch(epoch);
    return out;
  }

  /// Calls and waits.
  template <class T, class Ask>
  Result<T> ask(Ask ask) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    auto future = promise->get_future();
    ask(Deadline::after(10s), [promise](Result<T> value) { promise->set_value(std::move(value)); });
    REQUIRE(future.wait_for(20s) == std::future_status::ready);
    return future.get();
  }

  Result<void> load(const std::string& name, const std::string& address, std::uint64_t of) {
    return ask<void>([&](Deadline deadline, auto done) {
      task(name, address).load_program(PackedProgram::pack(program, placement), of, deadline, done);
    });
  }
  void load_all(std::uint64_t newer) {
    epoch = newer;
    for (const auto& [name, address] :
         {std::pair("ps:0", "ps0:1"), std::pair("ps:1", "ps1:1"), std::pair("worker:0", "w0:1")}) {
      const auto loaded = load(name, address, newer);
      if (!loaded) FAIL(loaded.error().message);
    }
  }
  Result<ClosureOutcome> run(step::FunctionCall call) {
    return ask<ClosureOutcome>(
        [&](Deadline deadline, auto done) { task<WorkerClient>("worker:0", "w0:1").run(call, deadline, done); });
  }
  float read(const std::string& ps, const std::string& address, const std::string& name, std::size_t at = 0) {
    return ask<std::vector<Tensor>>(
               [&](Deadline deadline, auto done) { task(ps, address).read({name}, deadline, done); })
        .value()[0]
        .as<float>()[at];
  }
};

}  // namespace

TEST_CASE("runtime: variables are placed round-robin and a step updates them where they are") {
  Cluster cluster;
  CHECK(cluster.placement.variables == std::map<std::string, int>{{"w", 0}, {"b", 1}});
  cluster.load_all(7);
  const auto outcome = cluster.run({.epoch = 7, .sequence = 0, .function = "step"});
  REQUIRE(outcome);
  REQUIRE(outcome->metrics.size() == 1);
  CHECK(outcome->metrics[0].value == 1.0);
  CHECK(outcome->metrics[0].weight == 2.0);
  REQUIRE(outcome->results.size() == 1);  // the returned variable, read after the updates
  CHECK(outcome->results[0].as<float>()[0] == 1.0f);
  CHECK(cluster.read("ps:0", "ps0:1", "w", 0) == 1.0f);  // gradient 0
  CHECK(cluster.read("ps:0", "ps0:1", "w", 1) == 0.5f);  // 1 - 0.5 * 1
  CHECK(cluster.read("ps:1", "ps1:1", "b") == 1.0f);
}

TEST_CASE("runtime: an update that was applied is acknowledged and dropped") {
  Cluster cluster;
  cluster.load_all(7);
  for (int attempt = 0; attempt < 3; ++attempt)
    CHECK(cluster.run({.epoch = 7, .sequence = 4, .attempt = static_cast<std::uint32_t>(attempt), .function = "step"}));
  CHECK(cluster.read("ps:1", "ps1:1", "b") == 1.0f);
}

TEST_CASE("runtime: an older coordinator is fenced off") {
  Cluster cluster;
  cluster.load_all(7);
  CHECK(cluster.load("ps:0", "ps0:1", 6).error().code == Code::kPermissionDenied);
  CHECK(cluster.load("worker:0", "w0:1", 6).error().code == Code::kPermissionDenied);
  CHECK(cluster.load("ps:0", "ps0:1", 8));
  CHECK(cluster.run({.epoch = 7, .sequence = 1, .function = "step"}).error().code == Code::kPermissionDenied);
}

TEST_CASE("runtime: loading the same epoch again keeps the variables, a newer one makes them anew") {
  Cluster cluster;
  cluster.load_all(7);
  REQUIRE(cluster.run({.epoch = 7, .sequence = 0, .function = "step"}));
  cluster.load_all(7);
  CHECK(cluster.read("ps:1", "ps1:1", "b") == 1.0f);
  cluster.load_all(8);
  CHECK(cluster.read("ps:1", "ps1:1", "b") == 0.0f);
}

TEST_CASE("runtime: iterators are the worker's own, and their end is OUT_OF_RANGE") {
  Cluster cluster;
  cluster.load_all(7);
  const auto created = cluster.ask<void>([&](Deadline deadline, auto done) {
    cluster.task<WorkerClient>("worker:0", "w0:1").create_iterator("it", "train", deadline, done);
  });
  REQUIRE(created);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto outcome =
        cluster.run({.epoch = 7, .sequence = 1, .function = "next", .args = {step::IteratorRef{"it"}}});
    REQUIRE(outcome);
    CHECK(outcome->results[0].as<std::int64_t>()[0] == 2 * i);
  }
  CHECK(cluster.run({.epoch = 7, .sequence = 1, .function = "next", .args = {step::IteratorRef{"it"}}}).error().code ==
        Code::kOutOfRange);
  CHECK(
      cluster.run({.epoch = 7, .sequence = 1, .function = "next", .args = {step::IteratorRef{"other"}}}).error().code ==
      Code::kNotFound);
}

TEST_CASE("runtime: a dataset is mapped by a function of the program") {
  Cluster cluster;
  cluster.load_all(7);
  REQUIRE(cluster.ask<void>([&](Deadline deadline, auto done) {
    cluster.task<WorkerClient>("worker:0", "w0:1").create_iterator("it", "doubled", deadline, done);
  }));
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto outcome =
        cluster.run({.epoch = 7, .sequence = 1, .function = "next", .args = {step::IteratorRef{"it"}}});
    REQUIRE(outcome);
    CHECK(outcome->results[0].as<std::int64_t>()[0] == 4 * i);
    CHECK(outcome->results[0].as<std::int64_t>()[1] == 4 * i + 2);
  }
}

TEST_CASE("runtime: arguments by position and by name, and what is missing") {
  Cluster cluster;
  cluster.load_all(7);
  const Tensor two = Tensor::scalar(DType::kF32, 2.0f), three = Tensor::scalar(DType::kF32, 3.0f);
  const auto sum = cluster.run({.epoch = 7, .function = "add", .args = {two}, .kwargs = {{"b", three}}});
  REQUIRE(sum);
  CHECK(sum->results[0].as<float>()[0] == 5.0f);
  CHECK(cluster.run({.epoch = 7, .function = "add", .args = {two}}).error().message == "add: argument 'b' is missing");
  CHECK(cluster.run({.epoch = 7, .function = "nothing"}).error().code == Code::kNotFound);
  const auto wrong =
      cluster.run({.epoch = 7, .function = "add", .args = {two}, .kwargs = {{"b", Tensor::scalar(DType::kS32, 3)}}});
  CHECK(wrong.error().code == Code::kInvalidArgument);
}

TEST_CASE("runtime: the parts of an evaluation make one exact pass") {
  Cluster cluster;
  cluster.load_all(7);
  for (const std::int64_t count : {1, 2, 5}) {
    step::MetricAccumulator all;
    for (std::int64_t index = 0; index < count; ++index) {
      const auto part = cluster.ask<std::vector<step::Metric>>([&](Deadline deadline, auto done) {
        cluster.task<WorkerClient>("worker:0", "w0:1")
            .evaluate("sum", count, index, std::nullopt, 7, 1, deadline, done);
      });
      REQUIRE(part);
      all.add(*part);
    }
    REQUIRE(all.values().size() == 1);
    CHECK(all.values()[0].second == doctest::Approx(15.0 / 6));
  }
}

TEST_CASE("runtime: state is exported and imported whole") {
  Cluster cluster;
  cluster.load_all(7);
  REQUIRE(cluster.run({.epoch = 7, .sequence = 0, .function = "step"}));
  const auto state = cluster.ask<tensor::NamedTensors>(
      [&](Deadline deadline, auto done) { cluster.task<ServerClient>("ps:1", "ps1:1").export_state(deadline, done); });
  REQUIRE(state);
  cluster.load_all(8);
  CHECK(cluster.ask<void>([&](Deadline deadline, auto done) {
    cluster.task<ServerClient>("ps:1", "ps1:1").import_state(*state, deadline, done);
  }));
  CHECK(cluster.read("ps:1", "ps1:1", "b") == 1.0f);
}

TEST_CASE("runtime: a lost parameter server is the closure's error, and named") {
  Cluster cluster;
  cluster.load_all(7);
  REQUIRE(cluster.run({.epoch = 7, .sequence = 0, .function = "step"}));
  cluster.servers.erase(cluster.servers.begin() + 1);
  const auto outcome = cluster.run({.epoch = 7, .sequence = 1, .function = "step"});
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Code::kUnavailable);
  CHECK(outcome.error().task == "ps:1");
}

TEST_CASE("runtime: status says what a task does, shutdown is answered before it ends") {
  Cluster cluster;
  cluster.load_all(7);
  REQUIRE(cluster.run({.epoch = 7, .sequence = 0, .function = "step"}));
  const auto ps = cluster.ask<TaskStatus>(
      [&](Deadline deadline, auto done) { cluster.task("ps:0", "ps0:1").status(deadline, done); });
  REQUIRE(ps);
  CHECK(ps->variables == 1);
  CHECK(ps->epoch == 7);
  const auto worker = cluster.ask<TaskStatus>(
      [&](Deadline deadline, auto done) { cluster.task("worker:0", "w0:1").status(deadline, done); });
  REQUIRE(worker);
  CHECK(worker->closures_done == 1);
  CHECK(cluster.ask<void>(
      [&](Deadline deadline, auto done) { cluster.task("worker:0", "w0:1").shutdown(7, deadline, done); }));
}

TEST_CASE("runtime: a task says that no coordinator has come, until it is asked for more than its status") {
  const auto network = transport::make_inproc_network();
  const auto make_endpoint = [&](transport::EndpointOptions endpoint) {
    return network->make_endpoint(std::move(endpoint));
  };
  const Deadline soon = Deadline::after(20s);
  std::atomic<int> said{0};
  TaskServerOptions options{.task = {"ps", 0}, .bind = "ps0:1", .make_endpoint = make_endpoint, .lonely_after = 1ms};
  options.log = Log("runtime", [&](LogLevel level, std::string_view, std::string_view line) {
    CHECK(level == LogLevel::kWarning);
    CHECK(line.starts_with("waiting for a coordinator: none has come in "));
    ++said;
  });
  const auto server = start_task_server(std::move(options)).value();
  const auto endpoint = make_endpoint({.name = "client"}).value();
  ServerClient client(*endpoint, endpoint->add_peer("ps:0", "ps0:1"), "ps:0");
  std::promise<Result<TaskStatus>> status;
  client.status(soon, [&](Result<TaskStatus> answer) { status.set_value(std::move(answer)); });
  CHECK(status.get_future().get());
  while (said < 3 && !soon.expired()) std::this_thread::yield();  // after 1, 2 and 4 ms
  CHECK(said >= 3);
  std::promise<Result<CoordinationAnswer>> read;
  client.coordinate(
      {GetKey{"k", 0}, 0}, soon, [&](Result<CoordinationAnswer> answer) { read.set_value(std::move(answer)); },
      CoordinationScope::kProcess);
  CHECK(read.get_future().get());
  const int before = said;
  std::this_thread::sleep_for(100ms);  // five more would be due
  CHECK(said == before);
}

TEST_CASE("metrics: means are weighted, sums added, ratios divided, and parts count the same elsewhere") {
  step::MetricAccumulator one;
  one.add({{"loss", program::Reduce::kMean, program::Part::kWhole, 1.0, 64},
           {"seen", program::Reduce::kSum, program::Part::kWhole, 64}});
  one.add({{"loss", program::Reduce::kMean, program::Part::kWhole, 4.0, 32},
           {"seen", program::Reduce::kSum, program::Part::kWhole, 32}});
  one.add({{"hit", program::Reduce::kMean, program::Part::kNumerator, 3},
           {"hit", program::Reduce::kMean, program::Part::kDenominator, 4}});
  step::MetricAccumulator two;
  two.add(one.parts());
  for (const step::MetricAccumulator* metrics : {&one, &two}) {
    const auto values = metrics->values();
    REQUIRE(values.size() == 3);
    CHECK(values[0] == std::pair<std::string, double>("loss", 2.0));
    CHECK(values[1] == std::pair<std::string, double>("seen", 96.0));
    CHECK(values[2] == std::pair<std::string, double>("hit", 0.75));
  }
}
