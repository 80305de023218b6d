#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Trains a program in this process, synchronously: OneDeviceStrategy, and MirroredStrategy on several devices. The
// variables are on the devices, a copy on each; a step is one update of all of them.
// Thread rule: blocks its thread, which alone calls the sinks.
#include <optional>
#include <string>

#include "tfd/function/devices.hpp"
#include "tfd/step/replica_runner.hpp"
#include "tfd/strategy/xla_threads.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

/// Execution mode of steps. kFused: one module computes, sums over the replicas and updates, and is executed for all of
/// them at once. kThreads: two modules, run by a host thread per replica on its device, and a sum on the host, which on
/// CPUs takes a third of the time or less (facts: pjrt-step). With kFused, steps in which replicas differ run as in
/// kThreads. kAuto: fused if possible, but not on several CPUs, nor on one CPU with many small variables.
enum class StepMode { kAuto, kFused, kThreads };

struct DeviceTrainingOptions {
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};  // with a device for each replica
  int replicas = 1;
  int logical_devices = 1;  // logical devices per replica, over which XLA partitions its steps (SPMD)
  StepMode step = StepMode::kAuto;
  XlaThreads threads = {};
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  Environment command_environment = {};
  /// Called before the variables change for the first time: from then on a stop is worth a checkpoint.
  std::function<void()> on_begin = {};
  train::TrainOptions train;
};

/// Reason why train_on_devices() can't train this program on these devices; nullopt: it can.
/// train_on_parameter_servers() without a cluster trains such programs, with the same results.
std::optional<std::string> why_not_on_devices(const program::Program& program,
                                              const function::DeviceChoice& devices = {});

/// Reason why steps of a program that passes why_not_on_devices() can't be fused; nullopt: they can.
std::optional<std::string> why_not_fused(const program::Program& program, int replicas);
/// True if steps are fused on an engine of this platform.
bool is_fused(StepMode way, const program::Program& program, int replicas, const std::string& platform);

/// program.train must be there. kFailedPrecondition: its steps can't be fused, but are to be. Errors of
/// run_train_loop(), of the engine and of ReplicaRunner.
Result<train::TrainSummary> train_on_devices(const program::Program& program, DeviceTrainingOptions options);

}  // namespace tfd::strategy
