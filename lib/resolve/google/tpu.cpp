// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/tpu.hpp"

#include <algorithm>

#include "api.hpp"
#include "free_port.hpp"
#include "text.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/cluster/address.hpp"
#include "tpu_name.hpp"
#include "tpu_node.hpp"
#include "tpu_slice.hpp"

namespace tfd::resolve {
namespace {

using cluster::ClusterConfig;
using cluster::JsonValue;
using google::NodeAnswer;
using google::TpuName;
using google::TpuSlice;
using Kind = google::TpuName::Kind;

constexpr int kListAttempts = 121;  // as TensorFlow: the devices of a cluster that just came up
constexpr int kMostNodePages = 1000;
constexpr std::chrono::seconds kQuestion{10};  // the least that TensorFlow's have, whose deadline is for the pauses

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

std::string with_slash(std::string url) {
  if (!url.empty() && url.back() != '/') url += '/';
  return url;
}

/// "v3-32", or "V4 2x2x2" where the API gives version and chips.
std::optional<int> count_devices(const std::string& type) {
  const std::size_t space = type.find(' ');
  if (space == std::string::npos) return google::count_tpu_devices(type);
  return google::count_tpu_devices(type.substr(0, space), type.substr(space + 1));
}

class CloudTpu final : public TpuResolver {
 public:
  CloudTpu(TpuOptions options, const ResolverEnvironment& environment, TpuName name)
      : options_(std::move(options)),
        environment_(environment),
        api_("Cloud TPU API", options_.credentials, environment),
        name_(std::move(name)),
        shown_name_(name_.text) {}

  /// Fetches the data that TensorFlow's constructor asks for, in its order.
  Result<void> prepare(Deadline deadline) {
    if (name_.kind == Kind::kSlice) TFD_TRY(find_slice(deadline));
    if (name_.kind == Kind::kNode) TFD_TRY(find_path(deadline));
    if (!is_exact() && options_.coordinator_name == options_.job_name)  // TensorFlow drops the TPUs then
      return fail(Code::kInvalidArgument, "the coordinator's job and the TPUs' have the same name, '{}'",
                  printable(options_.job_name));
    if (options_.coordinator_name && !options_.coordinator_address) TFD_TRY(pick_coordinator(deadline));
    return {};
  }

  const std::string& name() const override { return shown_name_; }
  bool api_available() const override { return name_.kind == Kind::kNode; }
  std::optional<cluster::TaskId> task() const override {
    if (options_.task) return options_.task;
    if (is_exact()) return cluster::TaskId{options_.job_name, 0};
    if (slice_.own_index) return cluster::TaskId{options_.job_name, *slice_.own_index};
    return std::nullopt;
  }
  const std::optional<std::string>& coordinator_address() const override { return options_.coordinator_address; }

  Result<ClusterConfig> resolve(Deadline deadline) override {
    ClusterConfig config;
    config.rpc_layer = "grpc";
    config.environment = "";
    config.resolver = "tpu";
    TFD_TRY(add_workers(config, deadline));
    if (options_.coordinator_address && !options_.coordinator_name)
      return fail(Code::kInvalidArgument, "the coordinator has an address, {}, but no name",
                  printable(*options_.coordinator_address));
    if (options_.coordinator_name) set_coordinator(config.cluster);
    TFD_TRY(set_task(config));
    config.master = TFD_TRY(master_of(config.cluster, options_.task));
    return config;
  }

  Result<TpuNode> node(Deadline deadline) override { return TFD_TRY(fetch_node(deadline)).node; }

  Result<std::optional<std::string>> runtime_version(Deadline deadline) override {
    if (name_.kind == Kind::kNode) return TFD_TRY(fetch_node(deadline)).node.runtime_version;
    if (name_.kind != Kind::kAddresses) return std::nullopt;
    const auto addresses = TFD_TRY(parse_addresses());
    const std::string& first = addresses.front();
    Request request{.url = fmt::format("http://{}:8475/requestversion", first.substr(0, first.rfind(':'))),
                    .most_bytes = std::size_t{1} << 16,
                    .most_redirects = 0};
    const Response response = TFD_TRY(environment_.fetcher->fetch(request, deadline), "runtime version");
    if (response.status == 404) return std::nullopt;
    const auto root = cluster::parse_json(response.body, "answer");
    const std::string version = root ? google::text_member(*root, "currentVersion") : "";
    if (response.status != 200 || version.empty())
      return fail(Code::kUnavailable, "runtime version: {} does not give one (status {})", request.url,
                  response.status);
    return version;
  }

