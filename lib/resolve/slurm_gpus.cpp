// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::resolve::detail {
namespace {

/// The entries of CUDA_VISIBLE_DEVICES; Slurm writes NoDevFiles where a task gets none, -1 ends CUDA's list.
std::vector<std::string> list_devices(std::string_view text) {
  std::vector<std::string> devices;
  for (const std::string& entry : split(text, ',')) {
    if (entry == "-1") break;
    if (!entry.empty() && entry != "NoDevFiles") devices.push_back(entry);
  }
  return devices;
}

/// Whether Slurm gave this task GPUs of its own (--gpus-per-task, --gpu-bind), so that there is nothing left to share.
bool bound_to_task(const Environment& env) {
  for (const std::string_view name : {"SLURMD_TRES_BIND", "SLURM_TRES_BIND", "SLURM_GPU_BIND"}) {
    const std::string bind = env.get(name);
    for (const std::string_view kind : {"per_task", "single", "map_gpu", "mask_gpu", "closest"})
      if (bind.find(kind) != std::string::npos) return true;
  }
  return false;
}

/// Of this host, which stands for all; `visible` is what CUDA_VISIBLE_DEVICES lists.
Result<int> gpus_of_node(const Environment& env, const SlurmOptions& options, const GpuLister& lister,
                         const std::optional<std::vector<std::string>>& visible, bool in_task) {
  if (options.gpus_per_node) return *options.gpus_per_node;
  if (visible) return static_cast<int>(visible->size());
  if (const auto count = parse_integer(env.get("SLURM_GPUS_ON_NODE"), 0, 1 << 16)) return static_cast<int>(*count);
  if (!in_task || !lister) return 0;  // a login host's GPUs are nobody's
  return TFD_TRY(lister()).value_or(0);
}

}  // namespace

Result<SlurmGpus> share_gpus(const Environment& env, const SlurmOptions& options, const GpuLister& lister,
                             const SlurmShares& shares) {
  std::optional<std::vector<std::string>> visible;
  if (const auto text = env.find("CUDA_VISIBLE_DEVICES")) visible = list_devices(*text);

  SlurmGpus out;
  if (visible && bound_to_task(env) && !options.gpus_per_node && !options.gpus_per_task) {
    out.per_task = static_cast<int>(visible->size());
    return out;
  }
  if (options.gpus_per_task == 0) return out;
  const bool in_task = shares.own_local.has_value();
  const int per_node = TFD_TRY(gpus_of_node(env, options, lister, visible, in_task));
  int tasks = std::max(shares.most_per_host, 1);
  // The fullest host decides, so that every task has as many; but where it has too few GPUs, others still may have
  // enough.
  if (!options.gpus_per_task && per_node < tasks && in_task) tasks = std::max(shares.own_host, 1);
  out.per_task = options.gpus_per_task.value_or(per_node / tasks);
  const std::int64_t needed = std::int64_t{out.per_task} * tasks;
  if (needed > per_node && in_task)
    return fail(Code::kFailedPrecondition,
                "requested more GPUs than a node has: {} tasks with {} each need {}, {} are there", tasks, out.per_task,
                needed, per_node);
  if (!options.auto_set_gpu || !in_task || out.per_task == 0) return out;

  const auto count = static_cast<std::size_t>(out.per_task);
  const auto first = static_cast<std::size_t>(*shares.own_local) * count;
  if (visible && first + count > visible->size())
    return fail(Code::kFailedPrecondition, "CUDA_VISIBLE_DEVICES lists {} GPUs, but this task's are number {} to {}",
                visible->size(), first, first + count - 1);
  std::string devices;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!devices.empty()) devices += ',';
    devices += visible ? (*visible)[i] : fmt::format("{}", i);
  }
  out.visible_devices = std::move(devices);
  return out;
}

}  // namespace tfd::resolve::detail
