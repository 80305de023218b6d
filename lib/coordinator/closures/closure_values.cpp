// SPDX-License-Identifier: Apache-2.0
#include "closure_values.hpp"

#include <filesystem>

#include "tfd/base/json_line.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/npy.hpp"

namespace tfd::coordinator {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool is_remote(const ordered_json& value) {
  if (!value.is_object() || !value.contains("remote")) return false;
  if (value.size() == 1) return true;
  return value.size() == 2 && value.contains("result") && value["result"].is_number_unsigned();
}

RemoteRef read_remote(const ordered_json& value) {
  RemoteRef ref{text_of(value["remote"]), {}};
  if (value.contains("result")) ref.result = value["result"].get<std::size_t>();
  return ref;
}

Result<void> collect_released_of(const ordered_json& value, std::vector<std::string>& out) {
  if (is_remote(value) && value.size() == 1) {
    out.push_back(text_of(value["remote"]));
    return {};
  }
  if (is_remote(value))
    return fail(Code::kInvalidArgument,
                "release: {} is one of several results: a closure's results are only released together",
                text_of(value));
  if (!value.is_structured() || value.contains("remote"))
    return fail(Code::kInvalidArgument, "release: {} is no {{\"remote\": ID}}", text_of(value));
  for (const ordered_json& element : value) TFD_TRY(collect_released_of(element, out));
  return {};
}

}  // namespace

Result<void> collect_remotes(std::string_view op, const ordered_json& value, std::vector<RemoteRef>& out) {
  if (is_remote(value)) {
    out.push_back(read_remote(value));
    return {};
  }
  if (value.is_object() && value.contains("remote"))
    return fail(Code::kInvalidArgument, "{}: {} is neither {{\"remote\": ID}} nor {{\"remote\": ID, \"result\": N}}",
                op, text_of(value));
  if (value.is_structured())
    for (const ordered_json& element : value) TFD_TRY(collect_remotes(op, element, out));
  return {};
}

Result<std::vector<std::string>> collect_released(const ordered_json& value) {
  std::vector<std::string> out;
  TFD_TRY(collect_released_of(value, out));
  return out;
}

Result<void> ValueWriter::append(const tensor::Tensor& tensor, const std::string& name, std::string& out) const {
  if (!tensor.has_value()) {
    out += "null";
    return {};
  }
  if (!limit_ || tensor.byte_size() <= *limit_) {
    tensor::append_json(tensor, out);
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return fail_errno(error.value(), "cannot create the directory " + directory_);
  const std::string path = (std::filesystem::path(directory_) / (name + ".npy")).string();
  TFD_TRY(tensor::save_npy(path, tensor));
  out += "{\"npy\":";
  append_json_string(path, out);
  out += '}';
  return {};
}

Result<void> ValueWriter::append(const task::ClosureOutcome& outcome, std::optional<std::size_t> result,
                                 const std::string& name, std::string& out) const {
  const auto& results = outcome.results;
  if (result && *result < results.size()) return append(results[*result], name, out);
  if (results.empty()) {
    out += "null";
    return {};
  }
  if (results.size() == 1) return append(results.front(), name, out);
  for (std::size_t i = 0; i < results.size(); ++i) {
    out += i == 0 ? '[' : ',';
    TFD_TRY(append(results[i], fmt::format("{}-{}", name, i), out));
  }
  out += ']';
  return {};
}

Result<void> ValueWriter::append_structure(const ordered_json& value, const Find& find, const std::string& name,
                                           std::string& out) const {
  int files = 0;
  return append_part(value, find, name, files, out);
}

Result<void> ValueWriter::append_part(const ordered_json& value, const Find& find, const std::string& name, int& files,
                                      std::string& out) const {
  if (is_remote(value)) {
    const RemoteRef ref = read_remote(value);
    return append(find(ref.id), ref.result, fmt::format("{}.{}", name, files++), out);
  }
  if (!value.is_structured()) {
    out += text_of(value);
    return {};
  }
  out += value.is_array() ? '[' : '{';
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (member != value.begin()) out += ',';
    if (value.is_object()) {
      append_json_string(member.key(), out);
      out += ':';
    }
    TFD_TRY(append_part(*member, find, name, files, out));
  }
  out += value.is_array() ? ']' : '}';
  return {};
}

}  // namespace tfd::coordinator
