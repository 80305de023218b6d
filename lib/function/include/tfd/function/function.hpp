#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Something that takes tensors and returns tensors, and the engine that makes it from a module: XLA behind the PJRT C
// API. The plug-in is loaded by the first make_engine() only; everything that needs none works without one. Thread
// rule: thread-safe; calls run on the caller's thread (XLA uses threads of its own beside).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/hosts.hpp"
#include "tfd/hlo/module.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

class Function {
 public:
  virtual ~Function() = default;
  virtual const hlo::Signature& signature() const = 0;
  /// Arguments are checked first (check_arguments). 64-byte aligned host tensors go in without a copy; results of
  /// another call go in as the device buffers they are; results are read in place. Arguments are never donated:
  /// variables that a worker caches stay valid. kInvalidArgument, kInternal with the plug-in's text,
  /// kResourceExhausted.
  virtual Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) = 0;
  /// The same, but results stay on the device until somebody reads them (resident.hpp), where the function has one.
  virtual Result<std::vector<tensor::Tensor>> call_there(const std::vector<tensor::Tensor>& arguments) {
    return call(arguments);
  }
};

struct EngineOptions {
  std::string plugin;           // path of the shared object; see find_plugin()
  std::string cache_directory;  // compiled executables; empty: none
  int device_count = 1;         // that it is to have; of a CPU they are as many as one likes
  /// Instead: these, by their positions among the plug-in's; the engine's devices are in this order.
  std::vector<int> positions = {};
  /// How many of these are the logical devices of one replica, one after the other. With SPMD partitioning a function
  /// runs on all of them, else on the one that its module states.
  int logical_devices = 1;
  bool spmd = false;
  /// Of one system, as GPU plug-ins make of several hosts; the devices above are those of this one.
  Hosts hosts = {};
  std::string device_kind = {};  // "cpu", "gpu", "tpu": the plug-in must be for it; empty: any
  /// XLA_FLAGS of the process's environment, where XLA reads it by itself: compiled executables are kept by it, too.
  std::string xla_flags = {};
  Log log = {};  // what it has to say of its cache
};

struct CompileStats {
  int compiled = 0;    // modules that the compiler has seen
  int from_cache = 0;  // modules that were loaded from the cache directory instead
};

/// Bytes of values that were put on an engine's devices, and that the host took from them. Where the host can read the
/// devices' memory these are lent instead of copied, and count all the same.
struct Transfers {
  std::uint64_t put = 0, taken = 0;
};

struct PluginInfo {
  std::string path;
  std::string platform;  // "cpu"
  int api_major = 0, api_minor = 0;
  std::vector<std::int64_t> stablehlo_current;  // e.g. {1, 20, 0}
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const PluginInfo& plugin() const = 0;
  /// Compiles, or loads from the cache (key: plug-in bytes, module bytes, options, CPU features, what the devices are).
  /// kInvalidArgument with the module's name and the compiler's first line when it doesn't parse or compile.
  /// kUnimplemented for a module of several replicas, or of other partitions than there are logical devices.
  virtual Result<std::shared_ptr<Function>> compile(const hlo::Module& module) = 0;
  /// How many replicas can call functions at the same time: one for each device, or for each so many logical devices.
  virtual int device_count() const { return 1; }
  /// For each of device_count() a function that runs there, in their order. The same one for all where the engine
  /// doesn't tell them apart. Errors as compile().
  virtual Result<std::vector<std::shared_ptr<Function>>> compile_for_devices(const hlo::Module& module);
  virtual CompileStats compile_stats() const { return {}; }
  virtual Transfers transfers() const { return {}; }

  // Values that stay on devices, and programs on several of them. A device goes by its position in devices().
  virtual const std::vector<DeviceInfo>& devices() const;
  /// A copy of its own, which programs may take over.
  virtual Result<DeviceBufferPtr> put(const tensor::Tensor& value, int device);
  /// For reading: the tensor's own memory where the device can read it, or the buffer that it was made from.
  virtual Result<DeviceBufferPtr> lend(const tensor::Tensor& value, int device);
  /// As compile(), for an assignment. kInvalidArgument: one that isn't sound, or a module that is for another number of
  /// partitions or replicas.
  virtual Result<std::shared_ptr<DeviceProgram>> compile_program(const hlo::Module& module,
                                                                 const ProgramOptions& options);
  /// Compiled once, and for each device a program that runs there by itself: what replicas run that don't meet in a
  /// collective. Errors as compile().
  virtual Result<std::vector<std::shared_ptr<DeviceProgram>>> compile_for_each_device(const hlo::Module& module);
  /// nullopt where the plug-in doesn't say, as a CPU's.
  virtual std::optional<DeviceMemory> memory(int /*device*/) const { return std::nullopt; }
};

/// TFD_PJRT_PLUGIN, else the plug-in that this build was configured with. kFailedPrecondition with a hint when there is
/// none.
Result<std::string> find_plugin(const Environment& env);
/// TFD_CACHE_DIR (set but empty: no cache), else XDG_CACHE_HOME/tfd, else HOME/.cache/tfd; empty when none of them is
/// there.
std::string find_cache_directory(const Environment& env);
/// Loads the plug-in and makes its client. kFailedPrecondition: no such file, not a PJRT plug-in, too old an API, fewer
/// devices than are asked for.
/// What XLA reads of the process's environment by itself when it is loaded, who calls this sets before: its threads,
/// 1 + 2 x max(PJRT_NPROC, device_count), PJRT_NPROC being the CPUs of the affinity mask where it is unset; how much it
/// says on stderr, TF_CPP_MIN_LOG_LEVEL (3: nothing); XLA_FLAGS.
Result<std::shared_ptr<Engine>> make_engine(const EngineOptions& options);

}  // namespace tfd::function
