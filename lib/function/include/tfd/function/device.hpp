#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Devices, values on them, and programs that run on several of them at once. Values are copied to the host only on
// request. Thread rule: thread-safe, but for a buffer that one thread gives away (donation) while another one uses it.
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
  int process_index = 0;                  // process of the host that it is attached to
  std::string kind;                       // "TPU v4", "cpu"
  std::vector<std::int64_t> coords = {};  // coordinates of its chip, if the plug-in reports them
  std::optional<std::int64_t> core_on_chip = {};
  std::string capability = {};  // capability that code is compiled for, by the plug-in: "compute_capability=9.0"
};

/// Memory of one device, in bytes.
struct DeviceMemory {
  std::int64_t in_use = 0;
  std::optional<std::int64_t> peak = {};
  std::optional<std::int64_t> limit = {};
};

/// A value on one device, present or being computed. Holders share it; donating it to a program invalidates it.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual const tensor::TensorSpec& spec() const = 0;
  /// The position of its device among the engine's.
  virtual int device() const = 0;
  /// Blocks until the value is present. Fails with the error of the program that should have made it;
  /// kFailedPrecondition: it was donated.
  virtual Result<void> await() const = 0;
  /// Awaits the value and returns it: in the buffer's own memory if the host can read that (it isn't overwritten while
  /// the tensor exists), else as a copy.
  virtual Result<tensor::Tensor> to_host() const = 0;
};
using DeviceBufferPtr = std::shared_ptr<DeviceBuffer>;  // shared with programs that have it as an argument
using DeviceBuffers = std::vector<DeviceBufferPtr>;

struct ProgramOptions {
  /// Positions of devices by replica and partition. All replicas have the same number of partitions; no device occurs
  /// twice.
  std::vector<std::vector<int>> assignment = {{0}};
  /// For devices of several hosts: ids (DeviceInfo) of all devices by replica and partition, the same in all hosts'
  /// processes. `assignment` has this engine's replicas among them, in the same order, and so have the slots; all
  /// processes execute it, each with its own slots. Empty: all devices are this engine's.
  std::vector<std::vector<int>> system = {};
};

/// Memory that a program needs on one device, in bytes.
struct ProgramMemory {
  std::int64_t arguments = 0;
  std::int64_t results = 0;
  std::int64_t aliased = 0;  // bytes of results in the memory of donated arguments
  std::int64_t temporary = 0;
};

/// A module that is compiled for some devices. Slot r * P + p is partition p of replica r.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// Positions of the devices, by slot.
  virtual const std::vector<int>& devices() const = 0;
  /// Specs of every slot's arguments and results: with several partitions these are shards.
  virtual const std::vector<tensor::TensorSpec>& arguments() const = 0;
  virtual const std::vector<tensor::TensorSpec>& results() const = 0;
  /// Starts the program on all its devices; `arguments` and results are by slot. Arguments with an index in `donated`
  /// may be donated to results, as the module's aliases state: their buffers are invalid then. A buffer that the host
  /// still reads is copied instead. kInvalidArgument names an argument that doesn't fit. Later failures are reported by
  /// the buffers; a failure on several devices ends the process, since the others wait for a collective that never
  /// comes.
  virtual Result<std::vector<DeviceBuffers>> execute(const std::vector<DeviceBuffers>& arguments,
                                                     std::span<const std::size_t> donated = {}) = 0;
  /// nullopt where the plug-in doesn't say.
  virtual std::optional<ProgramMemory> memory() const = 0;
  /// Floating-point operations of one run on one device, as the compiler counts them. nullopt as memory().
  virtual std::optional<double> flops() const { return std::nullopt; }
};

}  // namespace tfd::function
