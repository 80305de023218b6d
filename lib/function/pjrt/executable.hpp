#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A compiled module: what it takes and gives, and its way into the cache and back. Function and DeviceProgram run it.
// Thread rule: thread-safe.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

class Executable {
 public:
  /// kInvalidArgument with the module's name and the compiler's first line.
  static Result<std::shared_ptr<Executable>> compile(std::shared_ptr<const Client> client, const hlo::Module& module,
                                                     const std::string& options);
  /// From serialize()'s bytes, of this plug-in and a CPU like this one. Nothing when the plug-in doesn't take them.
  static std::shared_ptr<Executable> load(std::shared_ptr<const Client> client, const hlo::Module& module,
                                          const std::string& bytes);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const std::shared_ptr<const Client>& client() const { return client_; }
  PJRT_LoadedExecutable* handle() const { return loaded_; }
  const std::string& name() const { return name_; }
  /// As the module states it: of all partitions together.
  const hlo::Signature& signature() const { return signature_; }
  /// Whether the module lets XLA take arguments over.
  bool may_donate() const { return may_donate_; }

  /// The compiled program's own types against the signature, which the text or a sidecar has stated: the plug-in
  /// compares byte sizes only, when it is called. kInvalidArgument says both; kUnimplemented for layouts that aren't
  /// row-major. Of one partition: others have shards.
  Result<void> check_signature() const;
  /// What one partition takes and gives. kUnimplemented where the plug-in doesn't say.
  struct Specs {
    std::vector<tensor::TensorSpec> arguments, results;
  };
  Result<Specs> specs() const;
  std::optional<ProgramMemory> memory() const;
  std::optional<double> flops() const;
  /// Nothing when the plug-in can't.
  std::optional<std::string> serialize() const;

 private:
  Executable(std::shared_ptr<const Client> client, const hlo::Module& module, PJRT_LoadedExecutable* loaded);
  Result<void> check_result_count() const;
  Result<std::vector<tensor::TensorSpec>> result_specs() const;
  std::optional<std::string> optimized_program() const;

  std::shared_ptr<const Client> client_;  // shared: results of calls hold it too
  std::string name_;
  hlo::Signature signature_;
  bool may_donate_;
  PJRT_LoadedExecutable* loaded_;
  PJRT_Executable* executable_ = nullptr;
};

/// Runs it on one device, with values of the host; null: on the device that it was compiled for, the client's first.
std::shared_ptr<Function> make_function(std::shared_ptr<const Executable> executable, PJRT_Device* device);

/// kInvalidArgument: no devices, not as many partitions for each replica, or positions that are none or there twice.
Result<void> check_assignment(const std::vector<std::vector<int>>& assignment, std::size_t devices);
/// Runs it on all devices of the assignment that it was compiled for, which check_assignment() has looked at; or, where
/// it was compiled for any device, on `runs_on`, the one of the assignment.
Result<std::shared_ptr<DeviceProgram>> make_program(std::shared_ptr<const Executable> executable,
                                                    const std::vector<std::vector<int>>& assignment,
                                                    PJRT_Device* runs_on = nullptr);

}  // namespace tfd::function
