// SPDX-License-Identifier: Apache-2.0
//
// The Kubernetes resolver against a world with an API in it: lists, waits, watches, errors.
#include <doctest/doctest.h>

#include "kube_world.hpp"
#include "selectors.hpp"

using namespace tfd;
using namespace tfd::resolve;
using namespace std::chrono_literals;

namespace {

using Texts = std::vector<std::string>;

KubernetesOptions workers_of(const std::string& selector = "job-name=a") {
  KubernetesOptions options;
  options.selectors = {{"worker", {selector}}};
  return options;
}

std::unique_ptr<Resolver> made(KubeWorld& world, KubernetesOptions options) {
  auto resolver = make_kubernetes_resolver(std::move(options), world.environment);
  REQUIRE_MESSAGE(resolver, (resolver ? "" : resolver.error().message));
  return std::move(*resolver);
}

Result<cluster::ClusterConfig> resolve_in(KubeWorld& world, KubernetesOptions options) {
  return made(world, std::move(options))->resolve(KubeWorld::soon());
}

Texts addresses(const Result<cluster::ClusterConfig>& config, const std::string& job = "worker") {
  REQUIRE_MESSAGE(config, (config ? "" : config.error().message));
  Texts out;
  for (const auto& [index, address] : *config->cluster.find_job(job)) out.push_back(address);
  return out;
}

std::string owned_by(const std::string& kind, const std::string& name) {
  return fmt::format(R"(, "ownerReferences": [{{"kind": "{0}", "name": "{1}", "uid": "uid-{1}", "controller": true}}])",
                     kind, name);
}

FakePod indexed(const std::string& name, int index, const std::string& ip, const std::string& job = "a") {
  FakePod pod{.name = name, .ip = ip};
  pod.labels = {{"job-name", job}, {"batch.kubernetes.io/job-completion-index", std::to_string(index)}};
  pod.more_metadata = owned_by("Job", job);
  pod.more_spec = fmt::format(R"(, "hostname": "{}-{}")", job, index);
  return pod;
}

std::string job_object(int completions, int parallelism, const std::string& mode = "Indexed") {
  return fmt::format(R"({{"kind": "Job", "spec": {{"completions": {}, "parallelism": {}, "completionMode": "{}"}}}})",
                     completions, parallelism, mode);
}
constexpr const char* kJobPath = "/apis/batch/v1/namespaces/mine/jobs/a";

}  // namespace

TEST_CASE("kubernetes: pods without an index go by name, their IPs are the addresses") {
  KubeWorld world;
  world.put({.name = "b", .ip = "10.0.0.2"});
  world.put({.name = "a", .ip = "10.0.0.1"});
  world.put({.name = "c", .ip = "fd00::3"});
  world.put({.name = "other", .labels = {{"job-name", "b"}}});
  const auto config = resolve_in(world, workers_of());
  CHECK(addresses(config) == Texts{"10.0.0.1:8470", "10.0.0.2:8470", "[fd00::3]:8470"});
  CHECK(config->rpc_layer == "grpc");
  CHECK(config->resolver == "kubernetes");
  CHECK(!config->task);
  CHECK(!config->no_task_reason.empty());
  REQUIRE(world.requests.size() == 1);
  CHECK(world.requests[0].url == "https://api.test:6443/api/v1/pods?labelSelector=job-name%3Da&limit=500");
  CHECK(world.requests[0].bearer->reveal() == "tok");
  CHECK(world.requests[0].tls->ca_pem == "CA");
  CHECK(world.requests[0].tls->verify);
}

TEST_CASE("kubernetes: indices order as numbers, the newest live pod of each counts, ended ones don't") {
  KubeWorld world;
  for (int i = 0; i < 12; ++i) world.put(indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i)));
  world.objects[kJobPath] = job_object(12, 12);
  FakePod newer = indexed("a-3-newer", 3, "10.0.1.3");
  newer.created = "2026-02-01T00:00:00Z";
  world.put(newer);
  FakePod terminating = indexed("a-4-dying", 4, "10.0.1.4");
  terminating.created = "2026-03-01T00:00:00Z";
  terminating.more_metadata += R"(, "deletionTimestamp": "2026-03-01T00:01:00Z")";
  world.put(terminating);
  FakePod failed = indexed("a-5-failed", 5, "10.0.1.5");
  failed.created = "2026-03-01T00:00:00Z";
  failed.phase = "Failed";
  world.put(failed);
  Texts expected;
  for (int i = 0; i < 12; ++i) expected.push_back(fmt::format("10.0.{}.{}:8470", i == 3 ? 1 : 0, i));
  CHECK(addresses(resolve_in(world, workers_of())) == expected);
}

