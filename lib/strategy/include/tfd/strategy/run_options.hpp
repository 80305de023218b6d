#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a training, or a run of one function, needs besides its program and its strategy. Thread rule: plain values.
#include <functional>
#include <memory>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/function/function.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

struct RunOptions {
  task::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};

}  // namespace tfd::strategy
