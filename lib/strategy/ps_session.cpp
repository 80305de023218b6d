// SPDX-License-Identifier: Apache-2.0
#include "ps_session.hpp"

#include <algorithm>
#include <iterator>

#include "tfd/base/units.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr Duration kChiefLook = std::chrono::milliseconds(50);  // between two looks at what the chief does
constexpr Duration kTalkAfter = std::chrono::seconds(2);
constexpr Duration kGone = std::chrono::seconds(5);  // ten signs of life, and time enough to be started again
constexpr Duration kLoadTimeout = std::chrono::minutes(5);
constexpr Duration kClaimAnswer = std::chrono::seconds(10);  // who has the cluster is asked meanwhile
constexpr Duration kGoodbye = std::chrono::seconds(3);

}  // namespace

PsSession::PsSession(const PsProgram& program, const ParameterServerStrategy& strategy,
                     const PsTrainingOptions& options, Bell& bell)
    : program_(program), strategy_(strategy), options_(options), bell_(bell) {}

runtime::ParameterServersOptions PsSession::client_options() const {
  runtime::ParameterServersOptions options;
  options.name = strategy_.task_name();
  options.make_endpoint = options_.make_endpoint;
  options.rejoin = options_.rejoin;
  options.log = options_.train.log;
  return options;
}

void PsSession::say(const std::string& line) const {
  if (options_.train.say) options_.train.say(line);
}

// For a moment first, so that a longer wait says for whom.
Result<void> PsSession::connect() {
  if (servers_) return {};
  const Deadline deadline = Deadline::after(options_.connect_timeout);
  const auto try_until = [&](Deadline until) {
    return runtime::ParameterServers::connect(program_.placement, client_options(), until);
  };
  auto connected = try_until(Deadline::after(kTalkAfter).earlier_of(deadline));
  if (!connected && connected.error().code == Code::kDeadlineExceeded && !deadline.expired()) {
    say(fmt::format("still connecting: {}", connected.error().message));
    connected = try_until(deadline);
  }
  servers_ = TFD_TRY(std::move(connected));
  host_ = make_remote_host(*servers_, program_.copies);
  return {};
}

/// Whether they are this program's; of tables, which may be large, the last row tells.
Result<void> PsSession::check_variables() {
  const auto& program = program_.program;
  const auto differs = [&](const std::string& name, const std::string& there, const tensor::TensorSpec& spec) {
    return fail(Code::kInvalidArgument,
                "variable '{}' is {} on the parameter server, but {} in {}: it holds another program", name, there,
                format_spec(spec), program.path);
  };
  std::vector<std::string> names;
  std::vector<runtime::RowLookup> last_rows;
  const auto is_table = [&](const std::string& name) {
    return std::ranges::any_of(program.functions, [&](const program::FunctionDef& function) {
      return std::ranges::find(function.inputs, name, &program::InputBinding::lookup) != function.inputs.end();
    });
  };
  for (const auto& variable : program.variables)
    if (variable.spec.shape.empty() || variable.spec.shape[0] == 0 || !is_table(variable.name))
      std::ranges::move(program_.copies.names_of(variable.name), std::back_inserter(names));
    else
      last_rows.push_back({variable.name, Tensor::scalar(DType::kS64, variable.spec.shape[0] - 1)});
  const auto read = host_->read(names);
  if (!read && read.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument,
                "the parameter servers hold another program, or one that is not for the {} replicas of {}: {}",
                program_.copies.replicas(), strategy_.task_name(), read.error().message);
  if (!read) return fail(read.error());
  const auto& values = *read;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const tensor::TensorSpec& spec = program.find_variable(runtime::original_name(names[i]))->spec;
    if (values[i].spec() != spec) return differs(names[i], format_spec(values[i].spec()), spec);
  }
  if (last_rows.empty()) return {};
  const auto rows = TFD_TRY(host_->look_up(last_rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tensor::TensorSpec spec = program.find_variable(last_rows[i].table)->spec;
    const tensor::TensorSpec row{spec.dtype, {spec.shape.begin() + 1, spec.shape.end()}};
    if (rows[i].spec() != row) return differs(last_rows[i].table, "rows of " + format_spec(rows[i].spec()), spec);
  }
  return {};
}

/// Whether the parameter servers hold this program's variables, initialised; takes their epoch.
Result<bool> PsSession::find_running() {
  const auto all = TFD_TRY(servers_->status(Deadline::after(options_.connect_timeout)));
  for (const runtime::TaskStatus& one : all)
    if (one.epoch == 0 || one.epoch != all.front().epoch) return false;
  servers_->set_epoch(all.front().epoch);
  const auto is_other = [](const Error& error) {  // it may begin anew just now
    return error.code == Code::kNotFound || error.code == Code::kPermissionDenied;
  };
  const auto step = read_global_step();
  if (!step && is_other(step.error())) return false;
  if (!step) return fail(step.error());
  if (*step < 0) return false;
  const auto checked = check_variables();
  if (!checked && checked.error().code == Code::kPermissionDenied) return false;
  if (!checked) return fail(checked.error());
  return true;
}

