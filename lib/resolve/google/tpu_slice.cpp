// SPDX-License-Identifier: Apache-2.0
#include "tpu_slice.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::resolve::google {
namespace {

constexpr int kMostWorkers = 1 << 20;

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

/// A host, or the host of an address.
Result<std::string> parse_host(std::string_view text) {
  if (text.empty()) return fail(Code::kInvalidArgument, "an empty host");
  const bool bare_ipv6 = std::count(text.begin(), text.end(), ':') > 1 && text.front() != '[';
  if (bare_ipv6) return TFD_TRY(cluster::parse_address(fmt::format("[{}]:1", text))).host;
  if (const auto address = cluster::parse_address(text)) return address->host;
  return TFD_TRY(cluster::parse_address(fmt::format("{}:1", text))).host;
}

Result<std::vector<std::string>> parse_hosts(const std::string& text, std::string_view variable) {
  std::vector<std::string> hosts;
  for (const std::string& part : split(text, ',')) {
    auto host = parse_host(trimmed(part));
    if (!host) return fail(std::move(host).error().within(fmt::format("{}, entry {}", variable, hosts.size())));
    hosts.push_back(*std::move(host));
  }
  return hosts;
}

Result<std::optional<int>> integer_of(const std::string& text, std::string_view name, int least, int most) {
  if (text.empty()) return std::nullopt;
  return static_cast<int>(TFD_TRY(parse_integer(trimmed(text), least, most), name));
}

/// "2,2,1" must come to as many processes as there are addresses.
Result<void> check_bounds(const Environment& env, std::size_t processes) {
  const std::string bounds = env.get("TPU_PROCESS_BOUNDS");
  if (bounds.empty()) return {};
  std::int64_t product = 1;
  for (const std::string& side : split(bounds, ','))
    product *= TFD_TRY(parse_integer(trimmed(side), 1, 1 << 10), "TPU_PROCESS_BOUNDS");
  if (product == static_cast<std::int64_t>(processes)) return {};
  return fail(Code::kInvalidArgument, "TPU_PROCESS_BOUNDS={} are {} processes, but TPU_PROCESS_ADDRESSES has {}",
              printable(bounds), product, processes);
}

/// GKE's JobSet names the pods of slice 0 "a-slice-0-1.a" and those of slice 1 "a-slice-1-1.a": JOBSET-JOB-SLICE-WORKER
/// with the subdomain after it. Empty where the own names aren't of that form.
std::vector<std::string> hosts_of_all_slices(const TpuSlice& slice) {
  std::vector<std::string> out;
  for (int number = 0; number < slice.num_slices; ++number) {
    for (std::size_t worker = 0; worker < slice.hosts.size(); ++worker) {
      const std::string& own = slice.hosts[worker];
      const std::size_t dot = std::min(own.find('.'), own.size());
      const std::string ending = fmt::format("-{}-{}", slice.slice_id, worker);
      if (dot <= ending.size() || own.compare(dot - ending.size(), ending.size(), ending) != 0) return {};
      out.push_back(fmt::format("{}-{}-{}{}", own.substr(0, dot - ending.size()), number, worker, own.substr(dot)));
    }
  }
  return out;
}

using Lookup = std::function<std::string(std::string_view)>;

/// Whether it is one of several slices, and the resulting index and hosts.
Result<TpuSlice> with_slices(TpuSlice slice, std::optional<int> worker_id, const Lookup& lookup) {
  const int hosts = static_cast<int>(slice.hosts.size());
  if (worker_id && *worker_id >= hosts)
    return fail(Code::kInvalidArgument, "worker {} is not in a slice of {} hosts ({})", *worker_id, hosts,
                slice.source);
  slice.hosts_per_slice = hosts;
  slice.coordinator = lookup("MEGASCALE_COORDINATOR_ADDRESS");
  const auto count = TFD_TRY(integer_of(lookup("MEGASCALE_NUM_SLICES"), "MEGASCALE_NUM_SLICES", 1, kMostWorkers));
  const auto number = TFD_TRY(integer_of(lookup("MEGASCALE_SLICE_ID"), "MEGASCALE_SLICE_ID", 0, kMostWorkers));
  slice.num_slices = count.value_or(1);
  if (slice.num_slices > 1 && !number)
    return fail(Code::kInvalidArgument, "MEGASCALE_NUM_SLICES={}, but MEGASCALE_SLICE_ID is unset", slice.num_slices);
  slice.slice_id = slice.num_slices > 1 ? *number : 0;
  if (slice.slice_id >= slice.num_slices)
    return fail(Code::kInvalidArgument, "MEGASCALE_SLICE_ID={} is not below MEGASCALE_NUM_SLICES={}", slice.slice_id,
                slice.num_slices);
  if (static_cast<std::int64_t>(slice.num_slices) * hosts > kMostWorkers)
    return fail(Code::kInvalidArgument, "{} slices of {} hosts are too many", slice.num_slices, hosts);
  if (worker_id) slice.own_index = slice.slice_id * hosts + *worker_id;
  slice.first_index = slice.slice_id * hosts;
  if (slice.num_slices == 1) return slice;
  if (auto all = hosts_of_all_slices(slice); !all.empty()) {
    slice.hosts = std::move(all);
    slice.first_index = 0;
  }
  return slice;
}

/// "CHIPS: '2,2,1'" of tpu-env.
std::map<std::string, std::string, std::less<>> parse_tpu_env(const std::string& text) {
  std::map<std::string, std::string, std::less<>> out;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string value = trimmed(std::string_view(line).substr(colon + 1));
    if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    out[trimmed(std::string_view(line).substr(0, colon))] = value;
  }
  return out;
}

