// SPDX-License-Identifier: Apache-2.0
#include "kinds.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::tool_resolve {
namespace {

// --compat, --format, --json and --timeout are every kind's.
const std::vector<Kind> kKinds{
    {.name = "simple",
     .takes = {"--job", "--task", "--master", "--accelerators", "--rpc-layer", "--environment", "--get", "--list-tasks",
               "--watch"},
     .make = make_simple},
    {.name = "local", .takes = {"--jobs", "--task", "--get", "--list-tasks", "--watch"}, .make = make_local},
    {.name = "tf-config",
     .takes = {"--task", "--rpc-layer", "--environment", "--get", "--list-tasks", "--watch"},
     .make = make_tf_config},
    {.name = "slurm",
     .takes = {"--jobs", "--task", "--rpc-layer", "--port-base", "--gpus-per-node", "--gpus-per-task",
               "--tasks-per-node", "--no-auto-set-gpu", "--get", "--list-tasks", "--watch"},
     .make = make_slurm},
    {.name = "kubernetes",
     .takes = {"--jobs", "--task", "--rpc-layer", "--selector", "--namespace", "--port", "--address", "--kubeconfig",
               "--context", "--insecure-skip-tls-verify", "--wait", "--get", "--list-tasks", "--watch"},
     .changes = Changes::kAnnounced,
     .make = make_kubernetes},
    {.name = "tpu",
     .takes = {"ARG",
               "--task",
               "--zone",
               "--project",
               "--job-name",
               "--coordinator-name",
               "--coordinator-address",
               "--port",
               "--credentials",
               "--api-url",
               "--discovery-url",
               "--wait-healthy",
               "--recoverable",
               "--connect",
               "--no-runtime-oom-exit",
               "--no-hbm-oom-exit",
               "--system-metadata",
               "--get",
               "--list-tasks",
               "--watch",
               "--interval"},
     .changes = Changes::kAsked,
     .make = make_tpu},
    {.name = "gce",
     .takes = {"--task", "--rpc-layer", "--zone", "--project", "--instance-group", "--port", "--job-name",
               "--credentials", "--api-url", "--get", "--list-tasks", "--watch", "--interval"},
     .changes = Changes::kAsked,
     .make = make_gce},
    {.name = "mpi",
     .takes = {"--jobs", "--task", "--rpc-layer", "--hostfile", "--port-base", "--get", "--list-tasks", "--watch"},
     .make = make_mpi},
    {.name = "union",
     .takes = {"ARG", "--task", "--rpc-layer", "--get", "--list-tasks", "--watch"},
     .changes = Changes::kAnnounced,
     .make = make_union},
    {.name = "auto",
     .takes = {"--jobs", "--task", "--rpc-layer", "--port-base", "--wait", "--get", "--list-tasks", "--watch",
               "--interval"},
     .changes = Changes::kAnnounced,
     .make = make_auto},
    {.name = "hostlist", .takes = {"ARG", "--fold"}},
};

bool takes(const Kind& kind, std::string_view option) {
  return std::find(kind.takes.begin(), kind.takes.end(), option) != kind.takes.end();
}

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

Result<const Kind*> find_kind(const Asked& asked) {
  if (asked.kind.empty()) return fail(Code::kUsage, "KIND is missing: {}", join_words(kind_names()));
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == asked.kind; });
  if (kind == kKinds.end()) return fail(Code::kUsage, "'{}' is not a KIND", printable(asked.kind));
  for (const std::string_view option : given_options(asked)) {
    if (takes(*kind, option)) continue;
    if (option == "ARG" && !asked.job.empty())
      return fail(Code::kUsage, "unexpected argument '{}': repeat --job", printable(asked.arguments.front()));
    std::vector<std::string> others;
    for (const Kind& other : kKinds)
      if (takes(other, option)) others.emplace_back(other.name);
    return fail(Code::kUsage, "{} doesn't take {}, only {}", asked.kind, option, join_words(others));
  }
  return &*kind;
}

Result<cluster::ClusterConfig> with_task(cluster::ClusterConfig config, const std::optional<cluster::TaskId>& task) {
  if (!task || config.task == task) return config;
  const auto address = config.cluster.task_address(task->job, task->index);
  if (!address && task->job != "evaluator") return fail(Error(address.error()).within("--task"));
  config.task = task;
  config.master.reset();  // it was another task's
  if (address) config.master = cluster::format_url(config.rpc_layer.value_or(""), *address);
  return config;
}

}  // namespace tfd::tool_resolve