  Result<std::string> master(const std::optional<cluster::TaskId>& task, Deadline deadline) override {
    if (name_.kind == Kind::kLocal) return "";
    return master_of(TFD_TRY(resolve(deadline)).cluster, task ? task : options_.task);
  }

  Result<std::map<std::string, int>> num_accelerators(Deadline deadline) override {
    if (name_.kind == Kind::kLocal) {
      int count = 0;
      for (const std::string& device : TFD_TRY(environment_.devices(deadline), "local TPU"))
        if (device.find("device:TPU:") != std::string::npos) ++count;
      return std::map<std::string, int>{{"TPU", count}};
    }
    if (options_.remote_devices) {
      const auto devices = TFD_TRY(list_remote(deadline));
      return std::map<std::string, int>{{"TPU", TFD_TRY(tpu_cores_per_host(devices))}};
    }
    return std::map<std::string, int>{{"TPU", TFD_TRY(count_by_type(deadline)).num_of_cores_per_host}};
  }

  Result<TpuSystemMetadata> system_metadata(Deadline deadline) override {
    if (name_.kind == Kind::kLocal) return tpu_system_metadata(TFD_TRY(environment_.devices(deadline), "local TPU"));
    if (options_.remote_devices) return tpu_system_metadata(TFD_TRY(list_remote(deadline)));
    return count_by_type(deadline);
  }

  Result<TpuSystemMetadata> connect(Deadline deadline) override {
    if (name_.kind != Kind::kLocal) TFD_TRY(resolve(deadline));
    const TpuSystemMetadata metadata = TFD_TRY(system_metadata(deadline));
    if (metadata.num_cores == 0)
      return fail(Code::kNotFound, "no TPU device{} among {} devices",
                  name_.kind == Kind::kLocal ? " is attached to this machine:" : "", metadata.devices.size());
    return metadata;
  }

  Result<bool> recoverable(Deadline deadline) override {
    if (!api_available() && is_exact()) return true;
    NodeAnswer answer = TFD_TRY(fetch_node(deadline));
    if (is_gone(answer.node)) return false;
    if (is_exact()) answer = TFD_TRY(fetch_node(deadline));  // TensorFlow asks once for each property
    std::vector<std::string> types;
    if (options_.runtime_oom_exit) types.push_back("OUT_OF_MEMORY");
    if (options_.hbm_oom_exit) types.push_back("HBM_OUT_OF_MEMORY");
    return !TFD_TRY(google::has_recent_symptom(answer.node.symptoms, types, environment_.now(), options_.compat));
  }

  Result<void> wait_healthy(Duration interval, Deadline deadline) override {
    const auto start = environment_.now();
    WaitReport report;
    using Tenths = std::chrono::duration<std::int64_t, std::deci>;  // what it took to come here doesn't count
    const Duration patience = deadline.is_never() ? Duration::max() : std::chrono::ceil<Tenths>(deadline.remaining());
    for (;;) {
      const bool hurry = is_exact() && deadline.remaining() < kQuestion;
      const std::string seen = TFD_TRY(ask_health(hurry ? Deadline::after(kQuestion) : deadline));
      if (seen.empty()) return {};
      if (report.take_due())
        environment_.log.warning("{}", report.line(fmt::format("TPU '{}': {}", shown_name_, seen)));
      const Duration waited = std::chrono::duration_cast<Duration>(environment_.now() - start);
      const bool too_late = interval > patience - waited;
      if (!too_late && environment_.pause(interval, deadline)) continue;
      return fail(is_exact() ? Code::kFailedPrecondition : Code::kDeadlineExceeded, "TPU '{}' is not healthy yet: {}",
                  shown_name_, seen);
    }
  }

