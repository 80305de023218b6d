// SPDX-License-Identifier: Apache-2.0
//
// Kubeconfigs, what exec plug-ins print, and what a Kubernetes API server says of pods.
#include "checks.hpp"
#include "kubernetes/choose.hpp"
#include "kubernetes/config/credentials.hpp"
#include "kubernetes/config/kubeconfig.hpp"
#include "kubernetes/pods.hpp"
#include "targets.hpp"
#include "tfd/base/text.hpp"

namespace tfd::fuzz {
namespace {

using namespace resolve::kubernetes;

void expect_choice(const std::vector<Pod>& pods) {
  choose_as_tensorflow({pods});
  for (const auto address :
       {resolve::PodAddress::kPodIp, resolve::PodAddress::kHostIp, resolve::PodAddress::kHostname}) {
    const auto choice = choose_pods("worker", {pods, pods}, {"a=b", "c=d"}, {}, 4, address);
    if (!choice) {
      expect_readable(choice.error());
      continue;
    }
    expect(choice->tasks.size() <= pods.size(), "a pod is one task at most");
    for (const Pod& pod : choice->tasks)
      if (const auto host = pod_host(pod, address); !host) expect_readable(host.error());
  }
}

}  // namespace

void kubeconfig(std::string_view bytes) {
  const auto config = parse_kubeconfig(bytes, "/home/user/.kube/config");
  if (!config) return expect_readable(config.error());
  std::vector<std::string> names{""};
  for (const auto& context : config->contexts) names.push_back(context.name);
  for (const std::string& name : names)
    if (const auto chosen = choose_context(*config, name); !chosen) expect_readable(chosen.error());
  Kubeconfig twice = *config;
  merge_kubeconfig(twice, *config);
  expect(twice.contexts.size() == config->contexts.size() || !config->contexts.empty(),
         "merging adds nothing of its own");
}

void exec_credential(std::string_view bytes) {
  ExecEntry exec;
  exec.command = "plug-in";
  exec.api_version = "client.authentication.k8s.io/v1";
  if (const auto status = parse_exec_status(bytes, exec); !status) expect_readable(status.error());
}

void pods(std::string_view bytes) {
  const auto list = cluster::parse_json(bytes, "the answer");
  if (!list) return expect_readable(list.error());
  const auto page = read_pod_page(*list);
  if (!page) return expect_readable(page.error());
  if (page->pods.size() > 200) return;
  expect_choice(page->pods);
}

void watch_event(std::string_view bytes) {
  std::vector<Pod> seen;
  for (const std::string& line : split(bytes, '\n')) {
    const WatchEvent event = read_watch_event(line);
    if (event.kind == WatchEvent::Kind::kSet && seen.size() < 20) seen.push_back(event.pod);
  }
  expect_choice(seen);
}

}  // namespace tfd::fuzz
