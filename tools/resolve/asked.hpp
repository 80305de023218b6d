#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The command line of tfd-resolve. Thread rule: plain value.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/cli/tool.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::tool_resolve {

struct Asked {
  std::string kind;
  std::vector<std::string> arguments;
  // several kinds
  std::optional<std::string> jobs;
  std::optional<std::string> task;
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
  std::optional<std::int64_t> port_base;
  std::optional<std::int64_t> port;
  std::optional<std::string> job_name;
  std::optional<std::string> zone;
  std::optional<std::string> project;
  std::optional<std::string> credentials;
  std::optional<std::string> api_url;
  // simple
  std::vector<std::string> job;
  std::optional<std::string> master;
  std::vector<std::string> accelerators;
  // slurm
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> gpus_per_task;
  std::optional<std::string> tasks_per_node;
  bool auto_set_gpu = true;
  // mpi
  std::optional<std::string> hostfile;
  // kubernetes
  std::vector<std::string> selector;
  std::optional<std::string> namespace_;
  std::optional<std::string> address;
  std::optional<std::string> kubeconfig;
  std::optional<std::string> context;
  bool insecure_skip_tls_verify = false;
  std::optional<Duration> wait;
  // tpu
  std::optional<std::string> discovery_url;
  std::optional<std::string> coordinator_name;
  std::optional<std::string> coordinator_address;
  std::optional<Duration> wait_healthy;
  bool recoverable = false;
  bool system_metadata = false;
  bool connect = false;
  bool runtime_oom_exit = true;
  bool hbm_oom_exit = true;
  // gce
  std::optional<std::string> instance_group;
  // hostlist
  bool fold = false;
  // the answer
  std::optional<std::string> compat;
  std::optional<std::string> format;
  bool json = false;
  std::optional<std::string> get;
  bool list_tasks = false;
  bool watch = false;
  std::optional<Duration> interval;
  std::optional<Duration> timeout;
};

/// Default of --interval for --watch and --wait-healthy, as in TensorFlow's wait_for_healthy.
inline constexpr std::chrono::seconds kInterval{30};

/// The tool's options, for cli::Tool.
std::vector<cli::Option> options(Asked& asked);
/// Value of Tool::sections.
std::vector<std::string> sections();
/// Options that were given, except those that every kind takes: "--jobs", "--no-auto-set-gpu", "ARG".
std::vector<std::string_view> given_options(const Asked& asked);

resolve::Compat compat_of(const Asked& asked);
/// Parses --task. kUsage if it is malformed.
Result<std::optional<cluster::TaskId>> task_of(const Asked& asked);

}  // namespace tfd::tool_resolve
