// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/task_client.hpp"

#include <algorithm>

#include "concurrency_limit.hpp"
#include "messages/command_messages.hpp"
#include "messages/protocol.hpp"

namespace tfd::task {
namespace {

constexpr std::size_t kReceiveAtOnce = 16;             // tasks that are sent the same program
constexpr auto kStandstill = std::chrono::seconds(2);  // of one of them, after which one more is

/// ConcurrencyLimit a callback for a value into one for the message that holds it.
template <class T, class Decode>
transport::ReplyCallback decoded(TaskClient::Callback<T> done, Decode decode) {
  return [done = std::move(done), decode = std::move(decode)](Result<transport::Message> answer) {
    if (!answer) return done(fail(std::move(answer).error()));
    done(decode(*answer));
  };
}

transport::ReplyCallback acknowledged(TaskClient::Callback<void> done) {
  return [done = std::move(done)](Result<transport::Message> answer) {
    if (!answer) return done(fail(std::move(answer).error()));
    done({});
  };
}

/// Ends the turn once nothing has moved for a while: who is frozen, or far away, is no reason for others to wait.
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

/// One tensor for each that was asked for.
transport::ReplyCallback of_count(std::size_t count, TaskClient::Callback<std::vector<tensor::Tensor>> done) {
  return [done = std::move(done), count](Result<transport::Message> answer) {
    if (!answer) return done(fail(std::move(answer).error()));
    if (answer->tensors.size() != count)
      return done(fail(Code::kInternal, "asked for {} variables, got {}", count, answer->tensors.size()));
    done(std::move(answer->tensors));
  };
}

}  // namespace

void TaskClient::claim(const Claim& claim, Deadline deadline, Callback<std::uint64_t> done) {
  endpoint_.request(peer_, encode(claim), deadline, decoded(std::move(done), decode_epoch));
}

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

void TaskClient::load_worker(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                             std::function<void(int replicas)> on_replicas, Callback<void> done,
                             const WorkerOrders& orders) {
  load(program, epoch, deadline, std::move(on_replicas), std::move(done), orders);
}

void TaskClient::load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                      std::function<void(int replicas)> on_replicas, Callback<void> done, const WorkerOrders& orders) {
  set_epoch(epoch);
  auto begin = [self = *this, epoch, deadline, done, orders] {
    self.endpoint_.request(self.peer_, encode_load(epoch, orders), deadline, acknowledged(done));
  };
  // First who it is: a spec may be wrong about where a task is, and what follows would be told to another one.
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
    if (status->epoch == epoch) return begin();  // it has it: only the connection was lost
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

void TaskClient::create_iterator(const std::string& id, const std::string& dataset, Deadline deadline,
                                 Callback<void> done, std::uint64_t shuffle_stream) {
  endpoint_.request(peer_, encode(CreateIterator{id, dataset, shuffle_stream, epoch()}), deadline,
                    acknowledged(std::move(done)));
}

void TaskClient::drop_iterator(const std::string& id, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_names(Kind::kDropIterator, {id}, epoch()), deadline, acknowledged(std::move(done)));
}

void TaskClient::open_session(const CommandSession& session, Deadline deadline, Callback<int> done) {
  endpoint_.request(peer_, encode(session), deadline, decoded(std::move(done), decode_slots));
}

void TaskClient::run_command(std::uint64_t epoch, const ShellCommand& command, Deadline deadline,
                             Callback<CommandOutcome> done) {
  endpoint_.request(peer_, encode(RunCommand{epoch, command}), deadline,
                    decoded(std::move(done), decode_command_outcome));
}

void TaskClient::end_session(std::uint64_t epoch, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_end(epoch), deadline, acknowledged(std::move(done)));
}

void TaskClient::run(const step::FunctionCall& call, Deadline deadline, Callback<ClosureOutcome> done) {
  endpoint_.request(peer_, encode(call), deadline, decoded(std::move(done), decode_outcome));
}

void TaskClient::drop_waiting(std::uint64_t epoch, std::uint64_t updates_below, std::uint64_t others_below,
                              Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode(DropWaiting{epoch, updates_below, others_below}), deadline,
                    acknowledged(std::move(done)));
}

