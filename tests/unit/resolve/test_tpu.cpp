// SPDX-License-Identifier: Apache-2.0
//
// The TPU resolver: names, the API, coordinators, health. The documented promises are in
// test_tpu_documented.cpp.
#include <doctest/doctest.h>

#include "google_world.hpp"
#include "tfd/resolve/tpu.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

constexpr const char* kNode = "projects/p/locations/us-central1-b/nodes/my-tpu";
constexpr const char* kReady =
    R"({"state": "READY", "health": "HEALTHY", "acceleratorType": "v2-8",
        "networkEndpoints": [{"ipAddress": "10.240.1.2", "port": 8470}]})";

TpuOptions named(const std::string& name = "my-tpu") {
  TpuOptions options;
  options.tpu = std::vector<std::string>{name};
  options.project = "p";
  options.zone = "us-central1-b";
  return options;
}

Result<cluster::ClusterConfig> resolve_tpu(GoogleWorld& world, TpuOptions options) {
  const auto tpu = TFD_TRY(make_tpu_resolver(std::move(options), world.environment, GoogleWorld::soon()));
  return tpu->resolve(GoogleWorld::soon());
}

std::vector<std::string> workers(const Result<cluster::ClusterConfig>& config) {
  std::vector<std::string> out;
  REQUIRE_MESSAGE(config, (config ? "" : config.error().message));
  for (const auto& task : config->cluster.tasks()) out.push_back(task.id.job + " " + task.address);
  return out;
}

using Texts = std::vector<std::string>;

bool says(const Error& error, std::string_view part) {
  CAPTURE(error.message);
  const bool found = error.message.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("tpu: a name becomes the network endpoints that API v2 has for it") {
  GoogleWorld world;
  world.put_node(kNode, R"({"state": "READY", "health": "HEALTHY", "acceleratorType": "v3-32", "networkEndpoints": [
      {"ipAddress": "10.2.3.0", "port": 8470, "accessConfig": {"externalIp": "34.1.2.3"}},
      {"ipAddress": "10.2.3.1"}, {"ipAddress": "fd00::7", "port": "9000"}, {"ipAddress": "10.2.3.3", "port": 1}]})");
  const auto config = resolve_tpu(world, named());
  CHECK(workers(config) ==
        Texts{"worker 10.2.3.0:8470", "worker 10.2.3.1:8470", "worker [fd00::7]:9000", "worker 10.2.3.3:1"});
  CHECK(config->master == "grpc://10.2.3.0:8470");
  CHECK(config->rpc_layer == "grpc");
  CHECK(config->resolver == "tpu");
  CHECK(config->num_accelerators == std::map<std::string, int>{{"TPU", 8}});
  REQUIRE(world.requests.size() == 1);
  CHECK(world.requests[0].url == std::string(GoogleWorld::kApi) + kNode);
  CHECK(world.requests[0].bearer->reveal() == "tok-file");
}

TEST_CASE("tpu: compat tensorflow asks API v1, looks at the state alone and is worker 0") {
  GoogleWorld world;
  world.put(std::string("https://tpu.googleapis.com/v1/") + kNode, 200,
            R"({"state": "READY", "health": "TIMEOUT", "ipAddress": "10.1.2.3", "port": "8470"})");
  TpuOptions options = named();
  options.compat = Compat::kTensorflow;
  const auto config = resolve_tpu(world, options);
  CHECK(workers(config) == Texts{"worker 10.1.2.3:8470"});
  CHECK(config->task == cluster::TaskId{"worker", 0});
}

