// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/union.hpp"

#include <algorithm>
#include <unordered_map>

#include "check.hpp"
#include "tfd/base/text.hpp"

namespace tfd::resolve {
namespace {

using Tasks = cluster::JobTasks;

std::string source_name(const std::vector<std::string>& sources, std::size_t i) {
  return i < sources.size() ? sources[i] : fmt::format("spec {}", i + 1);
}

/// One job of all specs that have it.
class Merge {
 public:
  Merge(const std::vector<cluster::ClusterSpec>& specs, const std::vector<std::string>& sources, std::string job)
      : specs_(specs), sources_(sources), job_(std::move(job)) {}

  Result<Tasks> run() {
    const bool dense = std::all_of(specs_.begin(), specs_.end(),
                                   [&](const auto& spec) { return !spec.has_job(job_) || spec.is_dense(job_); });
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const Tasks* tasks = specs_[i].find_job(job_);
      if (tasks == nullptr) continue;
      if (dense) {
        int next = static_cast<int>(merged_.size());
        for (const auto& [index, address] : *tasks) merged_.set(next++, address);
      } else {
        TFD_TRY(keep_indices(*tasks, i));
      }
    }
    return std::move(merged_);
  }

 private:
  Result<void> keep_indices(const Tasks& tasks, std::size_t source) {
    std::vector<std::string> clashes;
    for (const auto& [index, address] : tasks) {
      if (const auto owner = owners_.find(index); owner != owners_.end()) {
        clashes.push_back(fmt::format("[{}] of {}", index, source_name(sources_, owner->second)));
        continue;
      }
      owners_.emplace(index, source);
      merged_.set(index, address);
    }
    if (clashes.empty()) return {};
    return fail(Code::kAlreadyExists,
                "cluster.{}: {} {} also in {}: sparse jobs keep their indices, so each may appear only once",
                printable(job_), join_words(clashes), clashes.size() == 1 ? "is" : "are",
                source_name(sources_, source));
  }

  const std::vector<cluster::ClusterSpec>& specs_;
  const std::vector<std::string>& sources_;
  std::string job_;
  Tasks merged_;
  std::unordered_map<int, std::size_t> owners_;
};

}  // namespace

Result<cluster::ClusterSpec> union_specs(const std::vector<cluster::ClusterSpec>& specs,
                                         const std::vector<std::string>& sources) {
  if (specs.empty()) return fail(Code::kInvalidArgument, "no cluster specs: at least one is needed");
  cluster::ClusterSpec merged;
  for (const cluster::ClusterSpec& spec : specs) {
    for (const std::string& job : spec.jobs()) {
      if (merged.has_job(job)) continue;
      merged.add_job(job);
      const Tasks tasks = TFD_TRY(Merge(specs, sources, job).run());
      for (const auto& [index, address] : tasks) merged.add_task(job, index, address);
    }
  }
  return merged;
}

Result<std::string> union_master(const std::vector<cluster::ClusterSpec>& specs,
                                 const std::optional<std::string>& own_layer, const MasterQuery& query,
                                 const std::function<Result<std::string>(const std::optional<std::string>&)>& first) {
  if (!query.task_type || !query.task_id) return first(query.rpc_layer);
  const auto spec = TFD_TRY(union_specs(specs));
  const std::string layer = query.rpc_layer.value_or("").empty() ? own_layer.value_or("") : *query.rpc_layer;
  return cluster::format_url(layer, TFD_TRY(spec.task_address(*query.task_type, *query.task_id)));
}

Result<cluster::ClusterConfig> resolve_union(const std::vector<cluster::ClusterConfig>& configs,
                                             const UnionOptions& options) {
  std::vector<cluster::ClusterSpec> specs;
  specs.reserve(configs.size());
  for (const cluster::ClusterConfig& config : configs) specs.push_back(config.cluster);
  auto merged = TFD_TRY(union_specs(specs, options.sources));

  cluster::ClusterConfig config = configs.front();
  config.cluster = std::move(merged);
  config.resolver = "union";
  const auto type =
      union_override(options.task_type, config.task ? std::optional(config.task->job) : std::nullopt, options.compat);
  const auto id =
      union_override(options.task_id, config.task ? std::optional(config.task->index) : std::nullopt, options.compat);
  const std::optional<cluster::TaskId> task = type && id ? std::optional(cluster::TaskId{*type, *id}) : std::nullopt;
  const auto layer = union_override(options.rpc_layer, config.rpc_layer, options.compat);
  const bool same = task == config.task && layer == config.rpc_layer;
  config.task = task;
  config.rpc_layer = layer;
  if (!task)
    config.no_task_reason = fmt::format("{} names none; give --task JOB:INDEX", source_name(options.sources, 0));
  if (options.compat == Compat::kTensorflow) return config;  // its master stays the first's

  if (config.cluster.size() == 0) return fail(Code::kInvalidArgument, "the cluster is empty: no task in any job");
  if (task) TFD_TRY(detail::check_task(config.cluster, *task));
  if (!same || !config.master) {
    config.master.reset();
    if (task && config.cluster.has_task(*task))
      config.master =
          cluster::format_url(layer.value_or(""), TFD_TRY(config.cluster.task_address(task->job, task->index)));
  }
  return config;
}

}  // namespace tfd::resolve