TEST_CASE("kubernetes: StatefulSet ordinals order as numbers, by label or by name, from their start on") {
  KubeWorld world;
  for (int i = 8; i < 12; ++i) {
    FakePod pod{.name = fmt::format("db-{}", i), .ip = fmt::format("10.0.0.{}", i)};
    if (i == 9) pod.labels["apps.kubernetes.io/pod-index"] = "9";
    pod.more_metadata = owned_by("StatefulSet", "db");
    world.put(pod);
  }
  world.objects["/apis/apps/v1/namespaces/mine/statefulsets/db"] =
      R"({"spec": {"replicas": 4, "ordinals": {"start": 8}}})";
  CHECK(addresses(resolve_in(world, workers_of())) ==
        Texts{"10.0.0.8:8470", "10.0.0.9:8470", "10.0.0.10:8470", "10.0.0.11:8470"});
}

TEST_CASE("kubernetes: the pods of a JobSet go by Job and completion index") {
  KubeWorld world;
  const auto put = [&](const std::string& replicated, int job, int global, int index) {
    FakePod pod = indexed(fmt::format("s-{}-{}-{}", replicated, job, index), index,
                          fmt::format("10.{}.0.{}", global, index), fmt::format("s-{}-{}", replicated, job));
    pod.labels["jobset.sigs.k8s.io/jobset-name"] = "s";
    pod.labels["jobset.sigs.k8s.io/replicatedjob-name"] = replicated;
    pod.labels["jobset.sigs.k8s.io/replicatedjob-replicas"] = "2";
    pod.labels["jobset.sigs.k8s.io/job-index"] = std::to_string(job);
    pod.labels["jobset.sigs.k8s.io/job-global-index"] = std::to_string(global);
    world.put(pod);
    world.objects[fmt::format("/apis/batch/v1/namespaces/mine/jobs/s-{}-{}", replicated, job)] = job_object(2, 2);
  };
  put("workers", 1, 1, 1);
  put("workers", 1, 1, 0);
  put("workers", 0, 0, 1);
  CHECK(says(resolve_in(world, workers_of("jobset.sigs.k8s.io/jobset-name=s")).error().message, "s-workers-0"));
  put("workers", 0, 0, 0);
  CHECK(addresses(resolve_in(world, workers_of("jobset.sigs.k8s.io/jobset-name=s"))) ==
        Texts{"10.0.0.0:8470", "10.0.0.1:8470", "10.1.0.0:8470", "10.1.0.1:8470"});
}

TEST_CASE("kubernetes: a Job of a JobSet that has no pod yet is missed") {
  KubeWorld world;
  FakePod pod = indexed("s-w-0-0", 0, "10.0.0.1", "s-w-0");
  pod.labels = {{"jobset.sigs.k8s.io/jobset-name", "s"},
                {"jobset.sigs.k8s.io/replicatedjob-name", "w"},
                {"jobset.sigs.k8s.io/replicatedjob-replicas", "3"},
                {"jobset.sigs.k8s.io/job-index", "0"},
                {"batch.kubernetes.io/job-completion-index", "0"}};
  world.put(pod);
  const auto config = resolve_in(world, workers_of("jobset.sigs.k8s.io/jobset-name=s"));
  REQUIRE(!config);
  CHECK(config.error().code == Code::kFailedPrecondition);
  says(config.error().message, "worker: 1 of 3 Jobs of JobSet s/w have pods");
}

TEST_CASE("kubernetes: a pending pod is named with its phase and the reason") {
  KubeWorld world;
  world.put({.name = "a-0", .ip = "10.0.0.1"});
  world.put({.name = "a-1",
             .phase = "Pending",
             .ip = "",
             .more_status =
                 R"(, "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "m"}}}])"});
  const auto config = resolve_in(world, workers_of());
  REQUIRE(!config);
  CHECK(config.error().code == Code::kFailedPrecondition);
  says(config.error().message, "worker: pod a-1 is Pending (ImagePullBackOff)");
  says(config.error().message, "--wait");
}

