#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One parameter server and clients of it, whose requests a test makes one by one; and a wire that keeps answers as long
// as the test likes. Thread rule: a test's thread.
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "small_cluster.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::task::test {

using namespace std::chrono_literals;

inline constexpr std::uint64_t kPsEpoch = 7;

/// An answer that may not be there yet.
template <class T>
class Asked {
 public:
  explicit Asked(std::future<Result<T>> future) : future_(std::move(future)) {}
  bool is_answered() const { return future_.wait_for(0s) == std::future_status::ready; }
  Result<T> get() {
    REQUIRE(future_.wait_for(30s) == std::future_status::ready);
    return future_.get();
  }

 private:
  std::future<Result<T>> future_;
};

class PsClient {
 public:
  PsClient(std::unique_ptr<transport::Endpoint> endpoint, const std::string& address)
      : endpoint_(std::move(endpoint)), task_(*endpoint_, endpoint_->add_peer("ps:0", address), "ps:0") {
    const transport::PeerId peer = task_.peer();
    REQUIRE(endpoint_->wait_up(std::span(&peer, 1), Deadline::after(30s)));
    task_.set_epoch(kPsEpoch);
  }
  transport::Endpoint& endpoint() { return *endpoint_; }
  ServerClient& task() { return task_; }
  template <class T>
  Asked<T> ask(const std::function<void(Deadline, ServerClient::Callback<T>)>& question,
               Deadline deadline = Deadline::after(30s)) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    auto future = promise->get_future();
    question(deadline, [promise](Result<T> value) { promise->set_value(std::move(value)); });
    return Asked<T>(std::move(future));
  }
  Asked<Tensors> read(const std::vector<std::string>& names, Deadline until = Deadline::after(30s)) {
    return ask<Tensors>([&](Deadline deadline, auto done) { task_.read(names, deadline, done); }, until);
  }
  Asked<bool> update(std::uint64_t sequence, const std::vector<variable::Update>& updates) {
    return ask<bool>([&](Deadline deadline, auto done) {
      task_.update(sequence, updates, deadline, [done](Result<UpdateAnswer> answer) {
        done(std::move(answer).map([](const UpdateAnswer& one) { return one.is_new; }));
      });
    });
  }
  Asked<void> assign(const std::string& name, const Tensor& value) {
    return ask<void>([&](Deadline deadline, auto done) { task_.assign(name, value, deadline, done); });
  }
  /// Answered at once whatever the parameter server does; earlier requests have begun then.
  TaskStatus status() {
    return ask<TaskStatus>([&](Deadline deadline, auto done) { task_.status(deadline, done); }).get().value();
  }

 private:
  std::unique_ptr<transport::Endpoint> endpoint_;
  ServerClient task_;
};

/// Answers of reads that don't leave: what a wire holds for a reader who doesn't take them.
class KeptAnswers {
 public:
  class Keeper final : public transport::Responder::Impl {
   public:
    Keeper(transport::Responder inner, KeptAnswers& kept) : inner_(std::move(inner)), kept_(kept) {}
    void reply(Result<transport::Message> answer) override {
      const std::scoped_lock lock(kept_.mutex_);
      if (answer && kept_.keeps_)
        kept_.kept_.emplace_back(std::move(inner_), std::move(*answer));
      else
        inner_.reply(std::move(answer));
    }

   private:
    transport::Responder inner_;
    KeptAnswers& kept_;
  };

  void keep(bool keeps) {
    const std::scoped_lock lock(mutex_);
    keeps_ = keeps;
  }
  std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return kept_.size();
  }
  /// The buffers that they have.
  std::set<const std::byte*> buffers() const {
    const std::scoped_lock lock(mutex_);
    std::set<const std::byte*> out;
    for (const auto& [responder, answer] : kept_)
      for (const Tensor& one : answer.tensors) out.insert(one.data());
    return out;
  }
  /// The oldest leaves.
  void release() {
    std::pair<transport::Responder, transport::Message> first = [this] {
      const std::scoped_lock lock(mutex_);
      auto out = std::move(kept_.front());
      kept_.erase(kept_.begin());
      return out;
    }();
    first.first.reply(std::move(first.second));
  }

 private:
  mutable std::mutex mutex_;
  bool keeps_ = false;
  std::vector<std::pair<transport::Responder, transport::Message>> kept_;
};

class PsBed {
 public:
  static constexpr std::uint16_t kReadKind = 6;

  PsBed(const Parts& parts, bool is_zmq, int threads = 4) : is_zmq_(is_zmq), program(parse(parts)) {
    TaskServerOptions options;
    options.task = {"ps", 0};
    options.bind = is_zmq ? "127.0.0.1:0" : "ps0:1";
    options.apply_threads = threads;
    options.make_engine = [bodies = parts.bodies]() -> Result<std::shared_ptr<function::Engine>> {
      return std::make_shared<kit::FakeEngine>(bodies);
    };
    options.make_endpoint = [this](transport::EndpointOptions endpoint) {
      endpoint.handler = [this, inner = std::move(endpoint.handler)](const transport::Caller& caller,
                                                                     transport::Message request,
                                                                     transport::Responder responder) {
        if (request.kind == kReadKind)
          responder = transport::Responder(std::make_unique<KeptAnswers::Keeper>(std::move(responder), kept));
        inner(caller, std::move(request), std::move(responder));
      };
      return is_zmq_ ? transport::make_zmq_endpoint(std::move(endpoint)) : network_->make_endpoint(std::move(endpoint));
    };
    server_ = start_task_server(std::move(options)).value();
    load(kPsEpoch);
  }
  ~PsBed() { server_.reset(); }

  std::unique_ptr<PsClient> client(const std::string& name = "client") {
    transport::EndpointOptions options;
    options.name = name;
    auto endpoint =
        is_zmq_ ? transport::make_zmq_endpoint(std::move(options)) : network_->make_endpoint(std::move(options));
    return std::make_unique<PsClient>(std::move(endpoint).value(), server_->address());
  }
  void load(std::uint64_t epoch) {
    const auto placement = place_variables(program, {{"ps:0", server_->address()}});
    const auto loader = client("coordinator");
    const auto loaded =
        loader
            ->ask<void>([&](Deadline deadline, auto done) {
              loader->task().load_program(PackedProgram::pack(program, placement), epoch, deadline, done);
            })
            .get();
    if (!loaded) FAIL(loaded.error().message);
  }
  void end_server() { server_.reset(); }

 private:
  bool is_zmq_;
  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();

 public:
  KeptAnswers kept;
  program::Program program;

 private:
  std::unique_ptr<TaskServer> server_;
};

}  // namespace tfd::task::test
