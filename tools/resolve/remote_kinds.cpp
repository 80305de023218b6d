// SPDX-License-Identifier: Apache-2.0
//
// Kinds that query an API: kubernetes, tpu, gce.
#include <algorithm>
#include <chrono>

#include "devices.hpp"
#include "kinds.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/resolve/gce.hpp"
#include "tfd/resolve/kubernetes.hpp"
#include "tfd/resolve/tpu.hpp"

namespace tfd::tool_resolve {
namespace {

/// JOB=LABELS; a job's selectors stay in order. The label selector may hold '=' and ',' of its own.
Result<std::vector<std::pair<std::string, std::vector<std::string>>>> selectors(const Asked& a) {
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs;
  for (const std::string& text : a.selector) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return fail(Code::kUsage, "--selector: '{}' is not JOB=LABELS", printable(text));
    const std::string job = text.substr(0, equals);
    auto found = std::find_if(jobs.begin(), jobs.end(), [&](const auto& entry) { return entry.first == job; });
    if (found == jobs.end()) found = jobs.insert(jobs.end(), {job, {}});
    found->second.push_back(text.substr(equals + 1));
  }
  return jobs;
}

resolve::PodAddress pod_address(const Asked& a) {
  if (a.address == "host-ip") return resolve::PodAddress::kHostIp;
  if (a.address == "hostname") return resolve::PodAddress::kHostname;
  return resolve::PodAddress::kPodIp;
}

Result<resolve::TpuOptions> tpu_options(const Context& context) {
  const Asked& a = context.asked;
  resolve::TpuOptions options;
  if (!a.arguments.empty()) options.tpu = a.arguments;
  options.zone = a.zone.value_or("");
  options.project = a.project.value_or("");
  options.job_name = a.job_name.value_or(options.job_name);
  options.coordinator_name = a.coordinator_name;
  options.coordinator_address = a.coordinator_address;
  if (a.port) options.port = static_cast<int>(*a.port);
  options.api_url = a.api_url.value_or("");
  options.discovery_url = a.discovery_url.value_or("");
  options.runtime_oom_exit = a.runtime_oom_exit;
  options.hbm_oom_exit = a.hbm_oom_exit;
  options.credentials = a.credentials.value_or("");
  options.task = TFD_TRY(task_of(a));
  options.compat = compat_of(a);
  return options;
}

/// Adds a key to the spec's unknown keys.
std::string with_member(const std::string& object, const std::string& key, cluster::JsonValue value) {
  auto root = cluster::parse_json(object, "extra").value_or(cluster::JsonValue{});
  root.kind = cluster::JsonValue::Kind::kObject;
  root.set(key, std::move(value));
  std::string out;
  append_json(out, root);
  return out;
}

cluster::JsonValue to_json(const resolve::TpuSystemMetadata& metadata) {
  using cluster::JsonValue;
  JsonValue out{.kind = JsonValue::Kind::kObject};
  const auto number = [&](const char* key, int value) {
    JsonValue item{.kind = JsonValue::Kind::kInteger};
    item.text = std::to_string(value);
    out.set(key, std::move(item));
  };
  const auto text = [](const std::string& value) {
    JsonValue item{.kind = value.empty() ? JsonValue::Kind::kNull : JsonValue::Kind::kString};
    item.text = value;
    return item;
  };
  number("num_cores", metadata.num_cores);
  number("num_hosts", metadata.num_hosts);
  number("num_of_cores_per_host", metadata.num_of_cores_per_host);
  out.set("topology", text(metadata.topology));
  JsonValue devices{.kind = JsonValue::Kind::kArray};
  for (const std::string& device : metadata.devices) devices.items.push_back(text(device));
  out.set("devices", std::move(devices));
  return out;
}

/// True if --get begins with this key.
bool asks_for(const Asked& asked, std::string_view key) {
  return asked.get && (*asked.get == key || asked.get->starts_with(fmt::format("{}.", key)));
}

/// Refuses metadata of a remote TPU, whose runtime speaks TensorFlow's protocol.
Result<void> check_metadata(const Asked& asked) {
  if (!asks_for(asked, "metadata") || asked.arguments.empty() || asked.arguments == std::vector<std::string>{"local"})
    return {};
  return fail(Code::kUsage,
              "--get metadata initializes the TPU of this machine; of '{}' --system-metadata says what its accelerator "
              "type does",
              printable(asked.arguments.front()));
}

/// The TPU resolver with --wait-healthy, --system-metadata and --get.
class AskedTpu : public resolve::Resolver {
 public:
  AskedTpu(std::unique_ptr<resolve::TpuResolver> tpu, const Context& context)
      : tpu_(std::move(tpu)), asked_(context.asked), env_(context.io.env) {}