TEST_CASE("tpu: TPU_API_DISCOVERY_URL says where the API is, and wins") {
  GoogleWorld world;
  world.environment.env.set("TPU_API_DISCOVERY_URL", "https://discovery.test/{api}/{apiVersion}/rest");
  world.put("https://discovery.test/tpu/v2/rest", 200,
            R"({"rootUrl": "https://elsewhere.test/", "servicePath": "below/"})");
  world.put(std::string("https://elsewhere.test/below/v2/") + kNode, 200, kReady);
  TpuOptions options = named();
  options.discovery_url = "https://not-this.test/";
  options.api_url = "https://nor-this.test/";
  CHECK(workers(resolve_tpu(world, options)) == Texts{"worker 10.240.1.2:8470"});
  REQUIRE(world.requests.size() == 2);
  CHECK_FALSE(world.requests[0].bearer);  // a discovery document is public
  CHECK(world.requests[1].bearer);
}

TEST_CASE("tpu: no token goes to a discovered API without TLS") {
  GoogleWorld world;
  world.environment.env.set("TPU_API_DISCOVERY_URL", "https://discovery.test/");
  world.put("https://discovery.test/", 200, R"({"rootUrl": "http://elsewhere.test/"})");
  const auto config = resolve_tpu(world, named());
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kInvalidArgument);
  says(config.error(), "http://elsewhere.test/");
  CHECK(world.requests.size() == 1);
}

TEST_CASE("tpu: project and zone are the metadata server's where they aren't given, project first") {
  GoogleWorld world;
  world.put_metadata("project/project-id", "p\n");
  world.put_metadata("instance/zone", "projects/123/zones/us-central1-b");
  world.put_node(kNode, kReady);
  TpuOptions options;
  options.tpu = Texts{"my-tpu"};
  CHECK(workers(resolve_tpu(world, options)) == Texts{"worker 10.240.1.2:8470"});
  CHECK(world.asked_below(GoogleWorld::kMetadata) == Texts{"project/project-id", "instance/zone"});
  CHECK(world.requests[0].headers.front() == std::pair<std::string, std::string>("Metadata-Flavor", "Google"));
}

TEST_CASE("tpu: a whole resource name says project and zone") {
  GoogleWorld world;
  world.put_node(kNode, kReady);
  TpuOptions options;
  options.tpu = Texts{kNode};
  CHECK(workers(resolve_tpu(world, options)) == Texts{"worker 10.240.1.2:8470"});
}

TEST_CASE("tpu: off Google Cloud a missing zone is an error that says what isn't there") {
  GoogleWorld world;
  world.on_google_cloud = false;
  TpuOptions options = named();
  options.zone.clear();
  const auto config = resolve_tpu(world, options);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kUnavailable);
  says(config.error(), "--zone is not given");
  says(config.error(), "no metadata server here: metadata.google.internal");
}

TEST_CASE("tpu: another server at the metadata server's address is not believed") {
  GoogleWorld world;
  world.environment.env.set("GCE_METADATA_HOST", "10.9.9.9:80");
  world.put("http://10.9.9.9:80/computeMetadata/v1/project/project-id", 200, "<html>login</html>");
  TpuOptions options = named();
  options.project.clear();
  const auto config = resolve_tpu(world, options);
  REQUIRE_FALSE(config);
  says(config.error(), "10.9.9.9:80 is not a metadata server");
}

TEST_CASE("tpu: GCE_METADATA_HOST, then GCE_METADATA_IP") {
  for (const bool both : {false, true}) {
    GoogleWorld world;
    world.environment.env.set("GCE_METADATA_IP", "10.0.0.1");
    if (both) world.environment.env.set("GCE_METADATA_HOST", "10.0.0.2");
    const std::string host = both ? "10.0.0.2" : "10.0.0.1";
    world.put("http://" + host + "/computeMetadata/v1/project/project-id", 200, "p", {{"metadata-flavor", "Google"}});
    world.put_node(kNode, kReady);
    TpuOptions options = named();
    options.project.clear();
    CHECK(workers(resolve_tpu(world, options)) == Texts{"worker 10.240.1.2:8470"});
  }
}

TEST_CASE("tpu: not READY or not HEALTHY is an error that says which") {
  struct Case {
    const char* node;
    const char* says;
  };
  const Case cases[] = {
      {R"({"state": "CREATING", "health": "HEALTHY"})", "TPU 'my-tpu' is not ready: its state is CREATING"},
      {R"({"state": "PREEMPTED"})", "its state is PREEMPTED"},
      {R"({})", "its state is unknown"},
      {R"({"state": "READY", "health": "UNHEALTHY_MAINTENANCE", "healthDescription": "back soon",
           "networkEndpoints": [{"ipAddress": "10.1.1.1"}]})",
       "TPU 'my-tpu' is not healthy: its health is UNHEALTHY_MAINTENANCE: back soon"},
      {R"({"state": "READY", "health": "HEALTHY"})", "TPU 'my-tpu' has no network endpoints"},
      {R"({"state": "READY", "networkEndpoints": [{"port": 8470}]})", "networkEndpoints[0] has no ipAddress"}};
  for (const Case& each : cases) {
    GoogleWorld world;
    world.put_node(kNode, each.node);
    const auto config = resolve_tpu(world, named());
    REQUIRE_FALSE(config);
    CHECK(config.error().code == Code::kFailedPrecondition);
    says(config.error(), each.says);
  }
}

