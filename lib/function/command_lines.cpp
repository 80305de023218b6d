// SPDX-License-Identifier: Apache-2.0
#include "command_lines.hpp"

#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::function {
namespace {

using nlohmann::json;

constexpr std::size_t kShown = 80;  // bytes of invalid JSON shown in a message
constexpr std::size_t kBytesPerElement = 64;
constexpr std::size_t kBytesBeside = std::size_t{1} << 20;

std::string shown(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  const std::string start = printable(text.substr(0, kShown));
  return text.size() > kShown ? start + "…" : start;
}

/// Formats the expected results for messages: one bare, several as a list.
std::string format_results(const hlo::Signature& signature) {
  if (signature.results.size() == 1) return tensor::format_spec(signature.results.front().spec);
  std::string out;
  for (const hlo::Parameter& result : signature.results)
    out += (out.empty() ? "[" : ", ") + tensor::format_spec(result.spec);
  return out + ']';
}

}  // namespace

std::string format_arguments(const std::vector<tensor::Tensor>& arguments) {
  std::string out;
  if (arguments.empty()) out = "null";
  if (arguments.size() > 1) out += '[';
  for (const tensor::Tensor& argument : arguments) {
    if (&argument != &arguments.front()) out += ',';
    tensor::append_json(argument, out);
  }
  if (arguments.size() > 1) out += ']';
  return out + '\n';
}

Result<std::vector<tensor::Tensor>> parse_results(std::string_view text, const hlo::Signature& signature) {
  const json value = json::parse(tensor::plain_json(text), nullptr, false);
  if (value.is_discarded()) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
      return fail(Code::kInvalidArgument, "printed nothing, but {} was expected", format_results(signature));
    return fail(Code::kInvalidArgument, "printed text that is not JSON: '{}'", shown(text));
  }
  std::vector<tensor::Tensor> results;
  const std::size_t count = signature.results.size();
  if (count == 1) {
    results.push_back(TFD_TRY(tensor::tensor_from_json(value, signature.results[0].spec), "printed a wrong result"));
    return results;
  }
  if (!value.is_array() || value.size() != count)
    return fail(Code::kInvalidArgument, "printed '{}', not a list of {} results", shown(text), count);
  for (std::size_t i = 0; i < count; ++i)
    results.push_back(TFD_TRY(tensor::tensor_from_json(value[i], signature.results[i].spec),
                              fmt::format("printed a wrong value for result {}", i)));
  return results;
}

std::size_t most_result_bytes(const hlo::Signature& signature) {
  std::size_t bytes = kBytesBeside;
  for (const hlo::Parameter& result : signature.results)
    bytes += kBytesPerElement * static_cast<std::size_t>(tensor::element_count(result.spec.shape));
  return bytes;
}

}  // namespace tfd::function
