#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Handles lines of a closure stream that run no closure: variables, datasets, checkpoints, change of cluster. Private
// to the room; includes nlohmann/json.hpp. Thread rule: the stream's thread; blocks.
#include <string>

#include "closure_arguments.hpp"
#include "closure_line.hpp"
#include "closure_values.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

class ClosureOps {
 public:
  /// The references must outlive this object.
  ClosureOps(ClusterCoordinator& coordinator, ArgumentReader& arguments, const ValueWriter& values, Duration timeout)
      : coordinator_(coordinator), arguments_(arguments), values_(values), timeout_(timeout) {}

  /// Handles a line and adds members to its answer; `name` is for files of its values.
  Result<void> answer(const ClosureLine& parsed, const std::string& name, JsonLine& answer);

 private:
  Result<std::string> read(const std::string& variable, const nlohmann::json& fields, const std::string& name);
  Result<std::string> read_on_workers(const std::string& variable, const std::string& name);
  Result<void> assign(const std::string& variable, const nlohmann::json& fields);
  Result<std::string> change_cluster(const nlohmann::json& fields);
  Result<void> save(const std::string& path, JsonLine& answer);
  Result<void> restore(const std::string& path, JsonLine& answer);
  Deadline deadline() const { return Deadline::after(timeout_); }

  ClusterCoordinator& coordinator_;
  ArgumentReader& arguments_;
  const ValueWriter& values_;
  const Duration timeout_;
};

}  // namespace tfd::coordinator
