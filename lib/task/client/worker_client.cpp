// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/worker_client.hpp"

#include "messages/command_messages.hpp"
#include "messages/protocol.hpp"
#include "reply.hpp"

namespace tfd::task {

void WorkerClient::load_worker(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                               std::function<void(int replicas)> on_replicas, Callback<void> done,
                               const WorkerOrders& orders) {
  load(program, epoch, deadline, std::move(on_replicas), std::move(done), orders);
}

void WorkerClient::open_session(const CommandSession& session, Deadline deadline, Callback<int> done) {
  endpoint().request(peer(), encode(session), deadline, decoded(std::move(done), decode_slots));
}

void WorkerClient::run_command(std::uint64_t epoch, const ShellCommand& command, Deadline deadline,
                               Callback<CommandOutcome> done) {
  endpoint().request(peer(), encode(RunCommand{epoch, command}), deadline,
                     decoded(std::move(done), decode_command_outcome));
}

void WorkerClient::end_session(std::uint64_t epoch, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_end(epoch), deadline, acknowledged(std::move(done)));
}

void WorkerClient::create_iterator(const std::string& id, const std::string& dataset, Deadline deadline,
                                   Callback<void> done, std::uint64_t shuffle_stream) {
  endpoint().request(peer(), encode(CreateIterator{id, dataset, shuffle_stream, epoch()}), deadline,
                     acknowledged(std::move(done)));
}

void WorkerClient::drop_iterator(const std::string& id, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_names(Kind::kDropIterator, {id}, epoch()), deadline, acknowledged(std::move(done)));
}

void WorkerClient::run(const step::FunctionCall& call, Deadline deadline, Callback<ClosureOutcome> done) {
  endpoint().request(peer(), encode(call), deadline, decoded(std::move(done), decode_outcome));
}

void WorkerClient::drop_waiting(std::uint64_t epoch, std::uint64_t updates_below, std::uint64_t others_below,
                                Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode(DropWaiting{epoch, updates_below, others_below}), deadline,
                     acknowledged(std::move(done)));
}

void WorkerClient::give_back(std::uint64_t epoch, std::uint64_t count, bool commands, Deadline deadline,
                             Callback<void> done) {
  endpoint().request(peer(), commands ? encode_give_back(epoch, count) : encode(GiveBack{epoch, count}), deadline,
                     acknowledged(std::move(done)));
}

void WorkerClient::evaluate(const std::string& function, std::int64_t count, std::int64_t index,
                            std::optional<std::int64_t> steps, std::uint64_t epoch, std::uint64_t seed,
                            Deadline deadline, Callback<std::vector<step::Metric>> done) {
  endpoint().request(
      peer(), encode(Evaluate{function, count, index, steps, epoch, seed}), deadline,
      decoded(std::move(done), [](const transport::Message& answer) -> Result<std::vector<step::Metric>> {
        return TFD_TRY(decode_outcome(answer)).metrics;
      }));
}

}  // namespace tfd::task
