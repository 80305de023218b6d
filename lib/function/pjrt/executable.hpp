#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A compiled module on its devices, and loading one from the cache. Function and DeviceProgram run it. Thread rule:
// thread-safe.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client.hpp"
#include "compiled.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

class Executable {
 public:
  /// Errors of compile_error().
  static Result<std::shared_ptr<Executable>> compile(std::shared_ptr<const Client> client, const hlo::Module& module,
                                                     const std::string& options);
  /// Loads Compiled::serialize()'s bytes, made by this plug-in for devices like these. The plug-in's error if it
  /// refuses them; kInvalidArgument: the results differ from the module's.
  static Result<std::shared_ptr<Executable>> load(std::shared_ptr<const Client> client, const hlo::Module& module,
                                                  const std::string& bytes, bool is_whole);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const std::shared_ptr<const Client>& client() const { return client_; }
  PJRT_LoadedExecutable* handle() const { return loaded_; }
  const Compiled& compiled() const { return compiled_; }
  const std::string& name() const { return compiled_.name(); }
  const hlo::Signature& signature() const { return compiled_.signature(); }
  bool may_donate() const { return compiled_.may_donate(); }

 private:
  Executable(std::shared_ptr<const Client> client, const hlo::Module& module, PJRT_LoadedExecutable* loaded);

  std::shared_ptr<const Client> client_;  // shared: results of calls hold it too
  PJRT_LoadedExecutable* loaded_;
  Compiled compiled_;
};

/// Makes a function that runs it on one device, with host values; null: the device that it was compiled for, the
/// client's first.
std::shared_ptr<Function> make_function(std::shared_ptr<const Executable> executable, PJRT_Device* device);

/// Makes a program that runs it on all devices of the assignment that it was compiled for, which check_assignment() has
/// checked; or, if it was compiled for any device, on `runs_on`, the only one of the assignment. `all`: the number of
/// devices that it runs on together with other processes.
Result<std::shared_ptr<DeviceProgram>> make_program(std::shared_ptr<const Executable> executable,
                                                    const std::vector<std::vector<int>>& assignment, std::size_t all,
                                                    PJRT_Device* runs_on = nullptr);

}  // namespace tfd::function
