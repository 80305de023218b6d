#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A worker, some parameter servers and a client in one process, for a program of the test's own whose functions are C++
// lambdas. Thread rule: a test's thread.
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "fake_engine.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/task/server_client.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/task/worker_client.hpp"

namespace tfd::task::test {

using tensor::DType;
using tensor::Tensor;
using Tensors = std::vector<Tensor>;

inline Tensor floats(tensor::Shape shape, const std::vector<float>& values) {
  Tensor out = Tensor::uninitialized(DType::kF32, std::move(shape));
  REQUIRE(static_cast<std::size_t>(out.size()) == values.size());
  std::copy(values.begin(), values.end(), out.mutable_as<float>());
  return out;
}
inline std::vector<float> floats(const Tensor& tensor) {
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}
inline Tensor ids(const std::vector<std::int32_t>& values) {
  Tensor out = Tensor::uninitialized(DType::kS32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), out.mutable_as<std::int32_t>());
  return out;
}

/// The parts of a test's program: the document, the signatures of its modules, their functions.
struct Parts {
  std::string document;
  std::map<std::string, std::string> modules;  // "step.mlir" -> "(%x: tensor<f32>) -> tensor<f32>"
  std::map<std::string, kit::Body> bodies;
};

inline program::Program parse(const Parts& parts) {
  const auto read = [&](const std::string& path) -> Result<std::string> {
    return "module { func.func public @main" + parts.modules.at(path) + " { } }";
  };
  auto program = program::parse_program(parts.document, "test.json", "/", read, {});
  if (!program) FAIL(program.error().message);
  return std::move(*program);
}

class SmallCluster {
 private:
  template <class Client>
  Client of_run(const std::string& job, int index) {
    auto out = client_on<Client>(*client_, job, index);
    out.set_epoch(kEpoch);
    return out;
  }
  static std::size_t size_of(const transport::Message& message) {
    std::size_t bytes = message.meta.size();
    for (const Tensor& one : message.tensors) bytes += one.byte_size();
    return bytes;
  }
  class CountingResponder final : public transport::Responder::Impl {
   public:
    CountingResponder(transport::Responder inner, std::atomic<std::size_t>& bytes)
        : inner_(std::move(inner)), bytes_(bytes) {}
    void reply(Result<transport::Message> answer) override {
      if (answer) bytes_ += size_of(*answer);
      inner_.reply(std::move(answer));
    }
    void when_room(std::uint64_t bytes, std::function<void()> begin) override {
      inner_.when_room(bytes, std::move(begin));
    }

   private:
    transport::Responder inner_;
    std::atomic<std::size_t>& bytes_;
  };

 public:
  static constexpr std::uint64_t kEpoch = 7;

  /// `over` is the network: within the process, or TCP under this key or none.
  using Over = std::optional<std::optional<transport::CurveKey>>;
  SmallCluster(const Parts& parts, int ps_count, int devices = 1, Over over = {})
      : bodies_(parts.bodies), devices_(devices), over_(std::move(over)), program(parse(parts)) {
    std::vector<std::pair<std::string, std::string>> ps;
    for (int i = 0; i < ps_count; ++i) {
      const std::string name = serve("ps", i);
      ps.emplace_back(name, address("ps", i));
    }
    serve("worker", 0);
    client_ = connect();
    placement = place_variables(program, ps, step::ReplicaCopies::make(program, devices).value());
    for (int i = 0; i < ps_count; ++i) load("ps", i);
    load("worker", 0);
  }

