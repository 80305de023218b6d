// SPDX-License-Identifier: Apache-2.0
//
// Workers of a TPU slice: the variables of GKE and of libtpu, the attributes of a TPU VM, several slices.
#include <doctest/doctest.h>

#include "google_world.hpp"
#include "tfd/cluster/formats.hpp"
#include "tfd/cluster/slices.hpp"
#include "tfd/resolve/tpu.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

using Variables = std::map<std::string, std::string>;

Result<cluster::ClusterConfig> resolve_here(GoogleWorld& world, const Variables& variables) {
  for (const auto& [name, value] : variables) world.environment.env.set(name, value);
  const auto tpu = TFD_TRY(make_tpu_resolver({}, world.environment, GoogleWorld::soon()));
  return tpu->resolve(GoogleWorld::soon());
}

}  // namespace

TEST_CASE("tpu slice: GKE's variables give the workers and this one's index") {
  GoogleWorld world;
  const auto config = resolve_here(world, {{"TPU_WORKER_HOSTNAMES", "t-0.svc,t-1.svc, 10.0.0.7"},
                                           {"TPU_WORKER_ID", "1"},
                                           {"TPU_ACCELERATOR_TYPE", "v5litepod-12"},
                                           {"TPU_TOPOLOGY", "4x3"}});
  CHECK(shown(config) == R"({"worker": ["t-0.svc:8470", "t-1.svc:8470", "10.0.0.7:8470"]} worker:1)");
  CHECK(config->master == "grpc://t-0.svc:8470");
  CHECK(config->num_accelerators == std::map<std::string, int>{{"TPU", 4}});
  CHECK(config->extra == R"({"tpu": {"accelerator_type": "v5litepod-12", "topology": "4x3"}})");
  CHECK(world.requests.empty());
}

TEST_CASE("tpu slice: TPU_PROCESS_ADDRESSES come first; processes of one host get ports of their own") {
  GoogleWorld world;
  CHECK(shown(resolve_here(world, {{"TPU_WORKER_HOSTNAMES", "ignored"},
                                   {"TPU_PROCESS_ADDRESSES", "localhost:8476,localhost:8477,[fd00::2]:8476"},
                                   {"TPU_PROCESS_BOUNDS", "1,3,1"},
                                   {"CLOUD_TPU_TASK_ID", "2"},
                                   {"TPU_WORKER_ID", "0"}})) ==
        R"({"worker": ["localhost:8470", "localhost:8471", "[fd00::2]:8470"]} worker:2)");
}

TEST_CASE("tpu slice: one process alone") {
  GoogleWorld world;
  CHECK(shown(resolve_here(world, {{"TPU_PROCESS_ADDRESSES", "local"}})) ==
        R"({"worker": ["localhost:8470"]} worker:0)");
}

TEST_CASE("tpu slice: several hosts without an id: no task, and why") {
  GoogleWorld world;
  const auto config = resolve_here(world, {{"TPU_WORKER_HOSTNAMES", "a,b"}});
  CHECK(shown(config) == R"({"worker": ["a:8470", "b:8470"]} -)");
  CHECK(config->no_task_reason == "TPU_WORKER_ID is unset");
}

TEST_CASE("tpu slice: a JobSet's names tell the hosts of all slices") {
  GoogleWorld world;
  const auto config = resolve_here(world, {{"TPU_WORKER_HOSTNAMES", "m-slice-1-0.m,m-slice-1-1.m"},
                                           {"TPU_WORKER_ID", "1"},
                                           {"MEGASCALE_NUM_SLICES", "2"},
                                           {"MEGASCALE_SLICE_ID", "1"},
                                           {"MEGASCALE_COORDINATOR_ADDRESS", "m-slice-0-0.m"}});
  CHECK(shown(config) ==
        R"({"worker": ["m-slice-0-0.m:8470", "m-slice-0-1.m:8470", "m-slice-1-0.m:8470", "m-slice-1-1.m:8470"]} )"
        "worker:3");
  CHECK(config->extra ==
        R"({"tpu": {"num_slices": 2, "slice_id": 1, "megascale_coordinator_address": "m-slice-0-0.m"}})");
}

