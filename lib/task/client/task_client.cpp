// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/task_client.hpp"

#include <algorithm>

#include "concurrency_limit.hpp"
#include "messages/protocol.hpp"
#include "reply.hpp"

namespace tfd::task {
namespace {

constexpr std::size_t kReceiveAtOnce = 16;             // tasks that receive the same program at a time
constexpr auto kStandstill = std::chrono::seconds(2);  // of one of them, after which another one starts

/// Ends the turn once nothing has moved for a while, so that a suspended or distant task doesn't block others.
void end_at_standstill(transport::Endpoint& endpoint, transport::PeerId peer, Clock::time_point moved,
                       std::weak_ptr<ConcurrencyLimit::Turn> turn) {
  const Clock::time_point when = std::max(moved, endpoint.moved(peer)) + kStandstill;
  endpoint.post_at(when, [&endpoint, peer, moved, turn = std::move(turn)] {
    const auto still = turn.lock();
    if (!still) return;
    if (endpoint.moved(peer) + kStandstill > Clock::now()) return end_at_standstill(endpoint, peer, moved, still);
    still->end();
  });
}

}  // namespace

void TaskClient::coordinate(const CoordinationRequest& request, Deadline deadline, Callback<CoordinationAnswer> done,
                            CoordinationScope scope) {
  const bool is_of_run = scope == CoordinationScope::kRun;
  if (is_of_run && epoch() == 0) return done(fail(Code::kFailedPrecondition, "there is no run to coordinate"));
  endpoint_.request(peer_, encode(request, is_of_run ? epoch() : 0), deadline,
                    decoded(std::move(done), decode_coordination_answer));
}

struct PackedProgram::State {
  transport::Message message;
  std::shared_ptr<ConcurrencyLimit> turns;  // with those under way
};

PackedProgram PackedProgram::pack(const program::Program& program, const Placement& placement) {
  PackedProgram out;
  out.state_ = std::make_shared<const State>(
      State{encode_program(program, placement), std::make_shared<ConcurrencyLimit>(kReceiveAtOnce)});
  return out;
}

void TaskClient::load_program(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                              Callback<void> done) {
  load(program, epoch, deadline, {}, std::move(done), {});
}

void TaskClient::load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                      std::function<void(int replicas)> on_replicas, Callback<void> done, const WorkerOrders& orders) {
  set_epoch(epoch);
  auto begin = [self = *this, epoch, deadline, done, orders] {
    self.endpoint_.request(self.peer_, encode_load(epoch, orders), deadline, acknowledged(done));
  };
  // Check the task's identity first: if the spec has a wrong address, the program would go to another task.
  status(deadline, [self = *this, program, epoch, deadline, on_replicas = std::move(on_replicas),
                    done = std::move(done), begin = std::move(begin)](Result<TaskStatus> status) mutable {
    if (!status) return done(fail(std::move(status).error()));
    const std::string answers = cluster::format_task(status->task);
    if (answers != self.name_)
      return done(fail(Error{Code::kFailedPrecondition,
                             fmt::format("{} answers where the spec says {} is: the spec is wrong, or a task listens "
                                         "at the address of another",
                                         answers, self.name_),
                             self.name_}));
    if (on_replicas) on_replicas(status->replicas);
    if (status->epoch == epoch) return begin();  // already loaded: only the connection was lost
    self.bring(program, epoch, deadline, std::move(begin), std::move(done));
  });
}

void TaskClient::bring(const PackedProgram& program, std::uint64_t epoch, Deadline deadline, std::function<void()> then,
                       Callback<void> failed) const {
  transport::Message message = program.state_->message;  // shares the tensors
  message.epoch = epoch;
  program.state_->turns->ask([&endpoint = endpoint_, peer = peer_, message = std::move(message), deadline,
                              then = std::move(then),
                              failed = std::move(failed)](const std::shared_ptr<ConcurrencyLimit::Turn>& turn) {
    end_at_standstill(endpoint, peer, Clock::now(), turn);
    endpoint.request(peer, message, deadline, [turn, then, failed](Result<transport::Message> answer) {
      turn->end();
      if (!answer) return failed(fail(std::move(answer).error()));
      then();
    });
  });
}

void TaskClient::read(const std::vector<std::string>& variables, Deadline deadline,
                      Callback<std::vector<tensor::Tensor>> done, bool may_lend) {
  transport::Message message = encode_names(Kind::kRead, variables, epoch());
  message.may_lend = may_lend;
  endpoint_.request(peer_, std::move(message), deadline, of_count(variables.size(), std::move(done)));
}

void TaskClient::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline,
                        Callback<void> done) {
  assign(tensor::NamedTensors{{variable, value}}, deadline, std::move(done));
}

void TaskClient::assign(const tensor::NamedTensors& values, Deadline deadline, Callback<void> done, bool may_lend) {
  transport::Message message = encode_named(Kind::kAssign, values, epoch());
  message.may_lend = may_lend;
  endpoint_.request(peer_, std::move(message), deadline, acknowledged(std::move(done)));
}

void TaskClient::status(Deadline deadline, Callback<TaskStatus> done) {
  endpoint_.request(peer_, encode_empty(Kind::kStatus), deadline, decoded(std::move(done), decode_status));
}

void TaskClient::shutdown(std::uint64_t epoch, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_empty(Kind::kShutdown, epoch), deadline, acknowledged(std::move(done)));
}

}  // namespace tfd::task
