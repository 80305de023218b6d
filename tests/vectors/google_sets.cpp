// SPDX-License-Identifier: Apache-2.0
//
// Cloud TPU and Compute Engine, against an HTTP server that answers as the cases say; what it was asked is compared
// too. It stands in for the metadata server, the APIs and (as a proxy) for every host of 10.0.0.0/8.
#include <chrono>
#include <sstream>

#include "http_server.hpp"
#include "sets.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/resolve/gce.hpp"
#include "tfd/resolve/tpu.hpp"

namespace tfd::vectors {
namespace {

using namespace std::chrono_literals;
using kit::HttpReply;
using kit::HttpRequest;
using resolve::MasterQuery;

constexpr std::string_view kMetadataPath = "/computeMetadata/v1/";

/// One Google Cloud. The handler's thread and the test take turns: a call has ended when its request is looked at.
class Cloud {
 public:
  resolve::ResolverEnvironment environment;
  std::chrono::system_clock::time_point now{};
  std::vector<Duration> sleeps;

  explicit Cloud(const Json& input) : input_(input), server_([this](const HttpRequest& r) { return answer(r); }) {
    Environment env;
    const Json variables = input.value("env", Json::object());
    for (const auto& [name, value] : variables.items()) env.set(name, value);
    metadata_host_ = env.get("GCE_METADATA_HOST", env.get("GCE_METADATA_IP", "metadata.google.internal"));
    const std::string here = fmt::format("127.0.0.1:{}", server_.port());
    env.set("GCE_METADATA_HOST", here);
    env.set("http_proxy", server_.url());
    env.set("no_proxy", "127.0.0.1");
    env.set("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "/token");
    environment = resolve::make_resolver_environment(env, Deadline::after(30s), {});
    environment.load_file = [](const std::string&) -> Result<std::string> { return "token"; };
    environment.now = [this] { return now; };
    environment.pause = [this](Duration pause, Deadline) {
      sleeps.push_back(pause);
      now += std::chrono::duration_cast<std::chrono::system_clock::duration>(pause);
      return true;
    };
    if (input.value("no_service", false)) environment.fetcher = std::make_unique<NoLibrary>();
  }

  std::string url() const { return server_.url(); }
  /// The requests since the last time.
  std::vector<HttpRequest> take_requests() {
    const auto all = server_.requests();
    std::vector<HttpRequest> out(all.begin() + static_cast<std::ptrdiff_t>(taken_), all.end());
    taken_ = all.size();
    return out;
  }
  /// The requests in the cases' form: {"http": URL, "headers": …} or {"api": METHOD, "name": NODE}.
  Json take_calls() {
    Json out = Json::array();
    for (const HttpRequest& request : take_requests()) {
      if (request.path().rfind(kMetadataPath, 0) == 0) {
        out.push_back({{"http", "http://" + metadata_host_ + request.target},
                       {"headers", {{"Metadata-flavor", request.header("Metadata-Flavor")}}}});
      } else if (request.path().rfind("/v1/", 0) == 0 && request.method == "GET") {
        out.push_back({{"api", "projects.locations.nodes.get"}, {"name", request.path().substr(4)}});
      } else {
        out.push_back({{"http", request.target}});
      }
    }
    return out;
  }
  std::size_t count_requests() const { return server_.requests().size(); }

 private:
  class NoLibrary : public resolve::Fetcher {
   public:
    Result<resolve::Response> fetch(const resolve::Request&, Deadline) override {
      return fail(Code::kUnimplemented, "libcurl can't be loaded");
    }
    Result<resolve::Response> stream(const resolve::Request&, Duration, const resolve::ChunkSink&, Deadline) override {
      return fail(Code::kUnimplemented, "libcurl can't be loaded");
    }
  };

  static HttpReply json(const Json& body) {
    return {.headers = {{"Content-Type", "application/json"}}, .body = body.dump()};
  }
  static HttpReply not_found() {
    return {.status = 404, .headers = {{"Metadata-Flavor", "Google"}}, .body = R"({"error": {"message": "no"}})"};
  }

  HttpReply answer(const HttpRequest& request) {
    const std::string path = request.path();
    if (path.rfind(kMetadataPath, 0) == 0) return answer_plain("http://" + metadata_host_ + path);
    if (path.rfind("http://", 0) == 0) return answer_plain(path);
    if (request.header("Authorization") != "Bearer token") return {.status = 401};
    if (path.rfind("/v1/", 0) == 0) return answer_node(path.substr(4));
    if (path.rfind("/compute/v1/", 0) == 0) return answer_compute(request, path.substr(12));
    return not_found();
  }

  HttpReply answer_plain(const std::string& url) {
    const Json pages = input_.value("http", Json::object());
    if (!pages.contains(url) || !pages.at(url).is_string()) return not_found();
    return {.headers = {{"Metadata-Flavor", "Google"}}, .body = pages.at(url).get<std::string>()};
  }

  HttpReply answer_node(const std::string& name) {
    const Json sequence = input_.value("node_sequence", Json::array());
    if (served_ < sequence.size()) return json(sequence.at(served_++));
    const Json nodes = input_.value("nodes", Json::object());
    return nodes.contains(name) ? json(nodes.at(name)) : not_found();
  }

  HttpReply answer_compute(const HttpRequest& request, const std::string& path) {
    if (request.method == "POST") {
      const std::size_t page = std::stoul(request.query("pageToken").value_or("0"));
      Json body = input_.at("pages").at(page);
      if (page + 1 < input_.at("pages").size()) body["nextPageToken"] = std::to_string(page + 1);
      return json(body);
    }
    const Json instances = input_.at("instances");
    const std::string name = path.substr(path.rfind('/') + 1);
    return instances.contains(name) ? json(instances.at(name)) : not_found();
  }

  Json input_;
  std::string metadata_host_;
  std::size_t served_ = 0, taken_ = 0;
  kit::HttpServer server_;
};

resolve::TpuOptions tpu_options(const Json& input, const Cloud& cloud) {
  resolve::TpuOptions options;
  const Json args = input.value("args", Json{{"tpu", "grpc://10.0.0.1:8470"}});
  if (args.contains("tpu") && args.at("tpu").is_array()) {
    options.tpu = args.at("tpu").get<std::vector<std::string>>();
    options.tpu_is_list = true;
  } else if (const auto name = optional_member<std::string>(args, "tpu")) {
    options.tpu = std::vector<std::string>{*name};
  }
  options.zone = optional_member<std::string>(args, "zone").value_or("");
  options.project = optional_member<std::string>(args, "project").value_or("");
  options.job_name = optional_member<std::string>(args, "job_name").value_or("worker");
  options.coordinator_name = optional_member<std::string>(args, "coordinator_name");
  options.coordinator_address = optional_member<std::string>(args, "coordinator_address");
  options.api_url = cloud.url();
  options.compat = resolve::Compat::kTensorflow;
  options.runtime_oom_exit = input.value("runtime_oom_exit", true);
  options.hbm_oom_exit = input.value("hbm_oom_exit", true);
  return options;
}

Json spec_json(const Result<cluster::ClusterConfig>& config) {
  return config ? Json::parse(cluster_spec_to_json(config->cluster)) : error_record(config.error());
}

MasterQuery read_query(const Json& query) {
  MasterQuery out;
  if (query.size() > 0) out.task_type = query[0].is_null() ? std::nullopt : std::optional(query[0].get<std::string>());
  if (query.size() > 1) out.task_id = query[1].is_null() ? std::nullopt : std::optional(query[1].get<int>());
  if (query.size() > 2 && query[2].is_string()) out.rpc_layer = query[2].get<std::string>();
  return out;
}

/// A property of TensorFlow's client: null where no API is asked.
Json client_property(resolve::TpuResolver& tpu, const std::string& name) {
  if (name == "name") return tpu.name();
  if (name == "runtime_version") return to_json(tpu.runtime_version(Deadline::after(10s)));
  if (!tpu.api_available()) return nullptr;
  const auto node = tpu.node(Deadline::after(10s));
  if (!node) return error_record(node.error());
  if (name == "state") return to_json(node->state);
  if (name == "health") return to_json(node->health);
  if (name == "accelerator_type") return to_json(node->accelerator_type);
  return "a property that isn't known: " + name;
}

void run_tpu(const Json& input, const Json& expected, Report& report) {
  Cloud cloud(input);
  resolve::TpuOptions options = tpu_options(input, cloud);
  Json servers = Json::array();  // what TensorFlow starts, tfd finds a port for
  options.pick_port = [&]() -> Result<int> {
    servers.push_back({{"server", {{"local", {"0.0.0.0:0"}}}}, {"protocol", "grpc"}, {"start", true}});
    const std::string target = input.at("server_target");
    return std::stoi(target.substr(target.rfind(':') + 1));
  };
  const auto tpu = resolve::make_tpu_resolver(options, cloud.environment, Deadline::after(10s));
  const Json constructor_calls = cloud.take_calls();
  if (!tpu) {
    Json actual = error_record(tpu.error(), "constructor");
    actual["calls"] = constructor_calls;
    report.compare(Json{{"error", expected.value("error", Json())}}, Json{{"error", actual.at("error")}}, "case");
    return report.compare(expected.value("calls", Json()), constructor_calls, "calls");
  }
  const auto task = (*tpu)->task();
  const auto config = (*tpu)->resolve(Deadline::after(10s));
  Json actual{{"constructor_calls", constructor_calls},
              {"tpu", (*tpu)->name()},
              {"task_type", task ? Json(task->job) : Json()},
              {"task_id", task ? Json(task->index) : Json()},
              {"environment", config ? config->environment.value_or("") : ""},
              {"job_name", options.job_name},
              {"coordination_service_leader", fmt::format("/job:{}/task:0", options.job_name)},
              {"coordinator_address", to_json((*tpu)->coordinator_address())},
              {"cluster_spec", spec_json(config)},
              {"cluster_spec_calls", cloud.take_calls()},
              {"masters", Json::array()},
              {"api_available", (*tpu)->api_available()}};
  if (!servers.empty()) actual["coordinator_server"] = servers;
  for (const Json& asked : input.value("masters", Json::array({Json::array()}))) {
    const MasterQuery query = read_query(asked);
    std::optional<cluster::TaskId> of;
    if (query.task_type && query.task_id) of = cluster::TaskId{*query.task_type, *query.task_id};
    actual["masters"].push_back(to_json((*tpu)->master(of, Deadline::after(10s))));
  }
  if (input.contains("client"))
    for (const Json& name : input.at("client")) actual["client"][name] = client_property(**tpu, name);
  report.compare(expected, actual, "case");
}

/// Python's form of a dictionary is no part of what a message must say.
Json without_repr(Json expected) {
  if (Json* error = expected.contains("num_accelerators") && expected["num_accelerators"].contains("error")
                        ? &expected["num_accelerators"]["error"]
                        : nullptr) {
    const std::string message = error->value("message", "");
    (*error)["message"] = message.substr(0, message.find("defaultdict("));
  }
  return expected;
}

void run_tpu_accelerators(const Json& input, const Json& expected, Report& report) {
  Cloud cloud(input);
  resolve::TpuOptions options = tpu_options(input, cloud);
  const auto devices = input.at("devices").get<std::vector<std::string>>();
  const int failures = input.value("deadline_failures", 0);
  int attempts = 0;
  cloud.environment.devices = [&](Deadline) -> Result<std::vector<std::string>> { return devices; };
  options.remote_devices = [&](Deadline) -> Result<std::vector<std::string>> {
    if (++attempts <= failures) return fail(Code::kDeadlineExceeded, "no answer");
    return devices;
  };
  const auto tpu = resolve::make_tpu_resolver(options, cloud.environment, Deadline::after(10s));
  if (!tpu) return report.compare(expected, error_record(tpu.error(), "constructor"), "case");
  const auto counted = (*tpu)->num_accelerators(Deadline::after(10s));
  report.compare(without_repr(expected), Json{{"num_accelerators", to_json(counted)}, {"attempts", attempts}}, "case");
}

void run_tpu_metadata(const Json& input, const Json& expected, Report& report) {
  const auto metadata = resolve::tpu_system_metadata(input.at("devices").get<std::vector<std::string>>());
  if (!metadata) return report.compare(expected, error_record(metadata.error()), "case");
  report.compare(expected,
                 Json{{"num_cores", metadata->num_cores},
                      {"num_hosts", metadata->num_hosts},
                      {"num_of_cores_per_host", metadata->num_of_cores_per_host},
                      {"topology", metadata->topology.empty() ? Json() : Json(metadata->topology)},
                      {"devices", metadata->devices}},
                 "case");
}

void run_tpu_master_job(const Json& input, const Json& expected, Report& report) {
  std::optional<cluster::ClusterSpec> spec;
  if (input.contains("cluster") && !input.at("cluster").is_null())
    spec = cluster::cluster_spec_from_json(input.at("cluster").dump(), "case").value();
  const auto job = resolve::tpu_master_job(input.value("master", ""), spec);
  if (!job && expected.contains("error")) return report.compare(expected, error_record(job.error()), "case");
  report.compare(expected, Json{{"job", to_json(job)}}, "case");
}

/// "2020-01-01T00:01:00" in UTC.
std::chrono::system_clock::time_point read_time(const std::string& text) {
  std::tm parts{};
  std::istringstream in(text);
  in >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%S");
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

void run_tpu_recoverable(const Json& input, const Json& expected, Report& report) {
  Cloud cloud(input);
  cloud.now = read_time(input.value("now", "2020-01-01T00:01:00"));
  const auto tpu = resolve::make_tpu_resolver(tpu_options(input, cloud), cloud.environment, Deadline::after(10s));
  if (!tpu) return report.compare(expected, error_record(tpu.error(), "constructor"), "case");
  const Json recoverable = to_json((*tpu)->recoverable(Deadline::after(10s)));
  if (expected.contains("error")) return report.compare(expected, recoverable, "case");
  report.compare(expected,
                 Json{{"recoverable", recoverable},
                      {"state", client_property(**tpu, "state")},
                      {"health", client_property(**tpu, "health")}},
                 "case");
}

void run_tpu_wait_for_healthy(const Json& input, const Json& expected, Report& report) {
  Cloud cloud(input);
  const auto tpu = resolve::make_tpu_resolver(tpu_options(input, cloud), cloud.environment, Deadline::after(10s));
  if (!tpu) return report.compare(expected, error_record(tpu.error(), "constructor"), "case");
  const Json given = input.value("kwargs", Json::object());
  const auto seconds = [&](const char* key, double fallback) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(given.value(key, fallback)));
  };
  const std::size_t before = cloud.count_requests();
  const auto waited = (*tpu)->wait_healthy(seconds("interval", 30), Deadline::after(seconds("timeout_s", 1200)));
  Json actual{{"result", waited ? Json("ok") : error_record(waited.error())},
              {"sleeps", Json::array()},
              {"api_calls", cloud.count_requests() - before}};
  for (const Duration sleep : cloud.sleeps) actual["sleeps"].push_back(std::chrono::duration<double>(sleep).count());
  report.compare(expected, actual, "case");
}

/// The requests as calls of Google's Python library, which asks for the next page even where there is none.
Json compute_calls(const std::vector<HttpRequest>& requests) {
  Json out = Json::array();
  const auto part = [](const std::string& path, std::string_view after) {
    const std::size_t at = path.find(after) + after.size();
    return path.substr(at, path.find('/', at) - at);
  };
  for (const HttpRequest& request : requests) {
    const std::string path = request.path();
    Json kwargs{{"project", part(path, "/projects/")}, {"zone", part(path, "/zones/")}};
    if (request.query("pageToken")) {
      out.push_back({{"call", "instanceGroups.listInstances_next"}});
    } else if (request.method == "POST") {
      kwargs["instanceGroups"] = part(path, "/instanceGroups/");
      kwargs["body"] = Json::parse(request.body, nullptr, false);
      kwargs["orderBy"] = request.query("orderBy").value_or("");
      out.push_back({{"call", "instanceGroups.listInstances"}, {"kwargs", kwargs}});
    } else {
      kwargs["instance"] = part(path, "/instances/");
      out.push_back({{"call", "instances.get"}, {"kwargs", kwargs}});
    }
  }
  out.push_back({{"call", "instanceGroups.listInstances_next"}});
  return out;
}

Result<cluster::ClusterConfig> resolve_gce(const resolve::GceOptions& options, const Cloud& cloud) {
  const auto gce = TFD_TRY(resolve::make_gce_resolver(options, cloud.environment));
  return gce->resolve(Deadline::after(10s));
}

void run_gce(const Json& input, const Json& expected, Report& report) {
  Cloud cloud(input);
  const Json& args = input.at("args");
  resolve::GceOptions options;
  options.project = args.at("project");
  options.zone = args.at("zone");
  options.instance_group = args.at("instance_group");
  options.port = args.at("port");
  options.job = args.value("task_type", "worker");
  options.task = cluster::TaskId{options.job, args.value("task_id", 0)};
  if (args.contains("rpc_layer")) options.rpc_layer = optional_member<std::string>(args, "rpc_layer");
  options.api_url = cloud.url() + "/compute/v1";
  options.compat = resolve::Compat::kTensorflow;
  const auto config = resolve_gce(options, cloud);
  if (!config) return report.compare(expected, error_record(config.error()), "case");
  Json actual{{"task_type", config->task->job},
              {"task_id", config->task->index},
              {"rpc_layer", to_json(config->rpc_layer)},
              {"cluster_spec", spec_json(config)},
              {"calls", compute_calls(cloud.take_requests())},
              {"masters", Json::array()}};
  for (const Json& query : input.value("masters", Json::array({Json::array()})))
    actual["masters"].push_back(to_json(resolve::gce_master(*config, read_query(query))));
  if (input.contains("set")) {
    for (const auto& [key, value] : input.at("set").items()) {
      resolve::GceOptions changed = options;
      if (key == "task_type") changed.task = cluster::TaskId{value.get<std::string>(), options.task->index};
      if (key == "task_id") changed.task = cluster::TaskId{options.job, value.get<int>()};
      if (key == "rpc_layer") changed.rpc_layer = value.get<std::string>();
      const auto result = resolve_gce(changed, cloud);
      actual["set"][key] = result ? Json("ok") : error_record(result.error());
    }
  }
  report.compare(expected, actual, "case");
}

}  // namespace

Sets google_sets() {
  return {{"tpu", run_tpu},
          {"tpu_accelerators", run_tpu_accelerators},
          {"tpu_metadata", run_tpu_metadata},
          {"tpu_master_job", run_tpu_master_job},
          {"tpu_recoverable", run_tpu_recoverable},
          {"tpu_wait_for_healthy", run_tpu_wait_for_healthy},
          {"gce", run_gce}};
}

}  // namespace tfd::vectors
