// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of a task: those that Slurm gives it, and how many nvidia-smi finds on this host.
#include <algorithm>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/resolver.hpp"

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

/// The variable that chooses a task's GPUs: NVIDIA's, AMD's or Intel's. Slurm sets all of them where gres.conf
/// doesn't say which kind it is; the first one is enough then.
struct Visible {
  std::string variable;
  std::vector<std::string> devices;
};

std::optional<Visible> find_visible(const Environment& env) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"})
    if (const auto text = env.find(name)) return Visible{name, list_devices(*text)};
  return std::nullopt;
}

/// Slurm gave this task GPUs of its own (--gpus-per-task, --gpu-bind), so that there is nothing left to share.
struct Bound {
  std::optional<int> per_task;  // where Slurm says it: a task that is alone on its node sees more
};

std::optional<Bound> find_bound(const Environment& env) {
  for (const std::string_view name : {"SLURMD_TRES_BIND", "SLURM_TRES_BIND", "SLURM_GPU_BIND"}) {
    const std::string bind = env.get(name);
    if (const std::size_t at = bind.find("per_task:"); at != std::string::npos) {
      const std::string_view count = std::string_view(bind).substr(at + 9);
      const auto number = parse_integer(count.substr(0, count.find_first_not_of("0123456789")), 1, 1 << 16);
      return Bound{number ? std::optional(static_cast<int>(*number)) : std::nullopt};
    }
    for (const std::string_view kind : {"per_task", "single", "map_gpu", "mask_gpu", "closest"})
      if (bind.find(kind) != std::string::npos) return Bound{};
  }
  return std::nullopt;
}

/// "4", "gpu:4", "a100:2,v100:1": all kinds together.
std::optional<int> parse_gpu_count(const std::string& text) {
  int total = 0;
  for (const std::string& part : split(text, ',')) {
    const auto count = parse_integer(std::string_view(part).substr(part.rfind(':') + 1), 0, 1 << 16);
    if (!count) return std::nullopt;
    total += static_cast<int>(*count);
  }
  return total;
}

/// The first variable that says a count.
template <std::size_t Count>
std::optional<int> find_count(const Environment& env, const std::string_view (&names)[Count]) {
  for (const std::string_view name : names) {
    const auto text = env.find(name);
    if (const auto count = text ? parse_gpu_count(*text) : std::nullopt) return count;
  }
  return std::nullopt;
}