void TaskClient::give_back(std::uint64_t epoch, std::uint64_t count, bool commands, Deadline deadline,
                           Callback<void> done) {
  endpoint_.request(peer_, commands ? encode_give_back(epoch, count) : encode(GiveBack{epoch, count}), deadline,
                    acknowledged(std::move(done)));
}

void TaskClient::evaluate(const std::string& function, std::int64_t count, std::int64_t index,
                          std::optional<std::int64_t> steps, std::uint64_t epoch, std::uint64_t seed, Deadline deadline,
                          Callback<std::vector<step::Metric>> done) {
  endpoint_.request(peer_, encode(Evaluate{function, count, index, steps, epoch, seed}), deadline,
                    decoded(std::move(done), [](const transport::Message& answer) -> Result<std::vector<step::Metric>> {
                      return TFD_TRY(decode_outcome(answer)).metrics;
                    }));
}

void TaskClient::read(const std::vector<std::string>& variables, Deadline deadline,
                      Callback<std::vector<tensor::Tensor>> done) {
  endpoint_.request(peer_, encode_names(Kind::kRead, variables, epoch()), deadline,
                    of_count(variables.size(), std::move(done)));
}

void TaskClient::read_rows(const NamedTensors& rows, Deadline deadline, Callback<std::vector<tensor::Tensor>> done) {
  endpoint_.request(peer_, encode_named(Kind::kReadRows, rows, epoch()), deadline,
                    of_count(rows.size(), std::move(done)));
}

void TaskClient::update(std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline,
                        Callback<UpdateAnswer> done, std::uint64_t client, bool is_alone) {
  endpoint_.request(peer_, encode(UpdateRequest{epoch(), sequence, updates, client, false, is_alone}), deadline,
                    decoded(std::move(done), decode_update_answer));
}

void TaskClient::find_due(const std::vector<std::string>& variables, Deadline deadline,
                          Callback<std::vector<variable::DueUpdate>> done) {
  endpoint_.request(peer_, encode_names(Kind::kDue, variables, epoch()), deadline,
                    decoded(std::move(done), decode_due));
}

void TaskClient::make_due(const std::vector<variable::DueUpdate>& updates, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_due(Kind::kMakeDue, updates, epoch()), deadline, acknowledged(std::move(done)));
}

void TaskClient::fence(std::uint64_t epoch, std::uint64_t sequence, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode(UpdateRequest{epoch, sequence, {}, 0, true}), deadline,
                    acknowledged(std::move(done)));
}

void TaskClient::settle(std::uint64_t epoch, std::uint64_t below, std::uint64_t unused, Deadline deadline,
                        Callback<void> done) {
  endpoint_.request(peer_, encode(Settle{epoch, below, unused}), deadline, acknowledged(std::move(done)));
}

void TaskClient::adopt(std::uint64_t from, std::uint64_t epoch, Deadline deadline,
                       Callback<variable::SequenceHistory> done) {
  endpoint_.request(peer_, encode(Adopt{epoch, from}), deadline, decoded(std::move(done), decode_history));
}

void TaskClient::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline,
                        Callback<void> done) {
  assign(NamedTensors{{variable, value}}, deadline, std::move(done));
}

void TaskClient::assign(const NamedTensors& values, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_named(Kind::kAssign, values, epoch()), deadline, acknowledged(std::move(done)));
}

void TaskClient::assign_rows(const std::vector<variable::Update>& rows, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode(UpdateRequest{epoch(), 0, rows}, Kind::kAssignRows), deadline,
                    acknowledged(std::move(done)));
}

void TaskClient::use_averages(Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_empty(Kind::kUseAverages, epoch()), deadline, acknowledged(std::move(done)));
}

void TaskClient::status(Deadline deadline, Callback<TaskStatus> done) {
  endpoint_.request(peer_, encode_empty(Kind::kStatus), deadline, decoded(std::move(done), decode_status));
}

void TaskClient::shutdown(std::uint64_t epoch, Deadline deadline, Callback<void> done) {
  endpoint_.request(peer_, encode_empty(Kind::kShutdown, epoch), deadline, acknowledged(std::move(done)));
}

}  // namespace tfd::task
