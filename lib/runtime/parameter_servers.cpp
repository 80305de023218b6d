// SPDX-License-Identifier: Apache-2.0
#include "tfd/runtime/parameter_servers.hpp"

#include <mutex>
#include <set>

#include "remote_variables.hpp"
#include "tfd/runtime/gather.hpp"
#include "tfd/runtime/message_limits.hpp"
#include "tfd/runtime/sharded_state.hpp"

namespace tfd::runtime {
namespace {

class Servers final : public ParameterServers {
 public:
  Servers(const Placement& placement, ParameterServersOptions options)
      : placement_(placement), options_(std::move(options)) {}

  Result<void> open(Deadline deadline) {
    transport::EndpointOptions endpoint;
    endpoint.name = options_.name;
    endpoint.log = options_.log.for_room("transport");
    allow_large_messages(endpoint);
    endpoint.on_peer = [this](const transport::PeerEvent& event) { look(event); };
    endpoint_ = TFD_TRY(options_.make_endpoint(std::move(endpoint)));
    for (const auto& [name, address] : placement_.ps)
      tasks_.emplace_back(
          *endpoint_,
          endpoint_->add_peer(name, address, {.patience = options_.rejoin, .deadlines_wait_for_bytes = true}), name);
    variables_ = std::make_unique<RemoteVariables>(*endpoint_, placement_, options_.rejoin);
    TFD_TRY(endpoint_->wait_up(peers(), deadline), "parameter servers");
    for (const TaskClient& task : tasks_) incarnations_.push_back(endpoint_->incarnation_of(task.peer()));
    return {};
  }

  void set_epoch(std::uint64_t epoch) override {
    for (TaskClient& task : tasks_) task.set_epoch(epoch);
    variables_->set_epoch(epoch);
  }

  Result<void> load(const program::Program& program, std::uint64_t epoch, Deadline deadline) override {
    set_epoch(epoch);
    const auto packed = PackedProgram::pack(program, placement_);
    TFD_TRY(ask_all<void>([&](TaskClient& task, std::size_t, auto done) {
      task.load_program(packed, epoch, deadline, std::move(done));
    }));
    return {};
  }

  Result<std::uint64_t> claim(const Claim& claim, Deadline deadline) override {
    auto epochs = gather<std::uint64_t>(
        1, [&](std::size_t, auto done) { tasks_.front().claim(claim, deadline, std::move(done)); });
    return std::move(epochs.front());
  }

  Result<std::vector<TaskStatus>> status(Deadline deadline) override {
    auto answers = TFD_TRY(
        ask_all<TaskStatus>([&](TaskClient& task, std::size_t, auto done) { task.status(deadline, std::move(done)); }));
    std::vector<TaskStatus> out;
    for (auto& answer : answers) out.push_back(std::move(*answer));
    return out;
  }

  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names, Deadline deadline) override {
    return again<std::vector<tensor::Tensor>>([&] { return variables_->start_read(names, deadline).wait(); });
  }

  Result<std::vector<tensor::Tensor>> look_up(const std::vector<RowLookup>& lookups, Deadline deadline) override {
    return again<std::vector<tensor::Tensor>>([&] { return variables_->start_lookup(lookups, deadline).wait(); });
  }

  Result<void> update(std::uint64_t epoch, const std::vector<variable::Update>& updates, Deadline deadline) override {
    const std::uint64_t sequence = sequence_++;
    return again<void>(
        [&] { return variables_->update(epoch, sequence, updates, deadline, {}, endpoint_->incarnation()); });
  }

  Result<void> assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) override {
    const auto found = placement_.placed.find(variable);
    if (found == placement_.placed.end()) return fail(Code::kNotFound, "no variable '{}'", variable);
    const auto parts = TFD_TRY(cut_state(placement_, {{variable, value}}));
    TFD_TRY(ask_all<void>([&](TaskClient& task, std::size_t i, auto done) {
      if (parts[i].empty()) return done({});
      task.assign(parts[i], deadline, std::move(done));
    }));
    return {};
  }

  Result<void> assign_rows(const std::string& variable, const tensor::Tensor& rows, const tensor::Tensor& values,
                           Deadline deadline) override {
    const auto found = placement_.placed.find(variable);
    if (found == placement_.placed.end()) return fail(Code::kNotFound, "no variable '{}'", variable);
    const auto home = static_cast<std::size_t>(found->second.ps.front());
    TFD_TRY(ask_all<void>([&](TaskClient& task, std::size_t i, auto done) {
      if (i != home) return done({});
      task.assign_rows({{variable::UpdateKind::kAssignRows, variable, values, rows}}, deadline, std::move(done));
    }));
    return {};
  }

