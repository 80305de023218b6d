// SPDX-License-Identifier: Apache-2.0
//
// Every promise of TensorFlow's documentation of TPUClusterResolver, one test each, named after it.
#include <doctest/doctest.h>

#include "google_world.hpp"
#include "tfd/resolve/tpu.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

constexpr const char* kPageNode = "projects/p/locations/z/nodes/my-tpu";
constexpr const char* kPod = R"({"state": "READY", "health": "HEALTHY", "acceleratorType": "v3-16",
    "networkEndpoints": [{"ipAddress": "1.2.3.4", "port": 8470}, {"ipAddress": "1.2.3.5", "port": 8470}]})";

struct TpuBed {
  GoogleWorld world;
  TpuOptions options;
  std::unique_ptr<TpuResolver> tpu;

  explicit TpuBed(const char* node = kPod) {
    world.put_node(kPageNode, node);
    options.tpu = std::vector<std::string>{"my-tpu"};
    options.project = "p";
    options.zone = "z";
  }
  TpuResolver& made() {
    auto result = make_tpu_resolver(options, world.environment, GoogleWorld::soon());
    REQUIRE_MESSAGE(result, (result ? "" : result.error().message));
    tpu = *std::move(result);
    return *tpu;
  }
  Result<cluster::ClusterConfig> resolved() { return made().resolve(GoogleWorld::soon()); }
  std::string spec() {
    const auto config = resolved();
    return config ? cluster::cluster_spec_to_json(config->cluster) : "error: " + config.error().message;
  }
  Error failure() {
    const auto result = make_tpu_resolver(options, world.environment, GoogleWorld::soon());
    REQUIRE_FALSE(result);
    return result.error();
  }
};

const std::string kWorkers = R"("worker": ["1.2.3.4:8470", "1.2.3.5:8470"])";

std::vector<std::string> local_devices(int tpus) {
  std::vector<std::string> names{"/job:localhost/replica:0/task:0/device:CPU:0"};
  for (int i = 0; i < tpus; ++i) names.push_back(fmt::format("/job:localhost/replica:0/task:0/device:TPU:{}", i));
  return names;
}

}  // namespace

TEST_CASE("tpu documented: it works in Google Compute Engine") {
  TpuBed bed;
  bed.options.project.clear();
  bed.options.zone.clear();
  bed.world.put_metadata("project/project-id", "p");
  bed.world.put_metadata("instance/zone", "projects/1/zones/z");
  CHECK(bed.spec() == "{" + kWorkers + "}");
}

TEST_CASE("tpu documented: it works in Google Kubernetes Engine") {
  TpuBed bed;
  bed.options.tpu.reset();
  bed.world.environment.env.set("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://10.8.0.3:8470,grpc://10.8.0.4:8470");
  CHECK(bed.spec() == R"({"worker": ["10.8.0.3:8470", "10.8.0.4:8470"]})");
  CHECK(bed.world.requests.empty());
}

TEST_CASE("tpu documented: tpu is a TPU's name") {
  TpuBed bed;
  CHECK(bed.spec() == "{" + kWorkers + "}");
  CHECK(bed.tpu->name() == "my-tpu");
}

TEST_CASE("tpu documented: tpu is a worker's gRPC address") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{"grpc://10.240.1.2:8470"};
  CHECK(bed.spec() == R"({"worker": ["10.240.1.2:8470"]})");
  CHECK(bed.world.requests.empty());
}

TEST_CASE("tpu documented: without tpu it is resolved automatically on Cloud TPUs") {
  TpuBed bed;
  bed.options.tpu.reset();
  bed.world.put_metadata("instance/attributes/worker-network-endpoints", "a:b:1.2.3.4,a:b:1.2.3.5");
  CHECK(bed.spec() == "{" + kWorkers + "}");
}

TEST_CASE("tpu documented: tpu local is the TPU that is connected to the VM") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{"local"};
  CHECK(bed.spec() == "{}");
  CHECK(bed.world.requests.empty());
}

