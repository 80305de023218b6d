// SPDX-License-Identifier: Apache-2.0
//
// Instances of a Compute Engine group as a cluster.
#include <doctest/doctest.h>

#include "google_world.hpp"
#include "tfd/resolve/gce.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

const std::string kZone = "https://compute.googleapis.com/compute/v1/projects/p/zones/us-central1-b/";
const std::string kList = kZone + "instanceGroups/g/listInstances?orderBy=name";

GceOptions group() {
  GceOptions options;
  options.project = "p";
  options.zone = "us-central1-b";
  options.instance_group = "g";
  options.port = 8470;
  return options;
}

void put_instance(GoogleWorld& world, const std::string& name, const std::string& ip) {
  world.put(kZone + "instances/" + name, 200,
            fmt::format(R"({{"networkInterfaces": [{{"networkIP": "{}"}}, {{"networkIP": "9.9.9.9"}}]}})", ip));
}

std::string items(std::initializer_list<const char*> names, const std::string& token = "") {
  std::string out = R"({"items": [)";
  for (const char* name : names)
    out += fmt::format(R"({}{{"instance": "{}instances/{}", "status": "RUNNING"}})", out.back() == '[' ? "" : ",",
                       kZone, name);
  return out + "]" + (token.empty() ? "" : fmt::format(R"(, "nextPageToken": "{}")", token)) + "}";
}

Result<cluster::ClusterConfig> resolve_group(GoogleWorld& world, const GceOptions& options) {
  const auto gce = TFD_TRY(make_gce_resolver(options, world.environment));
  return gce->resolve(GoogleWorld::soon());
}

}  // namespace

TEST_CASE("gce: the running instances by name, numbers as numbers, over all pages") {
  GoogleWorld world;
  world.put(kList, 200, items({"w-1", "w-10"}, "a/b"));
  world.put(kList + "&pageToken=a%2Fb", 200, items({"w-2"}));
  put_instance(world, "w-1", "10.0.0.30");
  put_instance(world, "w-2", "10.0.0.20");
  put_instance(world, "w-10", "fd00::a");
  const auto config = resolve_group(world, group());
  CHECK(shown(config) == R"({"worker": ["10.0.0.30:8470", "10.0.0.20:8470", "[fd00::a]:8470"]} -)");
  CHECK_FALSE(config->master);
  CHECK(world.requests[0].method == "POST");
  CHECK(world.requests[0].body == R"({"instanceState": "RUNNING"})");
  CHECK(world.requests[0].bearer->reveal() == "tok-file");
}

TEST_CASE("gce: an instance of the group knows its own task") {
  for (const char* zone : {"us-central1-b", "us-central1-c"}) {
    GoogleWorld world;
    world.put(kList, 200, items({"w-1", "w-2"}));
    put_instance(world, "w-1", "10.0.0.1");
    put_instance(world, "w-2", "10.0.0.2");
    world.put_metadata("instance/name", "w-2");
    world.put_metadata("instance/zone", std::string("projects/1/zones/") + zone);
    world.put_metadata("project/project-id", "p");
    const auto config = resolve_group(world, group());
    const bool same_zone = std::string(zone) == "us-central1-b";
    CHECK(shown(config) ==
          std::string(R"({"worker": ["10.0.0.1:8470", "10.0.0.2:8470"]} )") + (same_zone ? "worker:1" : "-"));
    CHECK(config->master == (same_zone ? std::optional<std::string>("grpc://10.0.0.2:8470") : std::nullopt));
    CHECK(config->no_task_reason.empty() == same_zone);
  }
}

TEST_CASE("gce: project and zone are the metadata server's where they aren't given") {
  GoogleWorld world;
  world.put_metadata("project/project-id", "p");
  world.put_metadata("instance/zone", "projects/1/zones/us-central1-b");
  world.put_metadata("instance/name", "other");
  world.put(kList, 200, items({"w-1"}));
  put_instance(world, "w-1", "10.0.0.1");
  GceOptions options = group();
  options.project.clear();
  options.zone.clear();
  const auto config = resolve_group(world, options);
  CHECK(shown(config) == R"({"worker": ["10.0.0.1:8470"]} -)");
  CHECK(config->no_task_reason == "this machine, 'other', is not in instance group 'g'");
}