 private:
  bool is_exact() const { return options_.compat == Compat::kTensorflow; }
  std::string_view version() const { return is_exact() ? "v1" : "v2"; }
  static bool is_gone(const TpuNode& node) { return node.state == "TERMINATED" || node.state == "PREEMPTED"; }

  Result<void> find_slice(Deadline deadline) {
    if (!name_.text.empty()) {
      slice_ = TFD_TRY(google::read_tpu_slice(environment_.env));
    } else {
      constexpr std::string_view kWhere =
          "none is given, and KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, TPU_PROCESS_ADDRESSES, TPU_WORKER_HOSTNAMES, TPU_NAME "
          "and TPU_CONFIG are unset";
      if (!environment_.env.get("TPU_SKIP_MDS_QUERY").empty())
        return fail(Code::kInvalidArgument, "no TPU: {}", kWhere);
      auto slice = google::fetch_tpu_slice(api_.metadata(), environment_.env, deadline);
      if (!slice) {
        const bool nothing_here = slice.error().code == Code::kUnavailable || slice.error().code == Code::kNotFound;
        if (!nothing_here) return fail(std::move(slice).error());
        return fail(Code::kInvalidArgument, "no TPU: {}; {}", kWhere, slice.error().message);
      }
      slice_ = *std::move(slice);
    }
    shown_name_ = slice_.source;
    return {};
  }

  Result<void> find_path(Deadline deadline) {
    std::string project = options_.project.empty() ? name_.project : options_.project;
    std::string zone = options_.zone.empty() ? name_.zone : options_.zone;
    if (project.empty()) project = TFD_TRY(api_.metadata().fetch_project(deadline), "--project is not given");
    if (zone.empty()) zone = TFD_TRY(api_.metadata().fetch_zone(deadline), "--zone is not given");
    TFD_TRY(google::check_path_part(project, "project"));
    TFD_TRY(google::check_path_part(zone, "zone"));
    if (!is_exact()) TFD_TRY(google::check_path_part(name_.text, "TPU"));
    parent_ = fmt::format("projects/{}/locations/{}", project, zone);
    return {};
  }

  Result<void> pick_coordinator(Deadline deadline) {
    auto ip = api_.metadata().fetch("instance/network-interfaces/0/ip", "the coordinator has no address", deadline);
    if (!ip) return fail(std::move(ip).error());
    const int port = TFD_TRY(options_.pick_port ? options_.pick_port() : google::pick_free_port(), "coordinator");
    options_.coordinator_address = google::join_address(*ip, std::to_string(port));
    environment_.log.info("the coordinator's address is {}", *options_.coordinator_address);
    return {};
  }

  Result<std::vector<std::string>> parse_addresses() const {
    return google::parse_tpu_addresses(name_.text, options_.port, options_.compat);
  }

  Result<void> add_workers(ClusterConfig& config, Deadline deadline) {
    const std::string& job = options_.job_name;
    switch (name_.kind) {
      case Kind::kLocal:
        config.no_task_reason = "the TPU is attached to this machine: there is no cluster";
        break;
      case Kind::kAddresses: {
        int index = 0;
        for (const std::string& address : TFD_TRY(parse_addresses())) config.cluster.add_task(job, index++, address);
        config.no_task_reason = "a TPU that is given by its address has no task on this host";
        break;
      }
      case Kind::kNode:
        TFD_TRY(add_node(config, deadline));
        config.no_task_reason = "a TPU that is given by its name has no task on this host";
        break;
      case Kind::kSlice:
        add_slice(config);
        break;
    }
    return {};
  }

  Result<void> add_node(ClusterConfig& config, Deadline deadline) {
    const std::vector<NodeAnswer> slices = TFD_TRY(fetch_slices(deadline));
    int index = 0;
    for (const NodeAnswer& slice : slices) {
      TFD_TRY(google::check_usable(slice, options_.compat, environment_.log));
      for (const std::string& address : slice.endpoints) config.cluster.add_task(options_.job_name, index++, address);
    }
    if (is_exact()) return {};
    const NodeAnswer& first = slices.front();
    describe(config, first.node.accelerator_type.value_or(""), first.node.topology.value_or(""),
             static_cast<int>(first.endpoints.size()), static_cast<int>(slices.size()));
    return {};
  }