TEST_CASE("kubernetes: a pod that can't be scheduled is named with the scheduler's words") {
  KubeWorld world;
  world.put({.name = "a-1",
             .phase = "Pending",
             .ip = "",
             .more_status = R"(, "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                 "message": "0/3 nodes are available"}])"});
  says(resolve_in(world, workers_of()).error().message, "pod a-1 is Pending (Unschedulable: 0/3 nodes are available)");
}

TEST_CASE("kubernetes: a running pod without an address isn't a task yet") {
  KubeWorld world;
  world.put({.name = "a-1", .ip = ""});
  says(resolve_in(world, workers_of()).error().message, "pod a-1 has no address yet");
}

TEST_CASE("kubernetes: no pod at all is an error that names the selector") {
  KubeWorld world;
  const auto config = resolve_in(world, workers_of("job-name=nobody"));
  REQUIRE(!config);
  CHECK(config.error().code == Code::kFailedPrecondition);
  says(config.error().message, "no pod matches job-name=nobody");
}

TEST_CASE("kubernetes: --jobs says how many there are to be, and both numbers are named") {
  KubeWorld world;
  world.put({.name = "a-0"});
  world.put({.name = "a-1", .ip = "10.0.0.2"});
  KubernetesOptions options = workers_of();
  options.jobs = {{"worker", 3}};
  const auto config = resolve_in(world, options);
  REQUIRE(!config);
  CHECK(config.error().code == Code::kFailedPrecondition);
  says(config.error().message, "worker: 2 pods found, 3 expected");
  options.jobs = {{"worker", 1}};
  says(resolve_in(world, options).error().message, "2 pods found, 1 expected");
  options.jobs = {{"worker", 2}};
  CHECK(addresses(resolve_in(world, options)).size() == 2);
}

TEST_CASE("kubernetes: --jobs for a job without a selector is refused") {
  KubeWorld world;
  KubernetesOptions options = workers_of();
  options.jobs = {{"ps", 1}};
  const auto resolver = make_kubernetes_resolver(options, world.environment);
  REQUIRE(!resolver);
  CHECK(resolver.error().code == Code::kInvalidArgument);
  says(resolver.error().message, "no selector for job 'ps'");
}

TEST_CASE("kubernetes: the Job's completions say how many there are to be") {
  KubeWorld world;
  world.objects[kJobPath] = job_object(4, 4);
  for (int i : {0, 1, 3}) world.put(indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i)));
  auto config = resolve_in(world, workers_of());
  REQUIRE(!config);
  says(config.error().message, "3 of 4 pods of Job a exist, missing index 2");
  FakePod gone = indexed("a-2-x", 2, "10.0.0.2");
  gone.phase = "Succeeded";
  world.put(gone);
  says(resolve_in(world, workers_of()).error().message, "index 2 (pod a-2-x has Succeeded)");
}

TEST_CASE("kubernetes: a Job that doesn't run all of its indices at once is no cluster") {
  KubeWorld world;
  world.objects[kJobPath] = job_object(4, 2);
  for (int i : {0, 1}) world.put(indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i)));
  KubernetesOptions options = workers_of();
  options.wait = 20s;  // waiting doesn't help: it fails at once
  says(resolve_in(world, options).error().message, "Job a runs only 2 of its 4 pods at a time");
  options.jobs = {{"worker", 2}};
  CHECK(addresses(resolve_in(world, options)).size() == 2);
}

TEST_CASE("kubernetes: where Jobs may not be read, a hole in the indices still shows") {
  KubeWorld world;
  for (int i : {0, 2}) world.put(indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i)));
  says(resolve_in(world, workers_of()).error().message, "2 of 3 pods of Job a exist, missing index 1");
  says(world.log, "--jobs");
}

TEST_CASE("kubernetes: an index of a billion costs nothing") {
  KubeWorld world;
  world.put(indexed("a-0-x", 0, "10.0.0.1"));
  world.put(indexed("a-1-x", 999'999'999, "10.0.0.2"));
  says(resolve_in(world, workers_of()).error().message, "999999993 more");
}