TEST_CASE("tpu slice: hosts of other slices that can't be told are holes, said aloud") {
  GoogleWorld world;
  const auto config = resolve_here(world, {{"TPU_WORKER_HOSTNAMES", "10.0.0.1,10.0.0.2"},
                                           {"TPU_WORKER_ID", "0"},
                                           {"MEGASCALE_NUM_SLICES", "2"},
                                           {"MEGASCALE_SLICE_ID", "1"}});
  CHECK(shown(config) == R"({"worker": {"2": "10.0.0.1:8470", "3": "10.0.0.2:8470"}} worker:2)");
  REQUIRE_FALSE(world.said.empty());
  CHECK(world.said.back() == "slice 1 of 2: the hosts of the others are not known here");
}

TEST_CASE("tpu slice: ranks and the coordinator count over all slices, also where their hosts aren't known") {
  const auto environment = [](int slice, int worker, cluster::Format format) {
    GoogleWorld world;
    const auto config = resolve_here(world, {{"TPU_WORKER_HOSTNAMES", slice == 0 ? "z,v" : "x,y"},
                                             {"TPU_WORKER_ID", std::to_string(worker)},
                                             {"MEGASCALE_NUM_SLICES", "2"},
                                             {"MEGASCALE_SLICE_ID", std::to_string(slice)},
                                             {"MEGASCALE_COORDINATOR_ADDRESS", "z:8080"}});
    REQUIRE(config);
    CHECK(config->master == "grpc://z:8470");
    // A spec that goes through a pipe says the same.
    const auto passed = cluster::cluster_config_from_json(cluster::cluster_config_to_json(*config), "stdin");
    return *cluster::child_environment(*passed, format);
  };
  const Environment jax = environment(1, 1, cluster::Format::kJax);
  CHECK(jax.get("JAX_COORDINATOR_ADDRESS") == "z:8482");
  CHECK(jax.get("JAX_NUM_PROCESSES") == "4");
  CHECK(jax.get("JAX_PROCESS_ID") == "3");
  const Environment first = environment(0, 0, cluster::Format::kJax);
  CHECK(first.get("JAX_COORDINATOR_ADDRESS") == "z:8482");
  CHECK(first.get("JAX_NUM_PROCESSES") == "4");
  CHECK(first.get("JAX_PROCESS_ID") == "0");
  const Environment torch = environment(1, 0, cluster::Format::kPytorch);
  CHECK(torch.get("MASTER_ADDR") == "z");
  CHECK(torch.get("RANK") == "2");
  CHECK(torch.get("WORLD_SIZE") == "4");
  CHECK(torch.get("LOCAL_RANK") == "0");
  CHECK(torch.get("GROUP_RANK") == "2");
  CHECK(torch.get("GROUP_WORLD_SIZE") == "4");
  CHECK(environment(1, 1, cluster::Format::kTorchrun).get("PET_NODE_RANK") == "3");
}

TEST_CASE("tpu slice: without the coordinator's address there are no ranks, and a training says what to do") {
  GoogleWorld world;
  const auto config = resolve_here(world, {{"TPU_WORKER_HOSTNAMES", "x,y"},
                                           {"TPU_WORKER_ID", "1"},
                                           {"MEGASCALE_NUM_SLICES", "2"},
                                           {"MEGASCALE_SLICE_ID", "1"}});
  REQUIRE(config);
  CHECK(cluster::child_environment(*config, cluster::Format::kJax).error().message ==
        "this is slice 1 of 2, and nothing says where the first one is: MEGASCALE_COORDINATOR_ADDRESS is unset");
  const auto checked = cluster::check_slices(*config);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == Code::kFailedPrecondition);
  CHECK(checked.error().message ==
        "this is slice 1 of 2 TPU slices, and the hosts of the others are not known here: on each of the 4 hosts, "
        "tfd-launch --rendezvous HOST:PORT --nnodes 4 -- tfd-run … trains in all of them as one");
}

