// SPDX-License-Identifier: Apache-2.0
#include "closure_values.hpp"

#include <filesystem>

#include "tfd/base/json_line.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/npy.hpp"

namespace tfd::coordinate {

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

Result<void> ValueWriter::append(const runtime::ClosureOutcome& outcome, std::optional<std::size_t> result,
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

}  // namespace tfd::coordinate
