#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Trains a program as one worker of ParameterServerStrategy (v1): reads the variables as they are, computes one update
// of all its replicas, pushes it, and never waits for another worker. The chief makes the variables (or restores them)
// and saves checkpoints; the others wait until it has; an evaluator evaluates the checkpoints as they appear.
// Thread rule: blocks its thread, which alone calls the sinks.
#include "tfd/step/replica_runner.hpp"
#include "tfd/strategy/parameter_server.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

struct PsTrainingOptions {
  task::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  std::string data_root = {};
  Environment command_environment = {};
  Duration connect_timeout = std::chrono::seconds(30);  // for the parameter servers, then for the chief
  Duration linger = std::chrono::seconds(10);  // how long the chief waits at its end for workers that do nothing
  bool keep_servers = false;
  Duration rejoin = std::chrono::seconds(30);  // as ParameterServersOptions has it
  /// The chief's: takes the cluster from another one that has it and answers.
  bool take_over = false;
  /// Variables may have been changed: from here on a stop is worth a checkpoint.
  std::function<void()> on_begin = {};
  train::TrainOptions train;
};

/// program.train must be there. kUnavailable (its task set): a parameter server is lost; kDeadlineExceeded: a parameter
/// server, or the chief, isn't there in time; kOutOfRange: the data ended before the steps that were promised;
/// kInvalidArgument: the parameter servers hold another program; kUnimplemented names what only tfd-coordinate has.
Result<train::TrainSummary> train_on_parameter_servers(const program::Program& program,
                                                       ParameterServerStrategy strategy, PsTrainingOptions options);

}  // namespace tfd::strategy