TEST_CASE("tpu slice: a TPU VM's attributes") {
  GoogleWorld world;
  world.put_metadata("instance/attributes/worker-network-endpoints",
                     "unknown:unknown:10.0.0.11,unknown:unknown:10.0.0.12,unknown:unknown:fd00::13");
  world.put_metadata("instance/attributes/agent-worker-number", "2\n");
  world.put_metadata("instance/attributes/tpu-env",
                     "ACCELERATOR_TYPE: 'v4-24'\nTOPOLOGY: '2x2x3'\nnonsense\nWORKER_ID: '7'\nALT: ''\n");
  const auto config = resolve_here(world, {});
  CHECK(shown(config) == R"({"worker": ["10.0.0.11:8470", "10.0.0.12:8470", "[fd00::13]:8470"]} worker:2)");
  CHECK(config->num_accelerators == std::map<std::string, int>{{"TPU", 4}});  // 12 chips, taken as one device each
  CHECK(config->extra == R"({"tpu": {"accelerator_type": "v4-24", "topology": "2x2x3"}})");
}

TEST_CASE("tpu slice: several slices by tpu-env, the worker number too") {
  GoogleWorld world;
  world.put_metadata("instance/attributes/worker-network-endpoints", "a:b:10.0.0.11,a:b:10.0.0.12");
  world.put_metadata("instance/attributes/tpu-env",
                     "WORKER_ID: '1'\nMEGASCALE_NUM_SLICES: '3'\nMEGASCALE_SLICE_ID: '2'\n");
  CHECK(shown(resolve_here(world, {})) == R"({"worker": {"4": "10.0.0.11:8470", "5": "10.0.0.12:8470"}} worker:5)");
}

TEST_CASE("tpu slice: what doesn't fit is named") {
  struct Case {
    Variables variables;
    const char* says;
  };
  const Case cases[] = {
      {{{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "2"}}, "worker 2 is not in a slice of 2 hosts"},
      {{{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "x"}}, "TPU_WORKER_ID"},
      {{{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "-1"}}, "TPU_WORKER_ID"},
      {{{"TPU_WORKER_HOSTNAMES", "a,,b"}}, "TPU_WORKER_HOSTNAMES, entry 1: an empty host"},
      {{{"TPU_WORKER_HOSTNAMES", "a b"}}, "TPU_WORKER_HOSTNAMES, entry 0"},
      {{{"TPU_PROCESS_ADDRESSES", "a:1,b:1"}, {"TPU_PROCESS_BOUNDS", "1,1,1"}},
       "TPU_PROCESS_BOUNDS=1,1,1 are 1 processes, but TPU_PROCESS_ADDRESSES has 2"},
      {{{"TPU_PROCESS_ADDRESSES", "a:1"}, {"TPU_PROCESS_BOUNDS", "x"}}, "TPU_PROCESS_BOUNDS"},
      {{{"TPU_WORKER_HOSTNAMES", "a"}, {"MEGASCALE_NUM_SLICES", "2"}}, "MEGASCALE_SLICE_ID is unset"},
      {{{"TPU_WORKER_HOSTNAMES", "a"}, {"MEGASCALE_NUM_SLICES", "2"}, {"MEGASCALE_SLICE_ID", "2"}},
       "MEGASCALE_SLICE_ID=2 is not below MEGASCALE_NUM_SLICES=2"},
      {{{"TPU_WORKER_HOSTNAMES", "a"}, {"MEGASCALE_NUM_SLICES", "99999999999"}}, "MEGASCALE_NUM_SLICES"}};
  for (const Case& each : cases) {
    GoogleWorld world;
    const auto config = resolve_here(world, each.variables);
    REQUIRE_FALSE(config);
    CAPTURE(config.error().message);
    CHECK(config.error().code == Code::kInvalidArgument);
    CHECK(config.error().message.find(each.says) != std::string::npos);
  }
}