TEST_CASE("gce: --task, the job's name and the RPC layer") {
  GoogleWorld world;
  world.put(kList, 200, items({"w-1", "w-2"}));
  put_instance(world, "w-1", "10.0.0.1");
  put_instance(world, "w-2", "10.0.0.2");
  GceOptions options = group();
  options.job = "ps";
  options.task = cluster::TaskId{"ps", 1};
  options.rpc_layer = "";
  const auto config = resolve_group(world, options);
  CHECK(shown(config) == R"({"ps": ["10.0.0.1:8470", "10.0.0.2:8470"]} ps:1)");
  CHECK(config->master == "10.0.0.2:8470");
  options.task = cluster::TaskId{"ps", 2};
  CHECK(resolve_group(world, options).error().code == Code::kNotFound);
}

TEST_CASE("gce: CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE says where the API is, and needs TLS") {
  GoogleWorld world;
  world.environment.env.set("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", "https://c.test/compute/beta/");
  const std::string zone = "https://c.test/compute/beta/projects/p/zones/us-central1-b/";
  world.put(zone + "instanceGroups/g/listInstances?orderBy=name", 200, R"({"items": [{"instance": "w"}]})");
  world.put(zone + "instances/w", 200, R"({"networkInterfaces": [{"ipv6Address": "fd00::1"}]})");
  CHECK(shown(resolve_group(world, group())) == R"({"worker": ["[fd00::1]:8470"]} -)");
  world.environment.env.set("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", "http://c.test/");
  CHECK(resolve_group(world, group()).error().code == Code::kInvalidArgument);
}

TEST_CASE("gce: what is wrong is named") {
  struct Case {
    std::string list;
    std::string instance;
    Code code;
    const char* says;
  };
  const Case cases[] = {
      {"{}", "", Code::kFailedPrecondition, "instance group 'g' has no running instance"},
      {items({"w"}), "{}", Code::kFailedPrecondition, "instance 'w' has no network address"},
      {items({"w"}), R"({"networkInterfaces": [{}]})", Code::kFailedPrecondition, "no network address"},
      {R"({"items": [{}]})", "", Code::kInvalidArgument, "an instance's name: empty"},
      {R"({"items": [{"instance": "a/b?c"}]})", "", Code::kInvalidArgument, "'b?c' is not a name"},
      {"{", "", Code::kUnavailable, "not a JSON object"}};
  for (const Case& each : cases) {
    GoogleWorld world;
    world.put(kList, 200, each.list);
    world.put(kZone + "instances/w", 200, each.instance);
    const auto config = resolve_group(world, group());
    REQUIRE_FALSE(config);
    CAPTURE(config.error().message);
    CHECK(config.error().code == each.code);
    CHECK(config.error().message.find(each.says) != std::string::npos);
  }
}

TEST_CASE("gce: a region is not a zone, and a group that isn't in the zone may be regional") {
  GoogleWorld world;
  GceOptions options = group();
  const auto missing = resolve_group(world, options);
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().message.find("regional groups are not supported") != std::string::npos);
  options.zone = "us-central1";
  CHECK(resolve_group(world, options).error().message ==
        "zone: 'us-central1' is a region: regional instance groups are not supported, only those in a zone");
}

TEST_CASE("gce: what is missing or malformed is refused before anybody is asked") {
  GoogleWorld world;
  const auto refused = [&](auto change) {
    GceOptions options = group();
    change(options);
    return resolve_group(world, options).error().code == Code::kInvalidArgument;
  };
  CHECK(refused([](GceOptions& o) { o.port = 0; }));
  CHECK(refused([](GceOptions& o) { o.port = 65536; }));
  CHECK(refused([](GceOptions& o) { o.instance_group = ""; }));
  CHECK(refused([](GceOptions& o) { o.instance_group = "a/b"; }));
  CHECK(refused([](GceOptions& o) { o.zone = "a b"; }));
  CHECK(refused([](GceOptions& o) { o.project = "../x"; }));
  CHECK(world.requests.empty());
}
