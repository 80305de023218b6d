#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function on the replicas of one worker of ParameterServerStrategy (v1), once for every element of a dataset,
// and says what each replica returned. Source: tf.distribute.Strategy.run and experimental_distribute_dataset.
// Thread rule: blocks its thread, which alone calls the sinks.
#include <string>

#include "tfd/strategy/ps_training.hpp"
#include "tfd/strategy/replica_values.hpp"

namespace tfd::strategy {

struct RunRequest {
  std::string function;
  std::string dataset;  // of the program: what the function's argument is; empty: it has none
  Combine combine = {};
};

/// The program with one more dataset, of this pipeline in JSON; `name` is how a RunRequest calls it.
Result<program::Program> with_dataset(const program::Program& program, const std::string& name,
                                      const std::string& pipeline);

/// One line for every element, {"0": […], "1": […]}: what each replica returned for its share of the rows; or, reduced
/// or gathered, the one value that these make (a list of them where there are several results). What it wants of the
/// variables is applied, as one update. Errors as train_on_parameter_servers().
Result<TrainSummary> run_on_parameter_servers(const program::Program& program, const ParameterServerStrategy& strategy,
                                              PsTrainingOptions options, const RunRequest& request);

}  // namespace tfd::strategy
