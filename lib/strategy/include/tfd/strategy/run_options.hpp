#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a training, or of a run of one function, besides its program and its strategy. Thread rule: plain values.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/function/compiling.hpp"
#include "tfd/function/function.hpp"
#include "tfd/strategy/xla_threads.hpp"
#include "tfd/train/training.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::strategy {

struct RunOptions {
  transport::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  XlaThreads threads = {};
  std::string data_root = {};
  Environment command_environment = {};
  Duration connect_timeout = std::chrono::seconds(30);  // for the parameter servers, then for the chief
  // The next ones are for a group of workers that make each step together.
  collective::Engine collectives = {};
  /// Bytes of what they sum at once; under --compat tensorflow bytes_per_pack of CommunicationOptions. Absent: the
  /// default; 0: nothing is cut.
  std::optional<std::int64_t> bucket_bytes = {};
  /// Makes an engine whose devices are of one system with those of the group's other processes, if its plug-in has
  /// such; empty: each process's devices are its own.
  std::function<Result<std::shared_ptr<function::Engine>>(const function::Hosts&)> make_host_engine = {};
  /// How many of a group's processes suffice: it goes on while others are lost, and come. 0: all.
  int min_workers = 0;
  /// With min_workers: how many there may be, where all are told of the addresses of those that come; 0: those of the
  /// cluster, at its addresses.
  int max_workers = 0;
  /// Called before this process joins a group, and each time that it is a member, with the step that it makes next.
  std::function<void(std::optional<std::int64_t> step)> on_standing = {};
  std::function<void()> on_done = {};                   // after a group's last step, whatever is left to be done
  std::function<void(std::int64_t step)> on_step = {};  // after each step of a group
  /// The compilers' activity in the engine (EngineOptions::on_compile); null: not known. Shared with the engine.
  std::shared_ptr<function::Compiling> compiling = {};
  /// Says why, and ends this process at once, with the error's exit code, whatever its threads do: they are in a
  /// plug-in that can't be interrupted. Empty: then they are waited for.
  std::function<void(const Error& why)> end_process = {};
  std::int64_t epochs = 1;           // under --compat tensorflow: that end with the data of all workers
  std::int64_t verify_every = 1000;  // steps after which a group's members compare their variables; 0: never
  bool has_key = false;              // `make_endpoint` has the cluster's key
  bool is_insecure = false;          // other hosts may join without a key
  Duration join_timeout = std::chrono::seconds(600);  // for all of them to come
  Duration silence = std::chrono::seconds(10);        // after which one that doesn't answer is lost
  Duration linger = std::chrono::seconds(10);         // time that the chief waits at its end for idle workers
  bool keep_servers = false;
  Duration rejoin = std::chrono::seconds(30);  // as in ParameterServersOptions
  /// For the chief: takes the cluster from another chief that holds it and answers.
  bool take_over = false;
  /// Variables may have been changed: from here on a stop is worth a checkpoint.
  std::function<void()> on_begin = {};
  train::TrainOptions train;
};

}  // namespace tfd::strategy
