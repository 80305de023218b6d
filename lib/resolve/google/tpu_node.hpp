#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One TPU as the Cloud TPU API describes it, v1 and v2, and whether it can be used. Thread rule: pure functions.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/cluster/json_value.hpp"
#include "tfd/resolve/tpu.hpp"

namespace tfd::resolve::google {

struct NodeAnswer {
  TpuNode node;
  std::string short_name;              // "my-tpu"
  std::vector<std::string> endpoints;  // HOST:PORT in the API's order
  std::string queued_resource;         // with `is_multislice`: the other slices have it too
  bool is_multislice = false;
};
/// kUnavailable where it isn't a node.
Result<NodeAnswer> parse_node(const cluster::JsonValue& root, const std::string& path, int default_port);

/// kFailedPrecondition: which of state and health is wrong, and what it is; with compat the state alone. Or there is no
/// endpoint. An unknown health (absent, HEALTH_UNSPECIFIED) is one for `log`.
Result<void> check_usable(const NodeAnswer& answer, Compat compat, const Log& log);

/// Whether a symptom of `types` is younger than 90 s at `now`; one of the future is. kInvalidArgument: a time that
/// can't be read (TensorFlow reads only those with a fraction, and cuts it off).
Result<bool> has_recent_symptom(const std::vector<TpuSymptom>& symptoms, const std::vector<std::string>& types,
                                std::chrono::system_clock::time_point now, Compat compat);

// ---- The parts of an accelerator type's name: "v3-32" has 32 cores, "v5litepod-16" has 16 chips. Source: Google's
// pages on the TPU versions (v2 to v7x).

/// How many devices the runtime lists for the whole slice: two a chip (v2, v3, v7x), or one, be it the one core of a
/// chip (v5e, v6e) or its two taken together (v4, v5p). nullopt for a name of another form.
std::optional<int> count_tpu_devices(std::string_view accelerator_type);
/// The same from version ("V4", "V5LITE_POD") and topology ("2x2x4" chips), for a node without an accelerator type.
std::optional<int> count_tpu_devices(std::string_view version, std::string_view topology);

}  // namespace tfd::resolve::google
