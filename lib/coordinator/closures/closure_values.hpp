#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values of closures in lines and answers. A line refers to one by {"remote": ID}, or {"remote": ID, "result": N} for
// one of several results, anywhere in a structure. An answer has nested lists, or {"npy": PATH} if a tensor above the
// limit is written to a file. Private to the room; includes nlohmann/json.hpp. Thread rule: thread-safe.
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/task/worker_client.hpp"

namespace tfd::coordinator {

struct RemoteRef {
  std::string id;  // its JSON text
  std::optional<std::size_t> result;
};

/// Collects all references in a structure. kInvalidArgument: a malformed reference; `op` is for the message.
Result<void> collect_remotes(std::string_view op, const nlohmann::ordered_json& value, std::vector<RemoteRef>& out);
/// Collects the ids of a release, which refers to whole closures only. kInvalidArgument names anything else.
Result<std::vector<std::string>> collect_released(const nlohmann::ordered_json& value);

class ValueWriter {
 public:
  /// Makes a writer; without a limit nothing is written to files.
  ValueWriter(std::optional<std::uint64_t> limit, std::string directory)
      : limit_(limit), directory_(std::move(directory)) {}

  /// Appends null, the single result bare, or a list; with `result` that one alone. `name` is for files: NAME.npy,
  /// NAME-1.npy if there are several results. Errors of writing them; `out` is unspecified then.
  Result<void> append(const task::ClosureOutcome& outcome, std::optional<std::size_t> result, const std::string& name,
                      std::string& out) const;
  Result<void> append(const tensor::Tensor& tensor, const std::string& name, std::string& out) const;
  /// Appends a structure with references replaced by values; NAME.0 names the files of the first.
  using Find = std::function<const task::ClosureOutcome&(const std::string& id)>;
  Result<void> append_structure(const nlohmann::ordered_json& value, const Find& find, const std::string& name,
                                std::string& out) const;

 private:
  Result<void> append_part(const nlohmann::ordered_json& value, const Find& find, const std::string& name, int& files,
                           std::string& out) const;

  std::optional<std::uint64_t> limit_;
  std::string directory_;
};

}  // namespace tfd::coordinator
