#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Finds a tool's PJRT plug-in by the environment that it was started with. The one place that writes into the process's
// own environment: XLA reads it when it is loaded, and takes settings in no other way. Thread rule: plain functions;
// keep_plugins_quiet() before there are other threads.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tfd/base/environment.hpp"
#include "tfd/function/accelerators.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/function/function.hpp"
#include "tfd/function/kernels.hpp"
#include "tfd/function/lapack.hpp"
#include "tfd/function/topology.hpp"

namespace tfd {

/// The newest instruction set that engines of this process compile for on CPUs, if a group has agreed on one.
inline std::string& agreed_isa() {
  static std::string isa;
  return isa;
}
/// Sets it, for engines that are made from now on; first before the plug-in is loaded. XLA's own flag counts, too: the
/// compile option by itself leaves newer instructions in what a program calls.
inline void use_isa(const std::string& isa) {
  agreed_isa() = isa;
  const char* const stated = ::getenv("XLA_FLAGS");
  const std::string before = stated != nullptr ? stated : "";
  if (before.empty() || before.starts_with("--"))  // else it names a file
    ::setenv("XLA_FLAGS", (before + (before.empty() ? "" : " ") + "--xla_cpu_max_isa=" + isa).c_str(), 1);
}

/// How engines of this process compute on CPUs, if a group has agreed on it (function/kernels.hpp).
inline std::string& agreed_kernels() {
  static std::string kernels;
  return kernels;
}

inline void use_kernels(const std::string& kernels) { agreed_kernels() = kernels; }

/// Keeps libtpu from asking the metadata server about this machine, for minutes where there is none, from taking the
/// lock of its devices, and from complaining on stderr. Called before it is loaded where there is no TPU, or none is
/// used.
inline void keep_plugins_from_looking() {
  ::setenv("TPU_SKIP_MDS_QUERY", "1", 0);
  ::setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 0);
  ::setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
  ::setenv("TPU_ACCELERATOR_TYPE", "v4-8", 0);
  ::setenv("TPU_MIN_LOG_LEVEL", "4", 0);
}

/// Does that where the PCI bus has no TPU. As jax does, which looks there first.
inline void keep_tpu_plugin_from_waiting() {
  const char* const plugin = std::getenv("TFD_PJRT_PLUGIN");
  if (plugin == nullptr || std::string_view(plugin).find("tpu") == std::string_view::npos) return;
  const auto found = function::find_accelerators();
  if (found && found->tpu == 0) keep_plugins_from_looking();
}

/// Turns off XLA's messages on stderr, unless the environment sets their level, and long waits of libtpu. Children get
/// the environment that the tool was started with (Io::env), without this.
inline void keep_plugins_quiet() {
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  keep_tpu_plugin_from_waiting();
}

/// Sets the number of XLA's threads on CPUs, for engines that are made from now on. Called before other threads run.
inline void use_xla_threads(int count) { ::setenv("PJRT_NPROC", std::to_string(count).c_str(), 1); }

using OnCompile = std::function<std::shared_ptr<void>(const std::string& module)>;

/// `on_compile`: EngineOptions::on_compile.
inline Result<std::shared_ptr<function::Engine>> make_engine(const Environment& env,
                                                             const function::DeviceChoice& devices = {{}, {0}},
                                                             const Log& log = {}, const function::Hosts& hosts = {},
                                                             OnCompile on_compile = {}) {
  if (!devices.topology.empty())
    return function::make_planning_engine({.plugin = TFD_TRY(function::find_plugin(env)),
                                           .topology = devices.topology,
                                           .positions = devices.positions,
                                           .logical_devices = devices.logical_devices});
  function::EngineOptions options;
  options.plugin = TFD_TRY(function::find_plugin(env));
  options.cache_directory = function::find_cache_directory(env);
  const char* const flags = std::getenv("XLA_FLAGS");  // not those that this process began with: see use_isa()
  options.xla_flags = flags != nullptr ? flags : "";
  options.max_isa = agreed_isa();
  options.kernels = agreed_kernels().empty() ? TFD_TRY(function::find_kernels(env)) : agreed_kernels();
  options.positions = devices.positions;
  options.logical_devices = devices.logical_devices;
  options.spmd = devices.spmd;
  options.device_kind = devices.kind;
  options.hosts = hosts;
  options.client_options = TFD_TRY(function::parse_client_options(env.get("TFD_PJRT_OPTIONS")), "TFD_PJRT_OPTIONS");
  options.log = log.for_room("function");
  options.on_compile = std::move(on_compile);
  function::use_lapack(env.get("TFD_LAPACK"));
  return function::make_engine(options);
}

/// Resolves --devices: for all devices of a kind, the plug-in is asked. kUsage for malformed text. kFailedPrecondition:
/// GPUs or TPUs are named, and the plug-in is for CPUs.
inline Result<function::DeviceChoice> choose_devices(const Environment& env, const std::string& text) {
  auto choice = function::parse_device_choice(text);
  if (!choice) return fail(Code::kUsage, "--devices {}", choice.error().message);
  const std::string asked = env.get("TFD_PJRT_PLUGIN");
  const bool has_cpu_plugin = asked.empty() || asked == "cpu";
  const bool is_other = !choice->kind.empty() && choice->kind != "cpu";
  if (!choice->positions.empty() && !(has_cpu_plugin && is_other)) return choice;
  const std::string plugin = TFD_TRY(function::find_plugin(env));
  const auto all = TFD_TRY(function::list_devices(plugin));
  if (is_other && !all.empty() && all.front().kind == "cpu")
    return fail(function::wrong_kind(plugin, "cpu", choice->kind).within("--devices " + text));
  if (!choice->positions.empty()) return choice;
  if (all.empty()) return fail(Code::kFailedPrecondition, "--devices {}: the plug-in has none", text);
  const auto own = std::ranges::count(all, all.front().process_index, &function::DeviceInfo::process_index);
  choice->positions = function::first_devices(static_cast<int>(own)).positions;
  return choice;
}

}  // namespace tfd
