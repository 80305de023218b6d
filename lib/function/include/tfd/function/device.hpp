#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Devices, values on them, and programs that run on several of them at once. What the host sees of a value it asks for.
// Thread rule: thread-safe, but for a buffer that one thread gives away (donation) while another one uses it.
//
//   auto program = TFD_TRY(engine->compile_program(module, {.assignment = {{0}, {1}}}));   // two replicas
//   std::vector<DeviceBuffers> arguments(2);
//   for (int device : {0, 1}) arguments[device].push_back(TFD_TRY(engine->put(value, device)));
//   auto results = TFD_TRY(program->execute(arguments));
//   tensor::Tensor loss = TFD_TRY(results[0][0]->to_host());
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

struct DeviceInfo {
  int id = 0;                             // among all of the system
  int process_index = 0;                  // of the host that it is attached to
  std::string kind;                       // "TPU v4", "cpu"
  std::vector<std::int64_t> coords = {};  // of its chip, where the plug-in says so
  std::optional<std::int64_t> core_on_chip = {};
  std::string capability = {};  // what code must be made for, as the plug-in says: "compute_capability=9.0"
};

/// Of one device, in bytes.
struct DeviceMemory {
  std::int64_t in_use = 0;
  std::optional<std::int64_t> peak = {};
  std::optional<std::int64_t> limit = {};
};

/// A value on one device, there or on its way. Who holds one shares it; a program that takes it over leaves nothing.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual const tensor::TensorSpec& spec() const = 0;
  /// The position of its device among the engine's.
  virtual int device() const = 0;
  /// Blocks until it is there. The error of the program that was to make it; kFailedPrecondition: one has taken it
  /// over.
  virtual Result<void> await() const = 0;
  /// await(), and the value for the host: the buffer's own memory where the host can read it (such a buffer isn't
  /// overwritten as long as the tensor is there), else a copy.
  virtual Result<tensor::Tensor> to_host() const = 0;
};
using DeviceBufferPtr = std::shared_ptr<DeviceBuffer>;  // shared by whoever passes it to programs
using DeviceBuffers = std::vector<DeviceBufferPtr>;

struct ProgramOptions {
  /// Positions of devices by replica and partition. All replicas have as many partitions; no device is there twice.
  std::vector<std::vector<int>> assignment = {{0}};
};

/// What one device needs for a program, in bytes.
struct ProgramMemory {
  std::int64_t arguments = 0;
  std::int64_t results = 0;
  std::int64_t aliased = 0;  // of the results: in the memory of arguments that are taken over
  std::int64_t temporary = 0;
};

/// A module that is compiled for some devices. Slot r * P + p is partition p of replica r.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// Positions of the devices, by slot.
  virtual const std::vector<int>& devices() const = 0;
  /// What every slot takes and gives: with several partitions these are shards.
  virtual const std::vector<tensor::TensorSpec>& arguments() const = 0;
  virtual const std::vector<tensor::TensorSpec>& results() const = 0;
  /// Starts it on all its devices; `arguments` and the results are by slot. Of the arguments with an index in `donated`
  /// the memory may become a result's, where the module says which: their buffers are gone then. A buffer that is still
  /// seen by the host is copied instead. kInvalidArgument names an argument that doesn't fit. What fails later is told
  /// by the buffers; a failure on several devices ends the process, for the others wait for a collective that never
  /// comes.
  virtual Result<std::vector<DeviceBuffers>> execute(const std::vector<DeviceBuffers>& arguments,
                                                     std::span<const std::size_t> donated = {}) = 0;
  /// nullopt where the plug-in doesn't say.
  virtual std::optional<ProgramMemory> memory() const = 0;
  /// Floating-point operations of one run on one device, as the compiler counts them. nullopt as memory().
  virtual std::optional<double> flops() const { return std::nullopt; }
};

}  // namespace tfd::function
