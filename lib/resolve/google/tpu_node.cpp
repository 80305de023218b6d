// SPDX-License-Identifier: Apache-2.0
#include "tpu_node.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

#include "api.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tpu_name.hpp"

namespace tfd::resolve::google {
namespace {

using cluster::JsonValue;
using TimePoint = std::chrono::system_clock::time_point;

constexpr std::chrono::seconds kRecent{90};

std::optional<std::string> optional_text(const JsonValue& object, std::string_view key) {
  const JsonValue* found = object.find(key);
  if (found == nullptr || !found->is(JsonValue::Kind::kString)) return std::nullopt;
  return found->text;
}

/// A number or a text.
std::string port_of(const JsonValue& object, int fallback) {
  const JsonValue* found = object.find("port");
  const bool there = found != nullptr && (found->is(JsonValue::Kind::kString) || found->is(JsonValue::Kind::kInteger));
  return there && !found->text.empty() ? found->text : std::to_string(fallback);
}

Result<std::vector<std::string>> parse_endpoints(const JsonValue& root, const std::string& path, int default_port) {
  std::vector<std::string> out;
  const JsonValue* list = root.find("networkEndpoints");
  if (list != nullptr) {
    for (const JsonValue& endpoint : list->items) {
      const std::string host = text_member(endpoint, "ipAddress");
      if (host.empty())
        return fail(Code::kFailedPrecondition, "{}: networkEndpoints[{}] has no ipAddress", path, out.size());
      out.push_back(join_address(host, port_of(endpoint, default_port)));
    }
    return out;
  }
  const std::string host = text_member(root, "ipAddress");  // older nodes have no networkEndpoints
  if (!host.empty()) out.push_back(join_address(host, port_of(root, default_port)));
  return out;
}

std::optional<TimePoint> parse_seconds(const std::string& text, const char** rest) {
  std::tm parts{};
  *rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (*rest == nullptr) return std::nullopt;
  // The clock counts nanoseconds, and differences must fit too: distant times are clamped.
  constexpr std::time_t kFar = 6'000'000'000;
  return std::chrono::system_clock::from_time_t(std::clamp(::timegm(&parts), -kFar, kFar));
}

std::optional<TimePoint> parse_as_tensorflow(const std::string& text) {
  const std::string whole = text.substr(0, text.find('.'));
  const char* rest = nullptr;
  const auto time = parse_seconds(whole, &rest);
  if (!time || *rest != '\0') return std::nullopt;
  return time;
}

/// RFC 3339: "2020-01-01T00:00:10.5Z", "…+01:00".
std::optional<TimePoint> parse_rfc3339(const std::string& text) {
  const char* rest = nullptr;
  auto time = parse_seconds(text, &rest);
  if (!time) return std::nullopt;
  if (*rest == '.') {
    std::chrono::nanoseconds fraction{0}, unit{100'000'000};
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) fraction += unit * (*rest - '0');
    *time += std::chrono::duration_cast<TimePoint::duration>(fraction);
  }
  if (std::string_view(rest) == "Z" || std::string_view(rest) == "z") return time;
  int hours = 0, minutes = 0, used = 0;
  if (std::sscanf(rest, "%*1[+-]%2d:%2d%n", &hours, &minutes, &used) != 2 || rest[used] != '\0') return std::nullopt;
  const std::chrono::minutes offset(hours * 60 + minutes);
  return *rest == '+' ? *time - offset : *time + offset;
}

}  // namespace

Result<NodeAnswer> parse_node(const JsonValue& root, const std::string& path, int default_port) {
  NodeAnswer out;
  out.short_name = path.substr(path.rfind('/') + 1);
  TpuNode& node = out.node;
  node.path = path;
  node.state = optional_text(root, "state");
  node.health = optional_text(root, "health");
  node.health_description = optional_text(root, "healthDescription");
  node.accelerator_type = optional_text(root, "acceleratorType");
  node.runtime_version = optional_text(root, "runtimeVersion");
  if (!node.runtime_version) node.runtime_version = optional_text(root, "tensorflowVersion");  // v1
  if (const JsonValue* config = root.find("acceleratorConfig"); config != nullptr) {
    node.topology = optional_text(*config, "topology");
    if (!node.accelerator_type) {
      const auto type = optional_text(*config, "type");
      if (type && node.topology) node.accelerator_type = *type + " " + *node.topology;
    }
  }
  if (const JsonValue* symptoms = root.find("symptoms"); symptoms != nullptr)
    for (const JsonValue& symptom : symptoms->items)
      node.symptoms.push_back({text_member(symptom, "symptomType"), text_member(symptom, "createTime"),
                               text_member(symptom, "details"), text_member(symptom, "workerId")});
  out.queued_resource = text_member(root, "queuedResource");
  const JsonValue* multislice = root.find("multisliceNode");
  out.is_multislice = multislice != nullptr && multislice->is(JsonValue::Kind::kBool) && multislice->boolean;
  out.endpoints = TFD_TRY(parse_endpoints(root, path, default_port));
  return out;
}

