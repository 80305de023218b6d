// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers: they get the program first, hold the variables, and when one is lost everything ends.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"

namespace tfd::coordinate {
namespace {

using State = std::vector<std::pair<std::string, tensor::Tensor>>;

constexpr std::string_view kIterations = ".iterations";  // of VariableStore::export_state
constexpr std::string_view kSlotMark = "/.optimizer/";

/// The larger of two counters: a parameter server counts the closures that updated a variable of its own.
const tensor::Tensor& larger(const tensor::Tensor& a, const tensor::Tensor& b) {
  return a.as<std::int64_t>()[0] >= b.as<std::int64_t>()[0] ? a : b;
}

/// All answers of a group of requests.
template <class T>
struct Gathered {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<Result<T>>> answers;
  std::size_t left = 0;
};

/// Asks every server at once: question(server, index, callback). The first error in the order of servers.
template <class T, class Ask>
Result<std::vector<Result<T>>> ask_all(const std::vector<Server>& servers, const Ask& question) {
  const auto gathered = std::make_shared<Gathered<T>>();  // with the callbacks
  gathered->answers.resize(servers.size());
  gathered->left = servers.size();
  for (std::size_t i = 0; i < servers.size(); ++i)
    question(servers[i], i, [gathered, i](Result<T> answer) {
      const std::scoped_lock lock(gathered->mutex);
      gathered->answers[i].emplace(std::move(answer));
      if (--gathered->left == 0) gathered->changed.notify_all();
    });
  std::unique_lock lock(gathered->mutex);
  gathered->changed.wait(lock, [&] { return gathered->left == 0; });
  std::vector<Result<T>> out;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    Result<T>& answer = *gathered->answers[i];
    if (!answer) {
      Error error = std::move(answer).error();
      if (error.task.empty()) error.task = servers[i].name;
      return fail(std::move(error));
    }
    out.push_back(std::move(answer));
  }
  return out;
}

}  // namespace

Result<void> Coordinator::load_servers(Deadline deadline) {
  std::vector<transport::PeerId> peers;
  for (const Server& server : servers_) peers.push_back(server.client->peer());
  TFD_TRY(endpoint_->wait_up(peers, deadline));
  for (Server& server : servers_) server.incarnation = endpoint_->incarnation_of(server.client->peer());
  TFD_TRY(ask_all<void>(servers_, [this](const Server& server, std::size_t, auto done) {
    server.client->load_program(program_, placement_, epoch_, Deadline::after(kLoadTimeout), std::move(done));
  }));
  return {};
}

void Coordinator::server_lost(const Server& server, const std::string& reason) {
  end_all({Code::kUnavailable, fmt::format("parameter server {} is gone: {}", server.name, reason), server.name});
}

void Coordinator::end_all(Error error) {
  std::vector<ClosurePtr> ended;
  {
    const Lock lock(mutex_);
    if (fatal_ || closing_) return;
    fatal_ = std::move(error);
    for (const ClosureId id : queue_.clear()) {
      const auto found = closures_.find(id);
      found->second->value->set_error(*fatal_);
      ended.push_back(found->second);
      closures_.erase(found);
    }
    for (Worker& worker : workers_) {
      ++worker.generation;  // whatever still comes is too late
      worker.held.clear();
    }
    if (evaluation_) evaluation_->error = *fatal_;
    idle_.notify_all();
    room_.notify_all();
    changed_.notify_all();
  }
  call_back(ended);
}

Result<std::size_t> Coordinator::find_server(const std::string& variable) const {
  const auto placed = placement_.variables.find(variable);
  if (placed != placement_.variables.end()) return static_cast<std::size_t>(placed->second);
  std::vector<std::string> names;
  for (const auto& definition : program_.variables) names.push_back(definition.name);
  return fail(Code::kNotFound, "no variable '{}'{}", variable, did_you_mean(variable, names));
}

Result<tensor::Tensor> Coordinator::read(const std::string& variable, Deadline deadline) {
  const Server& server = servers_[TFD_TRY(find_server(variable))];
  auto values = TFD_TRY(
      ask<std::vector<tensor::Tensor>>([&](auto done) { server.client->read({variable}, deadline, std::move(done)); }));
  return std::move(values.front());
}

Result<void> Coordinator::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) {
  const Server& server = servers_[TFD_TRY(find_server(variable))];
  const tensor::TensorSpec& spec = program_.find_variable(variable)->spec;
  if (value.spec() != spec)
    return fail(Code::kInvalidArgument, "variable '{}' is {}, the value is {}", variable, tensor::format_spec(spec),
                tensor::format_spec(value.spec()));
  return ask<void>([&](auto done) { server.client->assign(variable, value, deadline, std::move(done)); });
}

Result<State> Coordinator::export_state(Deadline deadline) {
  auto parts = TFD_TRY(ask_all<State>(servers_, [&](const Server& server, std::size_t, auto done) {
    server.client->export_state(deadline, std::move(done));
  }));
  State all;
  std::optional<tensor::Tensor> iterations;
  for (auto& part : parts) {
    for (auto& [name, value] : *part) {
      if (name == kIterations)
        iterations = iterations ? larger(*iterations, value) : value;
      else
        all.emplace_back(std::move(name), std::move(value));
    }
  }
  if (iterations) all.emplace_back(kIterations, *iterations);
  return all;
}

Result<void> Coordinator::import_state(const State& state, Deadline deadline) {
  std::vector<State> parts(servers_.size());
  for (const auto& [name, value] : state) {
    if (name == kIterations) {
      for (State& part : parts) part.emplace_back(name, value);
      continue;
    }
    const auto placed = placement_.variables.find(name.substr(0, name.find(kSlotMark)));
    if (placed != placement_.variables.end()) parts[static_cast<std::size_t>(placed->second)].emplace_back(name, value);
  }
  TFD_TRY(ask_all<void>(servers_, [&](const Server& server, std::size_t i, auto done) {
    server.client->import_state(parts[i], deadline, std::move(done));
  }));
  return {};
}

}  // namespace tfd::coordinate
