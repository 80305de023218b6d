#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The kinds of tfd-resolve: one table with each kind's options and resolver. A new kind is a line in kinds.cpp and a
// function below. Thread rule: main thread.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asked.hpp"
#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::tool_resolve {

/// How --watch sees changes: never (a process's environment is fixed), by asking every --interval, or by waiting for
/// events.
enum class Changes { kNever, kAsked, kAnnounced };

/// Inputs of a resolver; `environment` outlives it.
struct Context {
  const Asked& asked;
  const resolve::ResolverEnvironment& environment;
  cli::Io& io;
  Deadline deadline;
};
using Made = Result<std::unique_ptr<resolve::Resolver>>;

struct Kind {
  std::string_view name;
  std::vector<std::string_view> takes;  // the kind's own options
  Changes changes = Changes::kNever;
  Made (*make)(const Context&) = nullptr;  // nullptr: not a cluster
};

std::span<const Kind> kinds();
std::vector<std::string> kind_names();
/// kUsage: "local doesn't take --port-base, only slurm and mpi".
Result<const Kind*> find_kind(const Asked& asked);

Made make_simple(const Context& context);
Made make_local(const Context& context);
Made make_tf_config(const Context& context);
Made make_slurm(const Context& context);
Made make_mpi(const Context& context);
Made make_union(const Context& context);
Made make_kubernetes(const Context& context);
Made make_tpu(const Context& context);
Made make_gce(const Context& context);
Made make_auto(const Context& context);

/// Sets the task given by --task, and its master. kInvalidArgument if the cluster has no such task.
Result<cluster::ClusterConfig> with_task(cluster::ClusterConfig config, const std::optional<cluster::TaskId>& task);

/// tpu --recoverable: true or false, for a script's `if`.
Result<bool> tpu_is_recoverable(const Context& context);

}  // namespace tfd::tool_resolve