TEST_CASE("kubernetes: several selectors of a job are taken in order, a pod of two of them once") {
  KubeWorld world;
  world.put({.name = "a", .ip = "10.0.0.1", .labels = {{"job-name", "z"}, {"zone", "1"}}});
  world.put({.name = "b", .ip = "10.0.0.2", .labels = {{"job-name", "y"}}});
  world.put({.name = "c", .ip = "10.0.0.3", .labels = {{"job-name", "x"}, {"zone", "1"}}});
  KubernetesOptions options;
  options.selectors = {{"worker", {"job-name=y", "zone=1", "job-name=z"}}, {"ps", {"job-name=x"}}};
  const auto config = resolve_in(world, options);
  // The pod that is c is a worker and a ps, which no port can be.
  REQUIRE(!config);
  says(config.error().message, "10.0.0.3:8470");
  options.selectors.pop_back();
  options.selectors[0].second.pop_back();
  CHECK(addresses(resolve_in(world, options)) == Texts{"10.0.0.2:8470", "10.0.0.1:8470", "10.0.0.3:8470"});
}

TEST_CASE("kubernetes: addresses are the pod's IP, the host's IP or the pod's name in DNS") {
  KubeWorld world;
  world.put({.name = "a-0", .more_spec = R"(, "hostname": "a-0", "subdomain": "svc")"});
  KubernetesOptions options = workers_of();
  options.port = 2222;
  CHECK(addresses(resolve_in(world, options)) == Texts{"10.0.0.1:2222"});
  options.address = PodAddress::kHostIp;
  CHECK(addresses(resolve_in(world, options)) == Texts{"192.168.0.1:2222"});
  options.address = PodAddress::kHostname;
  CHECK(addresses(resolve_in(world, options)) == Texts{"a-0.svc.mine.svc:2222"});
  world.put({.name = "a-0", .more_spec = R"(, "hostname": "a-0")"});
  const auto config = resolve_in(world, options);
  REQUIRE(!config);
  CHECK(config.error().code == Code::kFailedPrecondition);
  says(config.error().message, "no subdomain");
}

TEST_CASE("kubernetes: a namespace is asked for alone, and pods of several are worth a word") {
  KubeWorld world;
  world.put({.name = "a", .ip = "10.0.0.1"});
  world.put({.name = "b", .ip = "10.0.0.2", .namespace_ = "theirs"});
  CHECK(addresses(resolve_in(world, workers_of())).size() == 2);
  says(world.log, "several namespaces (mine and theirs)");
  KubernetesOptions options = workers_of();
  options.namespace_ = "theirs";
  CHECK(addresses(resolve_in(world, options)) == Texts{"10.0.0.2:8470"});
  says(world.requests.back().url, "/api/v1/namespaces/theirs/pods?labelSelector=");
}

TEST_CASE("kubernetes: in a pod the task is the one of this pod") {
  KubeWorld world;
  world.objects[kJobPath] = job_object(3, 3);
  for (int i = 0; i < 3; ++i) world.put(indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i)));
  world.environment.env.set("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  Environment& env = world.environment.env;

  SUBCASE("an Indexed Job's pod, by its hostname") {
    env.set("HOSTNAME", "a-2");
    env.set("JOB_COMPLETION_INDEX", "2");
    const auto config = resolve_in(world, workers_of());
    CHECK(config->task == cluster::TaskId{"worker", 2});
    CHECK(config->master == "grpc://10.0.0.2:8470");
  }
  SUBCASE("by the pod's name") {
    env.set("HOSTNAME", "a-1-x");
    CHECK(resolve_in(world, workers_of())->task == cluster::TaskId{"worker", 1});
  }
  SUBCASE("by POD_NAME, whatever the hostname") {
    env.set("HOSTNAME", "node7.example.org");
    env.set("POD_NAME", "a-1-x");
    CHECK(resolve_in(world, workers_of())->task == cluster::TaskId{"worker", 1});
  }
  SUBCASE("--task wins") {
    env.set("HOSTNAME", "a-2");
    KubernetesOptions options = workers_of();
    options.task = cluster::TaskId{"worker", 0};
    CHECK(resolve_in(world, options)->task == cluster::TaskId{"worker", 0});
  }
  SUBCASE("another Job's pod has none, whatever its completion index") {
    env.set("HOSTNAME", "chief-0");
    env.set("JOB_COMPLETION_INDEX", "0");
    const auto config = resolve_in(world, workers_of());
    CHECK(!config->task);
    says(config->no_task_reason, "chief-0, is not in the cluster");
  }
  SUBCASE("a replaced pod has none and is told so") {
    FakePod newer = indexed("a-2-newer", 2, "10.0.1.2");
    newer.created = "2026-02-01T00:00:00Z";
    world.put(newer);
    env.set("POD_NAME", "a-2-x");
    says(resolve_in(world, workers_of())->no_task_reason, "replaced by a newer one");
  }
  SUBCASE("on the host's network, by node and completion index") {
    for (int i = 0; i < 3; ++i) {
      FakePod pod = indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i));
      pod.more_spec += R"(, "hostNetwork": true)";
      world.put(pod);
    }
    env.set("HOSTNAME", "n1");
    env.set("JOB_COMPLETION_INDEX", "1");
    CHECK(resolve_in(world, workers_of())->task == cluster::TaskId{"worker", 1});
  }
}

