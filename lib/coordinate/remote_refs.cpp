// SPDX-License-Identifier: Apache-2.0
#include "remote_refs.hpp"

namespace tfd::coordinate {
namespace {

using json = nlohmann::ordered_json;

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

Result<void> collect_released_of(const json& value, std::vector<std::string>& out) {
  if (is_remote(value) && value.size() == 1) {
    out.push_back(text_of(value["remote"]));
    return {};
  }
  if (is_remote(value))
    return fail(Code::kInvalidArgument, "release: {} is one of several results: only all of a closure are released",
                text_of(value));
  if (!value.is_structured() || value.contains("remote"))
    return fail(Code::kInvalidArgument, "release: {} is no {{\"remote\": ID}}", text_of(value));
  for (const json& element : value) TFD_TRY(collect_released_of(element, out));
  return {};
}

}  // namespace

bool is_remote(const nlohmann::ordered_json& value) {
  if (!value.is_object() || !value.contains("remote")) return false;
  if (value.size() == 1) return true;
  return value.size() == 2 && value.contains("result") && value["result"].is_number_unsigned();
}

RemoteRef read_remote(const json& value) {
  RemoteRef ref{text_of(value["remote"]), {}};
  if (value.contains("result")) ref.result = value["result"].get<std::size_t>();
  return ref;
}

Result<void> collect_remotes(std::string_view op, const json& value, std::vector<RemoteRef>& out) {
  if (is_remote(value)) {
    out.push_back(read_remote(value));
    return {};
  }
  if (value.is_object() && value.contains("remote"))
    return fail(Code::kInvalidArgument, "{}: {} is neither {{\"remote\": ID}} nor {{\"remote\": ID, \"result\": N}}",
                op, text_of(value));
  if (value.is_structured())
    for (const json& element : value) TFD_TRY(collect_remotes(op, element, out));
  return {};
}

Result<std::vector<std::string>> collect_released(const json& value) {
  std::vector<std::string> out;
  TFD_TRY(collect_released_of(value, out));
  return out;
}

}  // namespace tfd::coordinate
