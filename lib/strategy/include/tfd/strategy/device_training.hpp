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
#include "tfd/train/training.hpp"

namespace tfd::strategy {

/// How a step goes. Fused: one module computes, sums up over the replicas and updates, and is executed for all of them
/// at once. Threads: two modules, which a host thread for each replica runs on its device, and the sum on the host,
/// which on CPUs takes a third of the time and less (facts: pjrt-step). Fused, a step in which not all replicas have
/// the same to do goes the other way.
/// kAuto: fused, but not on several CPUs, not on one where there are many small variables, and not what can't be.
enum class StepMode { kAuto, kFused, kThreads };

struct DeviceTrainingOptions {
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};  // with a device for each replica
  int replicas = 1;
  int logical_devices = 1;  // of each, over which XLA partitions its steps (SPMD)
  StepMode step = StepMode::kAuto;
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  Environment command_environment = {};
  /// The variables may have been changed: from here on a stop is worth a checkpoint.
  std::function<void()> on_begin = {};
  train::TrainOptions train;
};

/// Why train_on_devices() can't train this program on these; nullopt: it can. train_on_parameter_servers() without a
/// cluster trains those, with the same numbers.
std::optional<std::string> why_not_on_devices(const program::Program& program,
                                              const function::DeviceChoice& devices = {});

/// Why steps of a program that why_not_on_devices() lets pass can't be fused; nullopt: they can.
std::optional<std::string> why_not_fused(const program::Program& program, int replicas);
/// Of an engine's platform.
bool is_fused(StepMode way, const program::Program& program, int replicas, const std::string& platform);

/// program.train must be there. kFailedPrecondition: its steps can't be fused, but are to be. Errors of
/// run_train_loop(), of the engine and of ReplicaRunner.
Result<train::TrainSummary> train_on_devices(const program::Program& program, DeviceTrainingOptions options);

}  // namespace tfd::strategy
