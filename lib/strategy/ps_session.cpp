// SPDX-License-Identifier: Apache-2.0
#include "ps_session.hpp"

#include <algorithm>

#include "tfd/base/units.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr Duration kLook = std::chrono::milliseconds(50);  // between two looks at what the chief does
constexpr Duration kTalkAfter = std::chrono::seconds(2);
constexpr Duration kLoadTimeout = std::chrono::minutes(5);
constexpr Duration kGoodbye = std::chrono::seconds(3);

}  // namespace

PsSession::PsSession(const PsProgram& program, const ParameterServerStrategy& strategy,
                     const PsTrainingOptions& options, Bell& bell)
    : program_(program), strategy_(strategy), options_(options), bell_(bell) {}

Result<void> PsSession::connect() {
  if (servers_) return {};
  runtime::ParameterServersOptions options;
  options.name = strategy_.task_name();
  options.make_endpoint = options_.make_endpoint;
  options.log = options_.train.log;
  servers_ = TFD_TRY(runtime::ParameterServers::connect(program_.placement, std::move(options),
                                                        Deadline::after(options_.connect_timeout)));
  auto host = std::make_unique<RemoteHost>(*servers_);
  remote_ = host.get();
  host_ = std::move(host);
  return {};
}

/// Whether they are this program's; of tables, which may be large, the last row tells.
Result<void> PsSession::check_variables() {
  const auto& program = program_.program;
  const auto differs = [&](const std::string& name, const std::string& there, const tensor::TensorSpec& spec) {
    return fail(Code::kInvalidArgument, "variable '{}' is {} on the parameter server, and {} in {}: another program",
                name, there, format_spec(spec), program.path);
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
      names.push_back(variable.name);
    else
      last_rows.push_back({variable.name, Tensor::scalar(DType::kS64, variable.spec.shape[0] - 1)});
  const auto values = TFD_TRY(host_->read(names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const tensor::TensorSpec& spec = program.find_variable(names[i])->spec;
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

/// Whether the parameter servers hold this program's variables, initialised; takes their epoch then.
Result<bool> PsSession::find_running() {
  const auto all = TFD_TRY(servers_->status(Deadline::after(options_.connect_timeout)));
  for (const runtime::TaskStatus& one : all)
    if (one.epoch == 0 || one.epoch != all.front().epoch) return false;
  const auto step = read_global_step();
  if (!step && step.error().code == Code::kNotFound) return false;
  if (!step) return fail(step.error());
  if (*step < 0) return false;
  TFD_TRY(check_variables());
  remote_->set_epoch(all.front().epoch);
  return true;
}

/// Whether what the parameter servers hold isn't at its end.
Result<bool> PsSession::goes_on(const program::TrainDef& train) {
  const auto values = TFD_TRY(host_->read({std::string(kGlobalStep), std::string(kStopped)}));
  if (values[1].as<std::int64_t>()[0] != 0) return false;
  return !train.steps || values[0].as<std::int64_t>()[0] < *train.steps;
}

Result<void> PsSession::initialise(const std::optional<variable::Checkpoint>& restored) {
  if (strategy_.is_local()) {
    host_ = TFD_TRY(make_local_host(program_.program, options_.make_engine));
  } else {
    TFD_TRY(connect());
    const auto& train = program_.program.train;
    const bool may_adopt = !train || !train->checkpoint || train->checkpoint->resume;
    const auto running = may_adopt ? find_running() : Result<bool>(false);
    if (!running && running.error().code == Code::kUnavailable) return fail(running.error());
    if (running && *running && (!train || TFD_TRY(goes_on(*train)))) {
      adopted_ = true;
      return come_back();
    }
    const std::uint64_t epoch = transport::make_incarnation();
    TFD_TRY(servers_->load(program_.program, epoch, Deadline::after(kLoadTimeout)));
    remote_->set_epoch(epoch);
  }
  if (restored)
    TFD_TRY(host_->import_state(import_state_of(restored->state, strategy_.clients().size())), restored->path);
  // Last of all: this is what the others wait for.
  const std::int64_t step = restored ? restored->step : 0;
  return host_->assign(std::string(kGlobalStep), Tensor::scalar(DType::kS64, step));
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
    if (!talked && Clock::now() - begun > kTalkAfter && options_.train.say) {
      talked = true;
      options_.train.say(fmt::format("waiting for {} to initialise the variables", strategy_.chief_name()));
    }
    bell_.wait(Deadline::after(kLook).earlier_of(deadline));
  }
}

Result<runtime::ReplicaOptions> PsSession::replica_options() {
  const auto input = TFD_TRY(strategy_.input_context());
  runtime::ReplicaOptions out;
  out.replicas = input.num_replicas_in_sync;
  out.input = {input.num_input_pipelines, input.input_pipeline_id};
  out.data_root = options_.data_root;
  out.make_engine = options_.make_engine;
  out.command_environment = options_.command_environment;
  out.look_up = [this](const auto& lookups) { return host().look_up(lookups); };
  return out;
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

/// Takes back that it has left, where it had.
Result<void> PsSession::come_back() {
  const auto values = TFD_TRY(host_->read({std::string(kWorkersEnded)}));
  const std::int64_t left = values.front().as<std::int64_t>()[strategy_.client_index()];
  if (left == 0) return {};
  return host_->update({one_hot(kWorkersEnded, -left)});
}

Result<void> PsSession::leave() { return host_->update({one_hot(kWorkersEnded, 1)}); }

Result<std::vector<std::string>> PsSession::wait_for_others() {
  std::vector<std::int64_t> before;
  Deadline deadline = Deadline::after(options_.linger);
  const auto begun = Clock::now();
  bool talked = false;
  for (;;) {
    const auto values = TFD_TRY(host_->read({std::string(kWorkerUpdates), std::string(kWorkersEnded)}));
    std::vector<std::int64_t> now;
    for (const Tensor& value : values)
      now.insert(now.end(), value.as<std::int64_t>().begin(), value.as<std::int64_t>().end());
    if (now != before) deadline = Deadline::after(options_.linger);
    before = now;
    const auto missing = missing_of(values[1]);
    if (missing.empty() || deadline.expired() || options_.train.interrupts->stopping()) return missing;
    if (!talked && Clock::now() - begun > kTalkAfter && options_.train.say) {
      talked = true;
      options_.train.say(fmt::format("waiting for {} to end", fmt::join(missing, ", ")));
    }
    bell_.wait(Deadline::after(kLook).earlier_of(deadline));
  }
}

std::vector<std::string> PsSession::missing_of(const Tensor& ended) const {
  std::vector<std::string> missing;
  for (std::size_t i = 1; i < strategy_.clients().size(); ++i)
    if (ended.as<std::int64_t>()[i] == 0) missing.push_back(strategy_.clients()[i]);
  return missing;
}

Result<bool> PsSession::have_others_left(Deadline deadline) {
  for (;;) {
    const auto ended = TFD_TRY(host_->read({std::string(kWorkersEnded)}));
    if (missing_of(ended.front()).empty()) return true;
    if (deadline.expired()) return false;
    bell_.wait(Deadline::after(kLook).earlier_of(deadline));
  }
}

Result<void> PsSession::stop_all() {
  return host_->assign(std::string(kStopped), Tensor::scalar(DType::kS64, std::int64_t{1}));
}

Result<void> PsSession::dismiss_servers() {
  if (!servers_) return {};
  return servers_->shutdown(remote_->epoch(), Deadline::after(kGoodbye));
}

}  // namespace tfd::strategy
