// SPDX-License-Identifier: Apache-2.0
#include "ps_session.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>

#include "device/variable_host.hpp"
#include "tfd/base/units.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::strategy {
namespace {

// A worker's variables on parameter servers.

// Time that a step waits for its parameter servers. A dead or suspended one is noticed much earlier, by its heartbeats.
constexpr Duration kStepTimeout = std::chrono::seconds(60);
constexpr Duration kStateTimeout = std::chrono::minutes(5);  // to transfer all variables

class RemoteHost final : public VariableHost {
 public:
  RemoteHost(task::ParameterServers& servers, step::ReplicaCopies copies)
      : servers_(servers), copies_(std::move(copies)) {}

  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names) override {
    return servers_.read(names, Deadline::after(kStepTimeout));
  }
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups) override {
    return servers_.look_up(lookups, Deadline::after(kStepTimeout));
  }
  Result<void> update(const std::vector<variable::Update>& updates, std::optional<std::uint64_t> sequence) override {
    const Deadline deadline = Deadline::after(kStepTimeout);
    return sequence ? servers_.update(*sequence, updates, deadline) : servers_.update_next(updates, deadline);
  }
  Result<void> assign(const std::string& variable, const tensor::Tensor& value) override {
    return servers_.assign({{variable, value}}, Deadline::after(kStepTimeout));
  }
  Result<tensor::NamedTensors> export_state() override {
    return copies_.gather(TFD_TRY(servers_.export_state(Deadline::after(kStateTimeout))));
  }
  Result<void> import_state(const tensor::NamedTensors& state) override {
    return servers_.import_state(TFD_TRY(copies_.spread(state)), Deadline::after(kStateTimeout));
  }
  Result<void> use_averages() override { return servers_.use_averages(Deadline::after(kStateTimeout)); }

 private:
  task::ParameterServers& servers_;
  const step::ReplicaCopies copies_;
};

/// Makes a host on parameter servers, which are borrowed.
std::unique_ptr<VariableHost> make_remote_host(task::ParameterServers& servers, step::ReplicaCopies copies) {
  return std::make_unique<RemoteHost>(servers, std::move(copies));
}

using tensor::DType;
using tensor::Tensor;

constexpr const char* kTraining = "training";
constexpr const char* kData = "data";

constexpr Duration kLook = std::chrono::seconds(1);  // poll interval while the chief hasn't begun
constexpr Duration kAnswer = std::chrono::seconds(60);
constexpr Duration kLoadTimeout = std::chrono::minutes(5);
constexpr Duration kClaimAnswer = std::chrono::seconds(10);  // the present holder is pinged meanwhile
constexpr Duration kGoodbye = std::chrono::seconds(3);
constexpr Duration kShown = std::chrono::seconds(3);  // patience with an answer that nobody waits for

