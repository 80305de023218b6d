#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A compiled module, on devices or for a topology without hardware: its types, costs and bytes. Thread rule:
// thread-safe.
#include <optional>
#include <string>
#include <vector>

#include "api.hpp"
#include "proto.hpp"
#include "tfd/function/device.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// A module in the form that the compiler takes.
class ModuleCode {
 public:
  explicit ModuleCode(const hlo::Module& module);
  ModuleCode(const ModuleCode&) = delete;
  ModuleCode& operator=(const ModuleCode&) = delete;
  PJRT_Program* program() { return &program_; }

 private:
  std::string code_;  // the API takes a pointer that isn't const
  PJRT_Program program_{};
};

/// The compiler's error: kInvalidArgument or kResourceExhausted, with the module's name and the message's first line.
Error compile_error(const hlo::Module& module, const std::string& platform, const Error& why);

/// kInvalidArgument: no devices, replicas with different numbers of partitions, or invalid or repeated positions.
Result<void> check_assignment(const std::vector<std::vector<int>>& assignment, std::size_t devices);
/// Checks ProgramOptions::system: devices of the system, by id, of which this process has those of `own`, in their
/// order, and no others. kInvalidArgument: as check_assignment(), or other ones.
Result<void> check_system(const std::vector<std::vector<int>>& ids, const std::vector<std::vector<int>>& own,
                          const std::vector<DeviceInfo>& system, int process_index);
/// kInvalidArgument: a module for another number of partitions or replicas.
Result<void> check_counts(const hlo::Module& module, const std::vector<std::vector<int>>& assignment);

class Compiled {
 public:
  /// Takes ownership of the handle; null: the plug-in returned no executable.
  Compiled(const Api& api, const std::string& platform, const hlo::Module& module, PJRT_Executable* handle);
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled();

  const std::string& name() const { return name_; }
  /// Global shapes (all partitions), as the module states them.
  const hlo::Signature& signature() const { return signature_; }
  /// True if the module lets arguments be donated.
  bool may_donate() const { return may_donate_; }

  /// Checks the compiled program's own types against the signature, which the text or a sidecar stated: at a call the
  /// plug-in compares byte sizes only. kInvalidArgument states both; kUnimplemented for layouts that aren't row-major
  /// if the host reads buffers in place. For one partition: several have shards.
  Result<void> check_signature() const;
  /// Checks the results only, which costs nothing; check_result_count() is the part for several partitions.
  Result<void> check_results() const;
  Result<void> check_result_count() const;
  struct Specs {
    std::vector<tensor::TensorSpec> arguments, results;
  };
  /// Argument and result specs of a single partition, from the signature.
  Specs stated_specs() const;
  /// Argument and result specs of one of several partitions. kUnimplemented if the plug-in doesn't report them.
  Result<Specs> specs() const;
  std::optional<ProgramMemory> memory() const;
  std::optional<double> flops() const;
  /// Serializes the executable; nullopt if the plug-in can't.
  std::optional<std::string> serialize() const;

 private:
  Result<std::vector<tensor::TensorSpec>> result_specs() const;
  std::optional<std::string> optimized_program() const;
  Result<std::optional<ProgramShapes>> program_shapes() const;

  const Api api_;
  const bool is_read_in_place_;
  std::string name_;
  hlo::Signature signature_;
  bool may_donate_;
  PJRT_Executable* handle_;
};

}  // namespace tfd::function
