#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Function maps tensors to tensors; Engine compiles one from a module: XLA behind the PJRT C API. The plug-in is loaded
// by the first make_engine() only; everything else works without one. Thread rule: thread-safe; calls run on the
// caller's thread (XLA also uses threads of its own).
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/hosts.hpp"
#include "tfd/hlo/for_cpu.hpp"
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
  /// Calls it, but leaves results on the device, if the function has one, until they are read (resident.hpp).
  virtual Result<std::vector<tensor::Tensor>> call_there(const std::vector<tensor::Tensor>& arguments) {
    return call(arguments);
  }
};

/// A setting of a PJRT client: "memory_fraction", 0.5.
struct ClientOption {
  std::string name;
  std::variant<std::int64_t, bool, float, std::string, std::vector<std::int64_t>> value;
};
/// Parses "memory_fraction=0.5,allocator=bfc,preallocate=false". A value that looks like a number is one; "true" and
/// "false" are booleans. kInvalidArgument.
Result<std::vector<ClientOption>> parse_client_options(std::string_view text);

struct EngineOptions {
  std::string plugin;           // path of the shared object; see find_plugin()
  std::string cache_directory;  // compiled executables; empty: none
  int device_count = 1;         // number of devices; a CPU can have any number
  /// Replaces device_count: the devices at these positions among the plug-in's, in this order.
  std::vector<int> positions = {};
  /// Number of consecutive devices that are the logical devices of one replica. With SPMD partitioning a function runs
  /// on all of them, else on the one that its module states.
  int logical_devices = 1;
  bool spmd = false;
  /// Hosts that form one system; the devices above are this host's.
  Hosts hosts = {};
  /// Settings of the plug-in's own, by the names that it has for them, besides those that follow from the above.
  std::vector<ClientOption> client_options = {};
  std::string device_kind = {};  // "cpu", "gpu", "tpu": the plug-in must be for it; empty: any
  /// XLA_FLAGS of the process's environment, which XLA reads by itself: a part of the cache's keys.
  std::string xla_flags = {};
  std::string max_isa = {};  // the newest instruction set that CPUs' programs may have (isa.hpp); empty: any
  /// How CPUs' programs compute (kernels.hpp); empty: kOwnKernels.
  std::string kernels = {};
  Log log = {};  // messages about its cache, and about what it rewrites
  /// Called before the compiler sees a module, on the thread that compiles; what it returns lives until that is over.
  std::function<std::shared_ptr<void>(const std::string& module)> on_compile = {};
};

struct CompileStats {
  int compiled = 0;    // modules that the compiler has seen
  int from_cache = 0;  // modules that were loaded from the cache directory instead
};

/// Bytes of values that were put on an engine's devices, and that the host took from them. They count even if they are
/// lent instead of copied, since the host can read the devices' memory.
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
  /// Compiles, or loads from the cache (key: plug-in bytes, module bytes, options, CPU features, kinds of devices; for
  /// devices of several hosts, all of theirs, and which process this is).
  /// kInvalidArgument with the module's name and the compiler's first line when it doesn't parse or compile.
  /// kUnimplemented for a module of several replicas, or whose partitions aren't as many as the logical devices.
  virtual Result<std::shared_ptr<Function>> compile(const hlo::Module& module) = 0;
  /// Number of replicas that can call functions at the same time: devices / logical devices per replica.
  virtual int device_count() const { return 1; }
  /// Compiles a function for each of device_count(), in their order. All are the same one if the engine doesn't
  /// distinguish devices. Errors as compile().
  virtual Result<std::vector<std::shared_ptr<Function>>> compile_for_devices(const hlo::Module& module);
  /// The operations of a module that are written with others before it is compiled (hlo/for_cpu.hpp).
  virtual std::vector<hlo::RewrittenOperation> rewritten(const hlo::Module& /*module*/) const { return {}; }
  virtual CompileStats compile_stats() const { return {}; }
  /// True if programs may show values before they end (value_watch.hpp).
  virtual bool shows_values() const { return false; }
  virtual Transfers transfers() const { return {}; }

  // Values that stay on devices, and programs on several of them. A device is given by its position in devices().
  virtual const std::vector<DeviceInfo>& devices() const;
  /// All devices of the system, by process and id: other hosts' too, which programs may be compiled for
  /// (ProgramOptions::system), but no value can be put on.
  virtual const std::vector<DeviceInfo>& system_devices() const { return devices(); }
  /// Copies the value to the device; programs may take the copy over (donation).
  virtual Result<DeviceBufferPtr> put(const tensor::Tensor& value, int device);
  /// Lends the value to the device for reading: the tensor's own memory if the device can read it, or the buffer that
  /// it was made from.
  virtual Result<DeviceBufferPtr> lend(const tensor::Tensor& value, int device);
  /// Compiles for a device assignment. Errors as compile(); kInvalidArgument: an invalid assignment, or a module for
  /// another number of partitions or replicas.
  virtual Result<std::shared_ptr<DeviceProgram>> compile_program(const hlo::Module& module,
                                                                 const ProgramOptions& options);
  /// Compiles once and returns for each device a program that runs there alone, for replicas without collectives.
  /// Errors as compile().
  virtual Result<std::vector<std::shared_ptr<DeviceProgram>>> compile_for_each_device(const hlo::Module& module);
  /// Memory of a device; nullopt if the plug-in doesn't report it, as for a CPU.
  virtual std::optional<DeviceMemory> memory(int /*device*/) const { return std::nullopt; }
};

/// Finds the plug-in: TFD_PJRT_PLUGIN, a path, or one of cpu, cuda12, cuda13 and tpu, which are looked for beside this
/// executable (../lib/tfd/pjrt-NAME.so), then in the site-packages of its environment and of the active one; without it
/// the CPU's beside this executable, else the one that this build was configured with. kFailedPrecondition with a hint
/// when there is none.
Result<std::string> find_plugin(const Environment& env);
/// TFD_CACHE_DIR (set but empty: no cache), else XDG_CACHE_HOME/tfd, else HOME/.cache/tfd; empty if none of them is
/// set.
std::string find_cache_directory(const Environment& env);
/// Loads the plug-in and makes its client, of all hosts' devices if there are several. kFailedPrecondition: no such
/// file, not a PJRT plug-in, too old an API, fewer devices than are asked for, another number of hosts; kUnimplemented:
/// the plug-in knows its own host's devices only; errors of the exchange. The caller sets the environment variables
/// that XLA itself reads when it is loaded: its threads, 1 + 2 x max(PJRT_NPROC, device_count), PJRT_NPROC being the
/// CPUs of the affinity mask where it is unset; its log level on stderr, TF_CPP_MIN_LOG_LEVEL (3: nothing); XLA_FLAGS.
Result<std::shared_ptr<Engine>> make_engine(const EngineOptions& options);

}  // namespace tfd::function