Result<void> check_usable(const NodeAnswer& answer, Compat compat, const Log& log) {
  const TpuNode& node = answer.node;
  if (node.state != "READY")
    return fail(Code::kFailedPrecondition, "TPU '{}' is not ready: its state is {}", answer.short_name,
                node.state ? printable(*node.state) : "unknown");
  if (compat == Compat::kNone) {
    if (!node.health || *node.health == "HEALTH_UNSPECIFIED") {
      log.info("the health of TPU '{}' is not known", answer.short_name);
    } else if (*node.health != "HEALTHY") {
      const std::string why = node.health_description.value_or("");
      return fail(Code::kFailedPrecondition, "TPU '{}' is not healthy: its health is {}{}{}", answer.short_name,
                  printable(*node.health), why.empty() ? "" : ": ", printable(why));
    }
  }
  if (answer.endpoints.empty())
    return fail(Code::kFailedPrecondition, "TPU '{}' has no network endpoints", answer.short_name);
  return {};
}

Result<bool> has_recent_symptom(const std::vector<TpuSymptom>& symptoms, const std::vector<std::string>& types,
                                TimePoint now, Compat compat) {
  for (const TpuSymptom& symptom : symptoms) {
    if (std::find(types.begin(), types.end(), symptom.type) == types.end()) continue;
    const auto time =
        compat == Compat::kNone ? parse_rfc3339(symptom.create_time) : parse_as_tensorflow(symptom.create_time);
    if (!time)
      return fail(Code::kInvalidArgument, "symptom {}: createTime '{}' can't be read", printable(symptom.type),
                  printable(symptom.create_time));
    if (now - *time < kRecent) return true;
  }
  return false;
}

namespace {

struct Version {
  std::string_view type;  // as in an accelerator type, before "-N"
  std::string_view api;   // as in acceleratorConfig.type
  int counted_per_chip;   // what N of the type counts
  int devices_per_chip;
};
constexpr std::array kVersions{
    Version{"v2", "V2", 2, 2},     Version{"v3", "V3", 2, 2},
    Version{"v4", "V4", 2, 1},     Version{"v5litepod", "V5LITE_POD", 1, 1},
    Version{"v5p", "V5P", 2, 1},   Version{"v6e", "V6E", 1, 1},
    Version{"tpu7x", "V7X", 2, 2}, Version{"v7x", "TPU7X", 2, 2},
};
constexpr int kMostChips = 1 << 20;

}  // namespace

std::optional<int> count_tpu_devices(std::string_view accelerator_type) {
  const std::size_t dash = accelerator_type.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto counted = parse_integer(accelerator_type.substr(dash + 1), 1, kMostChips);
  if (!counted) return std::nullopt;
  for (const Version& version : kVersions) {
    if (version.type != accelerator_type.substr(0, dash)) continue;
    const int count = static_cast<int>(*counted);
    if (count % version.counted_per_chip != 0) return std::nullopt;
    return count / version.counted_per_chip * version.devices_per_chip;
  }
  return std::nullopt;
}

std::optional<int> count_tpu_devices(std::string_view version, std::string_view topology) {
  std::int64_t chips = 1;
  for (const std::string& side : split(topology, 'x')) {
    const auto length = parse_integer(side, 1, kMostChips);
    if (!length || chips * *length > kMostChips) return std::nullopt;
    chips *= *length;
  }
  for (const Version& known : kVersions)
    if (known.api == version) return static_cast<int>(chips) * known.devices_per_chip;
  return std::nullopt;
}

}  // namespace tfd::resolve::google
