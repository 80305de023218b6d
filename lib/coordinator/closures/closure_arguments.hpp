#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the arguments of a scheduled line: JSON typed by the function's signature, which is looked up once. Private to
// the room. Thread rule: one thread.
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

class ArgumentReader {
 public:
  ArgumentReader(const program::Program& program, std::string directory)
      : program_(program), directory_(std::move(directory)) {}

  const program::Program& program() const { return program_; }
  /// Makes {"per_worker": "NAME"} mean this dataset.
  void add_dataset(const std::string& name, PerWorkerDataset dataset) { datasets_[name] = std::move(dataset); }
  /// Reads a call; `args` and `kwargs` may be null. kInvalidArgument names the argument.
  Result<Call> read(const std::string& function, const nlohmann::json* args, const nlohmann::json* kwargs);
  /// Values of a call: its results, and its `returns`.
  struct Results {
    std::size_t count = 0;
    std::size_t bytes = 0;  // of all values, on one replica; the maximum over modules for several batch sizes
  };
  /// Describes a function's results. kInvalidArgument: no such function.
  Result<Results> find_results(const std::string& function);
  /// Reads a value for a variable.
  Result<tensor::Tensor> read_value(const std::string& variable, const nlohmann::json& value) const;
  /// Reads a value for `rows` rows of it.
  Result<tensor::Tensor> read_value_of_rows(const std::string& variable, std::int64_t rows,
                                            const nlohmann::json& value) const;
  /// Reads row ids: [3, 5], or a Python slice as text, "10:20". s64, of rank 1.
  Result<tensor::Tensor> read_rows(std::string_view op, const std::string& variable, const nlohmann::json& rows) const;

 private:
  struct Slot {
    std::vector<tensor::TensorSpec> specs;  // distinct specs in its modules; empty: unused
    bool has_any_rows = false;              // for a template: any first dimension
    std::string field;                      // field of an iterator; empty if it may be a tensor
  };
  struct Shape {
    std::vector<Slot> args;
    std::map<std::string, Slot, std::less<>> kwargs;
    Results results;
  };
  Result<const Shape*> find_shape(const std::string& function);
  Results results_of(const program::FunctionDef& function) const;
  Result<const program::VariableDef*> find_variable(const std::string& name) const;
  Result<Argument> read_argument(const Slot* slot, const nlohmann::json& value) const;

  const program::Program& program_;
  const std::string directory_;
  std::unordered_map<std::string, Shape> shapes_;
  std::map<std::string, PerWorkerDataset> datasets_;
};

}  // namespace tfd::coordinator
