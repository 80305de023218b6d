// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/parameter_servers.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

#include "server_operation.hpp"
#include "sharded_state.hpp"
#include "tfd/task/gather.hpp"
#include "tfd/task/messages.hpp"

namespace tfd::task {

/// One tensor in transfer, in parts.
struct WantedTensor {
  const variable::PlacedVariable* placed = nullptr;
  std::vector<tensor::Tensor> parts;  // by shard; each is written by one callback, and read when all have arrived
  // Fields of a lookup:
  bool is_lookup = false;
  tensor::Shape indices_shape;
  std::vector<std::int64_t> positions;  // in the unique rows
  std::vector<variable::Sharding::ShardRows> shares;

  Result<tensor::Tensor> assemble() &&;
};

namespace {

constexpr int kMostSuccessors = 3;                       // limit for servers that crash on the request
constexpr Duration kStopping = std::chrono::seconds(3);  // time for a task that reports that it is stopping
constexpr auto kSuccessorLook = std::chrono::milliseconds(20);

/// Adds the table to "no row 12: there are 10". Not kOutOfRange, which means the end of the data.
Error bad_rows(Error error, const std::string& table) {
  error.code = Code::kInvalidArgument;
  return std::move(error).within(fmt::format("'{}'", table));
}

}  // namespace

Result<tensor::Tensor> WantedTensor::assemble() && {
  if (!is_lookup) return join_value(*placed, parts);
  const auto there =
      std::find_if(parts.begin(), parts.end(), [](const tensor::Tensor& part) { return part.has_value(); });
  if (there == parts.end()) return fail(Code::kInternal, "no rows of '{}'", placed->name);
  tensor::Shape none = placed->sharding.shape();
  none[0] = 0;
  for (tensor::Tensor& part : parts)  // shards that weren't requested
    if (!part.has_value()) part = tensor::Tensor::uninitialized(there->dtype(), none);
  const auto unique = TFD_TRY(placed->sharding.join(shares, parts), placed->name);
  tensor::Shape shape = indices_shape;
  shape.insert(shape.end(), none.begin() + 1, none.end());
  return TFD_TRY(variable::gather_rows(unique, positions)).reshaped(std::move(shape));
}

struct ParameterServers::Pending::State final : Operation {
  std::vector<WantedTensor> wanted;
  bool keeps_values = false;  // longer than a server lends them

  Result<std::vector<tensor::Tensor>> assemble() {
    std::vector<tensor::Tensor> values;
    for (WantedTensor& one : wanted) {
      tensor::Tensor value = TFD_TRY(std::move(one).assemble());
      values.push_back(keeps_values && value.storage()->writable() == nullptr ? value.unshared() : std::move(value));
    }
    return values;
  }
  std::optional<Error> refused;  // the request couldn't be made

