// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "tfd/base/text.hpp"
#include "tfd/resolve/tpu.hpp"

namespace tfd::resolve {
namespace {

/// "/job:worker/replica:0/task:1/device:TPU:3"; missing parts are "" and -1.
struct DeviceName {
  std::string job, type;
  std::int64_t replica = -1, task = -1, index = -1;
};

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 ? value : -1;
}

DeviceName parse_device(std::string_view name) {
  DeviceName out;
  for (const std::string& part : split(name, '/')) {
    const auto value = [&](std::string_view key) -> std::optional<std::string_view> {
      if (part.rfind(key, 0) != 0) return std::nullopt;
      return std::string_view(part).substr(key.size());
    };
    if (const auto job = value("job:")) out.job = *job;
    if (const auto replica = value("replica:")) out.replica = number(*replica);
    if (const auto task = value("task:")) out.task = number(*task);
    if (const auto device = value("device:")) {
      const std::size_t colon = device->rfind(':');
      out.type = device->substr(0, colon);
      out.index = colon == std::string_view::npos ? -1 : number(device->substr(colon + 1));
    }
  }
  return out;
}

/// Missing parts of a name are the host's: those of the first CPU, if that has a job; else of the only task. A
/// TPU that is attached to this machine may be just "/device:TPU:0". Source: device_util.canonicalize.
std::vector<std::string> canonical_names(const std::vector<std::string>& devices) {
  DeviceName host{"localhost", "CPU", 0, 0, 0};
  for (const std::string& device : devices) {
    const DeviceName name = parse_device(device);
    if (name.type != "CPU") continue;
    if (!name.job.empty())
      host = {name.job, "CPU", std::max<std::int64_t>(name.replica, 0), std::max<std::int64_t>(name.task, 0), 0};
    break;
  }
  const auto stated = [](std::int64_t number, std::int64_t otherwise) { return number >= 0 ? number : otherwise; };
  std::vector<std::string> out;
  for (const std::string& device : devices) {
    const DeviceName name = parse_device(device);
    out.push_back(fmt::format("/job:{}/replica:{}/task:{}/device:{}:{}", name.job.empty() ? host.job : name.job,
                              stated(name.replica, host.replica), stated(name.task, host.task),
                              name.type.empty() ? host.type : name.type, stated(name.index, host.index)));
  }
  return out;
}

/// Task -> TPU cores. Names without a task, and other devices (CPU, TPU_SYSTEM), don't count.
std::map<std::int64_t, int> cores_by_host(const std::vector<std::string>& devices) {
  std::map<std::int64_t, int> hosts;
  for (const std::string& device : devices) {
    const DeviceName name = parse_device(device);
    if (name.type == "TPU" && name.index >= 0 && name.task >= 0) ++hosts[name.task];
  }
  return hosts;
}

Result<int> same_everywhere(const std::map<std::int64_t, int>& hosts, const std::vector<std::string>& devices) {
  if (hosts.empty()) return 0;
  const int first = hosts.begin()->second;
  std::vector<std::string> counts;
  for (const auto& [host, count] : hosts) counts.push_back(fmt::format("task {} has {}", host, count));
  for (const auto& [host, count] : hosts)
    if (count != first)
      return fail(Code::kFailedPrecondition, "the hosts have different numbers of TPU cores: {} (of the devices {})",
                  join_words(counts), printable(join_words(devices)));
  return first;
}

}  // namespace

Result<int> tpu_cores_per_host(const std::vector<std::string>& devices) {
  return same_everywhere(cores_by_host(devices), devices);
}

Result<TpuSystemMetadata> tpu_system_metadata(const std::vector<std::string>& devices) {
  TpuSystemMetadata out;
  out.devices = canonical_names(devices);
  const auto hosts = cores_by_host(out.devices);
  out.num_of_cores_per_host = TFD_TRY(same_everywhere(hosts, devices));
  out.num_hosts = static_cast<int>(hosts.size());
  out.num_cores = out.num_hosts * out.num_of_cores_per_host;
  std::stable_sort(out.devices.begin(), out.devices.end(), [](const std::string& left, const std::string& right) {
    const DeviceName a = parse_device(left), b = parse_device(right);
    return std::tie(a.job, a.replica, a.task, a.type, a.index) < std::tie(b.job, b.replica, b.task, b.type, b.index);
  });
  return out;
}

Result<std::optional<std::string>> tpu_master_job(const std::string& master,
                                                  const std::optional<cluster::ClusterSpec>& cluster) {
  if (master.empty() || master == "local") return std::nullopt;
  if (!cluster || cluster->empty()) return "tpu_worker";
  const auto jobs = cluster->jobs();
  if (std::find(jobs.begin(), jobs.end(), "tpu_worker") != jobs.end())
    return fail(Code::kInvalidArgument, "tpu_worker can't be the name of a job: it means TPUs outside of a cluster");
  if (jobs.size() == 1) return jobs.front();
  if (jobs.size() == 2 && std::find(jobs.begin(), jobs.end(), "coordinator") != jobs.end())
    return jobs[jobs[0] == "coordinator" ? 1 : 0];
  return fail(Code::kInvalidArgument, "cannot tell which job has the TPUs: the cluster has the jobs {}",
              printable(join_words(jobs)));
}

}  // namespace tfd::resolve
