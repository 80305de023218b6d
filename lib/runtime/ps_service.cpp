// SPDX-License-Identifier: Apache-2.0
#include "ps_service.hpp"

#include <new>
#include <nlohmann/json.hpp>

#include "tfd/runtime/memory_need.hpp"
#include "tfd/runtime/sharded_state.hpp"
#include "tfd/variable/initializer.hpp"
#include "worker_program.hpp"

namespace tfd::runtime {
namespace {

/// A variable, or all its copies, which lie in the same places.
std::vector<const variable::PlacedVariable*> placed_of(const Placement& placement, const std::string& variable) {
  std::vector<const variable::PlacedVariable*> out;
  for (auto at = placement.placed.lower_bound(variable);
       at != placement.placed.end() && at->first.starts_with(variable); ++at)
    if (original_name(at->first) == variable) out.push_back(&at->second);
  return out;
}

MemoryNeed need_at(const program::Program& program, const Placement& placement, int position) {
  MemoryNeed need;
  for (const auto& [name, placed] : placement.placed)
    if (program.find_variable(original_name(name)) != nullptr) add_placed(need, program, placed, position);
  return need;
}

Result<variable::VariableStore> make_store(const program::Program& program, const Placement& placement, int position,
                                           const MakeEngine& make_engine) {
  TFD_TRY(check_memory(need_at(program, placement, position),
                       fmt::format("on {}", placement.ps[static_cast<std::size_t>(position)].first)));
  variable::VariableStore store;
  store.set_optimizer(TFD_TRY(make_rules(program, make_engine)));
  for (const program::VariableDef& variable : program.variables) {
    const auto copies = placed_of(placement, variable.name);
    if (copies.empty()) continue;
    const variable::PlacedVariable& placed = *copies.front();
    if (placed.sharding.shape() != variable.spec.shape)
      return fail(Code::kInvalidArgument, "variable '{}' is placed as {}, but is {}", variable.name,
                  tensor::format_shape(placed.sharding.shape()), format_spec(variable.spec));
    for (std::size_t i = 0; i < placed.ps.size(); ++i) {
      if (placed.ps[i] != position) continue;
      const auto shard = static_cast<std::int64_t>(i);
      std::optional<variable::RowRange> rows;
      if (placed.ps.size() > 1) rows = {placed.sharding.first_row(shard), placed.sharding.rows(shard)};
      auto value =
          TFD_TRY(variable::make_initial_value(nlohmann::ordered_json::parse(variable.init), variable.spec, rows),
                  "variables." + variable.name);
      for (const variable::PlacedVariable* copy : copies) TFD_TRY(store.create(stored_name(*copy, i), value));
    }
  }
  return store;
}

int position_of(const Placement& placement, const std::string& name) {
  for (std::size_t i = 0; i < placement.ps.size(); ++i)
    if (placement.ps[i].first == name) return static_cast<int>(i);
  return -1;
}

}  // namespace

Result<variable::VariableStore> make_own_store(const program::Program& program, const ReplicaCopies& copies) {
  TFD_TRY(check_memory(need_of_worker(program), "on every worker"));
  variable::VariableStore store;
  for (const program::VariableDef& variable : program.variables) {
    if (!variable.per_worker) continue;
    auto value = TFD_TRY(variable::make_initial_value(nlohmann::ordered_json::parse(variable.init), variable.spec),
                         "variables." + variable.name);
    for (std::string& name : copies.names_of(variable.name)) TFD_TRY(store.create(std::move(name), value));
  }
  return store;
}

void PsService::load_program(LoadProgram load, Post post, transport::Responder responder) {
  if (load.epoch == epoch_) return responder.reply(encode_empty(Kind::kLoadProgram));
  const int position = position_of(load.placement, name_);
  if (position < 0)
    return responder.reply(
        fail(Code::kInvalidArgument, "{} is not among the parameter servers of this program", name_));
  newest_ = load.epoch;
  if (loading_++ == 0) loading_since_ = Clock::now();
  auto loading = std::make_shared<Loading>();  // with the thread, then with the action that it posts
  loading->load = std::move(load);
  loading->position = position;
  loading->post = std::move(post);
  loading->responder = std::make_shared<transport::Responder>(std::move(responder));
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return loading->responder->reply(fail(Code::kCancelled, "this task is stopping"));
    loads_.push_back(std::move(loading));
    if (!loader_.joinable()) loader_ = std::thread([this] { run_loads(); });
  }
  wake_.notify_one();
}

