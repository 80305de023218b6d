// SPDX-License-Identifier: Apache-2.0
#include "ps_service.hpp"

#include <new>

#include "client/sharded_state.hpp"
#include "tfd/step/compiled_program.hpp"
#include "tfd/step/memory_need.hpp"
#include "tfd/step/nonfinite.hpp"

namespace tfd::task {
namespace {

/// Time after which a waiting read gets a version of its own: a client that neither reads its answer nor disconnects
/// may cost memory, but doesn't block others.
constexpr Duration kPatience = std::chrono::seconds(15);
constexpr Duration kStateIdle = std::chrono::minutes(10);

/// Placements of a variable, or of all its copies, which are placed alike.
std::vector<const variable::PlacedVariable*> placed_of(const Placement& placement, const std::string& variable) {
  std::vector<const variable::PlacedVariable*> out;
  for (auto at = placement.placed.lower_bound(variable);
       at != placement.placed.end() && at->first.starts_with(variable); ++at)
    if (step::original_name(at->first) == variable) out.push_back(&at->second);
  return out;
}

Result<variable::VariableStore> make_store(const program::Program& program, const Placement& placement, int position,
                                           const step::MakeEngine& make_engine) {
  TFD_TRY(step::check_memory(step::need_of_server(program, placement.placed, position),
                             fmt::format("on {}", placement.ps[static_cast<std::size_t>(position)].first)));
  variable::VariableStore store;
  store.set_optimizer(TFD_TRY(step::make_rules(program, make_engine)));
  variable::CheckpointFiles files;
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
      auto value = TFD_TRY(program::make_initial_value(variable, files, rows));
      for (const variable::PlacedVariable* copy : copies) TFD_TRY(store.create(stored_name(*copy, i), value));
    }
  }
  return store;
}

/// Variables that must be finite in checkpoints, by the names that they have on parameter servers.
PartWriter::Names stored_finite(const program::Program& program, const Placement& placement) {
  auto out = std::make_shared<std::set<std::string>>();  // shared with current writes
  for (const std::string& name : step::variables_to_stay_finite(program))
    for (const variable::PlacedVariable* copy : placed_of(placement, name))
      for (std::size_t i = 0; i < copy->ps.size(); ++i) out->insert(stored_name(*copy, i));
  return out;
}

bool is_read(const transport::Message& request) {
  const auto kind = static_cast<Kind>(request.kind);
  return kind == Kind::kRead || kind == Kind::kReadRows;
}

int position_of(const Placement& placement, const std::string& name) {
  for (std::size_t i = 0; i < placement.ps.size(); ++i)
    if (placement.ps[i].first == name) return static_cast<int>(i);
  return -1;
}

}  // namespace

Result<variable::VariableStore> make_own_store(const program::Program& program, const step::ReplicaCopies& copies) {
  TFD_TRY(step::check_memory(step::need_of_worker(program), "on every worker"));
  variable::VariableStore store;
  variable::CheckpointFiles files;
  for (const program::VariableDef& variable : program.variables) {
    if (!variable.per_worker) continue;
    auto value = TFD_TRY(program::make_initial_value(variable, files));
    for (std::string& name : copies.names_of(variable.name)) TFD_TRY(store.create(std::move(name), value));
  }
  return store;
}

PsService::PsService(std::string name, step::MakeEngine make_engine, int threads)
    : name_(std::move(name)),
      make_engine_(std::move(make_engine)),
      executor_(threads > 0 ? threads : VariableExecutor::default_threads()),
      served_(std::make_shared<VariableQueues>(variable::VariableStore(), executor_)) {}

void PsService::begin(Post post, PostAt post_at) {
  post_ = std::move(post);
  post_at_ = std::move(post_at);
  watch_ = std::make_shared<PinWatch>([this] { post_([this] { look_at_waiting(); }); });
}