TEST_CASE("tpu: an unknown health is no reason to refuse") {
  GoogleWorld world;
  world.put_node(kNode, R"({"state": "READY", "networkEndpoints": [{"ipAddress": "10.1.1.1", "port": 8470}]})");
  CHECK(workers(resolve_tpu(world, named())) == Texts{"worker 10.1.1.1:8470"});
}

TEST_CASE("tpu: what the API refuses is one line with the right code") {
  struct Case {
    int status;
    const char* body;
    Code code;
    const char* says;
  };
  const Case cases[] = {
      {403, R"({"error": {"code": 403, "message": "Permission 'tpu.nodes.get' denied\nmore", "status": "X"}})",
       Code::kPermissionDenied, "is not permitted: Permission 'tpu.nodes.get' denied (403)"},
      {404, R"({"error": {"message": "Resource not found"}})", Code::kNotFound, "not found: Resource not found (404)"},
      {400, "nonsense", Code::kInvalidArgument, "status 400"},
      {302, "", Code::kUnavailable, "status 302"},
      {200, R"({"state": "REA)", Code::kUnavailable, "is not a JSON object, or was cut off"},
      {200, "[]", Code::kUnavailable, "is not a JSON object"}};
  for (const Case& each : cases) {
    GoogleWorld world;
    world.put(std::string(GoogleWorld::kApi) + kNode, each.status, each.body);
    const auto config = resolve_tpu(world, named());
    REQUIRE_FALSE(config);
    CHECK(config.error().code == each.code);
    says(config.error(), each.says);
    says(config.error(), "TPU 'my-tpu' (projects/p/locations/us-central1-b/nodes/my-tpu)");
    CHECK(config.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("tpu: escape sequences of an API don't reach a terminal") {
  GoogleWorld world;
  world.put(std::string(GoogleWorld::kApi) + kNode, 403, R"({"error": {"message": "\u001b[31mred"}})");
  const auto config = resolve_tpu(world, named());
  REQUIRE_FALSE(config);
  CHECK(config.error().message.find('\x1b') == std::string::npos);
}

TEST_CASE("tpu: addresses: HOST, HOST:PORT and IPv6, with and without a scheme each") {
  struct Case {
    const char* text;
    Texts expected;
  };
  const Case cases[] = {{"grpc://10.0.0.1", {"worker 10.0.0.1:8470"}},
                        {"grpc://10.0.0.1:1,10.0.0.2", {"worker 10.0.0.1:1", "worker 10.0.0.2:8470"}},
                        {"grpc://[fd00::1]:9,grpc://[fd00::2]", {"worker [fd00::1]:9", "worker [fd00::2]:8470"}},
                        {"grpc://fd00::1", {"worker [fd00::1]:8470"}},
                        {"grpc://tpu-0.local:8470", {"worker tpu-0.local:8470"}}};
  for (const Case& each : cases) {
    GoogleWorld world;
    world.on_google_cloud = false;
    TpuOptions options;
    options.tpu = Texts{each.text};
    const auto config = resolve_tpu(world, options);
    CHECK(workers(config) == each.expected);
    CHECK_FALSE(config->task);
    CHECK_FALSE(config->no_task_reason.empty());
    CHECK(world.requests.empty());  // neither API nor metadata server
  }
}

TEST_CASE("tpu: what isn't a TPU is refused before anybody is asked") {
  struct Case {
    const char* text;
    Code code;
    const char* says;
  };
  const Case cases[] = {{"10.0.0.1:8470", Code::kInvalidArgument, "its worker is grpc://10.0.0.1:8470"},
                        {"fd00::1", Code::kInvalidArgument, "its worker is grpc://fd00::1"},
                        {"grpc://", Code::kInvalidArgument, "an empty address"},
                        {"grpc://a,,b", Code::kInvalidArgument, "an empty address"},
                        {"grpc://a:b", Code::kInvalidArgument, "port 'b' is not a number"},
                        {"grpc://a:70000", Code::kInvalidArgument, "port 70000 out of range"},
                        {"grpc://[fd00::1", Code::kInvalidArgument, "is not [IPV6]:PORT"},
                        {"a/b", Code::kInvalidArgument, "projects/P/locations/Z/nodes/NAME"},
                        {"projects/p/locations/z/queues/t", Code::kInvalidArgument, "is not a TPU's name"},
                        {"my tpu", Code::kInvalidArgument, "'my tpu' is not a name"},
                        {"..", Code::kInvalidArgument, "is not a name"},
                        {"t?x=1", Code::kInvalidArgument, "is not a name"}};
  for (const Case& each : cases) {
    GoogleWorld world;
    const auto config = resolve_tpu(world, named(each.text));
    REQUIRE_FALSE(config);
    CHECK(config.error().code == each.code);
    says(config.error(), each.says);
    CHECK(world.requests.empty());
  }
}

TEST_CASE("tpu: under compat HOST:PORT without a scheme is a name, and IPv6 is an error") {
  GoogleWorld world;
  TpuOptions options = named("10.0.0.1:8470");
  options.compat = Compat::kTensorflow;
  const auto config = resolve_tpu(world, options);
  REQUIRE_FALSE(config);
  CHECK(world.asked_below("https://tpu.googleapis.com/v1/") ==
        Texts{"projects/p/locations/us-central1-b/nodes/10.0.0.1:8470"});
  options.tpu = Texts{"grpc://[fd00::1]:8470"};
  CHECK_FALSE(resolve_tpu(world, options));
}

TEST_CASE("tpu: local is the attached TPU, in a list it is a name") {
  GoogleWorld world;
  TpuOptions options = named("local");
  const auto config = resolve_tpu(world, options);
  REQUIRE(config);
  CHECK(config->cluster.empty());
  CHECK(config->master == "");
  CHECK(world.requests.empty());
  options.tpu_is_list = true;
  CHECK(resolve_tpu(world, options).error().code == Code::kNotFound);
  CHECK(world.requests.size() == 1);
}

TEST_CASE("tpu: a list must have one element") {
  GoogleWorld world;
  TpuOptions options;
  options.tpu = Texts{};
  CHECK(resolve_tpu(world, options).error().code == Code::kInvalidArgument);
  options.tpu = Texts{"a", "b"};
  CHECK(resolve_tpu(world, options).error().code == Code::kUnimplemented);
}

TEST_CASE("tpu: the environment's names, in their order") {
  const auto name_of = [](std::map<std::string, std::string, std::less<>> env, Compat compat = Compat::kNone) {
    GoogleWorld world;
    for (const auto& [key, value] : env) world.environment.env.set(key, value);
    TpuOptions options = named("");  // "" is as good as none
    options.compat = compat;
    const auto tpu = make_tpu_resolver(options, world.environment, GoogleWorld::soon());
    return tpu ? (*tpu)->name() : "error: " + tpu.error().message;
  };
  const std::string config = R"({"tpu_node_name": "from-config", "project": "q", "zone": "z"})";
  CHECK(name_of({{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://a:1"}, {"TPU_NAME", "n"}, {"TPU_CONFIG", config}}) ==
        "grpc://a:1");
  CHECK(name_of({{"TPU_NAME", "n"}, {"TPU_CONFIG", config}}) == "n");
  CHECK(name_of({{"TPU_CONFIG", config}}) == "from-config");
  CHECK(name_of({{"TPU_NAME", "local"}}) == "local");  // what TPU VM images set
  CHECK(name_of({{"TPU_NAME", "n"}, {"TPU_WORKER_HOSTNAMES", "h"}}) == "TPU_WORKER_HOSTNAMES");
  // Set but empty: unset by default, a name for TensorFlow.
  CHECK(name_of({{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", ""}, {"TPU_NAME", "n"}}) == "n");
  CHECK(name_of({{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", ""}, {"TPU_NAME", "n"}}, Compat::kTensorflow) == "");
  CHECK(name_of({{"TPU_WORKER_HOSTNAMES", "h"}}, Compat::kTensorflow).rfind("error: no TPU", 0) == 0);
}

TEST_CASE("tpu: a broken TPU_CONFIG is named") {
  for (const char* text : {"", "[]", "{", R"({"tpu_node_name": ""})", R"({"project": "p"})"}) {
    GoogleWorld world;
    world.environment.env.set("TPU_CONFIG", text);
    TpuOptions options;
    options.compat = *text == '\0' ? Compat::kTensorflow : Compat::kNone;
    const auto config = resolve_tpu(world, options);
    REQUIRE_FALSE(config);
    CHECK(config.error().code == Code::kInvalidArgument);
    says(config.error(), "TPU_CONFIG");
  }
}

TEST_CASE("tpu: no name anywhere says where it was looked for") {
  GoogleWorld world;
  world.on_google_cloud = false;
  const auto config = resolve_tpu(world, {});
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kInvalidArgument);
  for (const char* part : {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME", "TPU_CONFIG", "no metadata server here"})
    says(config.error(), part);
  world.on_google_cloud = true;
  says(resolve_tpu(world, {}).error(), "this machine is not a TPU VM");
  world.environment.env.set("TPU_SKIP_MDS_QUERY", "1");
  world.requests.clear();
  CHECK_FALSE(resolve_tpu(world, {}));
  CHECK(world.requests.empty());
}

TEST_CASE("tpu: the coordinator has a job of its own") {
  GoogleWorld world;
  world.put_node(kNode, kReady);
  TpuOptions options = named();
  options.coordinator_name = "coordinator";
  options.coordinator_address = "10.128.1.5:10203";
  CHECK(workers(resolve_tpu(world, options)) == Texts{"worker 10.240.1.2:8470", "coordinator 10.128.1.5:10203"});
}

TEST_CASE("tpu: a coordinator without an address gets this host's and a free port") {
  GoogleWorld world;
  world.put_node(kNode, kReady);
  world.put_metadata("instance/network-interfaces/0/ip", "10.128.1.2");
  TpuOptions options = named();
  options.coordinator_name = "chief";
  options.pick_port = [] { return 41234; };
  CHECK(workers(resolve_tpu(world, options)) == Texts{"worker 10.240.1.2:8470", "chief 10.128.1.2:41234"});
  options.pick_port = nullptr;  // a real one
  const auto tpu = make_tpu_resolver(options, world.environment, GoogleWorld::soon());
  REQUIRE(tpu);
  CHECK((*tpu)->coordinator_address()->rfind("10.128.1.2:", 0) == 0);
  CHECK((*tpu)->coordinator_address() != "10.128.1.2:0");
}

TEST_CASE("tpu: a coordinator named as the TPUs' job is an error, and replaces them under compat") {
  GoogleWorld world;
  world.put_node(kNode, kReady);
  world.put(std::string("https://tpu.googleapis.com/v1/") + kNode, 200, kReady);
  TpuOptions options = named();
  options.coordinator_name = "worker";
  options.coordinator_address = "c:1";
  CHECK(resolve_tpu(world, options).error().code == Code::kInvalidArgument);
  options.compat = Compat::kTensorflow;
  CHECK(workers(resolve_tpu(world, options)) == Texts{"worker c:1"});
  options.coordinator_name.reset();
  says(resolve_tpu(world, options).error(), "no name");
}

TEST_CASE("tpu: --task gives a task and its master; one that isn't there is an error") {
  GoogleWorld world;
  TpuOptions options = named("grpc://a:1,b:2");
  options.task = cluster::TaskId{"worker", 1};
  const auto config = resolve_tpu(world, options);
  REQUIRE(config);
  CHECK(config->task == options.task);
  CHECK(config->master == "grpc://b:2");
  options.task = cluster::TaskId{"worker", 2};
  CHECK(resolve_tpu(world, options).error().code == Code::kNotFound);
}

TEST_CASE("tpu: a node of several slices brings the others of its queued resource") {
  GoogleWorld world;
  const auto node = [](const std::string& name, const std::string& ip, const std::string& resource) {
    return fmt::format(
        R"({{"name": "projects/p/locations/us-central1-b/nodes/{}", "state": "READY", "health": "HEALTHY",
             "multisliceNode": true, "queuedResource": "{}", "acceleratorType": "v5litepod-4",
             "networkEndpoints": [{{"ipAddress": "{}", "port": 8470}}]}})",
        name, resource, ip);
  };
  world.put_node("projects/p/locations/us-central1-b/nodes/s-2", node("s-2", "10.0.0.2", "qr"));
  world.put_node("projects/p/locations/us-central1-b/nodes?pageSize=100",
                 fmt::format(R"({{"nodes": [{}, {}], "nextPageToken": "a b"}})", node("s-10", "10.0.0.10", "qr"),
                             node("other-1", "10.9.9.9", "another")));
  world.put_node("projects/p/locations/us-central1-b/nodes?pageSize=100&pageToken=a%20b",
                 fmt::format(R"({{"nodes": [{}]}})", node("s-2", "10.0.0.2", "qr")));
  const auto config = resolve_tpu(world, named("s-2"));
  CHECK(workers(config) == Texts{"worker 10.0.0.2:8470", "worker 10.0.0.10:8470"});
  CHECK(config->extra == R"({"tpu": {"accelerator_type": "v5litepod-4", "num_slices": 2}})");
  CHECK(config->num_accelerators == std::map<std::string, int>{{"TPU", 4}});
}

TEST_CASE("tpu: without libcurl the error is about the configuration") {
  GoogleWorld world;
  world.put_error(std::string(GoogleWorld::kApi) + kNode, Code::kUnimplemented, "libcurl can't be loaded");
  const auto config = resolve_tpu(world, named());
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kFailedPrecondition);
}
