#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How programs compute on CPUs. Operations for which XLA:CPU has no kernel are written with others (hlo/for_cpu.hpp),
// its library YNNPACK takes dots and reductions, but not convolutions, and oneDNN 3, where it is installed, takes large
// dots and convolutions. The last bits depend on it, as on the instruction set. TFD_KERNELS=xla turns all of it off.
// Thread rule: thread-safe.
#include <string>
#include <string_view>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"

namespace tfd::function {

/// The plug-in's own choice, and modules as they are.
inline constexpr std::string_view kXlaKernels = "xla";
/// tfd's choice. The number changes with the bits that it makes.
inline constexpr std::string_view kOwnKernels = "tfd-1";

/// The sign between it and the name of a library: "tfd-1+onednn-3.2.1".
inline constexpr char kWithLibrary = '+';

/// TFD_KERNELS: "xla", "tfd-1", or nothing: tfd's choice with oneDNN (TFD_ONEDNN, or the system's), if it can be
/// loaded. kUsage for anything else. kFailedPrecondition: TFD_ONEDNN names something else than such a library.
Result<std::string> find_kernels(const Environment& env);
/// Finds kernels that two processes both have: without oneDNN where it differs, else the plug-in's own.
std::string common_kernels(const std::string& a, const std::string& b);
/// Whether an engine of this process can compute by them.
bool has_kernels(const std::string& kernels);

/// Uses the oneDNN at `path`, or of that name for the dynamic loader, instead of libdnnl.so.3 (empty: this). Before it
/// is loaded; it is never unloaded: a plug-in calls C functions, which belong to no engine.
void use_onednn(std::string path);
/// Its name: "onednn-3.2.1". kFailedPrecondition: it can't be loaded, isn't oneDNN 3, or has threads of another kind
/// than OpenMP's.
Result<std::string> find_onednn();

/// XLA's option that says what YNNPACK takes.
inline constexpr std::string_view kFusionOption = "xla_cpu_experimental_ynn_fusion_type";

}  // namespace tfd::function
