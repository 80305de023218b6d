// SPDX-License-Identifier: Apache-2.0
#include "remote_variables.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "tfd/base/text.hpp"
#include "tfd/runtime/sharded_state.hpp"

namespace tfd::runtime {

/// The first failure of a group of requests, and who hasn't answered yet.
class RequestGroup final : public Waits {
 public:
  void expect(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(name);
  }

  std::vector<std::string> missing() const override {
    const std::scoped_lock lock(mutex_);
    return waiting_;
  }

  void arrived(const std::string& name, const Error* error) {
    const std::scoped_lock lock(mutex_);
    std::erase(waiting_, name);
    if (error != nullptr && !error_) error_ = *error;
    if (waiting_.empty() || error_) done_.notify_all();
  }

  /// Each request ends by its own deadline.
  Result<void> wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, stop, [&] { return waiting_.empty() || error_.has_value(); });
    if (error_) return fail(*error_);
    if (waiting_.empty()) return {};
    return fail(Code::kCancelled, "this task is stopping");
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any done_;
  std::vector<std::string> waiting_;
  std::optional<Error> error_;
};

/// One tensor on its way, in parts.
struct WantedTensor {
  const variable::PlacedVariable* placed = nullptr;
  std::vector<tensor::Tensor> parts;  // by shard; each is written by one callback, and read when all are there
  // Of a lookup:
  bool is_lookup = false;
  tensor::Shape indices_shape;
  std::vector<std::int64_t> positions;  // in the unique rows
  std::vector<variable::Sharding::Share> shares;

  Result<tensor::Tensor> assemble() &&;
};

namespace {

Error blame(Error error, const std::string& ps) {
  if (error.task.empty()) error.task = ps;
  return error;
}

tensor::Tensor to_tensor(const std::vector<std::int64_t>& indices) {
  auto out = tensor::Tensor::uninitialized(tensor::DType::kS64, {static_cast<std::int64_t>(indices.size())});
  std::copy(indices.begin(), indices.end(), out.mutable_as<std::int64_t>());
  return out;
}

/// "no row 12: there are 10" says which table. Not kOutOfRange, which is the end of the data.
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
  for (tensor::Tensor& part : parts)  // the shards that weren't asked
    if (!part.has_value()) part = tensor::Tensor::uninitialized(there->dtype(), none);
  const auto unique = TFD_TRY(placed->sharding.join(shares, parts), placed->name);
  tensor::Shape shape = indices_shape;
  shape.insert(shape.end(), none.begin() + 1, none.end());
  return TFD_TRY(variable::gather_rows(unique, to_tensor(positions))).reshaped(std::move(shape));
}

struct RemoteVariables::Pending::State {
  RequestGroup group;
  std::vector<WantedTensor> wanted;
  std::optional<Error> refused;  // it couldn't even be asked
  Activity* activity = nullptr;

  using Slots = std::vector<std::pair<std::size_t, std::size_t>>;  // (wanted, shard) of each tensor of an answer
  void answered(const std::string& ps, const Slots& slots, Result<std::vector<tensor::Tensor>> answer) {
    if (!answer) {
      const Error error = blame(std::move(answer).error(), ps);
      return group.arrived(ps, &error);
    }
    for (std::size_t i = 0; i < slots.size(); ++i)
      wanted[slots[i].first].parts[slots[i].second] = std::move((*answer)[i]);
    group.arrived(ps, nullptr);
  }
};

RemoteVariables::RemoteVariables(transport::Endpoint& endpoint, const Placement& placement, Duration patience,
                                 Activity* activity)
    : endpoint_(endpoint), activity_(activity), placed_(placement.placed) {
  const transport::PeerOptions waiting{.patience = patience, .deadlines_wait_for_bytes = true};
  for (const auto& [name, address] : placement.ps)
    ps_.emplace_back(endpoint, endpoint.add_peer(name, address, waiting), name);
}

RemoteVariables::~RemoteVariables() {
  for (const TaskClient& ps : ps_) endpoint_.remove_peer(ps.peer());
}