/// Parses a number that this room, or the service, has put.
template <class T>
T to_number(const std::string& text) {
  T out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace

PsSession::PsSession(const PsProgram& program, const ParameterServerStrategy& strategy, const RunOptions& options)
    : program_(program), strategy_(strategy), options_(options) {}

void PsSession::interrupted() {
  if (!options_.train.interrupts->stopping()) return;
  interrupted_.request_stop();
  stop_data_->request();
}

task::ParameterServersOptions PsSession::client_options() const {
  task::ParameterServersOptions options;
  options.name = strategy_.task_name();
  options.make_endpoint = options_.make_endpoint;
  options.rejoin = options_.rejoin;
  options.log = options_.train.log;
  return options;
}

void PsSession::say(const std::string& line) const {
  if (options_.train.say) options_.train.say(line);
}

Result<void> PsSession::connect() {
  if (servers_) return {};
  servers_ = TFD_TRY(
      task::ParameterServers::connect(program_.placement, client_options(), Deadline::after(options_.connect_timeout)));
  host_ = make_remote_host(*servers_, program_.copies);
  group_.emplace(servers_->endpoint(), servers_->task(0), servers_->coordination(),
                 task::WorkerGroupOptions{.self = strategy_.task_name(),
                                          .workers = strategy_.clients(),
                                          .linger = options_.linger,
                                          .log = options_.train.log,
                                          .say = options_.train.say,
                                          .is_stopping = [this] { return options_.train.interrupts->stopping(); },
                                          .interruption = interrupted_.get_token()});
  return {};
}

/// Checks that the variables are this program's; tables, which may be large, by their last row.
Result<void> PsSession::check_variables() {
  const auto& program = program_.program;
  const auto differs = [&](const std::string& name, const std::string& there, const tensor::TensorSpec& spec) {
    return fail(Code::kInvalidArgument,
                "variable '{}' is {} on the parameter server, but {} in {}: it holds another program", name, there,
                format_spec(spec), program.path);
  };
  std::vector<std::string> names;
  std::vector<step::RowLookup> last_rows;
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
    const tensor::TensorSpec& spec = program.find_variable(step::original_name(names[i]))->spec;
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

/// True if the parameter servers hold this program's initialized variables; adopts their epoch.
Result<bool> PsSession::find_running() {
  const auto all = TFD_TRY(servers_->status(Deadline::after(options_.connect_timeout)));
  for (const task::TaskStatus& one : all)
    if (one.epoch == 0 || one.epoch != all.front().epoch) return false;
  servers_->set_epoch(all.front().epoch);
  const auto is_other = [](const Error& error) {  // the chief may be beginning anew
    return error.code == Code::kNotFound || error.code == Code::kPermissionDenied;
  };
  const auto training = run().get(kTraining, Deadline::after(kAnswer));
  if (!training && is_other(training.error())) return false;
  if (!training) return fail(training.error());
  if (training->version == 0) return false;
  const auto checked = check_variables();
  if (!checked && checked.error().code == Code::kPermissionDenied) return false;
  if (!checked) return fail(checked.error());
  return true;
}

/// True if the training on the parameter servers isn't complete.
Result<bool> PsSession::goes_on(const program::TrainDef& train) {
  if (TFD_TRY(group_->read_stopped())) return false;
  return !train.steps || TFD_TRY(read_global_step()) < *train.steps;
}

Result<std::uint64_t> PsSession::claim(bool adopt) {
  task::Claim claim = task::make_claim();
  claim.take_over = options_.take_over;
  claim.adopt = adopt;
  return servers_->claim(claim, Deadline::after(kClaimAnswer));
}

/// Adopts the run on the parameter servers, or loads the program on them.
Result<void> PsSession::begin_as_chief(bool may_adopt, const FindState& find,
                                       std::optional<variable::Checkpoint>& restored) {
  TFD_TRY(claim(true));  // checks first that there is no other chief
  const auto& train = program_.program.train;
  const auto running = may_adopt ? find_running() : Result<bool>(false);
  if (!running && running.error().code == Code::kUnavailable) return fail(running.error());
  if (running && *running && (!train || TFD_TRY(goes_on(*train)))) {
    adopted_ = true;
    return come_back();
  }
  if (!restored) restored = TFD_TRY(find());
  const std::uint64_t epoch = TFD_TRY(claim(false));
  const auto packed = task::PackedProgram::pack(program_.program, program_.placement);
  return servers_->load(packed, epoch, Deadline::after(kLoadTimeout));
}

Result<void> PsSession::initialise(bool may_adopt, const FindState& find, std::uint64_t data_seed) {
  std::optional<variable::Checkpoint> restored;
  if (strategy_.is_local()) {
    restored = TFD_TRY(find());
    host_ = TFD_TRY(make_local_host(program_.program, options_.make_engine, program_.copies));
  } else {
    TFD_TRY(connect());
    const auto may_wait = [this](const Error& why) {
      say(fmt::format("{}: waiting for its successor", why.message));
      return !options_.train.interrupts->stopping();
    };
    TFD_TRY(servers_->begin(Deadline::after(options_.connect_timeout), may_wait,
                            [&] { return begin_as_chief(may_adopt, find, restored); }));
    TFD_TRY(group_->become_chief());
    if (adopted_) return {};
  }
  if (restored)
    TFD_TRY(host_->import_state(import_state_of(program_, restored->state, restored->step)), restored->path);
  first_step_ = restored ? restored->step : 0;
  if (!servers_) return {};
  data_seed_ = data_seed;
  TFD_TRY(run().put(kData, std::to_string(data_seed_), Deadline::after(kAnswer)));
  // Put last: the others wait for this key.
  TFD_TRY(run().put(kTraining, std::to_string(first_step_), Deadline::after(kAnswer)));
  return {};
}

Result<void> PsSession::attach() {
  const Deadline deadline = Deadline::after(options_.connect_timeout);
  WaitReport report;
  TFD_TRY(connect());
  for (;;) {
    const auto running = find_running();
    if (running && *running) {
      auto back = come_back();
      const bool has_failed = back && !failure().empty();  // its chief ends, and the next one begins anew
      if (has_failed) static_cast<void>(group_->leave());
      if (!has_failed && (back || back.error().code != Code::kPermissionDenied)) return back;
    }
    if (!running && running.error().code != Code::kInvalidArgument) return fail(running.error());
    if (options_.train.interrupts->stopping())
      return fail(Code::kCancelled, "interrupted while {} had not initialized the variables", strategy_.chief_name());
    if (deadline.expired() && !running) return fail(running.error());
    if (deadline.expired())
      return fail(Error{Code::kDeadlineExceeded,
                        fmt::format("waited {} for {} to initialize the variables",
                                    format_duration(options_.connect_timeout), strategy_.chief_name()),
                        strategy_.chief_name()});
    if (report.take_due()) say(report.line(strategy_.chief_name() + " to initialize the variables"));
    wait_for_chief(Deadline::after(kLook).earlier_of(deadline));
  }
}

void PsSession::show(const std::string& standing) {
  if (servers_ == nullptr) return;
  servers_->task(0).coordinate({task::PutKey{.key = task::kStandingKey, .value = standing}}, Deadline::after(kShown),
                               [](const Result<task::CoordinationAnswer>&) {});
}

/// Waits until the chief may have begun. Errors are left to find_running().
void PsSession::wait_for_chief(Deadline deadline) {
  const auto process = servers_->coordination(task::CoordinationScope::kProcess);
  const auto epoch = process.get(task::kEpochKey, deadline);
  if (!epoch) return;
  if (epoch->version != 0) {
    servers_->set_epoch(to_number<std::uint64_t>(epoch->value));
    const auto training = run().wait_for_key(kTraining, 0, deadline, interrupted_.get_token());
    if (!training || std::exchange(seen_training_, training->version) != training->version) return;
  }
  (void)process.wait_for_key(task::kEpochKey, epoch->version, deadline, interrupted_.get_token());
}

Result<step::ReplicaOptions> PsSession::replica_options() {
  const auto input = TFD_TRY(strategy_.input_context());
  step::ReplicaOptions out;
  out.replicas = input.num_replicas_in_sync;
  out.input = {input.num_input_pipelines, input.input_pipeline_id};
  out.has_all_data = split_provider().has_value();
  out.order = data_order();
  out.data_root = options_.data_root;
  out.make_engine = options_.make_engine;
  out.command_environment = options_.command_environment;
  out.stop_data = stop_data_;
  out.look_up = [this](const auto& lookups) { return host().look_up(lookups); };
  out.log = options_.train.log;
  return out;
}

data::Order PsSession::data_order() const {
  data::Order order;
  if (split_provider()) {
    order.seeds = data::ShuffleSeeds{data_seed_, data_seed_};
    return order;
  }
  const auto updates = static_cast<std::uint64_t>(group_ ? group_->updates_before() : 0);
  const auto reader = updates > 0 ? static_cast<std::uint64_t>(strategy_.client_index()) : 0;
  order.stream = data::shuffle_stream(reader, first_step_, updates);
  if (servers_) order.seeds = data::ShuffleSeeds{servers_->epoch(), servers_->epoch()};
  return order;
}

std::optional<SplitProvider> PsSession::split_provider() const {
  const auto& train = program_.program.train;
  if (!servers_ || !train || !is_sharded_dynamically(program_.program)) return std::nullopt;
  return SplitProvider(
      {first_step_, train->steps, static_cast<int>(strategy_.clients().size()), strategy_.task_name()});
}

Result<std::int64_t> PsSession::read_global_step() {
  const auto values = TFD_TRY(host_->read({std::string(kGlobalStep)}));
  if (values.front().spec() != tensor::TensorSpec{DType::kS64, {}})
    return fail(Code::kInvalidArgument, "the parameter servers hold another program: its '{}' is {}", kGlobalStep,
                format_spec(values.front().spec()));
  return values.front().as<std::int64_t>()[0];
}

// Adds the global step's increment, of the worker's first replica.
void PsSession::add_counters(std::vector<variable::Update>& updates) {
  updates.push_back(
      {variable::UpdateKind::kAssignAdd, std::string(kGlobalStep), Tensor::scalar(DType::kS64, std::int64_t{1})});
  count_update();
}

/// Joins the training in its present state, also after leaving it.
Result<void> PsSession::come_back() {
  const Deadline deadline = Deadline::after(kAnswer);
  first_step_ = to_number<std::int64_t>(TFD_TRY(run().get(kTraining, deadline)).value);
  data_seed_ = to_number<std::uint64_t>(TFD_TRY(run().get(kData, deadline)).value);
  return group_->join();
}

Result<void> PsSession::dismiss_servers() {
  if (!servers_) return {};
  return servers_->shutdown(servers_->epoch(), Deadline::after(kGoodbye));
}

}  // namespace tfd::strategy