  Result<cluster::ClusterConfig> resolve(Deadline deadline) override {
    if (asked_.wait_healthy && !was_healthy_)
      TFD_TRY(tpu_->wait_healthy(asked_.interval.value_or(kInterval), Deadline::after(*asked_.wait_healthy)));
    was_healthy_ = true;
    if (asked_.connect) TFD_TRY(tpu_->connect(deadline));
    auto config = TFD_TRY(tpu_->resolve(deadline));
    if (asks_for(asked_, "num_accelerators")) config.num_accelerators = TFD_TRY(tpu_->num_accelerators(deadline));
    if (asked_.system_metadata)
      config.extra = with_member(config.extra, "system_metadata", to_json(TFD_TRY(tpu_->system_metadata(deadline))));
    if (asks_for(asked_, "metadata"))
      config.extra = with_member(config.extra, "metadata",
                                 TFD_TRY(cluster::parse_json(TFD_TRY(describe_tpu(env_, deadline)), "metadata")));
    return config;
  }
  Result<bool> wait_change(Deadline deadline) override { return tpu_->wait_change(deadline); }

 private:
  std::unique_ptr<resolve::TpuResolver> tpu_;
  const Asked& asked_;
  const Environment& env_;
  bool was_healthy_ = false;
};

}  // namespace

Made make_kubernetes(const Context& context) {
  const Asked& a = context.asked;
  resolve::KubernetesOptions options;
  options.selectors = TFD_TRY(selectors(a));
  if (a.jobs) options.jobs = TFD_TRY(cli::as_usage(resolve::parse_job_counts(*a.jobs), "--jobs"));
  options.namespace_ = a.namespace_;
  if (a.port) options.port = static_cast<int>(*a.port);
  options.address = pod_address(a);
  if (a.rpc_layer) options.rpc_layer = a.rpc_layer;
  options.task = TFD_TRY(task_of(a));
  options.kubeconfig = a.kubeconfig.value_or("");
  options.context = a.context.value_or("");
  options.insecure_skip_tls_verify = a.insecure_skip_tls_verify;
  options.wait = a.wait;
  options.compat = compat_of(a);
  return resolve::make_kubernetes_resolver(std::move(options), context.environment);
}

Made make_tpu(const Context& context) {
  TFD_TRY(check_metadata(context.asked));
  auto tpu = TFD_TRY(resolve::make_tpu_resolver(TFD_TRY(tpu_options(context)), context.environment, context.deadline));
  return std::make_unique<AskedTpu>(std::move(tpu), context);
}

Result<bool> tpu_is_recoverable(const Context& context) {
  const auto tpu =
      TFD_TRY(resolve::make_tpu_resolver(TFD_TRY(tpu_options(context)), context.environment, context.deadline));
  return tpu->recoverable(context.deadline);
}

Made make_gce(const Context& context) {
  const Asked& a = context.asked;
  if (!a.instance_group) return fail(Code::kUsage, "--instance-group is missing");
  if (!a.port) return fail(Code::kUsage, "--port is missing: where every task listens");
  resolve::GceOptions options;
  options.project = a.project.value_or("");
  options.zone = a.zone.value_or("");
  options.instance_group = *a.instance_group;
  options.port = static_cast<int>(*a.port);
  options.job = a.job_name.value_or(options.job);
  options.task = TFD_TRY(task_of(a));
  if (a.rpc_layer) options.rpc_layer = a.rpc_layer;
  options.credentials = a.credentials.value_or("");
  options.api_url = a.api_url.value_or("");
  options.compat = compat_of(a);
  return resolve::make_gce_resolver(std::move(options), context.environment);
}

}  // namespace tfd::tool_resolve