TEST_CASE("kubernetes: lists come in pages of 500") {
  KubeWorld world;
  for (int i = 0; i < 1234; ++i)
    world.put({.name = fmt::format("p{:04}", i), .ip = fmt::format("10.0.{}.{}", i / 250, i % 250)});
  const auto list = addresses(resolve_in(world, workers_of()));
  REQUIRE(list.size() == 1234);
  CHECK(list[1233] == "10.0.4.233:8470");
  REQUIRE(world.requests.size() == 3);
  says(world.requests[2].url, "&limit=500&continue=p0999");
}

TEST_CASE("kubernetes: a list that grew too old between two pages is read again") {
  KubeWorld world;
  for (int i = 0; i < 600; ++i)
    world.put({.name = fmt::format("p{:04}", i), .ip = fmt::format("10.0.{}.{}", i / 250, i % 250)});
  const auto resolver = made(world, workers_of());
  int asked = 0;
  std::function<Result<Response>(const Request&)> real;
  world.instead.push_back([&](const Request&) -> Result<Response> {
    ++asked;
    return KubeWorld::answer(200, R"({"kind": "PodList", "metadata": {"continue": "p0499"}, "items": []})");
  });
  world.instead.push_back([&](const Request& request) -> Result<Response> {
    ++asked;
    CHECK(request.url.find("continue=p0499") != std::string::npos);
    return KubeWorld::answer(410, KubeWorld::status_object(410, "Expired", "the continue token is too old"));
  });
  CHECK(addresses(resolver->resolve(KubeWorld::soon())).size() == 600);
  CHECK(asked == 2);
}

TEST_CASE("kubernetes: --wait waits until all pods have started, and asks the API once") {
  KubeWorld world;
  world.objects[kJobPath] = job_object(3, 3);
  for (int i = 0; i < 3; ++i) {
    const FakePod running = indexed(fmt::format("a-{}-x", i), i, fmt::format("10.0.0.{}", i));
    FakePod pending = running;
    pending.phase = "Pending";
    pending.ip = "";
    world.meanwhile.push_back([&world, pending] { world.put(pending); });
    world.meanwhile.push_back([&world, running] { world.put(running); });
  }
  KubernetesOptions options = workers_of();
  options.wait = 20s;
  CHECK(addresses(resolve_in(world, options)) == Texts{"10.0.0.0:8470", "10.0.0.1:8470", "10.0.0.2:8470"});
  int lists = 0;
  for (const Request& request : world.requests)
    lists += request.url.find("/pods?") != std::string::npos && request.url.find("watch=true") == std::string::npos;
  CHECK(lists == 1);
}

TEST_CASE("kubernetes: a wait that is too long names the pods it waits for") {
  KubeWorld world;
  world.put({.name = "a-0"});
  world.put({.name = "a-1", .phase = "Pending", .ip = ""});
  KubernetesOptions options = workers_of();
  options.wait = 30ms;
  const auto config = resolve_in(world, options);
  REQUIRE(!config);
  CHECK(config.error().code == Code::kDeadlineExceeded);
  says(config.error().message, "after 30ms: worker: pod a-1 is Pending");
}