/// Whether what the parameter servers hold isn't at its end.
Result<bool> PsSession::goes_on(const program::TrainDef& train) {
  const auto values = TFD_TRY(host_->read({std::string(kGlobalStep), std::string(kStopped)}));
  if (values[1].as<std::int64_t>()[0] != 0) return false;
  return !train.steps || values[0].as<std::int64_t>()[0] < *train.steps;
}

Result<std::uint64_t> PsSession::claim(bool adopt) {
  runtime::Claim claim = runtime::make_claim();
  claim.take_over = options_.take_over;
  claim.adopt = adopt;
  return servers_->claim(claim, Deadline::after(kClaimAnswer));
}

Result<void> PsSession::initialise(bool may_adopt, const FindState& find) {
  std::optional<variable::Checkpoint> restored;
  if (strategy_.is_local()) {
    restored = TFD_TRY(find());
    host_ = TFD_TRY(make_local_host(program_.program, options_.make_engine, program_.copies));
  } else {
    TFD_TRY(connect());
    TFD_TRY(claim(true));  // first whether somebody else is the chief
    const auto& train = program_.program.train;
    const auto running = may_adopt ? find_running() : Result<bool>(false);
    if (!running && running.error().code == Code::kUnavailable) return fail(running.error());
    if (running && *running && (!train || TFD_TRY(goes_on(*train)))) {
      adopted_ = true;
      return come_back();
    }
    restored = TFD_TRY(find());
    const std::uint64_t epoch = TFD_TRY(claim(false));
    const auto packed = runtime::PackedProgram::pack(program_.program, program_.placement);
    TFD_TRY(servers_->load(packed, epoch, Deadline::after(kLoadTimeout)));
  }
  if (restored)
    TFD_TRY(host_->import_state(import_state_of(restored->state, restored->step, strategy_.clients().size())),
            restored->path);
  // Last of all: this is what the others wait for.
  first_step_ = restored ? restored->step : 0;
  return host_->assign(std::string(kGlobalStep), Tensor::scalar(DType::kS64, first_step_));
}

Result<void> PsSession::attach() {
  const Deadline deadline = Deadline::after(options_.connect_timeout);
  const auto begun = Clock::now();
  bool talked = false;
  TFD_TRY(connect());
  for (;;) {
    const auto running = find_running();
    if (running && *running) return come_back();
    if (!running && running.error().code != Code::kInvalidArgument) return fail(running.error());
    if (options_.train.interrupts->stopping())
      return fail(Code::kCancelled, "interrupted while {} had not initialised the variables", strategy_.chief_name());
    if (deadline.expired() && !running) return fail(running.error());
    if (deadline.expired())
      return fail(Error{Code::kDeadlineExceeded,
                        fmt::format("waited {} for {} to initialise the variables",
                                    format_duration(options_.connect_timeout), strategy_.chief_name()),
                        strategy_.chief_name()});
    if (!talked && Clock::now() - begun > kTalkAfter) {
      talked = true;
      say(fmt::format("waiting for {} to initialise the variables", strategy_.chief_name()));
    }
    bell_.wait(Deadline::after(kChiefLook).earlier_of(deadline));
  }
}

Result<runtime::ReplicaOptions> PsSession::replica_options() {
  const auto input = TFD_TRY(strategy_.input_context());
  runtime::ReplicaOptions out;
  out.replicas = input.num_replicas_in_sync;
  out.input = {input.num_input_pipelines, input.input_pipeline_id};
  out.order = data_order();
  out.data_root = options_.data_root;
  out.make_engine = options_.make_engine;
  out.command_environment = options_.command_environment;
  out.look_up = [this](const auto& lookups) { return host().look_up(lookups); };
  return out;
}

data::Order PsSession::data_order() const {
  data::Order order;
  const auto updates = static_cast<std::uint64_t>(own_updates_);
  const auto reader = updates > 0 ? static_cast<std::uint64_t>(strategy_.client_index()) : 0;
  order.stream = data::shuffle_stream(reader, first_step_, updates);
  if (servers_) order.seeds = data::ShuffleSeeds{servers_->epoch(), servers_->epoch()};
  return order;
}

Result<std::int64_t> PsSession::read_global_step() {
  const auto values = TFD_TRY(host_->read({std::string(kGlobalStep)}));
  if (values.front().spec() != tensor::TensorSpec{DType::kS64, {}})
    return fail(Code::kInvalidArgument, "the parameter servers hold another program: its '{}' is {}", kGlobalStep,
                format_spec(values.front().spec()));
  return values.front().as<std::int64_t>()[0];
}

variable::Update PsSession::one_hot(std::string_view variable, std::int64_t value) const {
  const auto clients = static_cast<std::int64_t>(strategy_.clients().size());
  Tensor delta = Tensor::zeros(DType::kS64, {clients});
  delta.mutable_as<std::int64_t>()[strategy_.client_index()] = value;
  return {variable::UpdateKind::kAssignAdd, std::string(variable), std::move(delta)};
}

