#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How programs compute on CPUs. Operations for which XLA:CPU has no kernel are written with others (hlo/for_cpu.hpp),
// and its library YNNPACK takes dots and reductions, but not convolutions. The last bits depend on it, as on the
// instruction set. TFD_KERNELS=xla turns both off. Thread rule: plain functions.
#include <string>
#include <string_view>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"

namespace tfd::function {

/// The plug-in's own choice, and modules as they are.
inline constexpr std::string_view kXlaKernels = "xla";
/// tfd's choice. The number changes with the bits that it makes.
inline constexpr std::string_view kOwnKernels = "tfd-1";

/// TFD_KERNELS: "xla", or nothing. kUsage for anything else.
Result<std::string> find_kernels(const Environment& env);

/// XLA's option that says what YNNPACK takes.
inline constexpr std::string_view kFusionOption = "xla_cpu_experimental_ynn_fusion_type";

}  // namespace tfd::function
