#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a scheduled line: JSON typed by the signature of the function that gets them. What a function takes
// is looked up once. Private to the room. Thread rule: one thread.
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
  /// {"per_worker": "NAME"} stands for this from now on.
  void add_dataset(const std::string& name, PerWorkerDataset dataset) { datasets_[name] = std::move(dataset); }
  /// `args` and `kwargs` may be null. kInvalidArgument names the argument.
  Result<Call> read(const std::string& function, const nlohmann::json* args, const nlohmann::json* kwargs);
  /// The values of a call: its results, and what it `returns`.
  struct Results {
    std::size_t count = 0;
    std::size_t bytes = 0;  // of all, on one replica; of modules for several batch sizes the most
  };
  /// kInvalidArgument where there is no such function.
  Result<Results> find_results(const std::string& function);
  /// A value for a variable.
  Result<tensor::Tensor> read_value(const std::string& variable, const nlohmann::json& value) const;
  /// The same of so many rows of it.
  Result<tensor::Tensor> read_value_of_rows(const std::string& variable, std::int64_t rows,
                                            const nlohmann::json& value) const;
  /// Numbers of rows of it: [3, 5], or Python's slice as text, "10:20". s64, of rank 1.
  Result<tensor::Tensor> read_rows(std::string_view op, const std::string& variable, const nlohmann::json& rows) const;

 private:
  struct Slot {
    std::vector<tensor::TensorSpec> specs;  // of its modules, each once; empty: nothing uses it
    bool has_any_rows = false;              // of a template: the first dimension is up to the argument
    std::string field;                      // of an iterator; empty where it may be a tensor
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
