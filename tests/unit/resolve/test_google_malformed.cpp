// SPDX-License-Identifier: Apache-2.0
//
// Mutated answers, credentials, names and variables of Google Cloud: nothing but a value or one line of error comes
// out.
#include <doctest/doctest.h>

#include <random>

#include "../../../lib/resolve/google/credentials_file.hpp"
#include "google_world.hpp"
#include "tfd/resolve/gce.hpp"
#include "tfd/resolve/tpu.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

constexpr unsigned kSeed = 20240607;

std::string mutated(std::mt19937& random, std::string text) {
  for (unsigned i = 1 + random() % 4; i > 0 && !text.empty(); --i) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        text.erase(at, 1 + random() % 9);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 20));
        break;
      default:
        text[at] = "{}[]\",:0-1/x@"[random() % 13];
    }
  }
  return text;
}

template <class T>
bool is_fine(const Result<T>& result) {
  if (result) return true;
  const std::string& message = result.error().message;
  INFO(message);
  return !message.empty() && message.find('\n') == std::string::npos && message.find('\x1b') == std::string::npos &&
         result.error().code != Code::kInternal && result.error().code != Code::kUnknown;
}

}  // namespace

TEST_CASE("google malformed: nodes") {
  std::mt19937 random(kSeed);
  const std::string node =
      R"({"state": "READY", "health": "HEALTHY", "acceleratorType": "v3-16", "multisliceNode": true, "queuedResource": "q",
          "acceleratorConfig": {"type": "V4", "topology": "2x2x2"}, "networkEndpoints": [{"ipAddress": "10.0.0.1",
          "port": 8470}, {"ipAddress": "fd00::1"}], "symptoms": [{"createTime": "2023-11-14T22:13:00.5Z",
          "symptomType": "OUT_OF_MEMORY"}]})";
  int resolved = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutated(random, node);
    CAPTURE(text);
    GoogleWorld world;
    world.put_node("projects/p/locations/z/nodes/t", text);
    world.put_node("projects/p/locations/z/nodes?pageSize=100", mutated(random, "{\"nodes\": [" + node + "]}"));
    const auto tpu =
        make_tpu_resolver({.tpu = {{"t"}}, .zone = "z", .project = "p"}, world.environment, GoogleWorld::soon());
    const auto config = (*tpu)->resolve(GoogleWorld::soon());
    CHECK(is_fine(config));
    CHECK(is_fine((*tpu)->recoverable(GoogleWorld::soon())));
    CHECK(is_fine((*tpu)->system_metadata(GoogleWorld::soon())));
    resolved += config ? 1 : 0;
  }
  CHECK(resolved > 20);
}

TEST_CASE("google malformed: instance groups") {
  std::mt19937 random(kSeed);
  const std::string zone = "https://compute.googleapis.com/compute/v1/projects/p/zones/z/";
  for (int i = 0; i < 2000; ++i) {
    GoogleWorld world;
    const std::string list =
        mutated(random, R"({"items": [{"instance": "x/a", "status": "RUNNING"}, {"instance": "a"}]})");
    CAPTURE(list);
    world.put(zone + "instanceGroups/g/listInstances?orderBy=name", 200, list);
    world.put(zone + "instances/a", 200, mutated(random, R"({"networkInterfaces": [{"networkIP": "10.0.0.1"}]})"));
    GceOptions options;
    options.project = "p";
    options.zone = "z";
    options.instance_group = "g";
    options.port = 1;
    CHECK(is_fine((*make_gce_resolver(options, world.environment))->resolve(GoogleWorld::soon())));
  }
}

TEST_CASE("google malformed: names and variables") {
  std::mt19937 random(kSeed);
  const std::vector<std::pair<std::string, std::string>> variables = {
      {"TPU_NAME", "projects/p/locations/z/nodes/t"},
      {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://10.0.0.1:8470,grpc://[fd00::1]:1,x"},
      {"TPU_CONFIG", R"({"tpu_node_name": "t", "project": "p", "zone": "z"})"},
      {"TPU_WORKER_HOSTNAMES", "a-0-0.s,a-0-1.s"},
      {"TPU_WORKER_ID", "1"},
      {"TPU_PROCESS_ADDRESSES", "a:8476,[fd00::1]:8477"},
      {"TPU_PROCESS_BOUNDS", "1,2,1"},
      {"MEGASCALE_NUM_SLICES", "3"},
      {"MEGASCALE_SLICE_ID", "0"},
      {"TPU_ACCELERATOR_TYPE", "v4-16"}};
  for (int i = 0; i < 5000; ++i) {
    GoogleWorld world;
    for (const auto& [name, value] : variables)
      if (random() % 3 == 0) world.environment.env.set(name, random() % 2 == 0 ? value : mutated(random, value));
    world.put_metadata("instance/attributes/worker-network-endpoints", mutated(random, "a:b:10.0.0.1,a:b:fd00::1"));
    world.put_metadata("instance/attributes/tpu-env", mutated(random, "WORKER_ID: '1'\nMEGASCALE_NUM_SLICES: '2'\n"));
    TpuOptions options{.zone = "z", .project = "p"};
    options.compat = random() % 4 == 0 ? Compat::kTensorflow : Compat::kNone;
    const auto tpu = make_tpu_resolver(options, world.environment, GoogleWorld::soon());
    CHECK(is_fine(tpu));
    if (tpu) CHECK(is_fine((*tpu)->resolve(GoogleWorld::soon())));
  }
}

TEST_CASE("google malformed: credentials, never shown") {
  std::mt19937 random(kSeed);
  const std::string files[] = {
      R"({"type": "service_account", "client_email": "a", "private_key": "hunter2", "token_uri": "https://x.test/"})",
      R"({"type": "authorized_user", "client_id": "i", "client_secret": "hunter2", "refresh_token": "hunter2"})",
      R"({"type": "impersonated_service_account", "service_account_impersonation_url": "https://x.test", "delegates": [1],
          "source_credentials": {"type": "authorized_user", "client_id": "i", "client_secret": "hunter2"}})",
      R"({"type": "external_account", "audience": "a", "subject_token_type": "t", "token_url": "https://x.test",
          "credential_source": {"file": "/f", "format": {"type": "json", "subject_token_field_name": "x"}}})"};
  for (int i = 0; i < 4000; ++i) {
    const auto parsed = google::parse_credentials(Secret(mutated(random, files[random() % 4])), "/key.json");
    CHECK(is_fine(parsed));
    if (!parsed) CHECK(parsed.error().message.find("hunter2") == std::string::npos);
    const auto token =
        google::parse_token(mutated(random, R"({"access_token": "hunter2", "expires_in": 3599})"), "x", {});
    CHECK(is_fine(token));
    if (!token) CHECK(token.error().message.find("hunter2") == std::string::npos);
  }
}
