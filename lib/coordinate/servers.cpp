// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers: they get the program first, hold the variables, and when one is lost everything ends.
#include <algorithm>
#include <numeric>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/runtime/gather.hpp"
#include "tfd/runtime/sharded_state.hpp"
#include "tfd/variable/rows.hpp"

namespace tfd::coordinate {
namespace {

using runtime::State;

constexpr Duration kClaimAnswer = std::chrono::seconds(10);  // the holder is asked meanwhile

Error gone(const std::string& server, const std::string& reason) {
  return {Code::kUnavailable, fmt::format("parameter server {} is gone: {}", server, reason), server};
}

}  // namespace

// One coordinator at a time: the first parameter server hands out the epochs.
Result<void> Coordinator::claim_cluster() {
  runtime::Claim claim = runtime::make_claim();
  claim.take_over = options_.take_over;
  epoch_ = TFD_TRY(ask<std::uint64_t>(
      [&](auto done) { servers_.front().client->claim(claim, Deadline::after(kClaimAnswer), std::move(done)); }));
  return {};
}

void Coordinator::server_event(std::size_t index, const transport::PeerEvent& event) {
  const Server& server = servers_[index];
  switch (event.state) {
    case transport::PeerState::kUp:
      if (event.incarnation != server.incarnation) return server_lost(server, kRestarted);
      return server_back(index);
    case transport::PeerState::kSilent:
      options_.log.warning("{} is silent ({}); waiting up to {} for it (--rejoin)", server.name, event.reason,
                           format_duration(options_.rejoin));
      return server_away(index, event);
    case transport::PeerState::kLost:
      if (event.is_gone && !options_.transient) return server_lost(server, event.reason);
      return server_away(index, event);
    case transport::PeerState::kConnecting:
      return;
  }
}

// It is silent, or its connection broke, and nothing says that its process has ended.
void Coordinator::server_away(std::size_t index, const transport::PeerEvent& event) {
  Clock::time_point since;
  {
    const Lock lock(mutex_);
    Server& server = servers_[index];
    if (server.away_since == Clock::time_point{}) server.away_since = Clock::now();
    server.has_connection = event.state == transport::PeerState::kSilent;
    since = server.away_since;
    changed_.notify_all();
  }
  if (options_.transient) return;  // what workers report counts
  if (event.state == transport::PeerState::kLost)
    options_.log.info("the connection to {} broke ({}); connecting anew", servers_[index].name, event.reason);
  endpoint_->post_at(since + std::chrono::duration_cast<Clock::duration>(options_.rejoin),
                     [this, index, since, reason = event.reason] {
                       {
                         const Lock lock(mutex_);
                         if (servers_[index].away_since != since) return;
                       }
                       server_lost(servers_[index], reason);
                     });
}

void Coordinator::server_back(std::size_t index) {
  bool is_new_connection = false;
  {
    const Lock lock(mutex_);
    Server& server = servers_[index];
    if (std::exchange(server.away_since, {}) == Clock::time_point{}) return;
    is_new_connection = !std::exchange(server.has_connection, true);
    changed_.notify_all();
  }
  options_.log.info("{} answers again", servers_[index].name);
  if (!is_new_connection || index != 0) return;
  // Whoever else wants the cluster is refused as long as this connection answers.
  runtime::Claim claim = runtime::make_claim();
  claim.held = epoch_;
  servers_[index].client->claim(claim, Deadline::after(kClaimAnswer), [this](const Result<std::uint64_t>& kept) {
    if (!kept && kept.error().code == Code::kPermissionDenied) fenced_off(kept.error());
  });
}

Result<void> Coordinator::wait_for_servers(const std::vector<std::size_t>& indices, const Error& why) {
  Lock lock(mutex_);
  const auto all_up = [&] {
    return std::ranges::all_of(indices, [this](std::size_t i) {
      return endpoint_->state(servers_[i].client->peer()) == transport::PeerState::kUp;
    });
  };
  const bool decided = wait(lock, changed_, Deadline::after(2 * options_.rejoin + kClaimAnswer),
                            [&] { return fatal_.has_value() || all_up(); });
  if (fatal_) return fail(*fatal_);
  return decided ? Result<void>() : fail(why);
}

template <class T, class Ask>
Result<std::vector<Result<T>>> Coordinator::ask_all(const Ask& question) {
  std::vector<Result<T>> answers(servers_.size(), fail(Code::kInternal, "not asked"));
  std::vector<std::size_t> asked(servers_.size());
  std::iota(asked.begin(), asked.end(), 0);
  while (!asked.empty()) {
    auto got = runtime::gather<T>(
        asked.size(), [&](std::size_t i, auto done) { question(servers_[asked[i]], asked[i], std::move(done)); });
    std::vector<std::size_t> again;
    std::optional<Error> why;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const Server& server = servers_[asked[i]];
      if (got[i]) {
        answers[asked[i]] = std::move(got[i]);
        continue;
      }
      Error error = std::move(got[i]).error();
      if (error.task.empty()) error.task = server.name;
      if (error.code != Code::kUnavailable) return fail(std::move(error));
      // It may have died just when it was asked, or its connection broke; all of this may be asked twice.
      if (!servers_ready_ || options_.transient) return fail(gone(server.name, error.message));
      again.push_back(asked[i]);
      if (!why) why = gone(server.name, error.message);
    }
    if (why) TFD_TRY(wait_for_servers(again, *why));
    asked = std::move(again);
  }
  return answers;
}