  using Slots = std::vector<std::pair<std::size_t, std::size_t>>;  // (wanted, shard) of each tensor in an answer
  /// Callback that stores an answer's tensors, then calls `done`, which keeps this object alive.
  ServerClient::Callback<std::vector<tensor::Tensor>> into(Slots slots, Done done) {
    return [this, slots = std::move(slots), done = std::move(done)](Result<std::vector<tensor::Tensor>> answer) {
      if (!answer) return done(std::move(answer).error());
      for (std::size_t i = 0; i < slots.size(); ++i)
        wanted[slots[i].first].parts[slots[i].second] = std::move((*answer)[i]);
      done(std::nullopt);
    };
  }
};

ParameterServers::ParameterServers(transport::Endpoint& endpoint, const Placement& placement, ServerPolicy policy)
    : endpoint_(endpoint), policy_(std::move(policy)), placement_(placement) {
  for (const auto& [name, address] : placement_.ps)
    tasks_.emplace_back(endpoint, endpoint.add_peer(name, address, policy_.peer), name);
  incarnations_.resize(tasks_.size());
}

ParameterServers::~ParameterServers() {
  if (policy_.leaves_peers) return;
  for (const ServerClient& task : tasks_) endpoint_.remove_peer(task.peer());
}

Result<std::unique_ptr<ParameterServers>> ParameterServers::connect(const Placement& placement,
                                                                    ParameterServersOptions options,
                                                                    Deadline deadline) {
  const auto rejoin = std::make_shared<Rejoin>(options.rejoin);  // shared with the endpoint's thread
  transport::EndpointOptions endpoint;
  endpoint.name = options.name;
  endpoint.log = options.log.for_room("transport");
  allow_large_messages(endpoint);
  endpoint.on_peer = [rejoin](const transport::PeerEvent& event) { rejoin->look(event); };
  auto owned = TFD_TRY(options.make_endpoint(std::move(endpoint)));
  ServerPolicy policy{.peer = {.patience = options.rejoin, .deadlines_wait_for_bytes = true}};
  auto servers = std::make_unique<ParameterServers>(*owned, placement, std::move(policy));
  servers->policy_.on_cut = [all = servers.get(), rejoin](const auto&, const Error& why, int attempt) {
    return rejoin->wait(*all, why, attempt);
  };
  servers->owned_ = std::move(owned);
  TFD_TRY(servers->wait_up(deadline), "parameter servers");
  return servers;
}

std::vector<transport::PeerId> ParameterServers::peers() const {
  std::vector<transport::PeerId> out;
  for (const ServerClient& task : tasks_) out.push_back(task.peer());
  return out;
}

bool ParameterServers::is_up(std::size_t server) const {
  return endpoint_.state(tasks_[server].peer()) == transport::PeerState::kUp;
}

Result<void> ParameterServers::wait_up(Deadline deadline, const std::stop_token& stop) {
  TFD_TRY(endpoint_.wait_up(peers(), deadline, stop));
  for (std::size_t i = 0; i < tasks_.size(); ++i) incarnations_[i] = endpoint_.incarnation_of(tasks_[i].peer());
  return {};
}

Result<void> ParameterServers::begin(Deadline deadline, const std::function<bool(const Error& why)>& may_wait,
                                     const std::function<Result<void>()>& begin, const std::stop_token& stop) {
  for (int left = kMostSuccessors;; --left) {
    TFD_TRY(wait_up(deadline, stop));
    const auto begun = begin();
    if (begun) return {};
    const auto task = std::ranges::find(tasks_, begun.error().task, &ServerClient::name);
    const bool has_ended = begun.error().code == Code::kCancelled || begun.error().code == Code::kUnavailable;
    if (!has_ended || task == tasks_.end() || left == 0 || !may_wait(begun.error())) return begun;
    // It may still be up for a moment; if it stays up, nothing is wrong with it. Its state is polled, since peer events
    // go to the endpoint's owner.
    const auto position = static_cast<std::size_t>(task - tasks_.begin());
    const Deadline end = Deadline::after(kStopping).earlier_of(deadline);
    while (is_up(position) && endpoint_.incarnation_of(task->peer()) == incarnations_[position] && !end.expired())
      std::this_thread::sleep_for(kSuccessorLook);
  }
}

Result<void> ParameterServers::reach(Deadline deadline, const std::stop_token& stop) const {
  auto up = endpoint_.wait_up(peers(), deadline, stop);
  if (up || up.error().code == Code::kCancelled) return up;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (!is_up(i))
      return fail(Error{Code::kUnavailable, fmt::format("can't reach {}: {}", tasks_[i].name(), up.error().message),
                        tasks_[i].name()});
  return {};
}

void ParameterServers::set_epoch(std::uint64_t epoch) {
  for (ServerClient& task : tasks_) task.set_epoch(epoch);
}

Result<const variable::PlacedVariable*> ParameterServers::find(const std::string& variable) const {
  const auto found = placement_.placed.find(variable);
  if (found == placement_.placed.end())
    return fail(Code::kNotFound, "variable '{}' is not on a parameter server", variable);
  return &found->second;
}

std::vector<std::size_t> ParameterServers::all() const {
  std::vector<std::size_t> out(tasks_.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Result<void> ParameterServers::finish(const std::shared_ptr<Operation>& operation, const std::stop_token& stop) {
  const Activity::Waiting waiting(policy_.activity, operation);
  for (int attempt = 0;; ++attempt) {
    TFD_TRY(operation->wait(stop, policy_.on_cut != nullptr, policy_.is_driven ? &endpoint_ : nullptr));
    const auto failures = operation->take_failures();
    if (failures.empty()) return {};
    const auto is_cut = [this](const Operation::Failure& failure) {  // a successor's answer doesn't count
      const auto now = endpoint_.incarnation_of(tasks_[failure.server].peer());
      return failure.error.code == Code::kUnavailable || now != incarnations_[failure.server];
    };
    std::vector<std::size_t> cut;
    for (const Operation::Failure& failure : failures) {
      if (!is_cut(failure)) return fail(failure.error);
      cut.push_back(failure.server);
    }
    TFD_TRY(policy_.on_cut(cut, failures.front().error, attempt));
    operation->start(tasks_);
  }
}

Result<void> ParameterServers::do_on(const std::vector<std::size_t>& servers, const Ask& ask,
                                     const std::stop_token& stop) {
  const auto operation = std::make_shared<Operation>();  // with the callbacks
  for (const std::size_t i : servers)
    operation->add(i, tasks_[i].name(), [&ask, i](ServerClient& task, Operation::Done done) {
      ask(task, i, [done = std::move(done)](Result<void> answer) {
        done(answer ? std::nullopt : std::optional(std::move(answer).error()));
      });
    });
  operation->start(tasks_);
  return finish(operation, stop);
}

template <class T, class Question>
Result<std::vector<T>> ParameterServers::ask_all(const Question& question) {
  const auto answers = std::make_shared<std::vector<T>>(tasks_.size());  // with the callbacks
  TFD_TRY(do_on(all(), [&](ServerClient& task, std::size_t i, ServerClient::Callback<void> done) {
    question(task, i, [answers, i, done = std::move(done)](Result<T> answer) {
      if (!answer) return done(fail(std::move(answer).error()));
      (*answers)[i] = std::move(*answer);
      done({});
    });
  }));
  return std::move(*answers);
}

Result<std::uint64_t> ParameterServers::claim(const Claim& claim, Deadline deadline) {
  auto epochs =
      gather<std::uint64_t>(1, [&](std::size_t, auto done) { tasks_.front().claim(claim, deadline, std::move(done)); });
  return std::move(epochs.front());
}

Result<void> ParameterServers::load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline) {
  set_epoch(epoch);
  return do_on(all(), [&](ServerClient& task, std::size_t, auto done) {
    task.load_program(program, epoch, deadline, std::move(done));
  });
}

CoordinationClient ParameterServers::coordination(CoordinationScope scope) {
  return CoordinationClient([this, scope](const CoordinationRequest& request, Deadline deadline,
                                          const std::stop_token& stop) -> Result<CoordinationAnswer> {
    const auto* add = std::get_if<AddCounters>(&request.what);
    const bool changes =
        add != nullptr && std::ranges::any_of(add->deltas, [](const auto& one) { return one.second != 0; });
    const auto answer = std::make_shared<std::optional<CoordinationAnswer>>();  // with the callback
    bool is_asked = false;
    const Ask ask = [&](ServerClient& task, std::size_t, const ServerClient::Callback<void>& done) {
      if (std::exchange(is_asked, true) && changes)
        return done(fail(Code::kAborted, "the connection broke meanwhile: it may have been counted or not"));
      task.coordinate(
          request, deadline,
          [answer, done](Result<CoordinationAnswer> got) {
            if (!got) return done(fail(std::move(got).error()));
            *answer = std::move(*got);
            done({});
          },
          scope);
    };
    TFD_TRY(do_on({0}, ask, stop));
    return std::move(**answer);
  });
}

Result<std::vector<variable::SequenceHistory>> ParameterServers::adopt(const std::vector<std::uint64_t>& from,
                                                                       std::uint64_t epoch, Deadline deadline) {
  auto histories = TFD_TRY(ask_all<variable::SequenceHistory>(
      [&](ServerClient& task, std::size_t i, auto done) { task.adopt(from[i], epoch, deadline, std::move(done)); }));
  set_epoch(epoch);
  return histories;
}

Result<std::vector<TaskStatus>> ParameterServers::status(Deadline deadline) {
  return ask_all<TaskStatus>(
      [&](ServerClient& task, std::size_t, auto done) { task.status(deadline, std::move(done)); });
}

ParameterServers::Pending ParameterServers::start_read(const std::vector<std::string>& names, Deadline deadline) {
  Pending pending;
  pending.servers_ = this;
  pending.state_ = std::make_shared<Pending::State>();
  Pending::State* const state = pending.state_.get();
  state->keeps_values = !policy_.reads_for_a_step;
  std::vector<std::vector<std::string>> asked(tasks_.size());
  std::vector<Pending::State::Slots> slots(tasks_.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto placed = find(names[i]);
    if (!placed) {
      state->refused = placed.error();
      return pending;
    }
    WantedTensor& wanted = state->wanted.emplace_back();
    wanted.placed = *placed;
    wanted.parts.resize((*placed)->ps.size());
    for (std::size_t shard = 0; shard < wanted.parts.size(); ++shard) {
      const auto ps = static_cast<std::size_t>((*placed)->ps[shard]);
      asked[ps].push_back(stored_name(**placed, shard));
      slots[ps].emplace_back(i, shard);
    }
  }
  for (std::size_t ps = 0; ps < tasks_.size(); ++ps) {
    if (asked[ps].empty()) continue;
    state->add(
        ps, tasks_[ps].name(),
        [state, stored = std::move(asked[ps]), mine = std::move(slots[ps]), deadline](
            ServerClient& task, Operation::Done done) { task.read(stored, deadline, state->into(mine, done), true); });
  }
  state->start(tasks_);
  return pending;
}

ParameterServers::Pending ParameterServers::start_lookup(const std::vector<step::RowLookup>& lookups,
                                                         Deadline deadline) {
  Pending pending;
  pending.servers_ = this;
  pending.state_ = std::make_shared<Pending::State>();
  Pending::State* const state = pending.state_.get();
  std::vector<tensor::NamedTensors> asked(tasks_.size());
  std::vector<Pending::State::Slots> slots(tasks_.size());
  const auto add = [&](const step::RowLookup& lookup) -> Result<void> {
    WantedTensor wanted;
    wanted.placed = TFD_TRY(find(lookup.table));
    wanted.is_lookup = true;
    wanted.indices_shape = lookup.indices.shape();
    const tensor::Tensor indices = lookup.indices.reshaped({lookup.indices.size()});
    const tensor::Shape& table = wanted.placed->sharding.shape();
    if (table.empty()) return fail(Code::kInvalidArgument, "'{}': a scalar has no rows", lookup.table);
    const auto checked = variable::read_indices(indices, table[0]);
    if (!checked) return fail(bad_rows(Error(checked.error()), lookup.table));
    auto unique = TFD_TRY(variable::unique_indices(indices));
    auto shares = TFD_TRY(wanted.placed->sharding.split(unique.unique));
    wanted.positions = std::move(unique.positions);
    wanted.shares = std::move(shares);
    wanted.parts.resize(wanted.shares.size());
    for (std::size_t shard = 0; shard < wanted.parts.size(); ++shard) {
      const bool of_nothing = wanted.positions.empty() && shard == 0;  // needed for its dtype
      if (wanted.shares[shard].positions.empty() && !of_nothing) continue;
      const auto ps = static_cast<std::size_t>(wanted.placed->ps[shard]);
      asked[ps].emplace_back(stored_name(*wanted.placed, shard), wanted.shares[shard].indices);
      slots[ps].emplace_back(state->wanted.size(), shard);
    }
    state->wanted.push_back(std::move(wanted));
    return {};
  };
  for (const step::RowLookup& lookup : lookups) {
    auto added = add(lookup);
    if (added) continue;
    state->refused = std::move(added).error();
    return pending;
  }
  for (std::size_t ps = 0; ps < tasks_.size(); ++ps) {
    if (asked[ps].empty()) continue;
    state->add(
        ps, tasks_[ps].name(),
        [state, rows = std::move(asked[ps]), mine = std::move(slots[ps]), deadline](
            ServerClient& task, Operation::Done done) { task.read_rows(rows, deadline, state->into(mine, done)); });
  }
  state->start(tasks_);
  return pending;
}

Result<std::vector<tensor::Tensor>> ParameterServers::Pending::wait(const std::stop_token& stop) {
  if (state_->refused) return fail(*state_->refused);
  const auto in_context = [this](Error error) {  // a policy's errors have enough context
    return servers_->policy_.on_cut ? error : std::move(error).within("reading variables");
  };
  TFD_TRY(servers_->finish(state_, stop).map_error(in_context));
  return TFD_TRY(state_->assemble(), "reading variables");
}

void ParameterServers::Pending::then(std::function<void(Result<std::vector<tensor::Tensor>>)> done) {
  if (state_->refused) return done(fail(*state_->refused));
  state_->then([state = state_, done = std::move(done)](Result<void> read) {
    if (!read) return done(fail(std::move(read).error()));
    done(state->assemble());
  });
}

Result<std::vector<tensor::Tensor>> ParameterServers::read(const std::vector<std::string>& names, Deadline deadline) {
  return start_read(names, deadline).wait();
}

Result<std::vector<tensor::Tensor>> ParameterServers::look_up(const std::vector<step::RowLookup>& lookups,
                                                              Deadline deadline) {
  return start_lookup(lookups, deadline).wait();
}

Result<void> ParameterServers::cut(const variable::Update& update, Parts& parts) const {
  const variable::PlacedVariable& placed = *TFD_TRY(find(update.variable));
  const auto part_of = [&](std::size_t shard) -> std::vector<variable::Update>& {
    return parts[static_cast<std::size_t>(placed.ps[shard])];
  };
  if (!variable::updates_rows(update.kind)) {
    if (update.value.shape() != placed.sharding.shape())
      return fail(Code::kInvalidArgument, "the new value of '{}' is {}, but the variable is {}", update.variable,
                  format_spec(update.value.spec()), tensor::format_shape(placed.sharding.shape()));
    auto values = cut_value(placed, update.value);
    for (std::size_t i = 0; i < values.size(); ++i)
      part_of(i).push_back({update.kind, stored_name(placed, i), std::move(values[i])});
    return {};
  }
  auto shares = placed.sharding.split(update.indices);
  if (!shares) return fail(bad_rows(std::move(shares).error(), update.variable));
  for (std::size_t i = 0; i < shares->size(); ++i) {
    variable::Sharding::ShardRows& share = (*shares)[i];
    if (share.positions.empty() && update.kind != variable::UpdateKind::kGradientRows) continue;
    const bool is_all = static_cast<std::int64_t>(share.positions.size()) == update.indices.size();
    auto values =
        is_all ? update.value : TFD_TRY(variable::gather_rows(update.value, share.positions), update.variable);
    part_of(i).push_back({update.kind, stored_name(placed, i), std::move(values), std::move(share.indices)});
  }
  return {};
}

Result<ParameterServers::Parts> ParameterServers::cut(const std::vector<variable::Update>& updates) const {
  Parts parts(tasks_.size());
  for (const variable::Update& update : updates) TFD_TRY(cut(update, parts));
  return parts;
}

Result<void> ParameterServers::assign(const tensor::NamedTensors& values, Deadline deadline) {
  std::vector<variable::Update> updates;
  for (const auto& [name, value] : values) updates.push_back({variable::UpdateKind::kAssign, name, value});
  std::vector<tensor::NamedTensors> parts(tasks_.size());
  Parts cuts = TFD_TRY(cut(updates));
  for (std::size_t i = 0; i < cuts.size(); ++i)
    for (variable::Update& one : cuts[i]) parts[i].emplace_back(std::move(one.variable), std::move(one.value));
  return do_on(with_parts(parts), [&](ServerClient& task, std::size_t i, auto done) {
    task.assign(parts[i], deadline, std::move(done), true);
  });
}

Result<void> ParameterServers::assign_rows(const std::vector<variable::Update>& rows, Deadline deadline) {
  const Parts parts = TFD_TRY(cut(rows));
  return do_on(with_parts(parts), [&](ServerClient& task, std::size_t i, auto done) {
    task.assign_rows(parts[i], deadline, std::move(done));
  });
}

// Due updates are made first: the client that should have made them may be gone.
Result<tensor::NamedTensors> ParameterServers::export_state(Deadline deadline) {
  TFD_TRY(make_due(std::nullopt, true, deadline, {}));
  auto parts = TFD_TRY(ask_all<tensor::NamedTensors>(
      [&](ServerClient& task, std::size_t, auto done) { task.export_state(deadline, std::move(done)); }));
  return join_state(placement_, std::move(parts));
}

Result<void> ParameterServers::import_state(const tensor::NamedTensors& state, Deadline deadline) {
  const auto parts = TFD_TRY(cut_state(placement_, state));
  return do_on(all(), [&](ServerClient& task, std::size_t i, auto done) {
    task.import_state(parts[i], deadline, std::move(done));
  });
}

Result<void> ParameterServers::use_averages(Deadline deadline) {
  return do_on(all(),
               [&](ServerClient& task, std::size_t, auto done) { task.use_averages(deadline, std::move(done)); });
}

Result<void> ParameterServers::shutdown(std::uint64_t epoch, Deadline deadline) {
  return do_on(all(),
               [&](ServerClient& task, std::size_t, auto done) { task.shutdown(epoch, deadline, std::move(done)); });
}

}  // namespace tfd::task