/// The number of GPUs of this host, which is taken as every host's.
Result<int> gpus_of_node(const Environment& env, const GpuLister& lister, const std::optional<Visible>& visible) {
  if (visible) return static_cast<int>(visible->devices.size());
  if (const auto count = find_count(env, {"SLURM_GPUS_ON_NODE"})) return *count;
  for (const std::string_view name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"})
    if (const auto ids = env.find(name)) return static_cast<int>(list_devices(*ids).size());
  return lister ? TFD_TRY(lister()).value_or(0) : 0;
}

/// A job's, seen from outside of its tasks; the devices of a login host are nobody's. Not of a heterogeneous one, whose
/// components differ.
int gpus_of_future_task(const Environment& env, const SlurmOptions& options, const SlurmShares& shares) {
  if (shares.components > 1 && !options.gpus_per_node) return 0;
  const int most = std::max(shares.most_per_host, 1);
  if (options.gpus_per_node) return *options.gpus_per_node / most;
  if (const auto count = find_count(env, {"SLURM_GPUS_PER_TASK"})) return *count;
  if (const auto count = find_count(env, {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"})) return *count / most;
  if (const auto ids = env.find("SLURM_JOB_GPUS")) return static_cast<int>(list_devices(*ids).size()) / most;
  if (const auto count = find_count(env, {"SLURM_GPUS"}))
    return static_cast<int>(*count / std::max<std::int64_t>(shares.total, 1));
  if (const auto visible = find_visible(env); visible && env.has("SLURMD_NODENAME"))
    return static_cast<int>(visible->devices.size()) / most;
  return 0;
}

std::string join_devices(const std::vector<std::string>& devices, std::size_t first, std::size_t count) {
  std::string out;
  for (std::size_t i = first; i < first + count; ++i) {
    if (i > first) out += ',';
    out += devices[i];
  }
  return out;
}

/// GPUs that are this task's alone. Every task counts as many: a task that sees more than it asked for takes the first.
SlurmGpus keep_bound(const SlurmOptions& options, const Bound& bound, const Visible& visible) {
  const std::size_t all = visible.devices.size();
  const std::size_t count = bound.per_task ? std::min(all, static_cast<std::size_t>(*bound.per_task)) : all;
  SlurmGpus out{static_cast<int>(count), std::nullopt, visible.variable};
  if (options.auto_set_gpu && count < all) out.visible_devices = join_devices(visible.devices, 0, count);
  return out;
}

}  // namespace

Result<SlurmGpus> share_gpus(const Environment& env, const SlurmOptions& options, const GpuLister& lister,
                             const SlurmShares& shares) {
  SlurmGpus out;
  if (!shares.own_local) {
    out.per_task = options.gpus_per_task ? *options.gpus_per_task : gpus_of_future_task(env, options, shares);
    return out;
  }
  const std::optional<Visible> visible = find_visible(env);
  if (visible && !options.gpus_per_node && !options.gpus_per_task)
    if (const auto bound = find_bound(env)) return keep_bound(options, *bound, *visible);
  if (options.gpus_per_task == 0) return out;
  const int per_node = options.gpus_per_node ? *options.gpus_per_node : TFD_TRY(gpus_of_node(env, lister, visible));
  int tasks = std::max(shares.most_per_host, 1);
  // The fullest host decides, so that every task has as many; but where it has too few GPUs, others still may have
  // enough.
  if (!options.gpus_per_task && per_node < tasks) tasks = std::max(shares.own_host, 1);
  out.per_task = options.gpus_per_task.value_or(per_node / tasks);
  const std::int64_t needed = std::int64_t{out.per_task} * tasks;
  if (needed > per_node)
    return fail(Code::kFailedPrecondition,
                "requested more GPUs than a node has: {} tasks with {} each need {}, but there are only {}", tasks,
                out.per_task, needed, per_node);
  if (!options.auto_set_gpu || out.per_task == 0) return out;

  const auto count = static_cast<std::size_t>(out.per_task);
  const auto first = static_cast<std::size_t>(*shares.own_local) * count;
  std::vector<std::string> devices;
  if (visible) {
    out.variable = visible->variable;
    devices = visible->devices;
  } else {
    for (std::size_t i = 0; i < first + count; ++i) devices.push_back(fmt::format("{}", i));
  }
  if (first + count > devices.size())
    return fail(Code::kFailedPrecondition, "{} lists {} GPUs, but this task's are number {} to {}", out.variable,
                devices.size(), first, first + count - 1);
  out.visible_devices = join_devices(devices, first, count);
  return out;
}

}  // namespace tfd::resolve::detail

namespace tfd::resolve {

Result<std::optional<int>> count_gpus(std::string_view output, int exit_code) {
  if (exit_code != 0)
    return fail(Code::kFailedPrecondition, "could not get the number of GPUs: nvidia-smi exited with {}: {}", exit_code,
                printable(output));
  int count = 0;
  for (const std::string& line : split(output, '\n')) count += line.starts_with("GPU ") ? 1 : 0;
  return count;
}

GpuLister nvidia_smi_lister(const Environment& env, Deadline deadline) {
  return [env, deadline]() -> Result<std::optional<int>> {
    process::Pipe pipe = TFD_TRY(process::make_pipe());
    process::ChildOptions options;
    options.argv = {"nvidia-smi", "--list-gpus"};
    options.environment = env;
    options.stdout_fd = pipe.write.get();
    auto child = process::Child::start(options);
    if (!child) {
      if (child.error().code == Code::kNotFound) return std::nullopt;
      return fail(std::move(child).error());
    }
    pipe.write.reset();
    const std::string output = TFD_TRY(process::read_all(pipe.read.get(), deadline, 1 << 20), "nvidia-smi");
    const process::ExitStatus status = TFD_TRY(child->wait(deadline), "nvidia-smi");
    return count_gpus(output, status.code);
  };
}

}  // namespace tfd::resolve
