// SPDX-License-Identifier: Apache-2.0
//
// MultiWorkerMirroredStrategy as a Runner.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "group/group_evaluation.hpp"
#include "group/group_function.hpp"
#include "group/group_place.hpp"
#include "group/group_training.hpp"
#include "group/program_parts.hpp"
#include "runners.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/roles.hpp"
#include "tfd/strategy/evaluator.hpp"
#include "tfd/strategy/explain.hpp"

namespace tfd::strategy {
namespace {

class GroupRunner final : public Runner {
 public:
  GroupRunner(RunnerOptions options, std::vector<std::pair<std::string, std::string>> members, RunnerRole role,
              int rank)
      : options_(std::move(options)), members_(std::move(members)), role_(std::move(role)), rank_(rank) {}

  const RunnerRole& role() const override { return role_; }
  Result<std::string> describe() const override {
    if (role_.job == TaskJob::kEvaluate) return role_.task + " evaluates checkpoints";
    return fmt::format("{} of {} workers{}, {}", role_.task, members_.size(), role_.is_chief ? " (chief)" : "",
                       counted(static_cast<std::uint64_t>(replicas()), "replica"));
  }
  std::optional<std::string> why_on_host(const program::Program& program) const override {
    return why_not_on_devices(program, options_.devices);
  }
  Result<nlohmann::ordered_json> explain(const program::Program&, ExplainOptions) const override {
    return fail(
        Code::kUsage,
        "--explain is about a training in this process, not on a cluster\nhint: --strategy mirrored --replicas {} "
        "explains the step that the {} of this cluster share, in one process",
        replicas(), counted(members_.size(), "worker"));
  }

  Result<train::TrainSummary> train(const program::Program& program, RunOptions options) override {
    if (role_.job == TaskJob::kEvaluate) return follow_as_evaluator(program, role_.task, options);
    const auto why_not = why_on_host(program);
    if (why_not) TFD_TRY(check_on_host(program, *why_not));
    if (options_.follows_members && program.train->replicas == program::Replicas::kSplit)
      return fail(Code::kInvalidArgument,
                  "{}: train.replicas: \"split\": one element is the batch of all replicas, however many there are: "
                  "--batch per-replica needs \"each\"",
                  program.path);
    std::vector<std::pair<std::string, std::string>> agreement{
        {"what they run", "a training"},
        {"train.replicas", program.train->replicas == program::Replicas::kSplit ? "split" : "each"},
        {"the number of steps", program.train->steps ? std::to_string(*program.train->steps) : "none"},
        {"--verify-every", std::to_string(options.verify_every)},
        {"--step", std::to_string(static_cast<int>(options_.step))}};
    GroupTrainingOptions with = options_of_group(program, std::move(options), std::move(agreement));
    with.on_host = why_not.has_value();
    with.has_evaluator = options_.config.cluster.has_job("evaluator");
    if (why_not) with.device.train.log.info("the variables are on the host: {}", *why_not);
    return train_in_group(program, std::move(with));
  }

  Result<train::TrainSummary> run_function(const program::Program& program, const RunRequest& request,
                                           RunOptions options) override {
    if (role_.job == TaskJob::kEvaluate) return sit_out(role_.task, options.train);
    const program::FunctionDef* function = program.find_function(request.function);
    if (options_.compat != Compat::kNone && members_.size() > 1 && function != nullptr && function->has_updates())
      return fail(Code::kUnimplemented,
                  "function '{}' updates variables, which --function of several workers with --compat tensorflow "
                  "doesn't do",
                  request.function);
    const Combine& how = request.combine;
    const std::string option = request.predict ? "--predict" : "--function";
    std::vector<std::pair<std::string, std::string>> agreement{
        {"what they run", option},
        {option, request.function},
        {"--dataset", request.dataset.empty() ? "none" : request.dataset},
        {"--reduce", !how.reduce                            ? "none"
                     : *how.reduce == program::Reduce::kSum ? "sum"
                                                            : "mean"},
        {"--axis", how.axes ? fmt::format("{}", fmt::join(*how.axes, ",")) : "none"},
        {"--gather", how.gather_axis ? std::to_string(*how.gather_axis) : "none"}};
    return run_function_in_group(program, request, options_of_group(program, std::move(options), std::move(agreement)));
  }

