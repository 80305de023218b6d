// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/gce.hpp"

#include <algorithm>

#include "api.hpp"
#include "text.hpp"
#include "tfd/base/text.hpp"
#include "tpu_name.hpp"

namespace tfd::resolve {
namespace {

using cluster::ClusterConfig;
using cluster::JsonValue;

constexpr int kMostInstancePages = 1000;

struct Instance {
  std::string name;
  std::string address;  // without a port
};

/// "us-central1" where "us-central1-b" is expected.
bool is_region(std::string_view zone) {
  return std::count(zone.begin(), zone.end(), '-') == 1 && zone.back() >= '0' && zone.back() <= '9';
}

class InstanceGroup final : public Resolver {
 public:
  InstanceGroup(GceOptions options, const ResolverEnvironment& environment)
      : options_(std::move(options)),
        environment_(environment),
        api_("Compute Engine API", options_.credentials, environment) {}

  Result<ClusterConfig> resolve(Deadline deadline) override {
    TFD_TRY(find_place(deadline));
    std::vector<Instance> instances = TFD_TRY(fetch_instances(deadline));
    const bool is_exact = options_.compat == Compat::kTensorflow;
    if (!is_exact) {
      if (instances.empty())
        return fail(Code::kFailedPrecondition, "instance group '{}' has no running instance", options_.instance_group);
      std::sort(instances.begin(), instances.end(),
                [](const Instance& a, const Instance& b) { return google::comes_before(a.name, b.name); });
    }
    std::vector<std::string> addresses;
    for (const Instance& instance : instances)
      addresses.push_back(google::join_address(instance.address, std::to_string(options_.port)));
    if (is_exact) std::sort(addresses.begin(), addresses.end());  // as strings, ports included

    ClusterConfig config;
    config.resolver = "gce";
    config.rpc_layer = options_.rpc_layer;
    config.environment = "";
    config.cluster.add_job(options_.job);
    for (std::size_t i = 0; i < addresses.size(); ++i)
      config.cluster.add_task(options_.job, static_cast<int>(i), addresses[i]);
    TFD_TRY(set_task(config, instances, deadline));
    return config;
  }

 private:
  Result<void> find_place(Deadline deadline) {
    if (!instances_url_.empty()) return {};
    if (options_.project.empty())
      options_.project = TFD_TRY(api_.metadata().fetch_project(deadline), "--project is not given");
    if (options_.zone.empty()) options_.zone = TFD_TRY(api_.metadata().fetch_zone(deadline), "--zone is not given");
    TFD_TRY(google::check_path_part(options_.project, "project"));
    TFD_TRY(google::check_path_part(options_.zone, "zone"));
    TFD_TRY(google::check_path_part(options_.instance_group, "instance group"));
    if (options_.compat == Compat::kNone && is_region(options_.zone))
      return fail(Code::kInvalidArgument,
                  "zone: '{}' is a region: regional instance groups are not supported, only those in a zone",
                  options_.zone);
    std::string root = options_.api_url;
    if (root.empty()) root = environment_.env.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE");
    if (root.empty()) root = "https://compute.googleapis.com/compute/v1";
    while (root.back() == '/') root.pop_back();
    zone_url_ = fmt::format("{}/projects/{}/zones/{}", root, options_.project, options_.zone);
    instances_url_ = zone_url_ + "/instances/";
    return {};
  }

  Result<std::vector<Instance>> fetch_instances(Deadline deadline) {
    const std::string what = fmt::format("instance group '{}' (project {}, zone {})", options_.instance_group,
                                         options_.project, options_.zone);
    const std::string list =
        fmt::format("{}/instanceGroups/{}/listInstances?orderBy=name", zone_url_, options_.instance_group);
    std::vector<Instance> instances;
    std::string token;
    for (int page = 0; page < kMostInstancePages; ++page) {
      const std::string url = token.empty() ? list : list + "&pageToken=" + google::query_encoded(token);
      auto answer = api_.post(url, R"({"instanceState": "RUNNING"})", what, deadline);
      if (!answer && answer.error().code == Code::kNotFound)
        return fail(Code::kNotFound, "{} (regional groups are not supported, only those in a zone)",
                    answer.error().message);
      if (!answer) return fail(std::move(answer).error());
      if (const JsonValue* items = answer->find("items"); items != nullptr)
        for (const JsonValue& item : items->items)
          instances.push_back(TFD_TRY(fetch_instance(google::text_member(item, "instance"), what, deadline)));
      token = google::text_member(*answer, "nextPageToken");
      if (token.empty()) return instances;
    }
    return fail(Code::kUnavailable, "{}: more than {} pages of instances", what, kMostInstancePages);
  }