  /// The hosts of the other slices aren't known.
  bool lacks_hosts() const {
    return name_.kind == Kind::kSlice &&
           static_cast<int>(slice_.hosts.size()) < slice_.num_slices * slice_.hosts_per_slice;
  }

  void add_slice(ClusterConfig& config) const {
    std::map<std::string, int> used;  // several processes of one host have ports of their own
    int index = slice_.first_index;
    for (const std::string& host : slice_.hosts)
      config.cluster.add_task(options_.job_name, index++,
                              google::join_address(host, std::to_string(options_.port + used[host]++)));
    config.no_task_reason = slice_.no_index_reason;
    if (lacks_hosts())
      environment_.log.warning("slice {} of {}: the hosts of the others are not known here", slice_.slice_id,
                               slice_.num_slices);
    describe(config, slice_.accelerator_type, slice_.topology, slice_.hosts_per_slice, slice_.num_slices);
  }

  /// Adds details for scripts: "tpu": {"accelerator_type": …, "topology": …, "num_slices": 2, …}.
  void describe(ClusterConfig& config, const std::string& type, const std::string& topology, int hosts,
                int slices) const {
    const auto devices = count_devices(type);
    if (devices && hosts > 0 && *devices % hosts == 0) config.num_accelerators["TPU"] = *devices / hosts;
    JsonValue tpu{.kind = JsonValue::Kind::kObject};
    const auto add = [&tpu](const char* key, JsonValue::Kind kind, const std::string& text) {
      if (text.empty()) return;
      JsonValue value{.kind = kind};
      value.text = text;
      tpu.set(key, std::move(value));
    };
    add("accelerator_type", JsonValue::Kind::kString, type);
    add("topology", JsonValue::Kind::kString, topology);
    if (slices > 1) {
      add("num_slices", JsonValue::Kind::kInteger, std::to_string(slices));
      if (name_.kind == Kind::kSlice) add("slice_id", JsonValue::Kind::kInteger, std::to_string(slice_.slice_id));
      if (lacks_hosts()) add("hosts_per_slice", JsonValue::Kind::kInteger, std::to_string(hosts));
      add("megascale_coordinator_address", JsonValue::Kind::kString, slice_.coordinator);
    }
    if (tpu.keys.empty()) return;
    JsonValue extra{.kind = JsonValue::Kind::kObject};
    extra.set("tpu", std::move(tpu));
    config.extra.clear();
    cluster::append_json(config.extra, extra);
  }

  void set_coordinator(cluster::ClusterSpec& spec) const {
    if (*options_.coordinator_name != options_.job_name) {
      spec.add_task(*options_.coordinator_name, 0, *options_.coordinator_address);
      return;
    }
    spec = {};  // TensorFlow's dictionary: the same key
    spec.add_task(options_.job_name, 0, *options_.coordinator_address);
  }

  Result<void> set_task(ClusterConfig& config) const {
    if (options_.task && name_.kind != Kind::kLocal && options_.task->job != "evaluator")
      TFD_TRY(config.cluster.task_address(options_.task->job, options_.task->index), "task");
    config.task = task();
    if (config.task) config.no_task_reason.clear();
    return {};
  }

  Result<std::string> master_of(const cluster::ClusterSpec& spec, const std::optional<cluster::TaskId>& task) const {
    if (name_.kind == Kind::kLocal) return "";
    if (task) return cluster::format_url("grpc", TFD_TRY(spec.task_address(task->job, task->index)));
    const auto* workers = spec.find_job(options_.job_name);
    if (workers == nullptr || workers->empty())
      return fail(Code::kInvalidArgument, "none of the TPUs exists: job '{}' has no tasks", options_.job_name);
    if (lacks_hosts() && slice_.slice_id > 0 && !slice_.coordinator.empty()) return first_slices_master();
    return cluster::format_url("grpc", workers->begin()->second);
  }