  Result<train::TrainSummary> evaluate(const program::Program& program, const EvaluationRequest& request,
                                       RunOptions options) override {
    if (role_.job == TaskJob::kEvaluate) return sit_out(role_.task, options.train);
    std::vector<std::pair<std::string, std::string>> agreement{
        {"what they run", "--evaluate"},
        {"--evaluate", request.function},
        {"the number of steps", request.steps ? std::to_string(*request.steps) : "none"}};
    return evaluate_in_group(program, request, options_of_group(program, std::move(options), std::move(agreement)));
  }

 private:
  /// Refuses features that only variables on devices have, and ones that no group has.
  Result<void> check_on_host(const program::Program& program, const std::string& why) const {
    for (const program::VariableDef& one : program.variables) {
      if (one.per_worker)
        return fail(Code::kInvalidArgument,
                    "{}: variable '{}' is per worker, which --strategy {} does not support: use tfd-coordinate",
                    program.path, one.name, options_.kind->name);
      if (options_.follows_members && one.synchronization == variable::Synchronization::kOnRead)
        return fail(Code::kUnimplemented,
                    "{}: --batch per-replica with '{}', which is synchronized on read, needs "
                    "variables on devices, but {}",
                    program.path, one.name, why);
    }
    if (options_.compat == Compat::kNone) return {};
    return fail(Code::kUnimplemented, "{}: --compat tensorflow trains variables on devices only, but {}", program.path,
                why);
  }

  /// Options common to a training and a run of a function. `agreement`: further values that must be the same in all.
  GroupTrainingOptions options_of_group(const program::Program& program, RunOptions options,
                                        std::vector<std::pair<std::string, std::string>> agreement) const {
    agreement.insert(
        agreement.begin(),
        {{"--compat", options_.compat == Compat::kNone ? "none" : "tensorflow"},
         {"--replicas", options_.replicas > 0 ? std::to_string(options_.replicas) : "none"},
         {"--batch", options_.follows_members ? "per-replica" : "global"},
         {"--workers", options.min_workers > 0 ? std::to_string(options.min_workers) : "all"},
         {"--collectives", std::string(collective::name_of(options.collectives.kind))},
         {"--bucket-bytes", options.bucket_bytes ? std::to_string(*options.bucket_bytes) : "the default"}});
    agreement.emplace_back("the program", agreement_of(program));  // last: it differs in whatever has a name, too
    GroupTrainingOptions with;
    with.group.members = members_;
    with.group.rank = rank_;
    with.group.agreement = std::move(agreement);
    with.group.min_members = options.min_workers;
    with.group.max_members = options.max_workers;
    with.group.engine = options.collectives;
    with.group.make_endpoint = options.make_endpoint;
    with.group.has_key = options.has_key;
    with.group.is_insecure = options.is_insecure;
    with.group.log = options.train.log;
    with.group.say = options.train.say;
    with.join = options.join_timeout;
    with.group.silence = options.silence;
    with.make_host_engine = options.make_host_engine;
    with.on_step = options.on_step;
    with.compiling = options.compiling;
    with.end_process = options.end_process;
    with.on_standing = options.on_standing;
    with.on_done = options.on_done;
    with.replicas = options_.replicas;
    with.follows_members = options_.follows_members;
    with.verify_every = options.verify_every;
    with.as_tensorflow = options_.compat == Compat::kTensorflow && members_.size() > 1;
    if (!with.as_tensorflow) with.bucket_bytes = options.bucket_bytes;
    with.pack_bytes = options.bucket_bytes.value_or(0);
    with.epochs = options.epochs;
    with.device = device_options(options_, std::move(options));
    return with;
  }

  int replicas() const {
    return options_.replicas > 0 ? options_.replicas : static_cast<int>(members_.size()) * options_.devices.replicas();
  }

  const RunnerOptions options_;
  const std::vector<std::pair<std::string, std::string>> members_;  // names and addresses, by rank
  const RunnerRole role_;
  const int rank_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_group_runner(RunnerOptions options) {
  TFD_TRY(cluster::validate_roles(options.config.cluster, options.config.task));
  GroupPlace place = TFD_TRY(place_in_group(options.config), fmt::format("--strategy {}", options.kind->name));
  RunnerRole role{.task = cluster::format_task(*options.config.task)};
  role.is_chief = !place.members.empty() && place.rank == 0;
  if (place.members.empty())
    role.job = TaskJob::kEvaluate;
  else
    role.workers = static_cast<std::int64_t>(place.members.size());
  return std::make_unique<GroupRunner>(std::move(options), std::move(place.members), std::move(role), place.rank);
}

}  // namespace tfd::strategy