TEST_CASE("tpu documented: an omitted or empty zone is the VM's") {
  TpuBed bed;
  bed.options.zone = "";
  bed.world.put_metadata("instance/zone", "projects/1/zones/z");
  CHECK(bed.spec() == "{" + kWorkers + "}");
  CHECK(bed.world.asked_below(GoogleWorld::kMetadata) == std::vector<std::string>{"instance/zone"});
}

TEST_CASE("tpu documented: an omitted or empty project is the VM's") {
  TpuBed bed;
  bed.options.project = "";
  bed.world.put_metadata("project/project-id", "p");
  CHECK(bed.spec() == "{" + kWorkers + "}");
  CHECK(bed.world.asked_below(GoogleWorld::kMetadata) == std::vector<std::string>{"project/project-id"});
}

TEST_CASE("tpu documented: job_name names the TPUs' job") {
  TpuBed bed;
  bed.options.job_name = "tpu";
  CHECK(bed.spec() == R"({"tpu": ["1.2.3.4:8470", "1.2.3.5:8470"]})");
}

TEST_CASE("tpu documented: coordinator_name and coordinator_address put the coordinator into the cluster") {
  TpuBed bed;
  bed.options.coordinator_name = "coordinator";
  bed.options.coordinator_address = "10.0.0.1:99";
  CHECK(bed.spec() == "{" + kWorkers + R"(, "coordinator": ["10.0.0.1:99"]})");
}

TEST_CASE("tpu documented: without coordinator_address one is made on this host") {
  TpuBed bed;
  bed.options.coordinator_name = "coordinator";
  bed.options.pick_port = [] { return 4567; };
  bed.world.put_metadata("instance/network-interfaces/0/ip", "10.0.0.9");
  CHECK(bed.spec() == "{" + kWorkers + R"(, "coordinator": ["10.0.0.9:4567"]})");
}

TEST_CASE("tpu documented: without coordinator_name there is no coordinator and none is made") {
  TpuBed bed;
  bed.options.pick_port = []() -> Result<int> {
    FAIL("nobody asked for a port");
    return 0;
  };
  CHECK(bed.spec() == "{" + kWorkers + "}");
}

TEST_CASE("tpu documented: without credentials the default ones are used") {
  TpuBed bed;
  CHECK(bed.resolved());
  CHECK(bed.world.requests.back().bearer->reveal() == "tok-file");
}

TEST_CASE("tpu documented: credentials can be given") {
  TpuBed bed;
  bed.options.credentials = "/user.json";
  bed.world.files["/user.json"] =
      R"({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"})";
  bed.world.put("https://oauth2.googleapis.com/token", 200, R"({"access_token": "given", "expires_in": 3600})");
  CHECK(bed.resolved());
  CHECK(bed.world.requests.back().bearer->reveal() == "given");
}

TEST_CASE("tpu documented: discovery_url is a template with {api} and {apiVersion}") {
  TpuBed bed;
  bed.options.discovery_url = "https://d.test/{api}/{apiVersion}";
  bed.world.put("https://d.test/tpu/v2", 200, R"({"rootUrl": "https://api.test/", "servicePath": ""})");
  bed.world.put(std::string("https://api.test/v2/") + kPageNode, 200, kPod);
  CHECK(bed.spec() == "{" + kWorkers + "}");
}

TEST_CASE("tpu documented: TPU_API_DISCOVERY_URL overrides discovery_url") {
  TpuBed bed;
  bed.options.discovery_url = "https://not.test/";
  bed.world.environment.env.set("TPU_API_DISCOVERY_URL", "https://d.test/");
  bed.world.put("https://d.test/", 200, R"({"rootUrl": "https://api.test"})");
  bed.world.put(std::string("https://api.test/v2/") + kPageNode, 200, kPod);
  CHECK(bed.spec() == "{" + kWorkers + "}");
}

TEST_CASE("tpu documented: no TPUs specified is an error (ValueError)") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{};
  CHECK(bed.failure().code == Code::kInvalidArgument);
}

TEST_CASE("tpu documented: an empty name in a Google Cloud environment is an error (RuntimeError there)") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{""};
  const Error error = bed.failure();
  CHECK(error.code == Code::kInvalidArgument);  // facts, section 24: a ValueError in TensorFlow 2.21
  CHECK(error.message.find("no TPU: none is given") == 0);
}