Result<void> Coordinator::load_servers(Deadline deadline) {
  std::vector<transport::PeerId> peers;
  for (const Server& server : servers_) peers.push_back(server.client->peer());
  TFD_TRY(endpoint_->wait_up(peers, deadline));
  for (Server& server : servers_) server.incarnation = endpoint_->incarnation_of(server.client->peer());
  if (!servers_.empty()) TFD_TRY(claim_cluster());
  TFD_TRY(ask_all<void>([this](const Server& server, std::size_t, auto done) {
    server.client->load_program(packed_, epoch_, Deadline::after(kLoadTimeout), std::move(done));
  }));
  return {};
}

void Coordinator::server_lost(const Server& server, const std::string& reason) { end_all(gone(server.name, reason)); }

void Coordinator::end_all(Error error) {
  ClosurePtrs ended;
  {
    const Lock lock(mutex_);
    if (fatal_ || closing_) return;
    fatal_ = std::move(error);
    ended = closures_.end(*fatal_);
    workers_.end_all();
    if (evaluation_) evaluation_->end(*fatal_);
    idle_.notify_all();
    room_.notify_all();
    changed_.notify_all();
  }
  call_back(ended);
}

Result<const variable::PlacedVariable*> Coordinator::find_placed(const std::string& variable) const {
  if (is_own_variable(variable))
    return fail(Code::kInvalidArgument, "variable '{}' is per worker: every worker has a different value", variable);
  if (copies_.has(variable))
    return fail(Code::kUnimplemented,
                "variable '{}' is synchronized on read, with a value for each of {} replicas: it can only be read and "
                "assigned whole",
                variable, copies_.replicas());
  const auto placed = placement_.placed.find(variable);
  if (placed != placement_.placed.end()) return &placed->second;
  std::vector<std::string> names;
  for (const auto& definition : program_.variables) names.push_back(definition.name);
  return fail(Code::kNotFound, "no variable '{}'{}", variable, did_you_mean(variable, names));
}

Result<void> Coordinator::read_shards(const variable::PlacedVariable& placed, const AskShards& ask,
                                      std::vector<tensor::Tensor>& parts) {
  std::vector<std::vector<std::size_t>> shards(servers_.size());  // of each server
  for (std::size_t i = 0; i < placed.ps.size(); ++i)
    if (!parts[i].has_value()) shards[static_cast<std::size_t>(placed.ps[i])].push_back(i);
  auto answers = TFD_TRY(ask_all<std::vector<tensor::Tensor>>([&](const Server& server, std::size_t i, auto done) {
    if (shards[i].empty()) return done(std::vector<tensor::Tensor>());
    ask(*server.client, shards[i], std::move(done));
  }));
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (std::size_t k = 0; k < shards[i].size(); ++k) parts[shards[i][k]] = std::move((*answers[i])[k]);
  return {};
}