// The first replica's increment, of every worker.
void PsSession::add_counters(std::vector<variable::Update>& updates) const {
  updates.push_back(
      {variable::UpdateKind::kAssignAdd, std::string(kGlobalStep), Tensor::scalar(DType::kS64, std::int64_t{1})});
  add_own_update(updates);
}

void PsSession::add_own_update(std::vector<variable::Update>& updates) const {
  updates.push_back(one_hot(kWorkerUpdates, 1));
}

/// Takes back that it has left, where it had, and says from now on that it lives.
Result<void> PsSession::come_back() {
  const auto values =
      TFD_TRY(host_->read({std::string(kWorkersEnded), std::string(kWorkerUpdates), std::string(kFirstStep)}));
  const std::int64_t left = values[0].as<std::int64_t>()[strategy_.client_index()];
  own_updates_ = values[1].as<std::int64_t>()[strategy_.client_index()];
  first_step_ = values[2].as<std::int64_t>()[0];
  if (left != 0) TFD_TRY(host_->update({one_hot(kWorkersEnded, -left)}));
  if (!strategy_.is_chief())
    alive_ = std::make_unique<SignOfLife>(program_.placement, client_options(), servers_->epoch(), kWorkerBeats,
                                          strategy_.client_index());
  return {};
}

Result<void> PsSession::leave() {
  alive_.reset();
  return host_->update({one_hot(kWorkersEnded, 1)});
}

/// What the chief sees of one worker that it waits for.
struct PsSession::Other {
  std::string name;
  std::int64_t updates = 0;
  std::int64_t beats = 0;
  Clock::time_point worked_at = Clock::now();
  Clock::time_point lived_at = worked_at;
  bool has_left = false;

  void look(std::int64_t updates_now, std::int64_t beats_now, bool left_now) {
    const auto now = Clock::now();
    if (updates_now != updates || left_now != has_left) worked_at = now;
    if (beats_now != beats) lived_at = now;
    updates = updates_now;
    beats = beats_now;
    has_left = left_now;
  }
};

/// Why it isn't waited for any longer.
std::optional<std::string> PsSession::given_up(const Other& other) const {
  const auto now = Clock::now();
  if (other.beats > 0 && now - other.lived_at >= kGone)
    return fmt::format("{} is gone: no sign of life for {}", other.name, format_duration(kGone));
  if (now - other.worked_at < options_.linger) return std::nullopt;
  return fmt::format("{} {} {}", other.name, other.beats == 0 ? "did not appear within" : "made no progress for",
                     format_duration(options_.linger));
}

Result<void> PsSession::wait_for_others() {
  std::vector<Other> others;
  for (const std::string& name : strategy_.clients()) others.push_back({name});
  const auto begun = Clock::now();
  bool talked = false;
  for (;;) {
    const auto values =
        TFD_TRY(host_->read({std::string(kWorkerUpdates), std::string(kWorkerBeats), std::string(kWorkersEnded)}));
    std::vector<std::string> missing, reasons;
    bool waits = false;
    for (std::size_t i = 1; i < others.size(); ++i) {
      const auto of = [&](std::size_t counter) { return values[counter].as<std::int64_t>()[i]; };
      others[i].look(of(0), of(1), of(2) != 0);
      if (others[i].has_left) continue;
      const auto reason = given_up(others[i]);
      if (reason)
        reasons.push_back(*reason);
      else
        missing.push_back(others[i].name);
      waits = waits || !reason;
    }
    if (!waits || options_.train.interrupts->stopping()) {
      for (const std::string& reason : reasons) options_.train.log.warning("{}: ending without it", reason);
      return {};
    }
    if (!talked && Clock::now() - begun > kTalkAfter) {
      talked = true;
      say(fmt::format("waiting for {} to end", fmt::join(missing, ", ")));
    }
    bell_.wait(Deadline::after(kChiefLook));
  }
}

std::vector<std::string> PsSession::missing_of(const Tensor& ended) const {
  std::vector<std::string> missing;
  for (std::size_t i = 1; i < strategy_.clients().size(); ++i)
    if (ended.as<std::int64_t>()[i] == 0) missing.push_back(strategy_.clients()[i]);
  return missing;
}

Result<bool> PsSession::have_others_left(Deadline deadline) {
  bool talked = false;
  const Deadline talk = Deadline::after(kTalkAfter);
  for (;;) {
    const auto ended = TFD_TRY(host_->read({std::string(kWorkersEnded)}));
    const auto missing = missing_of(ended.front());
    if (missing.empty()) return true;
    if (deadline.expired()) return false;
    if (!talked && talk.expired()) say(fmt::format("waiting for {} to leave", fmt::join(missing, ", ")));
    talked = talked || talk.expired();
    bell_.wait(Deadline::after(kChiefLook).earlier_of(deadline));
  }
}

Result<void> PsSession::stop_all() {
  return host_->assign(std::string(kStopped), Tensor::scalar(DType::kS64, std::int64_t{1}));
}

Result<void> PsSession::dismiss_servers() {
  if (!servers_) return {};
  return servers_->shutdown(servers_->epoch(), Deadline::after(kGoodbye));
}

}  // namespace tfd::strategy