void PsService::load_program(LoadProgram load, transport::Responder responder) {
  if (load.epoch == epoch_) return responder.reply(encode_empty(Kind::kLoadProgram));
  const int position = position_of(load.placement, name_);
  if (position < 0)
    return responder.reply(
        fail(Code::kInvalidArgument, "{} is not among the parameter servers of this program", name_));
  newest_ = load.epoch;
  if (loading_++ == 0) loading_since_ = Clock::now();
  auto loading = std::make_shared<Loading>();  // shared with the thread, then with the action that it posts
  loading->load = std::move(load);
  loading->position = position;
  loading->responder = std::make_shared<transport::Responder>(std::move(responder));
  {
    const MutexLock lock(mutex_);
    if (stopping_) return loading->responder->reply(fail(Code::kCancelled, "this task is stopping"));
    loads_.push_back(std::move(loading));
    if (!loader_.joinable()) loader_ = std::thread([this] { run_loads(); });
  }
  wake_.notify_one();
}

void PsService::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& loading : loads_) loading->responder->reply(fail(Code::kCancelled, "this task is stopping"));
    loads_.clear();
  }
  wake_.notify_one();
  if (loader_.joinable()) loader_.join();
  executor_.stop();
  states_.stop();
  if (watch_) watch_->close();
}

// The loading thread.
void PsService::run_loads() {
  std::uint64_t made = 0;  // several workers without a coordinator send the same program
  MutexLock lock(mutex_);
  for (;;) {
    lock.wait(wake_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return stopping_ || !loads_.empty(); });
    if (stopping_) return;
    const auto loading = std::move(loads_.front());
    loads_.pop_front();
    lock.unlock();
    if (loading->load.epoch != made)
      loading->store.emplace([&]() -> Result<variable::VariableStore> {
        try {
          const program::Program program = TFD_TRY(parse_loaded(loading->load));
          loading->has_modules = program.update.has_value();
          loading->finite = stored_finite(program, loading->load.placement);
          return make_store(program, loading->load.placement, loading->position, make_engine_);
        } catch (const std::bad_alloc&) {
          return fail(Code::kResourceExhausted, "no memory for the program");
        }
      }());
    if (loading->store && *loading->store) made = loading->load.epoch;
    post_([this, loading] { loaded(*loading); });
    lock.lock();
  }
}

void PsService::loaded(Loading& loading) {
  --loading_;
  const std::uint64_t epoch = loading.load.epoch;
  if (loading.store && !*loading.store) {
    if (newest_ == epoch) newest_ = epoch_;  // the previous program stays
    return loading.responder->reply(fail(std::move(*loading.store).error()));
  }
  if (loading.store && epoch != epoch_ && !is_older(epoch, epoch_)) {
    served_ = std::make_shared<VariableQueues>(std::move(**loading.store), executor_);
    staged_ = StagedUpdates();
    has_modules_ = loading.has_modules;
    states_.expect_finite(std::move(loading.finite));
    epoch_is(epoch);
  }
  loading.responder->reply(encode_empty(Kind::kLoadProgram));
}

void PsService::epoch_is(std::uint64_t epoch) {
  epoch_ = epoch;
  const auto refuse = [&](transport::Responder& responder) {
    responder.reply(fail(Code::kPermissionDenied, "{} belongs to another run by now (epoch {})", name_, epoch));
  };
  for (WaitingRead& read : std::exchange(waiting_, {})) refuse(read.responder);
  for (Undecided& one : std::exchange(undecided_, {})) refuse(one.responder);
}

void PsService::adopt(const transport::Message& request, transport::Responder responder) {
  responder.reply(adopt(request));
}

// Admitted requests are completed, whichever run follows.
Result<transport::Message> PsService::adopt(const transport::Message& request) {
  const Adopt adopt = TFD_TRY(decode_adopt(request));
  if (loading_ > 0 || epoch_ == 0 || (epoch_ != adopt.from && epoch_ != adopt.epoch))
    return fail(Code::kFailedPrecondition, "{} has no run of epoch {} to adopt", name_, adopt.from);
  newest_ = adopt.epoch;
  epoch_is(adopt.epoch);
  auto history = served_->store().history();
  staged_.tell(history);
  return encode_history(history);
}