Result<tensor::Tensor> Coordinator::read(const std::string& variable, Deadline deadline) {
  if (copies_.has(variable) && !is_own_variable(variable)) return read_copies(variable, deadline);
  const variable::PlacedVariable& placed = *TFD_TRY(find_placed(variable));
  std::vector<tensor::Tensor> parts(placed.ps.size());
  const AskShards ask = [&](runtime::TaskClient& client, const std::vector<std::size_t>& shards, auto done) {
    std::vector<std::string> names;
    for (const std::size_t shard : shards) names.push_back(runtime::stored_name(placed, shard));
    client.read(names, deadline, std::move(done));
  };
  TFD_TRY(read_shards(placed, ask, parts));
  return runtime::join_value(placed, parts);
}

// All of them in one message to each parameter server, between two updates of it. They lie in the same places.
Result<tensor::Tensor> Coordinator::read_copies(const std::string& variable, Deadline deadline) {
  const std::vector<std::string> names = copies_.names_of(variable);
  const variable::PlacedVariable& first = placement_.placed.at(names.front());
  std::vector<std::vector<std::string>> asked(servers_.size());
  for (std::size_t shard = 0; shard < first.ps.size(); ++shard)
    for (const std::string& name : names)
      asked[static_cast<std::size_t>(first.ps[shard])].push_back(
          runtime::stored_name(placement_.placed.at(name), shard));
  auto answers = TFD_TRY(ask_all<std::vector<tensor::Tensor>>([&](const Server& server, std::size_t i, auto done) {
    if (asked[i].empty()) return done(std::vector<tensor::Tensor>());
    server.client->read(asked[i], deadline, std::move(done));
  }));
  std::vector<std::vector<tensor::Tensor>> parts(names.size());  // of each copy, shard by shard
  std::vector<std::size_t> next(servers_.size());
  for (const int ps : first.ps)
    for (auto& copy : parts) {
      const auto server = static_cast<std::size_t>(ps);
      copy.push_back(std::move((*answers[server])[next[server]++]));
    }
  std::vector<tensor::Tensor> copies;
  for (std::size_t i = 0; i < names.size(); ++i)
    copies.push_back(TFD_TRY(runtime::join_value(placement_.placed.at(names[i]), parts[i])));
  return copies_.read_across(variable, std::move(copies));
}

Result<tensor::Tensor> Coordinator::read_rows(const std::string& variable, const tensor::Tensor& rows,
                                              Deadline deadline) {
  if (is_own_variable(variable))
    return fail(Code::kInvalidArgument, "'{}' is per worker: it can only be read whole", variable);
  const variable::PlacedVariable& placed = *TFD_TRY(find_placed(variable));
  const auto shares = placed.sharding.split(rows);
  if (!shares)  // kOutOfRange is the end of the data
    return fail(Error{Code::kInvalidArgument, fmt::format("'{}': {}", variable, shares.error().message), {}});
  tensor::Shape none = placed.sharding.shape();
  none[0] = 0;
  std::vector<tensor::Tensor> parts(placed.ps.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    if ((*shares)[i].positions.empty())
      parts[i] = tensor::Tensor::uninitialized(program_.find_variable(variable)->spec.dtype, none);
  const AskShards ask = [&](runtime::TaskClient& client, const std::vector<std::size_t>& shards, auto done) {
    std::vector<std::pair<std::string, tensor::Tensor>> named;
    for (const std::size_t shard : shards)
      named.emplace_back(runtime::stored_name(placed, shard), (*shares)[shard].indices);
    client.read_rows(named, deadline, std::move(done));
  };
  TFD_TRY(read_shards(placed, ask, parts));
  return placed.sharding.join(*shares, parts);
}

Result<void> Coordinator::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) {
  if (is_own_variable(variable)) return assign_on_workers(variable, value, deadline);
  if (!copies_.has(variable)) TFD_TRY(find_placed(variable));
  const tensor::TensorSpec& spec = program_.find_variable(variable)->spec;
  if (value.spec() != spec)
    return fail(Code::kInvalidArgument, "variable '{}' is {}, but the value is {}", variable, tensor::format_spec(spec),
                tensor::format_spec(value.spec()));
  std::vector<State> parts(servers_.size());
  for (const auto& [name, its] : TFD_TRY(copies_.assign_across(variable, value))) {
    const variable::PlacedVariable& placed = placement_.placed.at(name);
    const auto values = runtime::cut_value(placed, its);
    for (std::size_t i = 0; i < values.size(); ++i)
      parts[static_cast<std::size_t>(placed.ps[i])].emplace_back(runtime::stored_name(placed, i), values[i]);
  }
  TFD_TRY(ask_all<void>([&](const Server& server, std::size_t i, auto done) {
    if (parts[i].empty()) return done({});
    server.client->assign(parts[i], deadline, std::move(done));
  }));
  return {};
}