TEST_CASE("kubernetes: pods of several selectors are waited for together") {
  KubeWorld world;
  KubernetesOptions options;
  options.selectors = {{"worker", {"job-name=a"}}, {"ps", {"job-name=b"}}};
  options.jobs = {{"worker", 1}, {"ps", 1}};
  options.wait = 20s;
  world.meanwhile.push_back([&] { world.put({.name = "b", .ip = "10.0.0.2", .labels = {{"job-name", "b"}}}); });
  world.meanwhile.push_back([&] { world.put({.name = "a"}); });
  const auto config = resolve_in(world, options);
  CHECK(addresses(config, "worker") == Texts{"10.0.0.1:8470"});
  CHECK(addresses(config, "ps") == Texts{"10.0.0.2:8470"});
}

TEST_CASE("kubernetes: selectors that no one request can serve are watched in turns") {
  KubeWorld world;
  KubernetesOptions options;
  options.selectors = {{"worker", {"job-name=a"}}, {"ps", {"role=ps"}}};
  options.wait = 20s;
  world.meanwhile.push_back([&] { world.put({.name = "a"}); });
  world.meanwhile.push_back([&] { world.put({.name = "b", .ip = "10.0.0.2", .labels = {{"role", "ps"}}}); });
  const auto config = resolve_in(world, options);
  CHECK(addresses(config, "worker") == Texts{"10.0.0.1:8470"});
  CHECK(addresses(config, "ps") == Texts{"10.0.0.2:8470"});
}

TEST_CASE("kubernetes: selectors that differ in one value are one request") {
  using namespace kubernetes;
  const auto sent = [](const std::vector<std::string>& selectors) {
    Texts out;
    for (const Joint& request : join_selectors(selectors).requests) out.push_back(request.selector);
    return out;
  };
  CHECK(sent({"a=b"}) == Texts{"a=b"});
  CHECK(sent({"a=b", "a=c", "a==d"}) == Texts{"a in (b,c,d)"});
  CHECK(sent({"x=1,a=b", "a=c,x=1"}) == Texts{"a in (b,c),x=1"});
  CHECK(sent({"a=b,x=1", "a=c,x=2"}) == Texts{"a=b,x=1", "a=c,x=2"});
  CHECK(sent({"a=b", "x=b", "a=c"}) == Texts{"a in (b,c)", "x=b"});
  CHECK(sent({"a=b", "a=b"}) == Texts{"a=b", "a=b"});
  CHECK(sent({"a in (b)", "a=c", "!a", "a!=c", "a=b=c", "a=", "a=d"}) ==
        Texts{"a in (b)", "a in (c,d)", "!a", "a!=c", "a=b=c", "a="});
  KubeWorld world;
  world.put({.name = "a"});
  world.put({.name = "b", .ip = "10.0.0.2", .labels = {{"job-name", "b"}}});
  KubernetesOptions options;
  options.selectors = {{"worker", {"job-name=b"}}, {"ps", {"job-name=a"}}};
  const auto config = resolve_in(world, options);
  CHECK(addresses(config, "worker") == Texts{"10.0.0.2:8470"});
  CHECK(addresses(config, "ps") == Texts{"10.0.0.1:8470"});
  REQUIRE(world.requests.size() == 1);
  says(world.requests[0].url, "labelSelector=job-name%20in%20%28a%2Cb%29");
}

TEST_CASE("kubernetes: who waits for pods waits for the API server too") {
  KubeWorld world;
  world.put({.name = "a-0"});
  for (int i = 0; i < 12; ++i)
    world.instead.push_back([](const Request&) -> Result<Response> { return fail(Code::kUnavailable, "refused"); });
  KubernetesOptions options = workers_of();
  options.wait = 20s;
  CHECK(addresses(resolve_in(world, options)).size() == 1);
}

TEST_CASE("kubernetes: wait_change tells every change of the answer and nothing else") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(addresses(resolver->resolve(KubeWorld::soon())).size() == 1);
  CHECK(resolver->wait_change(Deadline::after(20ms)) == false);

  world.meanwhile.push_back([&] { world.put({.name = "x", .labels = {{"job-name", "b"}}}); });              // another's
  world.meanwhile.push_back([&] { world.put({.name = "a-0", .more_metadata = R"(, "generation": 2)"}); });  // the same
  world.meanwhile.push_back([&] { world.put({.name = "a-1", .phase = "Pending", .ip = ""}); });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(!resolver->resolve(KubeWorld::soon()));
  world.meanwhile.push_back([&] { world.put({.name = "a-1", .ip = "10.0.0.2"}); });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(addresses(resolver->resolve(KubeWorld::soon())).size() == 2);
  world.meanwhile.push_back([&] { world.erase("a-0"); });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(addresses(resolver->resolve(KubeWorld::soon())) == Texts{"10.0.0.2:8470"});
  CHECK(world.meanwhile.empty());
}

