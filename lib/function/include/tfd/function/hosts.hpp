#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Several hosts whose devices form one system. PJRT clients of GPUs exchange device topologies when they are made, and
// NCCL ids later, through a key-value store that the hosts share, which outlives them all; those of TPUs find each
// other by the system's own means. Each host is one process. Thread rule: thread-safe.
//
//   options.hosts = {.count = 2, .index = 1, .exchange = task::make_host_exchange(servers.coordination(), "gpu")};
#include <functional>
#include <memory>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::function {

/// Keys and values are bytes; plug-ins call it from threads of their own. Source: the contract of
/// PJRT_KeyValueGetCallback, …TryGetCallback and …PutCallback in pjrt_c_api.h.
class HostExchange {
 public:
  virtual ~HostExchange() = default;
  virtual Result<void> put(const std::string& key, const std::string& value) = 0;
  /// Blocks until some host has put the key. kDeadlineExceeded: none has.
  virtual Result<std::string> get(const std::string& key, Deadline deadline) = 0;
  /// kNotFound at once.
  virtual Result<std::string> try_get(const std::string& key) = 0;
};

struct Hosts {
  int count = 1;
  int index = 0;  // of this one
  /// Shared with the client for its lifetime; null: the plug-in needs none, as libtpu, whose hosts find each other.
  std::shared_ptr<HostExchange> exchange = {};
  /// True: a plug-in that knows its own host's devices only is no error; the engine has just these.
  bool may_be_alone = false;
  /// Called when a program on several devices has failed, before that ends the process (device.hpp): it may know of a
  /// host that is lost, and end the process with its name. It blocks for as long as that may take.
  std::function<void(const Error& error)> on_failure = {};
};

}  // namespace tfd::function
