#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the compiler made of a module, on devices or for those that aren't here: its types, its costs, its bytes.
// Thread rule: thread-safe.
#include <optional>
#include <string>
#include <vector>

#include "api.hpp"
#include "proto.hpp"
#include "tfd/function/device.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// A module as the compiler takes it.
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

/// What the compiler says of a module: kInvalidArgument, or kResourceExhausted, with the module's name and its first
/// line.
Error compile_error(const hlo::Module& module, const std::string& platform, const Error& why);

/// kInvalidArgument: no devices, not as many partitions for each replica, or positions that are none or there twice.
Result<void> check_assignment(const std::vector<std::vector<int>>& assignment, std::size_t devices);
/// kInvalidArgument: a module that is for another number of partitions or replicas.
Result<void> check_counts(const hlo::Module& module, const std::vector<std::vector<int>>& assignment);

class Compiled {
 public:
  /// Takes the handle over; null: the plug-in compiled it to nothing.
  Compiled(const Api& api, const std::string& platform, const hlo::Module& module, PJRT_Executable* handle);
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled();

  const std::string& name() const { return name_; }
  /// As the module states it: of all partitions together.
  const hlo::Signature& signature() const { return signature_; }
  /// Whether the module lets XLA take arguments over.
  bool may_donate() const { return may_donate_; }

  /// The compiled program's own types against the signature, which the text or a sidecar has stated: the plug-in
  /// compares byte sizes only, when it is called. kInvalidArgument says both; kUnimplemented for layouts that aren't
  /// row-major where the host reads buffers in place. Of one partition: others have shards.
  Result<void> check_signature() const;
  /// The part of it about results, which costs nothing; and of that the part for several partitions.
  Result<void> check_results() const;
  Result<void> check_result_count() const;
  struct Specs {
    std::vector<tensor::TensorSpec> arguments, results;
  };
  /// As the signature has them: what the one partition takes and gives.
  Specs stated_specs() const;
  /// What one of several partitions takes and gives. kUnimplemented where the plug-in doesn't say.
  Result<Specs> specs() const;
  std::optional<ProgramMemory> memory() const;
  std::optional<double> flops() const;
  /// Nothing when the plug-in can't.
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