TEST_CASE("kubernetes: a change between the list and the watch isn't missed") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(resolver->resolve(KubeWorld::soon()));
  world.put({.name = "a-1", .ip = "10.0.0.2"});  // nobody watches now
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(addresses(resolver->resolve(KubeWorld::soon())).size() == 2);
}

TEST_CASE("kubernetes: a resource version that is too old means listing again") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(resolver->resolve(KubeWorld::soon()));
  world.put({.name = "a-1", .ip = "10.0.0.2"});
  world.compact();
  SUBCASE("said by an event") {}
  SUBCASE("said by the status") {
    world.instead.push_back([](const Request&) -> Result<Response> {
      return KubeWorld::answer(410, KubeWorld::status_object(410, "Expired", "too old resource version"));
    });
  }
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(addresses(resolver->resolve(KubeWorld::soon())).size() == 2);
  says(world.log, "too old");
}

TEST_CASE("kubernetes: a server whose past was lost is listed again") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(resolver->resolve(KubeWorld::soon()));
  world.put({.name = "a-1", .ip = "10.0.0.2"});
  world.instead.push_back([](const Request&) -> Result<Response> {
    return KubeWorld::answer(504,
                             KubeWorld::status_object(504, "Timeout", "Too large resource version: 200, current: 5"));
  });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(world.pauses == 0);
}

TEST_CASE("kubernetes: cut connections, refusals and 5xx are survived with pauses") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(resolver->resolve(KubeWorld::soon()));
  for (int i = 0; i < 3; ++i)
    world.instead.push_back([](const Request&) -> Result<Response> { return fail(Code::kUnavailable, "cut off"); });
  world.instead.push_back([](const Request&) -> Result<Response> { return KubeWorld::answer(503, "no"); });
  world.instead.push_back([](const Request&) -> Result<Response> { return KubeWorld::answer(429, "too many"); });
  for (int i = 0; i < 5; ++i) world.meanwhile.push_back([] {});  // the pauses
  world.meanwhile.push_back([&] { world.put({.name = "a-1", .ip = "10.0.0.2"}); });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(world.pauses >= 5);
  CHECK(addresses(resolver->resolve(KubeWorld::soon())).size() == 2);
  says(world.log, "watching again");
}

TEST_CASE("kubernetes: bookmarks move the watch on, garbled lines end only the connection") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(resolver->resolve(KubeWorld::soon()));
  world.watch_lines.push_back("{\"type\": \"BOOKMARK\", \"object\": {\"metadata\": {\"resourceVersion\": \"170\"}}}\n");
  world.watch_lines.push_back("{\"type\": \"ADDED\", \"obj\n");
  world.meanwhile.push_back([&] {
    world.version = 200;
    world.put({.name = "a-1", .ip = "10.0.0.2"});
  });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  says(world.requests.back().url, "resourceVersion=170");
}

TEST_CASE("kubernetes: where watching isn't allowed it is listed again instead") {
  KubeWorld world;
  world.put({.name = "a-0"});
  const auto resolver = made(world, workers_of());
  CHECK(resolver->resolve(KubeWorld::soon()));
  world.instead.push_back([](const Request&) -> Result<Response> {
    return KubeWorld::answer(403, KubeWorld::status_object(403, "Forbidden", "cannot watch resource pods"));
  });
  world.meanwhile.push_back([] {});
  world.meanwhile.push_back([&] { world.put({.name = "a-1", .ip = "10.0.0.2"}); });
  CHECK(resolver->wait_change(KubeWorld::soon()) == true);
  CHECK(world.pauses == 2);
  says(world.log, "listing them every 5s instead");
}

TEST_CASE("kubernetes: 401 names what was refused and never shows it") {
  KubeWorld world;
  world.instead.push_back([](const Request&) -> Result<Response> {
    return KubeWorld::answer(401, KubeWorld::status_object(401, "Unauthorized", "Unauthorized"));
  });
  const auto config = resolve_in(world, workers_of());
  REQUIRE(!config);
  CHECK(config.error().code == Code::kPermissionDenied);
  says(config.error().message, "401, its token is refused");
  says(config.error().message, "context 'x' of /home/u/.kube/config");
  CHECK(config.error().message.find("tok ") == std::string::npos);
}