void PsService::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const auto& loading : loads_) loading->responder->reply(fail(Code::kCancelled, "this task is stopping"));
    loads_.clear();
  }
  wake_.notify_one();
  if (loader_.joinable()) loader_.join();
}

// The loading thread.
void PsService::run_loads() {
  std::uint64_t made = 0;  // several workers without a coordinator bring the same one
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !loads_.empty(); });
    if (stopping_) return;
    const auto loading = std::move(loads_.front());
    loads_.pop_front();
    lock.unlock();
    if (loading->load.epoch != made)
      loading->store.emplace([&]() -> Result<variable::VariableStore> {
        const program::Program program = TFD_TRY(parse_loaded(loading->load));
        try {
          return make_store(program, loading->load.placement, loading->position, make_engine_);
        } catch (const std::bad_alloc&) {  // less than what is free may be granted, as by ulimit -v
          return fail(Code::kResourceExhausted, "not enough memory for the variables: they need {}",
                      describe_need(need_at(program, loading->load.placement, loading->position)));
        }
      }());
    if (loading->store && *loading->store) made = loading->load.epoch;
    loading->post([this, loading] { loaded(*loading); });
    lock.lock();
  }
}

void PsService::loaded(Loading& loading) {
  --loading_;
  const std::uint64_t epoch = loading.load.epoch;
  if (loading.store && !*loading.store) {
    if (newest_ == epoch) newest_ = epoch_;  // what was there stays
    return loading.responder->reply(fail(std::move(*loading.store).error()));
  }
  if (loading.store && epoch != epoch_ && !is_older(epoch, epoch_)) {
    store_ = std::move(**loading.store);
    epoch_ = epoch;
  }
  loading.responder->reply(encode_empty(Kind::kLoadProgram));
}

Result<transport::Message> PsService::read(const transport::Message& request) const {
  const auto names = TFD_TRY(decode_names(request));
  transport::Message answer = encode_empty(Kind::kRead);
  for (const std::string& name : names) answer.tensors.push_back(TFD_TRY(store_.read(name)));
  return answer;
}

Result<transport::Message> PsService::read_rows(const transport::Message& request) const {
  transport::Message answer = encode_empty(Kind::kReadRows);
  for (const auto& [name, indices] : TFD_TRY(decode_named(request)))
    answer.tensors.push_back(TFD_TRY(store_.read_rows(name, indices), name));
  return answer;
}

Result<transport::Message> PsService::update(const transport::Message& request) {
  const UpdateRequest update = TFD_TRY(decode_update(request));
  ++updates_;
  updated_ = Clock::now();
  return encode_flag(Kind::kUpdate, TFD_TRY(store_.apply(update.sequence, update.updates, update.client)));
}

Result<void> PsService::assign(const transport::Message& request) {
  for (auto& [name, value] : TFD_TRY(decode_named(request)))
    TFD_TRY(store_.assign({variable::UpdateKind::kAssign, name, value}));
  return {};
}

Result<void> PsService::assign_rows(const transport::Message& request) {
  const UpdateRequest rows = TFD_TRY(decode_update(request));
  for (const variable::Update& update : rows.updates)
    if (update.kind != variable::UpdateKind::kAssignRows)
      return fail(Code::kInvalidArgument, "malformed assignment of rows");
  for (const variable::Update& update : rows.updates) TFD_TRY(store_.assign(update), update.variable);
  return {};
}

Result<void> PsService::settle(const transport::Message& request) {
  store_.settle(TFD_TRY(decode_settle(request)).below);
  return {};
}

Result<transport::Message> PsService::export_state() const {
  return encode_named(Kind::kExportState, store_.export_state());
}

Result<void> PsService::import_state(const transport::Message& request) {
  return store_.import_state(TFD_TRY(decode_named(request)));
}

void PsService::fill(TaskStatus& status) const {
  status.variables = store_.names().size();
  status.variable_bytes = store_.byte_size();
  status.closures_done = updates_;
  status.epoch = epoch_;
  status.idle_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - updated_).count();
  if (loading_ == 0) return;
  status.idle_ms = 0;
  status.doing = "(the program)";
  status.doing_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - loading_since_).count();
}

}  // namespace tfd::runtime
