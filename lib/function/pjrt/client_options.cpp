// SPDX-License-Identifier: Apache-2.0
#include "client_options.hpp"

#include <charconv>
#include <optional>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::function {
namespace {

/// Programs of a CPU run on the calling thread: a handover takes longer than a small program. The default of
/// "cpu_device_count" is four in xla-cpu-pjrt, which ignores the other option.
void add_cpu(const ClientWish& wish, std::vector<ClientAttempt>& out) {
  if (wish.cpu_devices <= 0) return;
  const ClientOption count{"cpu_device_count", std::int64_t{wish.cpu_devices}};
  out.push_back({{count, {"asynchronous", false}}});
  out.push_back({{count}});
}

/// A GPU's client takes part in a system of several hosts if it is told their number, its own, and where they exchange.
void add_gpu(const ClientWish& wish, std::vector<ClientAttempt>& out) {
  ClientAttempt one{.options = {}, .exchanges = wish.has_exchange};
  if (wish.has_exchange) {
    one.options.push_back({"node_id", std::int64_t{wish.host}});
    one.options.push_back({"num_nodes", std::int64_t{wish.hosts}});
  }
  one.chooses_devices = wish.kind == "gpu" && !wish.visible.empty();
  if (one.chooses_devices)
    one.options.push_back({"visible_devices", std::vector<std::int64_t>(wish.visible.begin(), wish.visible.end())});
  if (!one.options.empty()) out.push_back(std::move(one));
}

std::optional<float> parse_float(std::string_view text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<ClientAttempt> client_attempts(const ClientWish& wish) {
  std::vector<ClientAttempt> out;
  if (wish.kind.empty() || wish.kind == "cpu") add_cpu(wish, out);
  if (wish.kind.empty() || wish.kind == "gpu") add_gpu(wish, out);
  out.emplace_back();  // a TPU's hosts find each other
  for (ClientAttempt& one : out) one.options.insert(one.options.end(), wish.own.begin(), wish.own.end());
  return out;
}

std::vector<PJRT_NamedValue> named_values(const std::vector<ClientOption>& options) {
  std::vector<PJRT_NamedValue> out;
  for (const ClientOption& option : options) {
    PJRT_NamedValue& one = out.emplace_back();
    one.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    one.name = option.name.data();
    one.name_size = option.name.size();
    one.value_size = 1;
    if (const auto* const number = std::get_if<std::int64_t>(&option.value)) {
      one.type = PJRT_NamedValue_kInt64;
      one.int64_value = *number;
    } else if (const auto* const flag = std::get_if<bool>(&option.value)) {
      one.type = PJRT_NamedValue_kBool;
      one.bool_value = *flag;
    } else if (const auto* const real = std::get_if<float>(&option.value)) {
      one.type = PJRT_NamedValue_kFloat;
      one.float_value = *real;
    } else if (const auto* const text = std::get_if<std::string>(&option.value)) {
      one.type = PJRT_NamedValue_kString;
      one.string_value = text->data();
      one.value_size = text->size();
    } else {
      const auto& list = std::get<std::vector<std::int64_t>>(option.value);
      one.type = PJRT_NamedValue_kInt64List;
      one.int64_array_value = list.data();
      one.value_size = list.size();
    }
  }
  return out;
}

Result<std::vector<ClientOption>> parse_client_options(std::string_view text) {
  std::vector<ClientOption> out;
  for (const std::string& one : split(text, ',')) {
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Code::kInvalidArgument, "'{}' is not NAME=VALUE", printable(one));
    ClientOption& option = out.emplace_back(ClientOption{one.substr(0, equals), {}});
    const std::string value = one.substr(equals + 1);
    const bool is_flag = value == "true" || value == "false";
    if (is_flag)
      option.value = value == "true";
    else if (const auto whole = parse_integer(value, INT64_MIN, INT64_MAX))
      option.value = *whole;
    else if (const auto real = parse_float(value))
      option.value = *real;
    else
      option.value = value;
  }
  return out;
}

}  // namespace tfd::function
