// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/server_client.hpp"

#include "messages/protocol.hpp"
#include "reply.hpp"

namespace tfd::task {

void ServerClient::claim(const Claim& claim, Deadline deadline, Callback<std::uint64_t> done) {
  endpoint().request(peer(), encode(claim), deadline, decoded(std::move(done), decode_epoch));
}

void ServerClient::read_rows(const tensor::NamedTensors& rows, Deadline deadline,
                             Callback<std::vector<tensor::Tensor>> done) {
  endpoint().request(peer(), encode_named(Kind::kReadRows, rows, epoch()), deadline,
                     of_count(rows.size(), std::move(done)));
}

transport::Message ServerClient::update_message(std::uint64_t sequence, std::vector<variable::Update> updates,
                                                std::uint64_t client, bool is_alone) const {
  transport::Message out = encode(UpdateRequest{epoch(), sequence, std::move(updates), client, false, is_alone});
  out.may_lend = true;
  return out;
}

void ServerClient::update(transport::Message message, Deadline deadline, Callback<UpdateAnswer> done) {
  endpoint().request(peer(), std::move(message), deadline, decoded(std::move(done), decode_update_answer));
}

void ServerClient::update(std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline,
                          Callback<UpdateAnswer> done, std::uint64_t client, bool is_alone) {
  update(update_message(sequence, updates, client, is_alone), deadline, std::move(done));
}

transport::Message ServerClient::stage_message(const variable::Attempt& attempt, std::vector<variable::Update> updates,
                                               bool is_alone) const {
  UpdateRequest request{epoch(), attempt.sequence, std::move(updates), 0, false, is_alone, attempt.number};
  transport::Message out = encode(std::move(request), Kind::kStage);
  out.may_lend = true;
  return out;
}

void ServerClient::commit(const variable::Attempt& attempt, Deadline deadline, Callback<UpdateAnswer> done) {
  endpoint().request(peer(), encode(Commit{epoch(), attempt}), deadline,
                     decoded(std::move(done), decode_update_answer));
}

void ServerClient::abort(const variable::Attempt& attempt, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode(Abort{epoch(), attempt}), deadline, acknowledged(std::move(done)));
}

void ServerClient::abort_all(Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode(Abort{epoch(), {}, true}), deadline, acknowledged(std::move(done)));
}

void ServerClient::find_due(const std::vector<std::string>& variables, Deadline deadline,
                            Callback<std::vector<variable::DueUpdate>> done) {
  endpoint().request(peer(), encode_names(Kind::kDue, variables, epoch()), deadline,
                     decoded(std::move(done), decode_due));
}

void ServerClient::make_due(const std::vector<variable::DueUpdate>& updates, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_due(Kind::kMakeDue, updates, epoch()), deadline, acknowledged(std::move(done)));
}

void ServerClient::fence(std::uint64_t epoch, std::uint64_t sequence, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode(UpdateRequest{epoch, sequence, {}, 0, true}), deadline,
                     acknowledged(std::move(done)));
}

void ServerClient::settle(std::uint64_t epoch, std::uint64_t below, std::uint64_t unused, Deadline deadline,
                          Callback<void> done) {
  endpoint().request(peer(), encode(Settle{epoch, below, unused}), deadline, acknowledged(std::move(done)));
}

void ServerClient::adopt(std::uint64_t from, std::uint64_t epoch, Deadline deadline,
                         Callback<variable::SequenceHistory> done) {
  endpoint().request(peer(), encode(Adopt{epoch, from}), deadline, decoded(std::move(done), decode_history));
}

void ServerClient::assign_rows(const std::vector<variable::Update>& rows, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode(UpdateRequest{epoch(), 0, rows}, Kind::kAssignRows), deadline,
                     acknowledged(std::move(done)));
}

void ServerClient::use_averages(Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_empty(Kind::kUseAverages, epoch()), deadline, acknowledged(std::move(done)));
}

}  // namespace tfd::task
