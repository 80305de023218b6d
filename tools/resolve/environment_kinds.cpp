// SPDX-License-Identifier: Apache-2.0
//
// Kinds that use the command line and the environment: simple, local, tf-config, slurm, mpi, auto.
#include "kinds.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/detect.hpp"
#include "tfd/resolve/hostlist.hpp"
#include "tfd/resolve/mpi.hpp"

namespace tfd::tool_resolve {
namespace {

std::optional<int> narrow(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

Result<resolve::SlurmOptions> slurm_options(const Context& context) {
  const Asked& a = context.asked;
  resolve::SlurmOptions options;
  if (a.jobs) TFD_TRY(cli::as_usage(resolve::parse_slurm_jobs(*a.jobs, options), "--jobs"));
  options.port_base = narrow(a.port_base);
  options.gpus_per_node = narrow(a.gpus_per_node);
  options.gpus_per_task = narrow(a.gpus_per_task);
  if (a.tasks_per_node && a.tasks_per_node->find('=') != std::string::npos) {
    options.tasks_per_node = TFD_TRY(cli::as_usage(resolve::parse_job_counts(*a.tasks_per_node), "--tasks-per-node"));
  } else if (a.tasks_per_node) {
    const auto count =
        TFD_TRY(cli::as_usage(parse_integer(*a.tasks_per_node, 1, resolve::kMostTasks), "--tasks-per-node"));
    options.tasks_per_node = static_cast<int>(count);
  }
  options.auto_set_gpu = a.auto_set_gpu;
  options.rpc_layer = a.rpc_layer.value_or("grpc");
  options.compat = compat_of(a);
  options.load_hostfile = context.environment.load_file;
  return options;
}

/// TYPE=N,… of every --accelerators.
Result<std::map<std::string, int>> accelerators(const Asked& a) {
  std::map<std::string, int> counts;
  for (const std::string& text : a.accelerators) {
    for (const std::string& part : split(text, ',')) {
      const std::size_t equals = part.find('=');
      const auto count = parse_integer(equals == std::string::npos ? "" : part.substr(equals + 1), 0, 65535);
      if (equals == 0 || !count)
        return fail(Code::kUsage, "--accelerators: '{}' is not TYPE=N, with N from 0 to 65535", printable(part));
      counts[part.substr(0, equals)] = static_cast<int>(*count);
    }
  }
  return counts;
}

/// Resolver of the detected kind, as if it had been typed.
class Auto : public resolve::Resolver {
 public:
  static Made make(const Context& context) {
    auto out = std::make_unique<Auto>(context.asked);
    out->asked_.kind = TFD_TRY(resolve::choose_kind(context.environment));
    const Kind* kind = TFD_TRY(find_kind(out->asked_), "auto");
    out->polled_ = kind->changes == Changes::kAsked;
    out->found_ = TFD_TRY(kind->make({out->asked_, context.environment, context.io, context.deadline}));
    return out;
  }
  explicit Auto(Asked asked) : asked_(std::move(asked)) {}

  Result<cluster::ClusterConfig> resolve(Deadline deadline) override { return found_->resolve(deadline); }
  Result<bool> wait_change(Deadline deadline) override {
    return polled_ ? resolve::real_pause()(asked_.interval.value_or(kInterval), deadline)
                   : found_->wait_change(deadline);
  }

 private:
  Asked asked_;
  bool polled_ = false;
  std::unique_ptr<resolve::Resolver> found_;
};

}  // namespace

Made make_simple(const Context& context) {
  const Asked& a = context.asked;
  resolve::SimpleOptions options;
  if (a.job.empty()) return fail(Code::kUsage, "--job is missing: --job NAME=ADDR,…");
  for (const std::string& text : a.job) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::kUsage, "--job: '{}' is not NAME=ADDR,…", printable(text));
    const std::string addresses = text.substr(equals + 1);
    options.jobs.emplace_back(text.substr(0, equals),
                              addresses.empty() ? std::vector<std::string>() : split(addresses, ','));
  }
  options.task = TFD_TRY(task_of(a));
  options.master = a.master.value_or("");
  options.environment = a.environment.value_or("");
  options.rpc_layer = a.rpc_layer;
  options.num_accelerators = TFD_TRY(accelerators(a));
  return resolve::make_once([options] { return resolve::resolve_simple(options); });
}

Made make_local(const Context& context) {
  const Asked& a = context.asked;
  if (!a.jobs) return fail(Code::kUsage, "--jobs is missing: --jobs NAME=COUNT,…");
  const auto jobs = TFD_TRY(cli::as_usage(resolve::parse_job_counts(*a.jobs), "--jobs"));
  const auto task = TFD_TRY(task_of(a));
  return resolve::make_once([jobs, task] { return resolve::resolve_local(jobs, task); });
}

Made make_tf_config(const Context& context) {
  const Asked& a = context.asked;
  resolve::TfConfigOptions options{.rpc_layer = a.rpc_layer, .environment = a.environment, .compat = compat_of(a)};
  if (const auto task = TFD_TRY(task_of(a))) {
    options.task_type = task->job;
    options.task_id = task->index;
  }
  return resolve::make_once(
      [&env = context.environment.env, options] { return resolve::resolve_tf_config(env, options); });
}

Made make_slurm(const Context& context) {
  const auto options = TFD_TRY(slurm_options(context));
  const auto task = TFD_TRY(task_of(context.asked));
  return resolve::make_once([&around = context.environment, options, task]() -> Result<cluster::ClusterConfig> {
    return with_task(TFD_TRY(resolve::resolve_slurm(around.env, options, around.gpus)), task);
  });
}

Made make_mpi(const Context& context) {
  const Asked& a = context.asked;
  resolve::MpiOptions options;
  if (a.jobs) options.jobs = TFD_TRY(cli::as_usage(resolve::parse_job_counts(*a.jobs), "--jobs"));
  options.hostfile = a.hostfile;
  options.port_base = narrow(a.port_base);
  options.rpc_layer = a.rpc_layer.value_or("grpc");
  const auto task = TFD_TRY(task_of(a));
  return resolve::make_once([&around = context.environment, options, task]() -> Result<cluster::ClusterConfig> {
    return with_task(TFD_TRY(resolve::resolve_mpi(around, options)), task);
  });
}

Made make_auto(const Context& context) { return Auto::make(context); }

}  // namespace tfd::tool_resolve