void RemoteVariables::set_epoch(std::uint64_t epoch) {
  for (TaskClient& ps : ps_) ps.set_epoch(epoch);
}

Result<void> RemoteVariables::reach(Deadline deadline) const {
  std::vector<transport::PeerId> peers;
  for (const TaskClient& ps : ps_) peers.push_back(ps.peer());
  const auto up = endpoint_.wait_up(peers, deadline);
  if (up) return {};
  for (const TaskClient& ps : ps_)
    if (endpoint_.state(ps.peer()) != transport::PeerState::kUp)
      return fail(
          Error{Code::kUnavailable, fmt::format("can't reach {}: {}", ps.name(), up.error().message), ps.name()});
  return {};
}

Result<const variable::PlacedVariable*> RemoteVariables::find(const std::string& variable) const {
  const auto found = placed_.find(variable);
  if (found == placed_.end()) return fail(Code::kNotFound, "variable '{}' is not on a parameter server", variable);
  return &found->second;
}

RemoteVariables::Pending RemoteVariables::make_pending() const {
  Pending pending;
  pending.state_ = std::make_shared<Pending::State>();
  pending.state_->activity = activity_;
  return pending;
}

RemoteVariables::Pending RemoteVariables::start_read(const std::vector<std::string>& names, Deadline deadline) {
  Pending pending = make_pending();
  const auto state = pending.state_;
  std::vector<std::vector<std::string>> asked(ps_.size());
  std::vector<Pending::State::Slots> slots(ps_.size());
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
  for (std::size_t ps = 0; ps < ps_.size(); ++ps)
    if (!asked[ps].empty()) state->group.expect(ps_[ps].name());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    if (asked[ps].empty()) continue;
    ps_[ps].read(asked[ps], deadline,
                 [state, mine = slots[ps], name = ps_[ps].name()](Result<std::vector<tensor::Tensor>> answer) {
                   state->answered(name, mine, std::move(answer));
                 });
  }
  return pending;
}

RemoteVariables::Pending RemoteVariables::start_lookup(const std::vector<Lookup>& lookups, Deadline deadline) {
  Pending pending = make_pending();
  const auto state = pending.state_;
  std::vector<std::vector<std::pair<std::string, tensor::Tensor>>> asked(ps_.size());
  std::vector<Pending::State::Slots> slots(ps_.size());
  const auto add = [&](const Lookup& lookup) -> Result<void> {
    WantedTensor wanted;
    wanted.placed = TFD_TRY(find(lookup.table));
    wanted.is_lookup = true;
    wanted.indices_shape = lookup.indices.shape();
    const tensor::Tensor indices = lookup.indices.reshaped({lookup.indices.size()});
    const tensor::Shape& table = wanted.placed->sharding.shape();
    if (table.empty()) return fail(Code::kInvalidArgument, "'{}' is a scalar: it has no rows", lookup.table);
    const auto checked = variable::read_indices(indices, table[0]);
    if (!checked) return fail(bad_rows(Error(checked.error()), lookup.table));
    auto unique = TFD_TRY(variable::unique_indices(indices));
    auto shares = TFD_TRY(wanted.placed->sharding.split(unique.unique));
    wanted.positions = std::move(unique.positions);
    wanted.shares = std::move(shares);
    wanted.parts.resize(wanted.shares.size());
    for (std::size_t shard = 0; shard < wanted.parts.size(); ++shard) {
      const bool of_nothing = wanted.positions.empty() && shard == 0;  // its dtype is still needed
      if (wanted.shares[shard].positions.empty() && !of_nothing) continue;
      const auto ps = static_cast<std::size_t>(wanted.placed->ps[shard]);
      asked[ps].emplace_back(stored_name(*wanted.placed, shard), wanted.shares[shard].indices);
      slots[ps].emplace_back(state->wanted.size(), shard);
    }
    state->wanted.push_back(std::move(wanted));
    return {};
  };
  for (const Lookup& lookup : lookups) {
    auto added = add(lookup);
    if (added) continue;
    state->refused = std::move(added).error();
    return pending;
  }
  for (std::size_t ps = 0; ps < ps_.size(); ++ps)
    if (!asked[ps].empty()) state->group.expect(ps_[ps].name());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    if (asked[ps].empty()) continue;
    ps_[ps].read_rows(asked[ps], deadline,
                      [state, mine = slots[ps], name = ps_[ps].name()](Result<std::vector<tensor::Tensor>> answer) {
                        state->answered(name, mine, std::move(answer));
                      });
  }
  return pending;
}

