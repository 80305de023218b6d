#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A StableHLO module and the signature of its @main: read from the text, or from a sidecar for portable bytecode.
// Where @main of a text takes or returns complex values, the module is one that has their real and imaginary parts
// there, as a last dimension of 2. Thread rule: plain values.
//
//   Module module = TFD_TRY(make_module("train_step.mlir", code, std::nullopt));
//   module.signature.arguments[0].spec  // f32[64, 10]
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/hlo/sharding.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::hlo {

struct Parameter {
  std::string name;  // from loc("x") or jax.result_info or the sidecar; "arg0", "result0" where there is none
  tensor::TensorSpec spec;
  std::optional<int> aliases_output;        // tf.aliasing_output: donated to that result
  std::optional<OpSharding> sharding = {};  // as the text or the program states it
};

struct Signature {
  std::vector<Parameter> arguments;
  std::vector<Parameter> results;
};
/// "(x: f32[64, 8], y: s32[64]) -> (f32[])".
std::string format_signature(const Signature& signature);
/// The lines of a sidecar. kInvalidArgument names the line.
Result<Signature> parse_signature(std::string_view lines);
/// Whether dtypes and shapes agree; names don't matter.
bool same_specs(const Signature& a, const Signature& b);

struct Module {
  std::string name;  // where it came from, for messages and the cache
  std::string code;  // StableHLO text, with complex values in parts, or portable bytecode ("ML\xefR…")
  bool is_text = true;
  Signature signature;
  int partitions = 1, replicas = 1;  // devices that it wants (text: mhlo.num_partitions, mhlo.num_replicas)
  int logical_device = 0;            // the replica's device that it runs on, without SPMD partitioning
  /// Why a module of several partitions can't be given its pieces; empty: its shardings are known.
  std::string sharding_problem = {};
  bool may_donate = true;  // it may take over an argument's buffer unless told not to; false: certainly not
  /// True for a jax.export of several platforms: its leading argument (jax's _platform_index, s32[]) isn't in the
  /// signature; the engine fills it in.
  bool takes_platform = false;
  bool asks_platform = false;                    // @main uses the index: `platforms` must be stated
  std::optional<std::size_t> platform_branches;  // number of platforms it chooses among; nullopt: not known
  std::vector<std::string> platforms;            // "cpu", "cuda", in the order of the export; empty: not stated
  std::vector<std::string> custom_calls;         // targets that its text calls, each once; unknown for bytecode
};

/// kInvalidArgument: no public @main, a type that tfd has no dtype for, dynamic shapes ("tensor<?xf32>"), bytecode
/// without a sidecar ("… needs train_step.sig beside it"), tokens of ordered effects, calls back into Python,
/// operations that wait for the host or, in a module for one device, for others ("infeed", "all_reduce"), a sidecar
/// line that isn't one (named by its number). Sidecar lines: "arg f32 64,10 w", "result f32 - loss" ("-" for a scalar;
/// the name is the rest of the line and may be left out; empty lines and '#' comments are skipped; a first "arg s32 -
/// _platform_index" is jax's platform index). Beside a text a sidecar gives the names, and must agree with its types.
/// Names that several arguments share (TensorFlow calls all of them "XLA_Args") count as none.
Result<Module> make_module(std::string name, std::string code, const std::optional<std::string>& sidecar);
/// Path of a module's sidecar: "train_step.mlirbc" -> "train_step.sig".
std::string sidecar_path(const std::string& module_path);
bool is_bytecode(std::string_view code);

/// The names of platforms as jax.export has them; and "gpu" for cuda and rocm. kInvalidArgument.
Result<void> check_platform_name(std::string_view name);
/// Checks the stated platforms. kInvalidArgument if @main uses its platform and none are stated, or a wrong number of
/// them.
Result<void> check_platforms(const Module& module);
/// Specializes a jax.export for several platforms to one: in text the index becomes a constant, so that the compiler
/// drops the other branches; bytecode takes platform_index() as its first argument. Other modules are returned
/// unchanged. kFailedPrecondition where `platform` isn't one of the module's: the message names both.
Result<Module> for_platform(const Module& module, const std::string& platform);
/// Position of `platform` among the module's; 0 if it states none.
std::size_t platform_index(const Module& module, const std::string& platform);
/// True for custom calls that every XLA plug-in knows: its partitioner's and StableHLO's own.
bool is_common_custom_call(std::string_view target);

/// Checks the arguments' count, dtypes and shapes against the signature; kInvalidArgument names the first that doesn't
/// fit: "argument 1 (y) is f32[64], the module takes s32[64]". The plug-in checks only byte sizes (facts: pjrt, section
/// 5).
Result<void> check_arguments(const Signature& signature, const std::vector<tensor::Tensor>& arguments);

}  // namespace tfd::hlo
