#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A compiled module, on one device or on any: Function behind the PJRT C API. Thread rule: thread-safe.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

class Executable final : public Function, public std::enable_shared_from_this<Executable> {
 public:
  /// kInvalidArgument with the module's name and the compiler's first line.
  static Result<std::shared_ptr<Executable>> compile(std::shared_ptr<const Client> client, const Module& module,
                                                     const std::string& options);
  /// From serialize()'s bytes, of this plug-in and a CPU like this one. Nothing when the plug-in doesn't take them.
  static std::shared_ptr<Executable> load(std::shared_ptr<const Client> client, const Module& module,
                                          const std::string& bytes);
  ~Executable() override;

  const Signature& signature() const override { return signature_; }
  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override {
    return call_on(nullptr, arguments);
  }
  /// Of a module that was compiled for no device: a function that runs on this one.
  std::shared_ptr<Function> on(PJRT_Device* device);

  /// The compiled program's own types against the signature, which the text or a sidecar has stated: the plug-in
  /// compares byte sizes only, when it is called. kInvalidArgument says both; kUnimplemented for layouts that aren't
  /// row-major.
  Result<void> check_signature() const;
  /// Nothing when the plug-in can't.
  std::optional<std::string> serialize() const;

 private:
  /// Null: on the device that it was compiled for, which is the client's first.
  Result<std::vector<tensor::Tensor>> call_on(PJRT_Device* device, const std::vector<tensor::Tensor>& arguments);
  friend class OnDevice;
  Executable(std::shared_ptr<const Client> client, const Module& module, PJRT_LoadedExecutable* loaded);
  Result<std::vector<tensor::TensorSpec>> output_specs() const;
  std::optional<std::string> optimized_program() const;

  std::shared_ptr<const Client> client_;  // shared: results of calls hold it too
  std::string name_;
  Signature signature_;
  PJRT_LoadedExecutable* loaded_;
  PJRT_Executable* executable_ = nullptr;
  std::vector<std::int64_t> kept_arguments_;  // indices that XLA may not take over although the module says so
};

}  // namespace tfd::function