  Result<NamedState> export_state(Deadline deadline) override {
    auto answers = TFD_TRY(ask_all<NamedState>(
        [&](TaskClient& task, std::size_t, auto done) { task.export_state(deadline, std::move(done)); }));
    std::vector<NamedState> parts;
    for (auto& answer : answers) parts.push_back(std::move(*answer));
    return join_state(placement_, std::move(parts));
  }

  Result<void> import_state(const NamedState& state, Deadline deadline) override {
    const auto parts = TFD_TRY(cut_state(placement_, state));
    TFD_TRY(ask_all<void>(
        [&](TaskClient& task, std::size_t i, auto done) { task.import_state(parts[i], deadline, std::move(done)); }));
    return {};
  }

  Result<void> use_averages(Deadline deadline) override {
    TFD_TRY(
        ask_all<void>([&](TaskClient& task, std::size_t, auto done) { task.use_averages(deadline, std::move(done)); }));
    return {};
  }

  Result<void> shutdown(std::uint64_t epoch, Deadline deadline) override {
    TFD_TRY(ask_all<void>(
        [&](TaskClient& task, std::size_t, auto done) { task.shutdown(epoch, deadline, std::move(done)); }));
    return {};
  }

 private:
  std::vector<transport::PeerId> peers() const {
    std::vector<transport::PeerId> out;
    for (const TaskClient& task : tasks_) out.push_back(task.peer());
    return out;
  }

  /// Asks all at once: question(task, index, callback). The first error in the order of the placement.
  template <class T, class Ask>
  Result<std::vector<Result<T>>> ask_all(const Ask& question) {
    auto answers = gather<T>(tasks_.size(), [&](std::size_t i, auto done) { question(tasks_[i], i, std::move(done)); });
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (answers[i]) continue;
      Error error = std::move(answers[i]).error();
      if (error.task.empty()) error.task = tasks_[i].name();
      return fail(std::move(error));
    }
    return answers;
  }

  bool is_other_process() const {
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (endpoint_->incarnation_of(tasks_[i].peer()) != incarnations_[i]) return true;
    return false;
  }

  /// Once more after a connection broke, if the other end is who it was. What a successor answers is no answer.
  template <class T, class Do>
  Result<T> again(const Do& action) {
    Result<T> result = action();
    const auto is_cut = [&] { return !result && (result.error().code == Code::kUnavailable || is_other_process()); };
    for (int attempt = 0; attempt < kAttempts && is_cut(); ++attempt) {
      TFD_TRY(still_there(result.error()));
      result = action();
    }
    return result;
  }

  // On the I/O thread.
  void look(const transport::PeerEvent& event) {
    if (event.state != transport::PeerState::kLost || !event.is_gone) return;
    const std::scoped_lock lock(gone_mutex_);
    gone_.insert(event.name);
  }

  /// Not for one whose process has ended.
  Result<void> wait_for_all() const {
    constexpr auto kLook = std::chrono::milliseconds(50);
    const Deadline deadline = Deadline::after(options_.rejoin);
    for (;;) {
      auto up = endpoint_->wait_up(peers(), Deadline::after(kLook).earlier_of(deadline));
      if (up || deadline.expired() || up.error().code != Code::kDeadlineExceeded) return up;
      const std::scoped_lock lock(gone_mutex_);
      if (!gone_.empty()) return up;
    }
  }

  Result<void> still_there(const Error& why) {
    const auto up = wait_for_all();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const bool here = endpoint_->state(tasks_[i].peer()) == transport::PeerState::kUp;
      if (here && endpoint_->incarnation_of(tasks_[i].peer()) == incarnations_[i]) continue;
      return fail(Error{Code::kUnavailable,
                        fmt::format("parameter server {} is gone: {}", tasks_[i].name(),
                                    here ? "another process answers at its address" : why.message),
                        tasks_[i].name()});
    }
    return up;
  }

  static constexpr int kAttempts = 5;

  const Placement placement_;
  const ParameterServersOptions options_;
  mutable std::mutex gone_mutex_;
  std::set<std::string> gone_;  // those whose process has ended: filled on the I/O thread
  std::unique_ptr<transport::Endpoint> endpoint_;  // after what its thread uses
  std::vector<TaskClient> tasks_;
  std::unique_ptr<RemoteVariables> variables_;  // after the endpoint it uses
  std::vector<transport::Incarnation> incarnations_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

Result<std::unique_ptr<ParameterServers>> ParameterServers::connect(const Placement& placement,
                                                                    ParameterServersOptions options,
                                                                    Deadline deadline) {
  auto servers = std::make_unique<Servers>(placement, std::move(options));
  TFD_TRY(servers->open(deadline));
  return servers;
}

}  // namespace tfd::runtime