  Result<Instance> fetch_instance(const std::string& url, const std::string& group, Deadline deadline) {
    const std::string name = url.substr(url.rfind('/') + 1);
    TFD_TRY(google::check_path_part(name, group + ": an instance's name"));
    const std::string what = fmt::format("instance '{}'", name);
    const JsonValue root = TFD_TRY(api_.get(instances_url_ + name, what, deadline));
    const JsonValue* interfaces = root.find("networkInterfaces");
    std::string address;
    if (interfaces != nullptr && !interfaces->items.empty()) {
      address = google::text_member(interfaces->items.front(), "networkIP");
      if (address.empty()) address = google::text_member(interfaces->items.front(), "ipv6Address");
    }
    if (address.empty()) return fail(Code::kFailedPrecondition, "{} has no network address", what);
    return Instance{name, address};
  }

  Result<void> set_task(ClusterConfig& config, const std::vector<Instance>& instances, Deadline deadline) {
    if (options_.task) {
      config.task = options_.task;
    } else if (options_.compat == Compat::kTensorflow) {
      config.task = cluster::TaskId{options_.job, 0};
    } else {
      TFD_TRY(find_own_task(config, instances, deadline));
    }
    if (!config.task) return {};
    const bool is_exact = options_.compat == Compat::kTensorflow;
    if (is_exact && config.task->job != options_.job)
      return fail(Code::kFailedPrecondition, "task: '{}' must be the group's job, '{}'", printable(config.task->job),
                  printable(options_.job));
    auto master = gce_master(config, {});
    if (master) {
      config.master = *std::move(master);
    } else if (!is_exact && config.task->job != "evaluator") {
      return fail(std::move(master).error().within("task"));
    }
    return {};
  }

  /// This host's place, where it is an instance of the group; another's host may ask as well.
  Result<void> find_own_task(ClusterConfig& config, const std::vector<Instance>& instances, Deadline deadline) {
    const auto own = own_instance(deadline);
    if (!own) {
      config.no_task_reason = own.error().message;
      environment_.log.info("no task: {}", own.error().message);
      return {};
    }
    const auto found =
        std::find_if(instances.begin(), instances.end(), [&](const Instance& each) { return each.name == *own; });
    if (found == instances.end()) {
      config.no_task_reason =
          fmt::format("this machine, '{}', is not in instance group '{}'", *own, options_.instance_group);
    } else {
      config.task = cluster::TaskId{options_.job, static_cast<int>(found - instances.begin())};
    }
    return {};
  }

  Result<std::string> own_instance(Deadline deadline) {
    google::MetadataServer& metadata = api_.metadata();
    const std::string name = TFD_TRY(metadata.fetch("instance/name", "own instance", deadline));
    const std::string zone = TFD_TRY(metadata.fetch_zone(deadline));
    const std::string project = TFD_TRY(metadata.fetch_project(deadline));
    if (zone == options_.zone && project == options_.project) return name;
    return fail(Code::kNotFound, "this machine is in zone {} of project {}", zone, project);
  }

  GceOptions options_;
  const ResolverEnvironment& environment_;
  google::Api api_;
  std::string zone_url_, instances_url_;
};

}  // namespace

Result<std::string> gce_master(const ClusterConfig& config, const MasterQuery& query) {
  std::optional<std::string> job = query.task_type;
  std::optional<int> index = query.task_id;
  if (!job && config.task) job = config.task->job;
  if (!index && config.task) index = config.task->index;
  if (!job || !index) return "";
  const std::string address = TFD_TRY(config.cluster.task_address(*job, *index));
  const std::string& layer =
      query.rpc_layer && !query.rpc_layer->empty() ? *query.rpc_layer : config.rpc_layer.value_or("");
  return cluster::format_url(layer, address);
}

Result<std::unique_ptr<Resolver>> make_gce_resolver(GceOptions options, const ResolverEnvironment& environment) {
  if (options.instance_group.empty()) return fail(Code::kInvalidArgument, "gce: no instance group");
  if (options.port < 0 || options.port > 65535)
    return fail(Code::kInvalidArgument, "gce: port {} out of range", options.port);
  if (options.port == 0) return fail(Code::kInvalidArgument, "gce: no port: where every task listens");
  return std::make_unique<InstanceGroup>(std::move(options), environment);
}

}  // namespace tfd::resolve