void PsService::handle(const transport::Caller& caller, const transport::Message& request,
                       transport::Responder responder) {
  if (is_state_kind(request.kind)) return move_state(caller, request, std::move(responder));
  if (!staged_.empty() && is_read(request) && staged_.is_undecided(caller.incarnation))
    return undecided_.push_back({caller, request, std::move(responder)});
  Result<void> begun;
  switch (static_cast<Kind>(request.kind)) {
    case Kind::kRead:
      return read(caller, request, std::move(responder));
    case Kind::kReadRows:
      begun = read_rows(request, responder);
      break;
    case Kind::kUpdate:
      begun = update(request, responder);
      break;
    case Kind::kStage:
      begun = stage(caller, request, responder);
      break;
    case Kind::kCommit:
      begun = commit(request, responder);
      break;
    case Kind::kAbort:
      begun = abort(request);
      if (begun) return responder.reply(encode_empty(Kind::kAbort));
      break;
    case Kind::kAssign:
      begun = assign(request, responder);
      break;
    case Kind::kAssignRows:
      begun = assign_rows(request, responder);
      break;
    case Kind::kSettle:
      begun = settle(request, responder);
      break;
    case Kind::kDue:
      begun = find_due(request, responder);
      break;
    case Kind::kMakeDue:
      begun = make_due(request, responder);
      break;
    case Kind::kUseAverages:
      begun = decode_empty(request);
      if (begun) return use_averages(std::move(responder));
      break;
    default:
      begun = fail(Code::kUnimplemented, "a parameter server doesn't answer requests of kind {}", request.kind);
  }
  if (!begun) responder.reply(fail(std::move(begun).error()));
}

void PsService::caller_gone(const transport::Caller& caller) {
  std::erase_if(waiting_, [&](const WaitingRead& read) { return read.connection == caller.connection; });
  std::erase_if(undecided_, [&](const Undecided& one) { return one.caller.connection == caller.connection; });
  states_.caller_gone(caller.connection);
}

void PsService::read(const transport::Caller& caller, const transport::Message& request,
                     transport::Responder responder) {
  auto names = decode_names(request);
  if (!names) return responder.reply(fail(std::move(names).error()));
  WaitingRead read{caller.connection, caller.deadline, Clock::now(), std::move(*names), std::move(responder)};
  if (waiting_.empty() && try_read(read, nullptr)) return;
  post_at_(read.deadline.earlier_of(Deadline::at(read.since + kPatience)).when(), [this] { look_at_waiting(); });
  waiting_.push_back(std::move(read));
  watch_->arm();
  look_at_waiting();  // pins released before arm() weren't notified
}

bool PsService::try_read(WaitingRead& read, const std::vector<bool>* claims) {
  std::vector<std::size_t> targets;
  for (const std::string& name : read.names) {
    const auto target = served_->store().find(name);
    if (!target) {
      read.responder.reply(fail(target.error()));
      return true;
    }
    targets.push_back(*target);
  }
  const bool is_patient = Clock::now() - read.since >= kPatience;
  auto pins = served_->pin(targets, claims, is_patient, watch_);
  if (!pins) return false;
  struct Values {
    std::vector<std::shared_ptr<Pin>> pins;
    std::vector<tensor::Tensor> tensors;
  };
  const auto values = std::make_shared<Values>();  // shared by both functions
  values->pins = std::move(*pins);
  values->tensors.resize(targets.size());
  VariableQueues::Request request{.is_small = true, .done = {}, .responder = std::move(read.responder)};
  request.at = [served = served_, values, targets](std::size_t part) -> Result<void> {
    values->tensors[part] = pinned(served->store().value(targets[part]), std::move(values->pins[part]));
    return {};
  };
  request.targets = std::move(targets);
  request.done = [values](const Error*) -> Result<transport::Message> {
    transport::Message answer = encode_empty(Kind::kRead);
    answer.tensors = std::move(values->tensors);
    return answer;
  };
  served_->start(std::move(request));
  return true;
}

