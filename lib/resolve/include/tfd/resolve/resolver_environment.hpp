#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The world that a resolver may touch beside its options, so that tests can replace it; and a resolver that can be
// asked again, for --watch and --wait. Thread rule: one thread.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/log.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/resolve/fetcher.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

/// The devices of this host by name, "/job:localhost/replica:0/task:0/device:TPU:0": asked of PJRT by the tool.
/// kUnimplemented or kNotFound where there is no plug-in for them.
using DeviceLister = std::function<Result<std::vector<std::string>>(Deadline)>;
using FileLoader = std::function<Result<std::string>(const std::string& path)>;
using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// Borrowed by resolvers: must outlive them.
struct ResolverEnvironment {
  Environment env;
  std::unique_ptr<Fetcher> fetcher;
  GpuLister gpus;
  DeviceLister devices;
  FileLoader load_file;
  WallClock now;
  Pause pause;
  std::string hostname;
  Log log;
};
/// The real ones. `devices` stays empty (kUnimplemented when asked): the tool sets it.
ResolverEnvironment make_resolver_environment(const Environment& env, Deadline deadline, const Log& log);

class Resolver {
 public:
  virtual ~Resolver() = default;
  /// The cluster as it is now. Each call asks anew.
  virtual Result<cluster::ClusterConfig> resolve(Deadline deadline) = 0;
  /// Blocks until resolve() may answer otherwise than it last did: true; or until the deadline: false. Resolvers whose
  /// answer can't change (the environment's) return false at once. Reconnects by itself and says so in the log.
  virtual Result<bool> wait_change(Deadline) { return false; }
};

}  // namespace tfd::resolve