/// "unknown:unknown:10.0.0.2": everything from the third part on, for IPv6's sake.
std::string third_part(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  return second == std::string::npos ? text : text.substr(second + 1);
}

}  // namespace

Result<TpuSlice> read_tpu_slice(const Environment& env) {
  TpuSlice slice;
  slice.accelerator_type = env.get("TPU_ACCELERATOR_TYPE");
  slice.topology = env.get("TPU_TOPOLOGY");
  const std::string addresses = env.get("TPU_PROCESS_ADDRESSES");
  std::optional<int> id;
  if (!addresses.empty() && addresses != "local") {
    slice.source = "TPU_PROCESS_ADDRESSES";
    slice.hosts = TFD_TRY(parse_hosts(addresses, slice.source));
    TFD_TRY(check_bounds(env, slice.hosts.size()));
    id = TFD_TRY(integer_of(env.get("CLOUD_TPU_TASK_ID"), "CLOUD_TPU_TASK_ID", 0, kMostWorkers));
    slice.no_index_reason = "neither CLOUD_TPU_TASK_ID nor TPU_WORKER_ID is set";
  } else if (const std::string names = env.get("TPU_WORKER_HOSTNAMES"); !names.empty()) {
    slice.source = "TPU_WORKER_HOSTNAMES";
    slice.hosts = TFD_TRY(parse_hosts(names, slice.source));
    slice.no_index_reason = "TPU_WORKER_ID is unset";
  } else {
    slice.source = "TPU_PROCESS_ADDRESSES";
    slice.hosts = {"localhost"};
  }
  if (!id) id = TFD_TRY(integer_of(env.get("TPU_WORKER_ID"), "TPU_WORKER_ID", 0, kMostWorkers));
  if (!id && slice.hosts.size() == 1) id = 0;
  return with_slices(std::move(slice), id, [&](std::string_view name) { return env.get(name); });
}

Result<TpuSlice> fetch_tpu_slice(MetadataServer& metadata, const Environment& env, Deadline deadline) {
  constexpr std::string_view kEndpoints = "instance/attributes/worker-network-endpoints";
  const auto endpoints = TFD_TRY(metadata.find(kEndpoints, "TPU workers", deadline));
  if (!endpoints || endpoints->empty())
    return fail(Code::kNotFound, "this machine is not a TPU VM: the metadata server {} has no {}", metadata.host(),
                kEndpoints);
  const auto tpu_env =
      parse_tpu_env(TFD_TRY(metadata.find("instance/attributes/tpu-env", "tpu-env", deadline)).value_or(""));
  const Lookup lookup = [&](std::string_view name) {
    if (const auto value = env.get(name); !value.empty()) return value;
    const auto found = tpu_env.find(name);
    return found == tpu_env.end() ? std::string() : found->second;
  };
  TpuSlice slice;
  slice.source = "the metadata server " + metadata.host();
  for (const std::string& entry : split(*endpoints, ',')) {
    auto host = parse_host(third_part(trimmed(entry)));
    if (!host) return fail(std::move(host).error().within("worker-network-endpoints"));
    slice.hosts.push_back(*std::move(host));
  }
  std::string number =
      TFD_TRY(metadata.find("instance/attributes/agent-worker-number", "worker number", deadline)).value_or("");
  if (number.empty()) number = lookup("WORKER_ID");
  auto id = TFD_TRY(integer_of(number, "agent-worker-number", 0, kMostWorkers));
  if (!id && slice.hosts.size() == 1) id = 0;
  slice.no_index_reason = "the metadata server has no agent-worker-number";
  slice.accelerator_type = lookup("ACCELERATOR_TYPE");
  if (slice.accelerator_type.empty())
    slice.accelerator_type =
        TFD_TRY(metadata.find("instance/attributes/accelerator-type", "accelerator type", deadline)).value_or("");
  slice.topology = lookup("TOPOLOGY");
  return with_slices(std::move(slice), id, lookup);
}

}  // namespace tfd::resolve::google