Result<void> Coordinator::assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                      const tensor::Tensor& values, Deadline deadline) {
  if (is_own_variable(variable))
    return fail(Code::kInvalidArgument, "'{}' is per worker: it can only be assigned whole", variable);
  const variable::PlacedVariable& placed = *TFD_TRY(find_placed(variable));
  const auto shares = placed.sharding.split(rows);
  if (!shares)  // kOutOfRange is the end of the data
    return fail(Error{Code::kInvalidArgument, fmt::format("'{}': {}", variable, shares.error().message), {}});
  tensor::TensorSpec wanted = program_.find_variable(variable)->spec;
  wanted.shape[0] = static_cast<std::int64_t>(rows.size());
  if (values.spec() != wanted)
    return fail(Code::kInvalidArgument, "these rows of '{}' are {}, but the value is {}", variable,
                tensor::format_spec(wanted), tensor::format_spec(values.spec()));
  std::vector<std::vector<variable::Update>> parts(servers_.size());
  for (std::size_t i = 0; i < shares->size(); ++i) {
    const auto& share = (*shares)[i];
    if (share.positions.empty()) continue;
    auto positions =
        tensor::Tensor::uninitialized(tensor::DType::kS64, {static_cast<std::int64_t>(share.positions.size())});
    std::ranges::copy(share.positions, positions.mutable_as<std::int64_t>());
    auto part = TFD_TRY(variable::gather_rows(values, positions), variable);
    parts[static_cast<std::size_t>(placed.ps[i])].push_back(
        {variable::UpdateKind::kAssignRows, runtime::stored_name(placed, i), std::move(part), share.indices});
  }
  TFD_TRY(ask_all<void>([&](const Server& server, std::size_t i, auto done) {
    if (parts[i].empty()) return done({});
    server.client->assign_rows(parts[i], deadline, std::move(done));
  }));
  return {};
}

Result<State> Coordinator::export_state(Deadline deadline) {
  auto answers = TFD_TRY(ask_all<State>(
      [&](const Server& server, std::size_t, auto done) { server.client->export_state(deadline, std::move(done)); }));
  std::vector<State> parts;
  for (auto& answer : answers) parts.push_back(std::move(*answer));
  return copies_.gather(TFD_TRY(runtime::join_state(placement_, std::move(parts))));
}

Result<void> Coordinator::import_state(const State& state, Deadline deadline) {
  const std::vector<State> parts = TFD_TRY(runtime::cut_state(placement_, TFD_TRY(copies_.spread(state))));
  TFD_TRY(ask_all<void>([&](const Server& server, std::size_t i, auto done) {
    server.client->import_state(parts[i], deadline, std::move(done));
  }));
  return {};
}

Result<void> Coordinator::use_averages(Deadline deadline) {
  TFD_TRY(ask_all<void>(
      [&](const Server& server, std::size_t, auto done) { server.client->use_averages(deadline, std::move(done)); }));
  return {};
}

}  // namespace tfd::coordinate