Result<std::vector<tensor::Tensor>> RemoteVariables::Pending::wait(const std::stop_token& stop) {
  if (state_->refused) return fail(*state_->refused);
  const Activity::Waiting waiting(state_->activity, std::shared_ptr<const Waits>(state_, &state_->group));
  TFD_TRY(state_->group.wait(stop), "reading variables");
  std::vector<tensor::Tensor> values;
  for (WantedTensor& wanted : state_->wanted)
    values.push_back(TFD_TRY(std::move(wanted).assemble(), "reading variables"));
  return values;
}

Result<void> RemoteVariables::cut(const variable::Update& update, Parts& parts) const {
  const variable::PlacedVariable& placed = *TFD_TRY(find(update.variable));
  const auto part_of = [&](std::size_t shard) -> std::vector<variable::Update>& {
    return parts[static_cast<std::size_t>(placed.ps[shard])];
  };
  if (!variable::updates_rows(update.kind)) {
    if (update.value.shape() != placed.sharding.shape())
      return fail(Code::kInvalidArgument, "the new value of '{}' is {}, but the variable is {}", update.variable,
                  format_spec(update.value.spec()), tensor::format_shape(placed.sharding.shape()));
    const auto values = cut_value(placed, update.value);
    for (std::size_t i = 0; i < values.size(); ++i)
      part_of(i).push_back({update.kind, stored_name(placed, i), values[i]});
    return {};
  }
  auto shares = placed.sharding.split(update.indices);
  if (!shares) return fail(bad_rows(std::move(shares).error(), update.variable));
  for (std::size_t i = 0; i < shares->size(); ++i) {
    variable::Sharding::Share& share = (*shares)[i];
    if (share.positions.empty() && update.kind != variable::UpdateKind::kGradientRows) continue;
    const bool is_all = static_cast<std::int64_t>(share.positions.size()) == update.indices.size();
    auto values = is_all ? update.value
                         : TFD_TRY(variable::gather_rows(update.value, to_tensor(share.positions)), update.variable);
    part_of(i).push_back({update.kind, stored_name(placed, i), std::move(values), std::move(share.indices)});
  }
  return {};
}

Result<void> RemoteVariables::update(std::uint64_t epoch, std::uint64_t sequence,
                                     const std::vector<variable::Update>& updates, Deadline deadline,
                                     const std::stop_token& stop, std::uint64_t client) {
  Parts parts(ps_.size());
  for (const variable::Update& update : updates) TFD_TRY(cut(update, parts), "updating variables");
  const auto group = std::make_shared<RequestGroup>();  // shared with the callbacks, which may come after this gave up
  const auto is_asked = [&](std::size_t ps) { return updates.empty() || !parts[ps].empty(); };
  for (std::size_t ps = 0; ps < ps_.size(); ++ps)
    if (is_asked(ps)) group->expect(ps_[ps].name());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    if (!is_asked(ps)) continue;
    const auto done = [group, name = ps_[ps].name()](Result<bool> applied) {
      if (applied) return group->arrived(name, nullptr);
      const Error error = blame(std::move(applied).error(), name);
      group->arrived(name, &error);
    };
    ps_[ps].update(epoch, sequence, parts[ps], deadline, done, client);
  }
  const Activity::Waiting waiting(activity_, group);
  return group->wait(stop).map_error([](Error error) { return std::move(error).within("updating variables"); });
}

}  // namespace tfd::runtime
