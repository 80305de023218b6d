// SPDX-License-Identifier: Apache-2.0
#include "tpu_name.hpp"

#include <algorithm>

#include "api.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::resolve::google {
namespace {

constexpr std::string_view kScheme = "grpc://";
constexpr std::string_view kGke = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS";

bool has_scheme(std::string_view text) { return text.rfind(kScheme, 0) == 0; }

/// "projects/P/locations/Z/nodes/T", as gcloud prints it.
Result<TpuName> parse_resource_name(const std::string& text) {
  const auto parts = split(text, '/');
  if (parts.size() != 6 || parts[0] != "projects" || parts[2] != "locations" || parts[4] != "nodes")
    return fail(Code::kInvalidArgument, "'{}' is not a TPU's name, nor projects/P/locations/Z/nodes/NAME",
                printable(text));
  return TpuName{TpuName::Kind::kNode, parts[5], parts[1], parts[3]};
}

/// A name, or an error that suggests the right option.
Result<TpuName> parse_node_name(const std::string& text) {
  if (text.find('/') != std::string::npos) return parse_resource_name(text);
  const bool is_address =
      cluster::parse_address(text).has_value() || cluster::parse_address(fmt::format("[{}]:1", text)).has_value();
  if (is_address)
    return fail(Code::kInvalidArgument, "'{}' would be a TPU's name; the address of its worker is {}{}",
                printable(text), kScheme, printable(text));
  TFD_TRY(check_path_part(text, "TPU"));
  return TpuName{TpuName::Kind::kNode, text, "", ""};
}

Result<TpuName> classify(const std::string& text, bool may_be_local, Compat compat) {
  if (may_be_local && text == "local") return TpuName{TpuName::Kind::kLocal, text, "", ""};
  if (has_scheme(text)) return TpuName{TpuName::Kind::kAddresses, text, "", ""};
  if (compat == Compat::kTensorflow) return TpuName{TpuName::Kind::kNode, text, "", ""};
  return parse_node_name(text);
}

/// nullopt: none was given.
Result<std::optional<TpuName>> given_name(const TpuOptions& options) {
  if (!options.tpu) return std::nullopt;
  if (options.tpu->empty()) return fail(Code::kInvalidArgument, "no TPU: the list of TPUs is empty");
  if (options.tpu->size() > 1)
    return fail(Code::kUnimplemented, "{} TPUs: only one at a time is supported", options.tpu->size());
  const std::string& text = options.tpu->front();
  if (text.empty()) return std::nullopt;
  return TFD_TRY(classify(text, !options.tpu_is_list, options.compat));
}

Result<TpuName> parse_tpu_config(const std::string& text, Compat compat) {
  const auto root = TFD_TRY(cluster::parse_json(text, "TPU_CONFIG"));
  if (!root.is(cluster::JsonValue::Kind::kObject))
    return fail(Code::kInvalidArgument, "TPU_CONFIG: must be an object, not {}", kind_name(root));
  const std::string name = text_member(root, "tpu_node_name");
  if (name.empty()) return fail(Code::kInvalidArgument, "TPU_CONFIG: no tpu_node_name");
  TpuName out = TFD_TRY(classify(name, compat == Compat::kNone, compat), "TPU_CONFIG: tpu_node_name");
  if (out.project.empty()) out.project = text_member(root, "project");
  if (out.zone.empty()) out.zone = text_member(root, "zone");
  return out;
}

Result<TpuName> find_as_tensorflow(const Environment& env) {
  for (const std::string_view variable : {kGke, std::string_view("TPU_NAME")})
    if (const auto value = env.find(variable)) return classify(*value, false, Compat::kTensorflow);
  if (const auto config = env.find("TPU_CONFIG")) return parse_tpu_config(*config, Compat::kTensorflow);
  return fail(Code::kInvalidArgument, "no TPU: none is given, and {}, TPU_NAME and TPU_CONFIG are unset", kGke);
}

Result<std::string> parse_one_address(std::string_view part, int default_port) {
  if (has_scheme(part)) part.remove_prefix(kScheme.size());
  if (part.empty()) return fail(Code::kInvalidArgument, "an empty address");
  const bool bare_ipv6 = part.front() != '[' && std::count(part.begin(), part.end(), ':') > 1;
  const bool no_port = bare_ipv6 || (part.front() == '[' ? part.back() == ']' : part.find(':') == std::string::npos);
  std::string whole = bare_ipv6 ? fmt::format("[{}]", part) : std::string(part);
  if (no_port) whole += fmt::format(":{}", default_port);
  return cluster::format_address(TFD_TRY(cluster::parse_address(whole)));
}

}  // namespace

Result<TpuName> find_tpu_name(const TpuOptions& options, const Environment& env) {
  if (auto given = TFD_TRY(given_name(options))) return *std::move(given);
  if (options.compat == Compat::kTensorflow) return find_as_tensorflow(env);
  if (const auto value = env.get(kGke); !value.empty()) return classify(value, true, options.compat);
  for (const char* variable : {"TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"})
    if (!env.get(variable).empty()) return TpuName{TpuName::Kind::kSlice, variable, "", ""};
  if (const auto value = env.get("TPU_NAME"); !value.empty()) {
    auto name = classify(value, true, options.compat);
    if (!name) return fail(std::move(name).error().within("TPU_NAME"));
    return name;
  }
  if (const auto config = env.get("TPU_CONFIG"); !config.empty()) return parse_tpu_config(config, options.compat);
  return TpuName{TpuName::Kind::kSlice, "", "", ""};
}

Result<std::vector<std::string>> parse_tpu_addresses(const std::string& text, int default_port, Compat compat) {
  std::vector<std::string> out;
  for (const std::string& part : split(text, ',')) {
    if (compat == Compat::kNone) {
      out.push_back(TFD_TRY(parse_one_address(part, default_port), printable(text)));
      continue;
    }
    const std::string bare = has_scheme(part) ? part.substr(kScheme.size()) : part;
    const auto pieces = split(bare, ':');
    if (pieces.size() > 2)
      return fail(Code::kInvalidArgument, "{}: '{}' has {} colons", printable(text), printable(bare),
                  pieces.size() - 1);
    out.push_back(pieces.size() == 2 ? bare : fmt::format("{}:{}", bare, default_port));
  }
  return out;
}

std::string join_address(const std::string& host, const std::string& port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return bare_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace tfd::resolve::google