TEST_CASE("tpu documented: environment is the current environment") {
  TpuBed bed;
  CHECK(bed.resolved()->environment == "");
}

TEST_CASE("tpu documented: task_type and task_id are none for a Cloud TPU") {
  TpuBed bed;
  CHECK_FALSE(bed.resolved()->task);
  bed.options.compat = Compat::kTensorflow;
  bed.world.put(std::string("https://tpu.googleapis.com/v1/") + kPageNode, 200, kPod);
  CHECK(bed.resolved()->task == cluster::TaskId{"worker", 0});
}

TEST_CASE("tpu documented: cluster_spec is the latest: the API is asked every time") {
  TpuBed bed;
  bed.world.put_node(kPageNode,
                     R"({"state": "READY", "health": "HEALTHY", "networkEndpoints": [{"ipAddress": "9.9.9.9"}]})");
  TpuResolver& tpu = bed.made();
  CHECK(cluster::cluster_spec_to_json(tpu.resolve(GoogleWorld::soon())->cluster) == "{" + kWorkers + "}");
  CHECK(cluster::cluster_spec_to_json(tpu.resolve(GoogleWorld::soon())->cluster) == R"({"worker": ["9.9.9.9:8470"]})");
  CHECK(bed.world.requests.size() == 2);
}

TEST_CASE("tpu documented: cluster_spec of a TPU that isn't healthy is an error (RuntimeError)") {
  TpuBed bed(R"({"state": "READY", "health": "UNHEALTHY_TENSORFLOW", "networkEndpoints": [{"ipAddress": "1.1.1.1"}]})");
  const auto config = bed.resolved();
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kFailedPrecondition);
}

TEST_CASE("tpu documented: connect resolves the TPU and finds its devices") {
  TpuBed bed;
  const auto metadata = bed.made().connect(GoogleWorld::soon());
  REQUIRE(metadata);
  CHECK(metadata->num_cores == 16);
}

TEST_CASE("tpu documented: connect without a TPU device is NotFound") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{"local"};
  bed.world.environment.devices = [](Deadline) -> Result<std::vector<std::string>> { return local_devices(0); };
  CHECK(bed.made().connect(GoogleWorld::soon()).error().code == Code::kNotFound);
  bed.world.environment.devices = [](Deadline) -> Result<std::vector<std::string>> { return local_devices(4); };
  CHECK(bed.made().connect(GoogleWorld::soon())->num_cores == 4);
}

TEST_CASE("tpu documented: get_master is master") {
  TpuBed bed;
  const auto config = bed.resolved();
  CHECK(config->master == bed.tpu->master(std::nullopt, GoogleWorld::soon()).value());
}

TEST_CASE("tpu documented: get_tpu_system_metadata says the number of hosts and cores, and the devices") {
  TpuBed bed;
  const auto metadata = bed.made().system_metadata(GoogleWorld::soon());
  REQUIRE(metadata);
  CHECK(metadata->num_hosts == 2);
  CHECK(metadata->num_cores == 16);
  CHECK(metadata->num_of_cores_per_host == 8);
  REQUIRE(metadata->devices.size() == 16);
  CHECK(metadata->devices.back() == "/job:worker/replica:0/task:1/device:TPU:7");
}

