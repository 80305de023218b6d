// SPDX-License-Identifier: Apache-2.0
#include "remote_refs.hpp"

namespace tfd::coordinate {
namespace {

using json = nlohmann::ordered_json;

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

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

Result<void> collect_remotes(const json& value, std::vector<RemoteRef>& out) {
  if (is_remote(value)) {
    out.push_back(read_remote(value));
    return {};
  }
  if (value.is_object() && value.contains("remote"))
    return fail(Code::kInvalidArgument, "fetch: {} is neither {{\"remote\": ID}} nor {{\"remote\": ID, \"result\": N}}",
                text_of(value));
  if (value.is_structured())
    for (const json& element : value) TFD_TRY(collect_remotes(element, out));
  return {};
}

}  // namespace tfd::coordinate
