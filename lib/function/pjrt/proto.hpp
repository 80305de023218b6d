#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The few protocol buffers that PJRT requires: compile options are written, the compiled program's shapes are read. A
// dozen varints don't pay for a library. Source: https://protobuf.dev/programming-guides/encoding/. Thread rule: free
// functions on plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// CompileOptionsProto for the devices with these ids, by replica and partition. Shardy and SPMD partitioning are
/// always on, as in JAX: they take modules with and without sdy shardings, those with mhlo.sharding, and those of one
/// partition with collectives of several shapes. `max_isa`: the newest instruction set of CPUs; empty: any.
std::string encode_compile_options(const std::vector<std::vector<int>>& device_ids, const std::string& max_isa = {});
/// Options for one device, which every call chooses.
std::string encode_portable_options(const std::string& max_isa = {});
/// One of XLA's own options, such as a flag of XLA_FLAGS has; put behind encoded options, it belongs to them.
std::string encode_option(std::string_view name, std::string_view value);

struct ProgramShapes {
  std::vector<tensor::TensorSpec> arguments, results;
  bool has_complex = false;  // then these aren't all
  /// The first of them whose layout isn't row-major.
  std::optional<tensor::TensorSpec> not_row_major = {};
};
/// Decodes PJRT_Executable_OptimizedProgram's "hlo_with_config". nullopt if the bytes aren't that, or have a type that
/// tfd has no dtype for.
std::optional<ProgramShapes> decode_program_shapes(std::string_view program);

}  // namespace tfd::function