TEST_CASE("kubernetes: 403 says what the server said and which right would help") {
  KubeWorld world;
  world.instead.push_back([](const Request&) -> Result<Response> {
    return KubeWorld::answer(403, KubeWorld::status_object(403, "Forbidden", "pods is forbidden: User u cannot list"));
  });
  const auto config = resolve_in(world, workers_of());
  REQUIRE(!config);
  CHECK(config.error().code == Code::kPermissionDenied);
  says(config.error().message,
       "not allowed to list pods of job-name=a in all namespaces: pods is forbidden: User u cannot list");
  says(config.error().message, "hint: a Role or ClusterRole must let context 'x'");
  says(config.error().message, "--namespace mine");
}

TEST_CASE("kubernetes: a selector that the server doesn't understand is its words") {
  KubeWorld world;
  world.instead.push_back([](const Request&) -> Result<Response> {
    return KubeWorld::answer(400, KubeWorld::status_object(400, "BadRequest", "unable to parse requirement"));
  });
  const auto config = resolve_in(world, workers_of("a==b==c"));
  REQUIRE(!config);
  CHECK(config.error().code == Code::kInvalidArgument);
  says(config.error().message, "unable to parse requirement");
}

TEST_CASE("kubernetes: an authority that isn't the server's is named") {
  KubeWorld world;
  world.instead.push_back([](const Request&) -> Result<Response> {
    return fail(Code::kPermissionDenied,
                "GET https://api.test:6443/api/v1/pods: unable to get local issuer certificate");
  });
  const auto config = resolve_in(world, workers_of());
  REQUIRE(!config);
  says(config.error().message, "local issuer");
  says(config.error().message,
       "hint: context 'x' of /home/u/.kube/config is to be verified by certificate-authority-data");
}

TEST_CASE("kubernetes: answers that aren't lists of pods are errors") {
  for (const char* body : {"", "<html>", "[]", "{}", R"({"kind": "Status"})", R"({"items": {}})",
                           R"({"kind": "ServiceList", "items": []})"}) {
    CAPTURE(body);
    KubeWorld world;
    world.instead.push_back([&](const Request&) -> Result<Response> { return KubeWorld::answer(200, body); });
    const auto config = resolve_in(world, workers_of());
    REQUIRE(!config);
    CHECK(config.error().code == Code::kDataLoss);
  }
}

TEST_CASE("kubernetes: pods of the strangest forms are no harm") {
  for (const char* pod : {"null", "7", "[]", R"({"metadata": []})", R"({"metadata": {"name": 7}, "status": "x"})",
                          R"({"metadata": {"name": "a", "ownerReferences": {}, "labels": []}})",
                          R"({"metadata": {"name": "a", "ownerReferences": [7]}, "status": {"containerStatuses": 3}})",
                          R"({"status": {"phase": "Running", "podIP": "no host at all\n"}})"}) {
    CAPTURE(pod);
    KubeWorld world;
    world.instead.push_back([&](const Request&) -> Result<Response> {
      return KubeWorld::answer(200, fmt::format(R"({{"kind": "PodList", "items": [{}]}})", pod));
    });
    CHECK(!resolve_in(world, workers_of()));
  }
}

TEST_CASE("kubernetes: compat tensorflow takes host IPs by name, all at once, and minds every phase") {
  KubeWorld world;
  world.put({.name = "b", .host_ip = "192.168.0.2"});
  world.put({.name = "a", .host_ip = "192.168.0.2"});
  KubernetesOptions options = workers_of();
  options.compat = Compat::kTensorflow;
  const auto config = resolve_in(world, options);
  CHECK(addresses(config) == Texts{"192.168.0.2:8470", "192.168.0.2:8470"});
  CHECK(!config->task);
  REQUIRE(world.requests.size() == 1);
  CHECK(world.requests[0].url == "https://api.test:6443/api/v1/pods?labelSelector=job-name%3Da");
  world.put({.name = "done", .phase = "Succeeded"});
  says(resolve_in(world, options).error().message, "pod done is Succeeded");
  options.selectors = {{"worker", {"job-name=none"}}};
  CHECK(resolve_in(world, options)->cluster.num_tasks("worker") == 0);
}
