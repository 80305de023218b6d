// SPDX-License-Identifier: Apache-2.0
#include "targets.hpp"

#include <cstdio>
#include <cstdlib>

namespace tfd::fuzz {
namespace {

constexpr Target kTargets[] = {
    {"hostlist", hostlist},
    {"tasks_per_node", tasks_per_node},
    {"slurm", slurm},
    {"tf_config", tf_config},
    {"kubeconfig", kubeconfig},
    {"exec_credential", exec_credential},
    {"pods", pods},
    {"watch_event", watch_event},
    {"tpu_node", tpu_node},
    {"gce_pages", gce_pages},
    {"token", token},
    {"credentials_file", credentials_file},
    {"module", module},
    {"program", program},
    {"closure_line", closure_line},
    {"frames", frames},
    {"assemblies", assemblies},
    {"task_messages", task_messages},
    {"group_messages", group_messages},
    {"collectives", collectives},
    {"rings", rings},
    {"streams", streams},
    {"csv", csv},
    {"jsonl", jsonl},
    {"tfrecord", tfrecord},
    {"tf_example", tf_example},
    {"npy", npy},
    {"idx", idx},
    {"npz", npz},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: this doesn't hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace tfd::fuzz
