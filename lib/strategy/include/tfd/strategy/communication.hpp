#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How the processes of MultiWorkerMirroredStrategy find each other, and how long they wait. Thread rule: plain values.
// Source: tf.distribute.experimental.CommunicationOptions, 2.21.
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/log.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::strategy {

struct CommunicationOptions {
  collective::Engine implementation = {};
  /// Sums are cut into collectives of at most this many bytes, the same in all processes; 0: nothing is cut.
  std::int64_t bytes_per_pack = 0;
  Duration join = std::chrono::seconds(600);              // for all members to come
  Duration timeout = std::chrono::hours(24 * 365);        // of one call of all; members that are gone end it before
  Duration silence = std::chrono::seconds(10);            // after which a member that doesn't answer is lost
  Duration stall_report = std::chrono::seconds(10);       // of a wait, and again after three times as long
  std::function<void(const std::string& line)> say = {};  // lines that name awaited processes
  Log log = {};
  /// Makes the endpoint at which members meet, with the cluster's key if there is one; without one members on other
  /// hosts are refused, unless `is_insecure`.
  transport::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  bool has_key = false;
  bool is_insecure = false;
  int listen_fd = -1;                 // a listening socket at this task's address, bound elsewhere
  std::stop_token interruption = {};  // ends the wait for others to come
};

}  // namespace tfd::strategy