  /// The first worker of all slices runs at the coordinator's host.
  std::string first_slices_master() const {
    const auto address = cluster::parse_address(slice_.coordinator);
    return cluster::format_url(
        "grpc", google::join_address(address ? address->host : slice_.coordinator, std::to_string(options_.port)));
  }

  /// The API's root and the form of a node's path below it, "v2/{+name}".
  Result<void> find_api(Deadline deadline) {
    if (!root_.empty()) return {};
    const Environment& env = environment_.env;
    std::string discovery = env.get("TPU_API_DISCOVERY_URL");
    const std::string what = discovery.empty() ? "discovery document" : "TPU_API_DISCOVERY_URL";
    if (discovery.empty()) discovery = options_.discovery_url;
    if (discovery.empty()) {
      root_ = options_.api_url.empty() ? env.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU") : options_.api_url;
      root_ = with_slash(root_.empty() ? "https://tpu.googleapis.com" : root_);
      return {};
    }
    const std::string url = replaced(replaced(discovery, "{api}", "tpu"), "{apiVersion}", version());
    const JsonValue document = TFD_TRY(api_.get_public(url, what, deadline));
    const std::string root_url = google::text_member(document, "rootUrl");
    if (root_url.empty()) return fail(Code::kInvalidArgument, "{}: {} has no rootUrl", what, printable(url));
    TFD_TRY(google::check_credentials_url(root_url, what + ": rootUrl"));
    root_ = with_slash(root_url) + google::text_member(document, "servicePath");
    return {};
  }

  std::string node_path() const { return fmt::format("{}/nodes/{}", parent_, name_.text); }

  Result<NodeAnswer> fetch_node(Deadline deadline) {
    if (!api_available())
      return fail(Code::kFailedPrecondition, "{}: the API only knows TPUs by name", printable(shown_name_));
    auto answer = ask_node(deadline);
    if (answer || !is_exact()) return answer;
    Error error = std::move(answer).error();  // TensorFlow: whatever it was, the name may be wrong
    if (error.code != Code::kFailedPrecondition && error.code != Code::kUnimplemented)
      error.code = Code::kInvalidArgument;
    return fail(std::move(error));
  }

  Result<NodeAnswer> ask_node(Deadline deadline) {
    const std::string what = fmt::format("TPU '{}' ({})", printable(name_.text), printable(node_path()));
    TFD_TRY(find_api(deadline), what);
    auto root = api_.get(fmt::format("{}{}/{}", root_, version(), node_path()), what, deadline);
    if (!root && root.error().code == Code::kUnimplemented)
      return fail(Code::kFailedPrecondition, "{}", root.error().message);  // libcurl is missing
    if (!root) return fail(std::move(root).error());
    return google::parse_node(*root, node_path(), options_.port);
  }

  /// The node, with the other slices of its queued resource by name (a-0, a-1, … a-10).
  Result<std::vector<NodeAnswer>> fetch_slices(Deadline deadline) {
    NodeAnswer named = TFD_TRY(fetch_node(deadline));
    if (is_exact() || !named.is_multislice || named.queued_resource.empty())
      return std::vector<NodeAnswer>{std::move(named)};
    const std::string what = fmt::format("the slices of {}", printable(named.queued_resource));
    std::vector<NodeAnswer> slices;
    std::string token;
    for (int page = 0; page < kMostNodePages; ++page) {
      std::string url = fmt::format("{}{}/{}/nodes?pageSize=100", root_, version(), parent_);
      if (!token.empty()) url += "&pageToken=" + google::query_encoded(token);
      const JsonValue root = TFD_TRY(api_.get(url, what, deadline));
      if (const JsonValue* nodes = root.find("nodes"); nodes != nullptr) {
        for (const JsonValue& item : nodes->items) {
          if (google::text_member(item, "queuedResource") != named.queued_resource) continue;
          slices.push_back(TFD_TRY(google::parse_node(item, google::text_member(item, "name"), options_.port)));
        }
      }
      token = google::text_member(root, "nextPageToken");
      if (token.empty()) break;
    }
    std::sort(slices.begin(), slices.end(), [](const NodeAnswer& a, const NodeAnswer& b) {
      return google::comes_before(a.short_name, b.short_name);
    });
    if (slices.empty()) slices.push_back(std::move(named));
    return slices;
  }

