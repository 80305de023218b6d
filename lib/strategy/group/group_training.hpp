#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Trains a program in step with the other members of a group (MultiWorkerMirroredStrategy). The chief runs the training
// loop and decides what all do next (GroupAct); the others follow. Every member has all variables, equal by
// construction. Private to the room. Thread rule: each call blocks its thread.
#include "group_exchange.hpp"
#include "tfd/function/compiling.hpp"
#include "tfd/group/group.hpp"
#include "tfd/strategy/device_training.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

struct GroupTrainingOptions {
  group::GroupOptions group;
  Duration join = std::chrono::seconds(600);             // for all members to come
  Duration step_timeout = std::chrono::hours(24 * 365);  // of one collective; members that are gone end it before
  int replicas = 0;              // of the training; 0: as many as its checkpoint says, else as the members have devices
  bool follows_members = false;  // replicas are as many as the devices of the members, in each generation
  std::int64_t verify_every = 1000;  // steps; 0: members never compare their variables
  std::function<void(std::optional<std::int64_t> step)> on_standing = {};  // as RunOptions::on_standing
  std::function<void()> on_done = {};                                      // as RunOptions::on_done
  std::function<void(std::int64_t step)> on_step = {};                     // as RunOptions::on_step
  /// True: it trains as TensorFlow's strategy: each worker's datasets have its own replicas' elements, and steps are
  /// made while any has one; where nothing is aggregated each replica, or the first of each worker, keeps its
  /// assigned value.
  bool as_tensorflow = false;
  /// The variables are on the host: the function can't be one on devices (why_not_on_devices()).
  bool on_host = false;
  /// The cluster has an evaluator, which evaluates the checkpoints and keeps the best one: the members evaluate for
  /// train.stop alone.
  bool has_evaluator = false;
  std::shared_ptr<function::Compiling> compiling = {};     // as RunOptions::compiling
  std::function<void(const Error& why)> end_process = {};  // as RunOptions::end_process
  std::optional<std::int64_t> bucket_bytes = {};           // as GroupExchange
  std::int64_t pack_bytes = 0;                             // with `as_tensorflow`: of packs_of_gradients()
  std::int64_t epochs = 1;       // that end with the data of all, where the program states no steps
  DeviceTrainingOptions device;  // `replicas` are this process's devices
  /// Makes the engine of one of several hosts, where all members' devices may be one system: as
  /// RunOptions::make_host_engine.
  std::function<Result<std::shared_ptr<function::Engine>>(const function::Hosts&)> make_host_engine = {};
};

/// Trains. Errors: those of Group::form() and of the steps; kUnavailable names a member that is gone, the same in all.
Result<train::TrainSummary> train_in_group(const program::Program& program, GroupTrainingOptions options);

}  // namespace tfd::strategy
