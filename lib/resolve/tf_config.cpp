// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/resolve/masters.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {
namespace {

/// TensorFlow's own reading: what it doesn't ask for isn't looked at, nothing is checked.
Result<cluster::ClusterConfig> read_as_tensorflow(const TfConfigView& view, const TfConfigOptions& options) {
  cluster::ClusterConfig config;
  config.cluster = TFD_TRY(view.cluster_spec());
  const auto type = TFD_TRY(view.task_type());
  const auto id = TFD_TRY(view.task_id());
  if (type && id) config.task = cluster::TaskId{*type, *id};
  config.rpc_layer = TFD_TRY(view.rpc_layer());
  config.environment = options.environment;
  return config;
}

Result<cluster::ClusterConfig> read_whole(const std::string& text, const TfConfigOptions& options) {
  cluster::ClusterConfig config = TFD_TRY(cluster::cluster_config_from_json(text, "TF_CONFIG"));
  if (options.task_type || options.task_id) {
    if (!config.task && (!options.task_type || !options.task_id))
      return fail(Code::kInvalidArgument, "TF_CONFIG: no task section, so both the type and the index must be given");
    config.task = cluster::TaskId{options.task_type ? *options.task_type : config.task->job,
                                  options.task_id ? *options.task_id : config.task->index};
    config.master.reset();  // it was another task's
  }
  if (options.rpc_layer) {
    config.rpc_layer = options.rpc_layer;
    config.master.reset();
  }
  if (options.environment) config.environment = options.environment;
  TFD_TRY(detail::check_config(config), "TF_CONFIG");
  return config;
}

}  // namespace

Result<cluster::ClusterConfig> resolve_tf_config(const Environment& env, const TfConfigOptions& options) {
  const std::optional<std::string> text = env.find("TF_CONFIG");
  const TfConfigView view(text, {options.task_type, options.task_id, options.rpc_layer});
  if (!text && options.compat == Compat::kNone) return fail(Code::kFailedPrecondition, "TF_CONFIG is not set");
  cluster::ClusterConfig config = options.compat == Compat::kTensorflow ? TFD_TRY(read_as_tensorflow(view, options))
                                                                        : TFD_TRY(read_whole(*text, options));
  if (!config.master) {
    auto master = view.master({});
    if (master) config.master = std::move(*master);  // without a task there is none
  }
  if (!config.task) config.no_task_reason = "TF_CONFIG has no task section";
  config.resolver = "tf-config";
  return config;
}

bool names_cluster(const Environment& env) {
  const std::string text = env.get("TF_CONFIG");
  if (std::ranges::all_of(text, is_space)) return false;
  const auto root = cluster::parse_json(text, "TF_CONFIG");
  if (!root || !root->is(cluster::JsonValue::Kind::kObject)) return true;
  const cluster::JsonValue* jobs = root->find("cluster");
  if (jobs == nullptr) return false;
  if (!jobs->is(cluster::JsonValue::Kind::kObject)) return true;
  return std::ranges::any_of(jobs->items, [](const cluster::JsonValue& tasks) {
    const bool is_list = tasks.is(cluster::JsonValue::Kind::kArray) || tasks.is(cluster::JsonValue::Kind::kObject);
    return !is_list || !tasks.items.empty();
  });
}

}  // namespace tfd::resolve