  /// "" where it is healthy, else state and health for a message.
  Result<std::string> ask_health(Deadline deadline) {
    if (!api_available() && is_exact()) return "its health can't be queried";
    auto answer = fetch_node(deadline);
    if (!answer && !is_exact() && answer.error().code == Code::kUnavailable) {
      environment_.log.warning("{}", answer.error().message);
      return answer.error().message;
    }
    if (!answer) return fail(std::move(answer).error());
    if (answer->node.health == "HEALTHY") return "";
    TpuNode seen = answer->node;
    if (is_exact()) {  // it asks again for each thing that it logs
      seen.state = TFD_TRY(fetch_node(deadline)).node.state;
      seen.health = TFD_TRY(fetch_node(deadline)).node.health;
    }
    const std::string said = fmt::format("its state is {}, its health {}", printable(seen.state.value_or("unknown")),
                                         printable(seen.health.value_or("unknown")));
    if (!is_exact() && is_gone(seen))
      return fail(Code::kFailedPrecondition, "TPU '{}' won't become healthy: {}", shown_name_, said);
    return said;
  }

  Result<std::vector<std::string>> list_remote(Deadline deadline) {
    for (int attempt = 1;; ++attempt) {
      auto devices = options_.remote_devices(deadline);
      if (devices || devices.error().code != Code::kDeadlineExceeded) return devices;
      if (attempt == kListAttempts || deadline.expired())
        return fail(Code::kFailedPrecondition, "the TPU's devices can't be listed (tried {} times): {}", attempt,
                    devices.error().message);
    }
  }

  /// Devices of the accelerator type, spread over the hosts.
  Result<TpuSystemMetadata> count_by_type(Deadline deadline) {
    std::string type = slice_.accelerator_type, topology = slice_.topology;
    int hosts = slice_.hosts_per_slice, slices = slice_.num_slices;
    if (name_.kind == Kind::kAddresses)
      return fail(Code::kFailedPrecondition,
                  "the number of cores of {} is unknown: name the TPU, so that the API gives its accelerator type",
                  printable(shown_name_));
    if (name_.kind == Kind::kNode) {
      const auto nodes = TFD_TRY(fetch_slices(deadline));
      type = nodes.front().node.accelerator_type.value_or("");
      topology = nodes.front().node.topology.value_or("");
      hosts = static_cast<int>(nodes.front().endpoints.size());
      slices = static_cast<int>(nodes.size());
    }
    const auto devices = count_devices(type);
    if (!devices)
      return fail(Code::kFailedPrecondition, "the number of cores of {} is unknown: its accelerator type is '{}'",
                  printable(shown_name_), printable(type));
    if (hosts == 0 || *devices % hosts != 0)
      return fail(Code::kFailedPrecondition, "{} cores ({}) can't be the same number on each of {} hosts", *devices,
                  printable(type), hosts);
    std::vector<std::string> names;
    for (int host = 0; host < hosts * slices; ++host)
      for (int core = 0; core < *devices / hosts; ++core)
        names.push_back(fmt::format("/job:{}/replica:0/task:{}/device:TPU:{}", options_.job_name, host, core));
    TpuSystemMetadata metadata = TFD_TRY(tpu_system_metadata(names));
    metadata.topology = topology;
    return metadata;
  }

  TpuOptions options_;
  const ResolverEnvironment& environment_;
  google::Api api_;
  TpuName name_;
  std::string shown_name_;
  TpuSlice slice_;
  std::string parent_;  // projects/P/locations/Z
  std::string root_;    // "https://tpu.googleapis.com/"
};

}  // namespace

Result<std::unique_ptr<TpuResolver>> make_tpu_resolver(TpuOptions options, const ResolverEnvironment& environment,
                                                       Deadline deadline) {
  TpuName name = TFD_TRY(google::find_tpu_name(options, environment.env));
  auto tpu = std::make_unique<CloudTpu>(std::move(options), environment, std::move(name));
  TFD_TRY(tpu->prepare(deadline));
  return tpu;
}

}  // namespace tfd::resolve