TEST_CASE("tpu documented: get_tpu_system_metadata of an attached TPU counts its cores, on one host") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{"local"};
  for (const char* prefix : {"", "/job:localhost/replica:0/task:0"}) {
    bed.world.environment.devices = [prefix](Deadline) -> Result<std::vector<std::string>> {
      std::vector<std::string> names;
      for (const char* device : {"TPU:1", "CPU:0", "TPU_SYSTEM:0", "TPU:0"})
        names.push_back(fmt::format("{}/device:{}", prefix, device));
      return names;
    };
    const auto metadata = bed.made().system_metadata(GoogleWorld::soon());
    REQUIRE(metadata);
    CHECK(metadata->num_cores == 2);
    CHECK(metadata->num_hosts == 1);
    CHECK(metadata->num_of_cores_per_host == 2);
    const std::string host = "/job:localhost/replica:0/task:0/device:";
    CHECK(metadata->devices ==
          std::vector<std::string>{host + "CPU:0", host + "TPU:0", host + "TPU:1", host + "TPU_SYSTEM:0"});
    CHECK(bed.made().num_accelerators(GoogleWorld::soon()).value() == std::map<std::string, int>{{"TPU", 2}});
    CHECK(bed.made().connect(GoogleWorld::soon()).value().num_cores == 2);
  }
}

TEST_CASE("tpu documented: what a device's name leaves out is the host's, of the first CPU") {
  const auto metadata = resolve::tpu_system_metadata({"/device:TPU:0", "/job:worker/task:1/device:CPU:0"});
  REQUIRE(metadata);
  CHECK(metadata->num_cores == 1);
  CHECK(metadata->devices == std::vector<std::string>{"/job:worker/replica:0/task:1/device:CPU:0",
                                                      "/job:worker/replica:0/task:1/device:TPU:0"});
}

TEST_CASE("tpu documented: master is the grpc path of the first instance") {
  TpuBed bed;
  CHECK(bed.resolved()->master == "grpc://1.2.3.4:8470");
}

TEST_CASE("tpu documented: master of a TPU given by its address is that address") {
  TpuBed bed;
  bed.options.tpu = std::vector<std::string>{"grpc://10.240.1.2:8470"};
  CHECK(bed.resolved()->master == "grpc://10.240.1.2:8470");
}

TEST_CASE("tpu documented: master of a task is its address, by grpc whatever the RPC layer") {
  TpuBed bed;
  CHECK(bed.made().master(cluster::TaskId{"worker", 1}, GoogleWorld::soon()).value() == "grpc://1.2.3.5:8470");
}

TEST_CASE("tpu documented: master of a TPU that doesn't exist is an error (ValueError)") {
  TpuBed bed;
  CHECK(bed.made().master(cluster::TaskId{"worker", 2}, GoogleWorld::soon()).error().code == Code::kNotFound);
  bed.options.tpu = std::vector<std::string>{"another"};
  CHECK(bed.made().master(std::nullopt, GoogleWorld::soon()).error().code == Code::kNotFound);
}

TEST_CASE("tpu documented: num_accelerators is the number of TPU cores per worker") {
  TpuBed bed;
  CHECK(bed.made().num_accelerators(GoogleWorld::soon()).value() == std::map<std::string, int>{{"TPU", 8}});
}

TEST_CASE("tpu documented: num_accelerators retries, and fails where the worker can't be talked to (RuntimeError)") {
  TpuBed bed;
  int asked = 0;
  bed.options.remote_devices = [&](Deadline) -> Result<std::vector<std::string>> {
    ++asked;
    return fail(Code::kDeadlineExceeded, "no answer");
  };
  CHECK(bed.made().num_accelerators(GoogleWorld::soon()).error().code == Code::kFailedPrecondition);
  CHECK(asked == 121);
}

TEST_CASE("tpu documented: num_accelerators verifies that all hosts have the same number (RuntimeError)") {
  TpuBed bed;
  bed.options.remote_devices = [](Deadline) -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"/job:worker/task:0/device:TPU:0", "/job:worker/task:0/device:TPU:1",
                                    "/job:worker/task:1/device:TPU:0"};
  };
  const auto count = bed.made().num_accelerators(GoogleWorld::soon());
  REQUIRE_FALSE(count);
  CHECK(count.error().code == Code::kFailedPrecondition);
  CHECK(count.error().message.find("task 0 has 2 and task 1 has 1") != std::string::npos);
}