  WorkerClient worker(int index = 0) { return of_run<WorkerClient>("worker", index); }
  ServerClient server(int index = 0) { return of_run<ServerClient>("ps", index); }
  TaskClient task(const std::string& job, int index) { return of_run<TaskClient>(job, index); }
  /// A client for another process's endpoint; it speaks for no run.
  template <class Client>
  Client client_on(transport::Endpoint& endpoint, const std::string& job, int index) const {
    const std::string name = fmt::format("{}:{}", job, index);
    return {endpoint, endpoint.add_peer(name, address(job, index)), name};
  }
  /// A message as it is.
  Result<transport::Message> send(const std::string& job, int index, transport::Message message) {
    return client_->call(client_->add_peer(fmt::format("{}:{}", job, index), address(job, index)), std::move(message),
                         Deadline::after(std::chrono::seconds(60)));
  }
  /// Another process.
  std::unique_ptr<transport::Endpoint> connect() {
    transport::EndpointOptions options;
    options.name = "coordinator";
    return make_endpoint(std::move(options)).value();
  }
  /// The coordinator is gone.
  void disconnect() { client_.reset(); }
  /// Calls and waits.
  template <class T, class Ask>
  Result<T> ask(Ask ask) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    auto future = promise->get_future();
    ask(Deadline::after(std::chrono::seconds(60)),
        [promise](Result<T> value) { promise->set_value(std::move(value)); });
    REQUIRE(future.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    return future.get();
  }
  Result<ClosureOutcome> run_on_replicas(const std::string& function, program::Replicas replicas,
                                         std::vector<step::ArgumentValue> args = {}) {
    step::FunctionCall call{.epoch = kEpoch, .sequence = next_++, .function = function, .args = std::move(args)};
    call.replicas = replicas;
    return ask<ClosureOutcome>([&](Deadline deadline, auto done) { worker().run(call, deadline, done); });
  }
  Result<ClosureOutcome> run(const std::string& function, std::vector<step::ArgumentValue> args = {},
                             std::int64_t step = 0) {
    step::FunctionCall call{.epoch = kEpoch, .sequence = next_++, .function = function, .args = std::move(args)};
    call.step = step;
    return ask<ClosureOutcome>([&](Deadline deadline, auto done) { worker().run(call, deadline, done); });
  }
  /// Calls and doesn't wait.
  std::future<Result<ClosureOutcome>> start(const std::string& function) {
    const step::FunctionCall call{.epoch = kEpoch, .sequence = next_++, .function = function};
    const auto promise = std::make_shared<std::promise<Result<ClosureOutcome>>>();
    worker().run(call, Deadline::after(std::chrono::seconds(60)),
                 [promise](Result<ClosureOutcome> value) { promise->set_value(std::move(value)); });
    return promise->get_future();
  }
  void stop_worker() { servers_.pop_back(); }
  /// Bytes of all messages to and from parameter servers.
  std::size_t ps_bytes() const { return ps_bytes_; }
  /// One parameter server's value under a name.
  Result<Tensor> read(int ps, const std::string& name) {
    auto values = ask<Tensors>([&](Deadline deadline, auto done) { server(ps).read({name}, deadline, done); });
    if (!values) return fail(std::move(values).error());
    return (*values)[0];
  }

 private:
  std::string address(const std::string& job, int index) const {
    return over_ ? addresses_.at(fmt::format("{}:{}", job, index)) : fmt::format("{}{}:1", job, index);
  }
  Result<std::unique_ptr<transport::Endpoint>> make_endpoint(transport::EndpointOptions options) {
    if (!over_) return network_->make_endpoint(std::move(options));
    options.key = *over_;
    return transport::make_zmq_endpoint(std::move(options));
  }
  std::string serve(const std::string& job, int index) {
    TaskServerOptions options;
    options.task = {job, index};
    options.bind = over_ ? "127.0.0.1:0" : address(job, index);
    options.make_endpoint = [this, job](transport::EndpointOptions endpoint) {
      if (job == "ps")
        endpoint.handler = [this, inner = std::move(endpoint.handler)](const transport::Caller& caller,
                                                                       transport::Message request,
                                                                       transport::Responder responder) {
          ps_bytes_ += size_of(request);
          if (on_ps_request) responder = on_ps_request(request, std::move(responder));
          inner(caller, std::move(request),
                transport::Responder(std::make_unique<CountingResponder>(std::move(responder), ps_bytes_)));
        };
      return make_endpoint(std::move(endpoint));
    };
    options.devices = devices_;
    options.on_shutdown = [this] { ++goodbyes; };
    options.make_engine = [this]() -> Result<std::shared_ptr<function::Engine>> {
      return std::make_shared<kit::FakeEngine>(bodies_, devices_);
    };
    servers_.push_back(start_task_server(std::move(options)).value());
    addresses_[fmt::format("{}:{}", job, index)] = servers_.back()->address();
    return fmt::format("{}:{}", job, index);
  }
  void load(const std::string& job, int index) {
    const auto loaded = ask<void>([&](Deadline deadline, auto done) {
      task(job, index).load_program(PackedProgram::pack(program, placement), kEpoch, deadline, done);
    });
    if (!loaded) FAIL(loaded.error().message);
  }

  std::atomic<std::size_t> ps_bytes_{0};
  std::map<std::string, kit::Body> bodies_;
  int devices_ = 1;
  const Over over_;
  std::map<std::string, std::string> addresses_;
  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  std::vector<std::unique_ptr<TaskServer>> servers_;
  std::unique_ptr<transport::Endpoint> client_;
  std::uint64_t next_ = 0;

 public:
  std::atomic<int> goodbyes{0};
  /// If set, before anything is asked: called with each request to a parameter server; what answers it instead.
  std::function<transport::Responder(const transport::Message&, transport::Responder)> on_ps_request;
  program::Program program;
  Placement placement;
};

}  // namespace tfd::task::test
