// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/slices.hpp"

#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::cluster {
namespace {

constexpr int kMeetingPort = 29400;  // torchrun's

int number_in(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value == nullptr ? 0 : to_int(*value).value_or(0);
}

/// The host of "z", "z:8080" and "[::1]:8080".
std::string host_of(const std::string& text) {
  if (const auto address = parse_address(text)) return address->host;
  return text;
}

}  // namespace

std::optional<Slices> find_missing_slices(const ClusterConfig& config) {
  if (config.extra == "{}") return std::nullopt;
  const auto extra = parse_json(config.extra, "extra");
  const JsonValue* tpu = extra ? extra->find("tpu") : nullptr;
  if (tpu == nullptr) return std::nullopt;
  Slices out{.count = number_in(*tpu, "num_slices"), .id = number_in(*tpu, "slice_id"), .hosts = 0, .coordinator = {}};
  const std::vector<std::string> jobs = config.cluster.jobs();
  if (out.count < 2 || jobs.size() != 1) return std::nullopt;
  const auto& tasks = *config.cluster.find_job(jobs.front());
  if (tasks.empty() || tasks.last_index() < 0) return std::nullopt;
  out.hosts = static_cast<int>(tasks.size());
  // Hosts of one slice have the indices from slice_id * hosts on. All of them are dense from 0 to count * hosts - 1.
  // - 1.
  const int first = tasks.begin()->first;
  if (first != out.id * out.hosts || number_in(*tpu, "hosts_per_slice") != out.hosts) return std::nullopt;
  if (const JsonValue* coordinator = tpu->find("megascale_coordinator_address"))
    out.coordinator = host_of(coordinator->text);
  if (out.coordinator.empty() && out.id == 0)
    if (const auto address = parse_address(tasks.begin()->second)) out.coordinator = address->host;
  return out;
}

Result<void> check_slices(const ClusterConfig& config) {
  const auto slices = find_missing_slices(config);
  if (!slices) return {};
  const std::string at =
      slices->coordinator.empty() ? "HOST:PORT" : format_address({.host = slices->coordinator, .port = kMeetingPort});
  return fail(Code::kFailedPrecondition,
              "this is slice {} of {} TPU slices, and the hosts of the others are not known here: on each of the {} "
              "hosts, tfd-launch --rendezvous {} --nnodes {} -- tfd-run … trains in all of them as one",
              slices->id, slices->count, slices->count * slices->hosts, at, slices->count * slices->hosts);
}

}  // namespace tfd::cluster