// Admits waiting reads in FIFO order; a later one that needs a further version of a variable that an earlier one waits
// for keeps waiting, too.
void PsService::look_at_waiting() {
  if (waiting_.empty()) return;
  watch_->arm();
  std::vector<bool> claims(served_->store().size());
  std::deque<WaitingRead> left;
  for (WaitingRead& read : waiting_) {
    if (read.deadline.expired()) {
      read.responder.reply(fail(Code::kDeadlineExceeded, "waited for slower readers of the same variables"));
      continue;
    }
    if (try_read(read, &claims)) continue;
    for (const std::string& name : read.names) claims[served_->store().find(name).value()] = true;
    left.push_back(std::move(read));
  }
  waiting_.swap(left);
}

Result<void> PsService::read_rows(const transport::Message& request, transport::Responder& responder) {
  const auto lookups = std::make_shared<const tensor::NamedTensors>(TFD_TRY(decode_named(request)));
  const auto rows = std::make_shared<std::vector<tensor::Tensor>>(lookups->size());
  VariableQueues::Request asked{.done = {}, .responder = std::move(responder)};
  std::size_t bytes = 0;
  for (const auto& [name, indices] : *lookups) {
    const auto target = served_->store().find(name);
    if (!target) {
      responder = std::move(asked.responder);
      return fail(target.error());
    }
    asked.targets.push_back(*target);
    const tensor::Shape& shape = served_->store().spec(*target).shape;
    const auto count = static_cast<std::size_t>(shape.empty() ? 1 : std::max<std::int64_t>(shape[0], 1));
    bytes +=
        indices.byte_size() + served_->store().value_bytes(*target) / count * static_cast<std::size_t>(indices.size());
  }
  asked.is_small = bytes <= kSmallBytes;
  asked.at = [served = served_, lookups, rows, targets = asked.targets](std::size_t part) -> Result<void> {
    const auto& [name, indices] = (*lookups)[part];
    (*rows)[part] = TFD_TRY(variable::gather_rows(served->store().value(targets[part]), indices), name);
    return {};
  };
  asked.done = [rows](const Error* error) -> Result<transport::Message> {
    if (error != nullptr) return fail(Error(*error));
    transport::Message answer = encode_empty(Kind::kReadRows);
    answer.tensors = std::move(*rows);
    return answer;
  };
  // Rows are copied, and a small request may ask for any number of them.
  const auto kept = std::make_shared<VariableQueues::Request>(std::move(asked));  // with the connection
  kept->responder.when_room(bytes, [served = served_, kept] { served->start(std::move(*kept)); });
  return {};
}

void PsService::move_state(const transport::Caller& caller, const transport::Message& request,
                           transport::Responder responder) {
  const bool were_none = states_.empty();
  states_.handle(served_, caller, request, std::move(responder));
  if (were_none && !states_.empty()) post_at_(Clock::now() + kStateIdle, [this] { drop_unused_states(); });
}

void PsService::drop_unused_states() {
  if (states_.drop_unused(Clock::now() - kStateIdle))
    post_at_(Clock::now() + kStateIdle, [this] { drop_unused_states(); });
}

void PsService::fill(TaskStatus& status) const {
  status.variables = served_->store().size();
  status.variable_bytes = served_->store().byte_size();
  status.closures_done = updates_;
  status.epoch = epoch_;
  status.idle_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - updated_).count();
  if (!executor_.is_idle()) status.idle_ms = 0;
  if (loading_ == 0) return;
  status.idle_ms = 0;
  status.doing = "(the program)";
  status.doing_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - loading_since_).count();
}

}  // namespace tfd::task
